"""Normalisation per channel over a batch. Training updates the running statistics in place, as their owner expects."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array, dtype_of, is_inexact, not_implemented, reduce_with, rounded, widened
from flambeau.ops.families.opaque import declare, unwrapped
from flambeau.ops.families.rules import input_dtype, input_shape
from flambeau.ops.normalization import ULP, standardised, with_affine
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import ConditionalWrite, Role, Traits
from flambeau.tensor.array_library import is_host_array, is_on_device, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.float_errors import begin, end
from flambeau.util.inversions import CHANNEL_NORM

Optional = Tensor | None


def check(input: Array, running_mean: Array | None, running_var: Array | None, **others: Array | None) -> None:
    """Raise RuntimeError unless every vector has one element per channel, NotImplementedError for integers."""
    if input.ndim < 2 and input.size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, {max(input.ndim, 1) - 1}], "
            f"but got 1)"
        )
    channels = input.shape[1] if input.ndim > 1 else 0
    for name, one in (("running_mean", running_mean), ("running_var", running_var), *others.items()):
        if one is not None and one.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {one.size}")
    if not is_inexact(input):
        raise not_implemented("batch_norm", dtype_of(input))


def per_channel(vector: Array | None, ndim: int) -> Array | None:
    """A vector shaped to broadcast along dimension 1."""
    return None if vector is None else widened(vector).reshape((1, vector.size) + (1,) * (ndim - 2))


def update(running: Optional, batch: Array, momentum: float) -> None:
    """Move a running statistic towards the batch's."""
    if running is not None:
        array = running._array
        if array.dtype == batch.dtype and array.dtype.char in "fd" and not is_on_device():
            array *= 1 - momentum
            array += batch.reshape(-1) * momentum
            running.bump_version()
            return
        array[...] = (widened(array) * (1 - momentum) + batch.reshape(-1) * momentum).astype(array.dtype, copy=False)
        running.bump_version()


@np.errstate(all="ignore")
def native_batch_norm_kernel(
    input: Tensor, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The result, and in training the batch's means and reciprocal standard deviations (else empty tensors)."""
    array = input._array
    scale, shift, mean, var = (unwrapped(v) for v in (weight, bias, running_mean, running_var))
    check(array, mean, var, weight=scale, bias=shift)
    wide = widened(array)
    affine = per_channel(scale, array.ndim), per_channel(shift, array.ndim)
    kept = dtype_of(array if scale is None else scale).numpy
    if array.ndim < 2:
        return wrap(np.empty(array.shape, array.dtype)), wrap(np.empty(0, kept)), wrap(np.empty(0, kept))
    if not training:
        if mean is None or var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training is false")
        empty = np.empty(0, kept)
        return wrap(_evaluated(array, mean, var, scale, shift, eps)), wrap(empty), wrap(empty.copy())
    count = array.size // max(array.shape[1], 1)
    native = None
    if is_host_array(array):
        native = CHANNEL_NORM.implementation(wide, as_vector(scale, wide), as_vector(shift, wide), eps)
    if native is not None:
        native = rounded(native[0], array.dtype), *native[1:]
        return _from_native(native, count, (running_mean, running_var), momentum, kept)
    axes = (0, *range(2, array.ndim))
    result, centre, root = standardised(wide, axes, eps)
    if running_mean is not None or running_var is not None:
        with np.errstate(all="ignore"):
            variance = reduce_with(np.add, (wide - centre) ** 2, axis=axes) / wide.dtype.type(count - 1)
        update(running_mean, centre, momentum)
        update(running_var, variance, momentum)
    normalised = rounded(with_affine(result, *affine), array.dtype)
    return wrap(normalised), wrap(centre.reshape(-1).astype(kept)), wrap(root.reshape(-1).astype(kept))


def _evaluated(
    array: Array, mean: Array, var: Array, scale: Array | None, shift: Array | None, eps: float
) -> Array:
    """The result by running statistics. Raises as `check` does."""
    if _are_alike(array, mean, var, scale, shift):
        return _evaluated_alike(array, mean, var, scale, shift, eps)
    check(array, mean, var, weight=scale, bias=shift)
    wide = widened(array)
    centre, spread = per_channel(mean, array.ndim), per_channel(var, array.ndim)
    one = wide.dtype.type(1)
    result = (wide - centre) * (one / np.sqrt(np.asarray(spread) + wide.dtype.type(eps)))
    affine = per_channel(scale, array.ndim), per_channel(shift, array.ndim)
    return rounded(with_affine(result, *affine), array.dtype)


def _are_alike(array: Array, *vectors: Array | None) -> bool:
    """Whether all is of one dtype that is computed in, and vectors have an element for each channel: most calls."""
    dtype, channels = array.dtype, array.shape[1:2]
    if dtype.char not in "fd" or not channels:
        return False
    for vector in vectors:  # a generator would take as long as the rest
        if vector is not None and (vector.dtype is not dtype or vector.shape != channels):
            return False
    return True


def _evaluated_alike(
    array: Array, mean: Array, var: Array, scale: Array | None, shift: Array | None, eps: float
) -> Array:
    """The same of what is alike, in one array."""
    factor = array.dtype.type(1) / np.sqrt(var + array.dtype.type(eps))  # in the order of native code
    if array.ndim > 2:  # else vectors lie along the last dimension as they are
        along = (1, len(var)) + (1,) * (array.ndim - 2)
        mean, factor = mean.reshape(along), factor.reshape(along)
        scale = None if scale is None else scale.reshape(along)
        shift = None if shift is None else shift.reshape(along)
    result: Array = array - mean
    result *= factor
    if scale is not None:
        result *= scale
    if shift is not None:
        result += shift
    return result


def as_vector(vector: Array | None, input: Array) -> Array | None:
    """A weight or bias as native code takes it."""
    return None if vector is None else np.ascontiguousarray(vector, input.dtype)


def _from_native(
    outputs: tuple[Array, Array, Array, Array], count: int, running: tuple[Optional, Optional], momentum: float,
    kept: np.dtype[Any],
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The three results, once running statistics have moved."""
    result, mean, variance, root = outputs
    update(running[0], mean, momentum)
    with np.errstate(all="ignore"):
        update(running[1], variance * variance.dtype.type(count) / variance.dtype.type(count - 1), momentum)
    return wrap(result), wrap(mean.astype(kept, copy=False)), wrap(root.astype(kept, copy=False))


def batch_norm_kernel(
    input: Tensor, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional, training: bool,
    momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Only the result."""
    array = input._array
    if not training and array.ndim > 1 and running_mean is not None and running_var is not None:
        scale, shift = unwrapped(weight), unwrapped(bias)
        before = begin()
        try:
            return wrap(_evaluated(array, running_mean._array, running_var._array, scale, shift, eps))
        finally:
            end(before)
    return native_batch_norm_kernel(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@np.errstate(all="ignore")
def instance_norm_kernel(
    input: Tensor, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional,
    use_input_stats: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Every sample and channel alone; running statistics move towards the average over the batch."""
    array = input._array
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm_kernel(input, weight, bias, running_mean, running_var, False, momentum, eps)
    scale, shift = unwrapped(weight), unwrapped(bias)
    check(array, unwrapped(running_mean), unwrapped(running_var), weight=scale, bias=shift)
    wide = widened(array)
    axes = tuple(range(2, array.ndim))
    result, mean, _ = standardised(wide, axes, eps)
    count = int(np.prod(array.shape[2:]))
    if running_mean is not None or running_var is not None:
        variance = reduce_with(np.add, (wide - mean) ** 2, axis=axes) / wide.dtype.type(max(count - 1, 1))
        update(running_mean, mean.reshape(array.shape[:2]).mean(axis=0), momentum)
        update(running_var, variance.mean(axis=0), momentum)
    normalised = with_affine(result, per_channel(scale, array.ndim), per_channel(shift, array.ndim))
    return wrap(rounded(np.ascontiguousarray(normalised), array.dtype))


_STATISTICS: Final = ("running_mean", "running_var")
"""What moves towards the statistics of the batch."""


def _image(*sizes: int) -> Tensor:
    count = int(np.prod(sizes))
    return wrap(((np.arange(count, dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


def _vector(*values: float) -> Tensor:
    return wrap(np.array(values, np.float32))


def reference(
    input: Array, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, cudnn: bool
) -> Array:
    """By the definition, in float64."""
    wide = input.astype(np.float64)
    axes = (0, *range(2, input.ndim))
    shape = (1, -1) + (1,) * (input.ndim - 2)
    centre = wide.mean(axes, keepdims=True) if training else mean.reshape(shape)
    spread = wide.var(axes, keepdims=True) if training else var.reshape(shape)
    result = (wide - centre) / np.sqrt(spread + eps)
    result = result if weight is None else result * weight.reshape(shape)
    return np.asarray(result if bias is None else result + bias.reshape(shape))


declare(
    "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    kernel=batch_norm_kernel,
    traits=Traits(role=Role.NORMALISATION, writes_when=ConditionalWrite(flag="training", arguments=_STATISTICS)),
    doc="Every channel (dimension 1) shifted and scaled by the batch's or the running statistics.",
    dtype=input_dtype,
    shape=input_shape,
    accumulator="batch_norm",
    samples=lambda: [
        Sample(args=(_image(3, 2, 4), None, None, None, None, True, 0.1, 1e-5, True)),
        Sample(
            args=(
                _image(3, 2, 2, 2), _vector(1, 2), _vector(0, 1), _vector(0.5, 1), _vector(1, 2),
                False, 0.1, 1e-5, True,
            )
        ),
    ],
    errors=lambda: [
        ErrorSample(
            args=(_image(2, 3), None, None, _vector(1, 2), _vector(1, 2), False, 0.1, 1e-5, False),
            error=RuntimeError,
            message="running_mean should contain 3 elements not 2",
        )
    ],
    reference=reference,
    ulp=ULP,
    is_method=False,
    on_tensors=True,
)  # fmt: skip

declare(
    "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    outs=("out(out, save_mean, save_invstd)",),
    kernel=native_batch_norm_kernel,
    traits=Traits(writes_when=ConditionalWrite(flag="training", arguments=_STATISTICS)),
    differentiable=(True, False, False),
    dtype=lambda input: (input.dtype, None, None),
    shape=lambda input: (input.sizes, None, None),
    samples=lambda: [Sample(args=(_image(3, 2, 4), None, None, None, None, True, 0.1, 1e-5))],
    ulp=ULP,
    is_method=False,
    on_tensors=True,
)

declare(
    "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    kernel=native_batch_norm_kernel,
    differentiable=(True, False, False),
    ulp=ULP,
    is_method=False,
    on_tensors=True,
)

def _without_statistics(
    input: Tensor, weight: Optional, bias: Optional, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    return native_batch_norm_kernel(input, weight, bias, None, None, training, momentum, eps)


declare(
    "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    kernel=_without_statistics,
    differentiable=(True, False, False),
    dtype=lambda input: (input.dtype, None, None),
    shape=lambda input: (input.sizes, None, None),
    samples=lambda: [Sample(args=(_image(3, 2, 4), None, None, True, 0.1, 1e-5))],
    ulp=ULP,
    is_method=False,
    on_tensors=True,
)

declare(
    "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    kernel=instance_norm_kernel,
    traits=Traits(
        role=Role.NORMALISATION,
        writes_when=ConditionalWrite(flag="use_input_stats", arguments=_STATISTICS),
        has_routine=True,
    ),
    doc="Every channel of every sample shifted and scaled to mean 0 and variance 1.",
    dtype=input_dtype,
    shape=input_shape,
    samples=lambda: [Sample(args=(_image(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, True))],
    ulp=ULP,
    is_method=False,
    on_tensors=True,
)
