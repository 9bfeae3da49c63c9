"""The casts of `autocast` in graphs: to its dtype, and to float32, where it is on for a tensor's device."""

from __future__ import annotations

from typing import Any

from flambeau.ops.conversions import CONVERSION, to_kernel
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_shape
from flambeau.ops.families.samples import sample
from flambeau.schema.dtype import DType, by_code, float32, float64
from flambeau.schema.opdef import UNKNOWN, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.autocast_calls import is_cast
from flambeau.tensor.tensor import Tensor


def _reduced(self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: int, cpu_dtype: int) -> Tensor:
    for device, is_on, dtype in (("cuda", cuda_enabled, cuda_dtype), ("cpu", cpu_enabled, cpu_dtype)):
        if is_on and is_cast(self, device):
            return to_kernel(self, dtype)
    return self


def _full(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    is_on = (cuda_enabled and is_cast(self, "cuda")) or (cpu_enabled and is_cast(self, "cpu"))
    return to_kernel(self, float32.code) if is_on else self


def _cast_dtype(self: TensorType, cuda_enabled: Any, cpu_enabled: Any, cuda: Any, cpu: Any) -> DType | None:
    """What a cast gives: nothing is known without the flag of the tensor's device."""
    known = self.dtype
    if known is not None and (not known.is_floating_point or known is float64):
        return known
    if cuda_enabled is False and cpu_enabled is False:
        return known
    if known is None or self.device is None:
        return None
    flags = {"cuda": (cuda_enabled, cuda), "cpu": (cpu_enabled, cpu)}
    is_on, dtype = flags.get(self.device.type, (False, known))
    if is_on is UNKNOWN or dtype is UNKNOWN:
        return None
    return dtype if is_on else known


def _reduced_dtype(
    self: TensorType, cuda_enabled: Any, cpu_enabled: Any, cuda_dtype: Any, cpu_dtype: Any
) -> DType | None:
    chosen_dtypes = (d if d is UNKNOWN else by_code(d) for d in (cuda_dtype, cpu_dtype))
    return _cast_dtype(self, cuda_enabled, cpu_enabled, *chosen_dtypes)


def _full_dtype(self: TensorType, cuda_enabled: Any, cpu_enabled: Any) -> DType | None:
    return _cast_dtype(self, cuda_enabled, cpu_enabled, float32, float32)


declare(
    "aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, "
    "ScalarType cpu_dtype) -> Tensor(a)",
    kernel=_reduced,
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=_reduced_dtype,
    shape=same_shape,
    is_function=False,
    doc="A floating tensor in the dtype that autocast computes in on its device, where it is on; others as they are.",
    samples=lambda: (Sample(args=(sample(2, 3), False, True, 5, 15)), Sample(args=(sample(3), True, False, 5, 15))),
)
declare(
    "aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)",
    kernel=_full,
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=_full_dtype,
    shape=same_shape,
    is_function=False,
    doc="A tensor of fewer than 32 floating bits in float32, where autocast is on for its device; others as they are.",
    samples=lambda: (Sample(args=(sample(2, 3).to(by_code(15)), False, True)), Sample(args=(sample(3), True, True))),
)
