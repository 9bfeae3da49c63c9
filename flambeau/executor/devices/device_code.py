"""Bytecode whose operators run where their tensors are, without asking who else stands before kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.executor.devices.capturable import ROLES
from flambeau.interpreter.code import Block, Code, Instruction, Op, Site, step_by_step
from flambeau.ops.cuda_devices import cuda_calls
from flambeau.schema.opdef import OpDef
from flambeau.schema.own_gradient import is_spelling
from flambeau.tensor import dispatch
from flambeau.tensor.settled import settle
from flambeau.util.record import replace

_CALLS: Final = frozenset({Op.CALL_FUNCTION, Op.CALL_METHOD, Op.AWAIT})


def calls_functions(code: Code) -> bool:
    """Whether code calls functions of a program, which have code of their own."""
    return any(i[0] in _CALLS for straight, last in code.blocks for i in (*straight, last))


def on_devices(code: Code) -> Code:
    """The code with operators that look where their tensors are."""
    blocks: tuple[Block, ...] = tuple(
        (tuple(_on_devices(i, code.sites[i[5]]) for i in straight), step_by_step(last))
        for straight, last in code.blocks
    )
    return replace(code, blocks=blocks, observed=None)


def _on_devices(instruction: Instruction, site: Site) -> Instruction:
    definition = site.definition
    op, d, f, a, b, site_index = instruction
    if definition is None or f is not definition.kernel or not dispatch.concerns_tensors(definition.schema):
        return instruction
    return op, d, runner(definition), a, b, site_index


_runners: dict[str, Callable[..., Any]] = {}


def runner(definition: OpDef) -> Callable[..., Any]:
    """What runs an operator on tensors of a device, and on those of the host."""
    known = _runners.get(definition.full_name)
    if known is None or getattr(known, "definition", None) is not definition:
        known = _runners[definition.full_name] = _new_runner(definition)
        known.definition = definition  # type: ignore[attr-defined]
    return known


def _new_runner(definition: OpDef) -> Callable[..., Any]:
    kernel = definition.kernel
    has_rule = definition.full_name in cuda_calls.CUDA_RULES or definition.name in cuda_calls.CUDA_RULES
    if is_spelling(definition) or (definition.family in ("metadata", "query") and not has_rule):

        def as_written(*arguments: Any) -> Any:
            return kernel(*arguments)

        return as_written
    if definition.family == "view" and not definition.traits.may_copy and not has_rule:

        def view(*arguments: Any) -> Any:
            result = kernel(*arguments)
            return settle(result) if not isinstance(result, list | tuple) else type(result)(map(settle, result))

        return view

    def operator(*arguments: Any) -> Any:
        result = cuda_calls.run(definition, arguments)
        return kernel(*arguments) if result is NotImplemented else result

    if definition.accumulator in ROLES:
        rule = cuda_calls.CUDA_RULES.get(definition.name)

        def product(*arguments: Any) -> Any:
            result = NotImplemented if rule is None else rule(definition, arguments)
            return operator(*arguments) if result is NotImplemented else result

        return product

    return operator
