"""Recording calls with operands that may be None or lists, or with several results: one Python function, written for
the operands of each overload.

It serves calls on floats; what else comes is looked at operand by operand, as for any call.

>>> from flambeau.autograd.rule import rule_of
>>> from flambeau.schema import registry
>>> print(text_of(rule_of(registry.get("aten::stack")), (0,)))
def record(a0, a1):
    if not mode.enabled:
        return run(a0, a1)
    try:
        e0, s0 = listed(a0)
    except (AttributeError, TypeError):
        return general(a0, a1)
    k0 = any(e0)
    if not (k0):
        return run(a0, a1)
    key = k0
    formulas = known.get(key) or formulas_of(key, (a0, a1))
    if formulas is None or CAREFUL:
        return slowly(a0, a1)
    outcome = run(a0, a1)
    kept = formulas.keep((a0, a1), outcome)
    node = new_node([*e0], formulas, [*s0], kept, next_number(), [len(a0)], True)
    if outcome._array.dtype.kind in "fcV" and outcome is not a0 and outcome is not a1:
        if outcome._base is not None:
            node.shown = outcome._base._node
        outcome._node, outcome.output_nr = node, 0
    return outcome
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd.node import edge_of
from flambeau.autograd.rule import Rule
from flambeau.schema.types import ListType, OptionalType, TensorType, Type
from flambeau.tensor.tensor import Tensor

_EDGE: Final = (
    "edge_of({0}) if {0}._base is not None else ({0}._node, {0}.output_nr) if {0}._node is not None "
    "else ({0}, 0) if {0}._requires_grad else None"
)
"""Where the gradient of an operand goes on."""


def written(rule: Rule, positions: Sequence[int], scope: dict[str, Any]) -> Callable[..., Any] | None:
    """The function for the calls of an overload; None for operands that it would not take. `scope` has what it calls:
    `mode`, `run`, `general`, `slowly`, `known`, `formulas_of`, `new_node`, `next_number` and `CAREFUL`."""
    types = [rule.definition.schema.arguments[p].type for p in positions]
    is_single = len(rule.definition.schema.returns) == 1
    if not all(map(_is_taken, types)) or (is_single and rule.flows is not True):
        return None
    text = text_of(rule, positions)
    own = {"edge_of": edge_of, "listed": _listed, "look": _look, "flows": rule.flows, "Tensor": Tensor}
    names = {**scope, **own, "__name__": __name__}
    exec(compile(text, f"{__file__}, calls of {rule.definition.full_name}", "exec"), names)
    function: Callable[..., Any] = names["record"]
    return function


def text_of(rule: Rule, positions: Sequence[int]) -> str:
    """The text of the function."""
    schema = rule.definition.schema
    types = [schema.arguments[p].type for p in positions]
    parameters = [f"a{k}" for k in range(len(schema.arguments))]
    listed = ", ".join(parameters)
    everything = f"({listed},)" if len(parameters) == 1 else f"({listed})"
    is_single = len(schema.returns) == 1 and isinstance(schema.returns[0].type, TensorType)
    looks = [line for number, p in enumerate(positions) for line in _lines(number, f"a{p}", types[number])]
    numbers = range(len(positions))
    return "\n".join(
        [
            f"def record({listed}):", "    if not mode.enabled:", f"        return run({listed})",
            "    try:", *[f"        {line}" for line in looks],
            "    except (AttributeError, TypeError):", f"        return general({listed})",
            *[f"    k{k} = {_asks(k, types[k])}" for k in numbers],
            f"    if not ({' or '.join([f'k{k}' for k in numbers])}):", f"        return run({listed})",
            f"    key = {' | '.join([f'k{k} << {k}' if k else 'k0' for k in numbers])}",
            f"    formulas = known.get(key) or formulas_of(key, {everything})",
            "    if formulas is None or CAREFUL:", f"        return slowly({listed})",
            f"    outcome = run({listed})", f"    kept = formulas.keep({everything}, outcome)",
            f"    node = new_node([{_joined('e', types)}], formulas, [{_joined('s', types)}], kept, next_number(), "
            f"{_counts(positions, types)}, {is_single})",
            *(_attached(parameters) if is_single else _all_attached(parameters, rule.flows is True)),
            "    return outcome",
        ]
    )  # fmt: skip


def _asks(number: int, type_: Type) -> str:
    """Whether an operand, or one of a list, asks for gradients."""
    return f"any(e{number})" if isinstance(type_, ListType) else f"e{number} is not None"


def _joined(letter: str, types: Sequence[Type]) -> str:
    """What is known of all operands, those of lists one by one."""
    return ", ".join([f"{'*' * isinstance(t, ListType)}{letter}{k}" for k, t in enumerate(types)])


def _counts(positions: Sequence[int], types: Sequence[Type]) -> str:
    """Of each operand how many tensors it is, where there are lists."""
    pairs = zip(positions, types, strict=True)
    counts = [f"len(a{p})" if isinstance(t, ListType) else "-1" for p, t in pairs]
    return f"[{', '.join(counts)}]" if any(isinstance(t, ListType) for t in types) else "None"


def _lines(number: int, name: str, type_: Type) -> list[str]:
    """Lines that look at one operand: raise AttributeError or TypeError for what is not usual."""
    if isinstance(type_, ListType):
        return [f"e{number}, s{number} = listed({name})"]
    edge, shape = f"e{number} = {_EDGE.format(name)}", f"s{number} = look({name}, e{number})"
    if not isinstance(type_, OptionalType):
        return [edge, shape]
    return [f"e{number} = s{number} = None", f"if {name} is not None:", f"    {edge}", f"    {shape}"]


def _attached(parameters: Sequence[str]) -> list[str]:
    """Lines that have the only result know its node."""
    others = " and ".join([f"outcome is not {name}" for name in parameters])
    return [
        f'    if outcome._array.dtype.kind in "fcV" and {others}:',
        "        if outcome._base is not None:", "            node.shown = outcome._base._node",
        "        outcome._node, outcome.output_nr = node, 0",
    ]  # fmt: skip


def _all_attached(parameters: Sequence[str], flows: bool) -> list[str]:
    """Lines that have several results know their node."""
    others = " and ".join([f"result is not {name}" for name in parameters])
    which = "isinstance(result, Tensor)" if flows else "flows[number] and isinstance(result, Tensor)"
    return [
        "    for number, result in enumerate(outcome):",
        f'        if {which} and result._array.dtype.kind in "fcV" and {others}:',
        "            if result._base is not None:", "                node.shown = result._base._node",
        "            result._node, result.output_nr = node, number",
    ]  # fmt: skip


def _is_taken(type_: Type) -> bool:
    inner = type_.element if isinstance(type_, OptionalType | ListType) else type_
    return isinstance(inner, TensorType)


def _look(operand: Any, edge: Any) -> Any:
    """What an operand is like that gradients flow to. Raises TypeError for one of no floats."""
    array = operand._array
    if array.dtype.kind != "f":
        raise TypeError
    return None if edge is None else (array.shape, array.dtype)


def _listed(operands: Any) -> tuple[list[Any], list[Any]]:
    """The same of a list of operands, with where their gradients go on."""
    edges: list[Any] = []
    shapes: list[Any] = []
    for one in operands:
        if one._base is not None:
            edge: Any = edge_of(one)
        elif one._node is not None:
            edge = (one._node, one.output_nr)
        else:
            edge = (one, 0) if one._requires_grad else None
        array = one._array
        dtype = array.dtype
        if dtype.kind != "f":
            raise TypeError
        edges.append(edge)
        shapes.append(None if edge is None else (array.shape, dtype))
    return edges, shapes
