"""What the rules of operators say of dtypes and sizes is so: for every sample, with all, some and few facts known."""

from __future__ import annotations

from typing import Any

from flambeau.analysis.operator_rules import asked
from flambeau.schema import registry
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, ListType, NumberType, OptionalType, TensorType, Type
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor
from tests.together import together

QUANTISED = "quantized"
"""Programs with such operators run an operator at a time, and nobody asks for their rules."""
DEFINED = [d for name in registry.names() for d in registry.overloads(name)]
SAMPLED = [d for d in DEFINED if d.samples is not None and d.family != QUANTISED]
WITHOUT_RULES = {
    "aten::native_batch_norm", "aten::squeeze", "aten::einsum", "aten::linalg_solve", "aten::linalg_lstsq",
    "aten::squeeze_copy", "aten::cov", "aten::corrcoef", "aten::_native_batch_norm_legit",
}  # fmt: skip
"""Operators of which, for some samples, only running them tells."""
_NUMBERS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}
ALL, LENGTHS, TYPES = range(3)
"""What is known besides tensors: every value, the lengths of lists and the kinds of numbers, the kinds of numbers."""


def facts(tensor: Tensor) -> TensorType:
    sizes = tuple(1 if s == 1 else None for s in tensor.shape)
    return TensorType(dtype=tensor.dtype, sizes=sizes, device=tensor.device, requires_grad=tensor.requires_grad)


def told(value: Any, formal: Type, level: int) -> Any:
    """What a rule is told of an argument."""
    inner = formal.element if isinstance(formal, OptionalType) else formal
    if isinstance(value, Tensor):
        return facts(value)
    if isinstance(value, list | tuple) and value and all(isinstance(v, Tensor) for v in value):
        if level < TYPES:
            return [facts(v) for v in value]
        types = [facts(v) for v in value]
        return ListType(types[0] if len(types) == 1 else types[0].merge(types[-1]))
    if level == ALL and isinstance(value, list | tuple):
        return [facts(v) if isinstance(v, Tensor) else v for v in value]
    if level == ALL or value is None:
        return value
    if isinstance(value, list | tuple):
        known = [v if v is None else facts(v) if isinstance(v, Tensor) else UNKNOWN for v in value]
        return known if level == LENGTHS else UNKNOWN
    if isinstance(inner, NumberType):
        return _NUMBERS[type(value)]
    return value if level == LENGTHS else UNKNOWN


def calls_of(definition: OpDef) -> list[tuple[OpDef, tuple[Any, ...], Any]]:
    """The overloads that the samples of an operator run, with arguments and results."""
    found = []

    def note(ran: OpDef, arguments: Any, proceed: Any) -> Any:
        given = [told(a, f.type, ALL) for a, f in zip(arguments, ran.schema.arguments, strict=True)]
        result = proceed(arguments)
        found.append((ran, (tuple(arguments), given), result))
        return result

    assert definition.samples is not None
    with dispatch.intercepting(note):
        for sample in definition.samples():
            dispatch.call(definition.name, *sample.args, **sample.kwargs)
    return found


@together("definition", SAMPLED, ids=lambda d: d.full_name)
def test_rules_hold_and_tell(definition: OpDef) -> None:
    for ran, (arguments, all_known), result in calls_of(definition):
        if ran.schema.is_mutable:
            continue
        outputs = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(o, Tensor) or (isinstance(o, list) and o and isinstance(o[0], Tensor)) for o in outputs):
            continue
        for level in (ALL, LENGTHS, TYPES):
            given = all_known if level == ALL else [
                told(a, f.type, level) for a, f in zip(arguments, ran.schema.arguments, strict=True)
            ]  # fmt: skip
            dtypes = asked(ran.dtype, given, len(outputs))
            shapes = asked(ran.shape, given, len(outputs))
            for output, dtype, sizes in zip(outputs, dtypes, shapes, strict=True):
                check(ran, output, dtype, sizes)
                if level == ALL and ran is definition:
                    tells = dtype is not None and sizes is not None
                    assert tells or ran.name in WITHOUT_RULES, f"{ran.full_name} cannot tell its dtype or rank: {given}"


def check(ran: OpDef, output: Any, dtype: Any, sizes: Any) -> None:
    for tensor in output if isinstance(output, list) else [output]:
        if tensor.is_wrapped_number:
            continue
        assert dtype is None or dtype is tensor.dtype, f"{ran.full_name} gives {tensor.dtype}, not {dtype}"
        fits = sizes is None or (
            len(sizes) == tensor.dim() and all(s in (None, k) for s, k in zip(sizes, tensor.shape, strict=True))
        )
        assert fits, f"{ran.full_name} gives sizes {list(tensor.shape)}, not {sizes}"


def test_samples_cover_the_operators_that_matter() -> None:
    assert len(SAMPLED) > 300
