"""Activations with a weight, a gate or chance: `prelu`, `glu`, `rrelu`, and dropout in its forms."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise import FLOATS, literal, pointwise
from flambeau.ops.families.promotion import compute_dtype
from flambeau.schema.dtype import DType, bool_, float64
from flambeau.schema.opdef import Effect, ErrorSample, Sample
from flambeau.schema.traits import Role, Traits
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.random import Generator, drawing
from flambeau.tensor.tensor import Tensor, view_of, wrap

_F32 = np.float32


def _check_prelu(common: DType, x: Any, weight: Any) -> None:
    if x.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {x.dtype.display} and {weight.dtype.display}")


pointwise(
    "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    operands=("self", "weight"),
    scalar=lambda s, x, weight: s.select(s.gt(x, literal(s, x, 0)), x, s.mul(weight, x)),
    check=_check_prelu,
    accepts=FLOATS,
    refusal="\"prelu_cpu\" not implemented for '{}'",
    in_place=False,
    out=None,
    is_function=False,
    is_method=False,
    doc="x above zero, weight * x below; both broadcast.",
)


def _prelu(self: Tensor, weight: Tensor) -> Any:
    _check_prelu(self.dtype, self, weight)
    rank, count = self._array.ndim, weight._array.size
    if weight._array.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}"
        )
    if count != 1:
        if rank == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self._array.shape[1] if rank > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
    shape = [1] * rank
    if rank > 1:
        shape[1] = count
    strides = layout.view_strides(weight._array.shape, weight.stride(), shape)
    assert strides is not None
    return call("aten::_prelu_kernel", self, view_of(weight, shape, strides))


declare(
    "aten::prelu(Tensor self, Tensor weight) -> Tensor",
    kernel=_prelu,
    family="composite",
    on_tensors=True,
    namespaces=("nn.functional",),
    dtype=lambda self, weight: self.dtype,
    shape=lambda self, weight: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([[-1, 2], [3, -4]], _F32)), wrap(np.array([0.25, 0.5], _F32))))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.ones((2, 3), _F32)), wrap(np.ones(2, _F32))), error=RuntimeError,
            message="Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel",
        ),
        ErrorSample(
            args=(wrap(np.ones(2)), wrap(np.ones(1, _F32))), error=RuntimeError, message="prelu: Type promoting"
        ),
    ],
    doc="x above zero, weight * x below: one weight, or one per channel (dimension 1).",
)  # fmt: skip


def _glu(self: Tensor, dim: int) -> Any:
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = layout.wrap_dim(dim, array.ndim)
    size = array.shape[axis]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"glu_cpu\" not implemented for '{self.dtype.display}'")
    sizes = [n // 2 if i == axis else n for i, n in enumerate(array.shape)]
    strides = self.stride()
    offset = self.storage_offset()
    first = view_of(self, sizes, strides, offset)
    second = view_of(self, sizes, strides, offset + size // 2 * strides[axis])
    return call("aten::mul", first, call("aten::sigmoid", second))


def _half(self: Any, dim: Any) -> Any:
    if self.sizes is None or not isinstance(dim, int):
        return None
    axis = layout.wrap_dim(dim, len(self.sizes))
    return tuple(n // 2 if i == axis and n is not None and n >= 0 else None if i == axis else n
                 for i, n in enumerate(self.sizes))  # fmt: skip


declare(
    "aten::glu(Tensor self, int dim=-1) -> Tensor",
    outs=("out",),
    kernel=_glu,
    family="composite",
    on_tensors=True,
    namespaces=("nn.functional",),
    is_method=False,
    dtype=lambda self, dim: self.dtype,
    shape=_half,
    samples=lambda: [Sample(args=(wrap(np.array([[-1, 2], [3, -4]], _F32)),)), Sample(args=(wrap(np.ones((2, 3))), 0))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.ones(3)),), error=RuntimeError,
            message="Halving dimension must be even, but dimension -1 is size 3",
        ),
        ErrorSample(
            args=(wrap(np.ones(())),), error=RuntimeError, message="glu does not support 0-dimensional tensors"
        ),
    ],
    doc="The first half along `dim` times the sigmoid of the second half.",
)  # fmt: skip


def _uniform(shape: tuple[int, ...], generator: Generator | None) -> Any:
    with drawing(generator) as rng:
        return rng.random(shape)


@np.errstate(all="ignore")
def _rrelu(self: Tensor, lower: float, upper: float, training: bool, generator: Generator | None) -> Any:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return call("aten::leaky_relu", self, (lower + upper) / 2)
    result = self._array.astype(np.float64, order="C")
    is_sloped = ~(result > 0)
    result[is_sloped] *= lower + (upper - lower) * _uniform((int(is_sloped.sum()),), generator)
    return wrap(cast(result, self.dtype))


declare(
    "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
    "Generator? generator=None) -> Tensor",
    kernel=_rrelu,
    family="random",
    on_tensors=True,
    in_place=True,
    effect=Effect.RANDOM,
    namespaces=("nn.functional",),
    is_method=False,
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([-1, 2], _F32)), 0.125, 0.5, train)) for train in (False, True)],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.ones(2, _F32)), 0.5, 0.25),
            error=RuntimeError,
            message="Lower bound should be less than or equal to the upper bound",
        )
    ],
    doc="x above zero; below, x times a slope drawn from [lower, upper] while training, else times their mean.",
)


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _kept(array: Any, shape: tuple[int, ...], p: float, *, per_channel: bool = False) -> Any:
    """Truths that hold with probability 1 - p: of elements one each in the order in which they lie in memory."""
    if per_channel or array.flags.c_contiguous:
        return _uniform(shape, None) < 1 - p
    steps = layout.preserved_strides(shape, [step // array.itemsize for step in array.strides])
    order = sorted(range(len(shape)), key=lambda axis: -steps[axis])
    drawn = _uniform(tuple([shape[axis] for axis in order]), None) < 1 - p
    return drawn.transpose([order.index(axis) for axis in range(len(shape))])


@np.errstate(all="ignore")
def _dropped(input: Tensor, p: float, shape: tuple[int, ...], *, alpha: bool, per_channel: bool) -> Tensor:
    dtype = input.dtype
    wide = cast(input._array, compute_dtype(dtype)) if dtype.is_floating_point or dtype.is_complex else input._array
    if p == 1:  # nothing is kept, whatever would be drawn
        return wrap(cast(wide * 0, dtype))
    kept = _kept(input._array, shape, p, per_channel=per_channel)
    if not alpha:
        width = np.float64 if dtype is float64 else np.float32
        noise = kept / (1 - p)
        return wrap(cast(wide * noise.astype(width, copy=False), dtype))
    negative = -1.7580993408473766
    scale = 1 / np.sqrt((negative * negative * p + 1) * (1 - p))
    values = np.where(kept, wide, negative) * scale - scale * p * negative
    return wrap(cast(values, dtype))


def _dropout(name: str, doc: str, *, per_channel: bool, alpha: bool) -> None:
    def kernel(input: Tensor, p: float, train: bool) -> Any:
        _check_probability(p)
        array = input._array
        if not train or p == 0 or not array.size:
            return input
        if per_channel and array.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*array.shape[:2], *(1,) * (array.ndim - 2)) if per_channel else array.shape
        return _dropped(input, p, shape, alpha=alpha, per_channel=per_channel)

    declare(
        f"aten::{name}(Tensor input, float p, bool train) -> Tensor",
        kernel=kernel,
        family="random",
        on_tensors=True,
        in_place=True,
        effect=Effect.RANDOM,
        traits=Traits(role=Role.DROPOUT),
        is_method=False,
        dtype=lambda input: input.dtype,
        shape=lambda input: input.sizes,
        samples=lambda: [Sample(args=(wrap(np.ones((2, 3), _F32)), 0.5, train)) for train in (False, True)],
        errors=lambda: [
            ErrorSample(
                args=(wrap(np.ones(2, _F32)), 1.5, True), error=RuntimeError,
                message="dropout probability has to be between 0 and 1, but got 1.5",
            )
        ],
        doc=doc,
    )  # fmt: skip


_dropout("dropout", "While training, elements zeroed with probability p, the others divided by 1 - p; else the input.",
         per_channel=False, alpha=False)  # fmt: skip
_dropout(
    "feature_dropout", "As `dropout`, for whole channels (the first two dimensions).", per_channel=True, alpha=False
)
_dropout("alpha_dropout", "Dropout that keeps mean and variance of `selu` networks.", per_channel=False, alpha=True)
_dropout("feature_alpha_dropout", "As `alpha_dropout`, for whole channels.", per_channel=True, alpha=True)


@np.errstate(all="ignore")
def _native_dropout(input: Tensor, p: float, train: bool | None) -> Any:
    _check_probability(p)
    shape = input._array.shape
    if train is False or p == 0:
        return wrap(input._array.copy()), wrap(np.ones(shape, np.bool_))
    kept = _kept(input._array, shape, p)
    factor = kept / (1 - p) if p < 1 else np.zeros(shape)
    wide = cast(input._array, compute_dtype(input.dtype))
    return wrap(cast(wide * factor.astype(wide.dtype, copy=False), input.dtype)), wrap(kept)


declare(
    "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    kernel=_native_dropout,
    family="random",
    on_tensors=True,
    effect=Effect.RANDOM,
    is_method=False,
    dtype=lambda input: (input.dtype, bool_),
    shape=lambda input: (input.sizes, input.sizes),
    samples=lambda: [Sample(args=(wrap(np.ones((2, 3), _F32)), 0.5, train)) for train in (False, True)],
    doc="`dropout` and the mask of what was kept.",
)
