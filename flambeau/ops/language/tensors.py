"""`tensor(...)` and `as_tensor(...)` in programs: tensors made of numbers and nested lists of them."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.promotion import operand_of
from flambeau.ops.language.declare import declare
from flambeau.schema.dtype import DType, by_code
from flambeau.schema.opdef import UNKNOWN, Sizes
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, FloatType, ListType, TensorType, Type
from flambeau.tensor import defaults, dispatch
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor

_TAIL = "*, ScalarType? dtype=None, Device? device=None"
_KINDS = {"bool": BOOL, "int": INT, "float": FLOAT, "complex": COMPLEX}


def _tensor(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return _made(data, dtype, device, requires_grad)


def _made(data: Any, dtype: Any, device: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of numbers. Raises RuntimeError in the words of programs."""
    try:
        return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
    except (ValueError, TypeError) as error:
        text = str(error)
        raise RuntimeError(text[:1].upper() + text[1:]) from None
    except RuntimeError as error:
        kind = str(error).removeprefix("Could not infer dtype of ")
        if kind == str(error):
            raise
        raise RuntimeError(f"Input must be of ints, floats, or bools, got {kind}") from None


def _as_tensor(data: Any, dtype: Any, device: Any) -> Tensor:
    return _made(data, dtype, device)


def _same_or_converted(data: Tensor, dtype: Any, device: Any) -> Tensor:
    result = data if dtype is None else dispatch.call("aten::to", data, dtype)
    assert isinstance(result, Tensor)
    return result


def _given(data: Any, dtype: Any, *rest: Any) -> DType | None:
    """The dtype asked for, else what numbers of the kind that is in `data` give."""
    if dtype is UNKNOWN:
        return None
    if dtype is not None:
        return by_code(dtype)
    while isinstance(data, list) and data:
        data = data[0]
    if isinstance(data, ListType):
        # Without elements, ints and bools too give the default dtype.
        return defaults.float_dtype() if isinstance(data.element, FloatType) else None
    operand = None if isinstance(data, list | TensorType) else operand_of(data)
    return None if operand is None else operand[1]


def _nested(data: Any, *rest: Any) -> Sizes | None:
    """The lengths of nested literal lists, or one length of a list of numbers."""
    sizes: list[int | None] = []
    while isinstance(data, list):
        sizes.append(len(data))
        if not data:
            return tuple(sizes)
        data = data[0]
    if isinstance(data, ListType):
        return None if isinstance(data.element, ListType) else (*sizes, None)
    return None if data is UNKNOWN or isinstance(data, TensorType) else tuple(sizes)


def _of_number(kind: Type) -> dict[str, Any]:
    """The rules for one number of a kind."""
    return {"dtype": lambda t, *rest: _given(kind, *rest), "shape": lambda *arguments: ()}


declare(
    f"aten::tensor(t[] data, {_TAIL}, bool requires_grad=False) -> Tensor",
    _tensor,
    doc="A new tensor of numbers, or of nested lists of numbers; floats give the default dtype.",
    dtype=_given,
    shape=_nested,
)
declare(
    f"aten::as_tensor(Tensor(a) data, {_TAIL}) -> Tensor(b|a)",
    _same_or_converted,
    dtype=lambda data, dtype, device: None if dtype is UNKNOWN else data.dtype if dtype is None else by_code(dtype),
    shape=lambda data, *rest: data.sizes,
)
declare(f"aten::as_tensor.list(t[] data, {_TAIL}) -> Tensor", _as_tensor, dtype=_given, shape=_nested)
for _name, _type in _KINDS.items():
    _rules = _of_number(_type)
    declare(f"aten::tensor.{_name}({_name} t, {_TAIL}, bool requires_grad=False) -> Tensor", _tensor, **_rules)
    declare(f"aten::as_tensor.{_name}({_name} t, {_TAIL}) -> Tensor", _as_tensor, **_rules)
