"""The formulas of numbers rounded as if quantised: a gradient passes where nothing was cut off, as if nothing was
rounded. It is an estimate on purpose, by which what is rounded can be trained at all."""

from __future__ import annotations

from typing import Any

from flambeau.schema.gradient import formulas, not_differentiable


def _within(f: Any, levels: Any, least: int, most: int, grad: Any) -> Any:
    return f.where(f.logical_and(f.ge(levels, least), f.le(levels, most)), grad, f.zeros_like(grad))


def _per_tensor(f: Any, grad: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    levels = f.add(f.round(f.mul(f.detach(self), 1 / scale)), zero_point)
    return _within(f, levels, quant_min, quant_max, grad)


def _per_channel(
    f: Any, grad: Any, self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    sizes = [1] * self.dim()
    sizes[axis] = -1
    steps = f.reshape(f.detach(scale), sizes)
    levels = f.add(f.round(f.div(f.detach(self), steps)), f.reshape(zero_point, sizes))
    return _within(f, levels, quant_min, quant_max, grad)


formulas("aten::fake_quantize_per_tensor_affine", self=_per_tensor)
formulas("aten::fake_quantize_per_channel_affine", self=_per_channel)
not_differentiable(
    "aten::fake_quantize_per_tensor_affine.scale",
    "aten::fake_quantize_per_channel_affine.scale",
    because="scales come from what ranges numbers have, and are not learned by these operators",
)
