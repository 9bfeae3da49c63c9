"""`tensor(...)` and `as_tensor(...)` in programs: tensors made of numbers and nested lists of them."""

from __future__ import annotations

from typing import Any

from flambeau.ops.language.declare import declare
from flambeau.tensor import dispatch
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor

_TAIL = "*, ScalarType? dtype=None, Device? device=None"
_KINDS = ("bool", "int", "float", "complex")


def _tensor(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


def _as_tensor(data: Any, dtype: Any, device: Any) -> Tensor:
    return tensor(data, dtype=dtype, device=device)


def _same_or_converted(data: Tensor, dtype: Any, device: Any) -> Tensor:
    result = data if dtype is None else dispatch.call("aten::to", data, dtype)
    assert isinstance(result, Tensor)
    return result


declare(
    f"aten::tensor(t[] data, {_TAIL}, bool requires_grad=False) -> Tensor",
    _tensor,
    doc="A new tensor of numbers, or of nested lists of numbers; floats give the default dtype.",
)
declare(f"aten::as_tensor(Tensor(a) data, {_TAIL}) -> Tensor(b|a)", _same_or_converted)
declare(f"aten::as_tensor.list(t[] data, {_TAIL}) -> Tensor", _as_tensor)
for _kind in _KINDS:
    declare(f"aten::tensor.{_kind}({_kind} t, {_TAIL}, bool requires_grad=False) -> Tensor", _tensor)
    declare(f"aten::as_tensor.{_kind}({_kind} t, {_TAIL}) -> Tensor", _as_tensor)
