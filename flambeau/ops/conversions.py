"""Tensors with another dtype or on another device: themselves where nothing changes, else copies."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.copies import PRESERVE, copied
from flambeau.ops.families.constructors import like_dtype
from flambeau.ops.families.copied_elements import converted
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, bool_, by_code
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Role, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.create import check_device
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor, wrap


def to_kernel(
    self: Tensor,
    dtype: int | None = None,
    device: Device | None = None,
    copy: bool = False,
    memory_format: int | None = None,
) -> Tensor:
    """The tensor itself when nothing changes, else a converted copy."""
    if device is not None:
        check_device(device)
    own = self.dtype
    target = own if dtype is None else by_code(dtype)
    stays = target is own and not copy
    if stays and (memory_format is None or memory_format == PRESERVE or self.is_contiguous(memory_format)):
        return self
    return copied(self, target, memory_format)


def _copied_dtype(self: TensorType, dtype: int, copy: bool, memory_format: int | None) -> DType | None:
    """The dtype of a copy that native code makes; None for what gives the tensor itself, or lies in another order."""
    target = by_code(dtype)
    if memory_format is not None or not (copy or target is not self.dtype):
        return None
    is_flag = target is bool_ and self.dtype is not None and not self.dtype.is_complex
    return target if is_flag else converted(self, target)


def _to_cuda(self: Tensor) -> Tensor:
    return call("aten::to", self, Device("cuda"))  # type: ignore[no-any-return]


def _stays(self: Tensor, to: Any) -> bool:
    if type(to) is DType:
        return self.dtype is to
    if type(to) is str:
        return to == "cpu"
    return to.type == "cpu" if type(to) is Device else isinstance(to, Tensor) and self.dtype is to.dtype


CONVERSION: Final = Traits(role=Role.CONVERSION, may_copy=True, stays=_stays)
_TO_REST = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None"
_TO: Final[dict[str, Any]] = {
    "kernel": to_kernel, "traits": CONVERSION, "on_tensors": True, "family": "view", "dtype": like_dtype,
    "shape": same_shape, "is_function": False,
}  # fmt: skip
declare(
    f"aten::to.dtype(Tensor(a) self, ScalarType dtype, {_TO_REST}) -> Tensor(a)",
    **_TO,
    copies=(0, _copied_dtype),
    doc="The tensor with another dtype or device: itself when nothing changes and `copy` is not asked for, else a "
    "copy.",
    samples=lambda: (Sample(args=(sample(2, 3), by_code(7))), Sample(args=(sample(3), by_code(6)))),
)
declare(
    "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    f"bool? pin_memory=None, {_TO_REST}) -> Tensor(a)",
    f"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, {_TO_REST}) -> Tensor(a)",
    "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool "
    "copy=False) -> Tensor(b|a)",
    "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    **_TO,
)
declare(
    f"aten::to.other(Tensor(a) self, Tensor other, {_TO_REST}) -> Tensor(a)",
    kernel=lambda self, other, copy, memory_format: to_kernel(self, other.dtype.code, None, copy, memory_format),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=lambda self, other: other.dtype,
    shape=same_shape,
)
declare(
    "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    kernel=lambda self, copy: to_kernel(self, copy=copy),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
)
declare(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    kernel=lambda self, dtype, device, memory_format: to_kernel(self, dtype, device, True, memory_format),
    traits=CONVERSION,
    on_tensors=True,
    dtype=like_dtype,
    shape=same_shape,
)
declare(
    "prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
    kernel=lambda a, dtype: to_kernel(a, dtype, copy=True),
    on_tensors=True,
    family="pointwise",
    dtype=lambda a, dtype: like_dtype(a, dtype),
    shape=lambda a: a.sizes,
    scalar=lambda s, a, dtype: a,
    compute=lambda a: a.dtype,
    is_method=False,
    is_function=False,
    doc="A copy with another dtype, never the tensor itself: what plans make of `to` where both dtypes are known.",
    samples=lambda: (Sample(args=(sample(2, 3), by_code(7))), Sample(args=(sample(3), by_code(3)))),
)
declare(
    "aten::cpu(Tensor(a) self) -> Tensor(b|a)",
    kernel=lambda self: self,
    on_tensors=True,
    family="view",
    traits=Traits(may_be_operand=True),
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
)
declare(
    "aten::cuda(Tensor(a) self) -> Tensor(b|a)",
    kernel=_to_cuda,
    traits=Traits(may_copy=True),
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
    errors=lambda: (
        ErrorSample(args=(sample(2),), error=RuntimeError, message="no tensor can be put on device 'cuda' here"),
    ),
    doc="The tensor on a CUDA device. Raises RuntimeError: there is none; ask `flambeau.cuda.is_available()` first.",
)
declare(
    "aten::type_as(Tensor self, Tensor other) -> Tensor",
    kernel=lambda self, other: to_kernel(self, other.dtype.code),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=lambda self, other: other.dtype,
    shape=same_shape,
    is_function=False,
    doc="The tensor with the dtype of another.",
    samples=lambda: (Sample(args=(sample(3), wrap(np.ones(1, np.int64)))),),
)
