"""Norms of each channel of each sample by itself, with what they are scaled and shifted by, as an operator of its own.

They are those of a batch of one sample that has all channels, and so are their gradients.
"""

from __future__ import annotations

from typing import Any

from flambeau.ops.batch_norm import native_batch_norm_kernel
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, input_shape
from flambeau.ops.normalization import ULP
from flambeau.schema.gradient import formulas, together
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def _repeated(vector: Tensor | None, samples: int) -> Tensor | None:
    return None if vector is None else wrap(np.tile(vector._array, samples))


def kernel(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, then scaled and shifted."""
    sizes = input._array.shape
    flat = wrap(np.ascontiguousarray(input._array).reshape(1, sizes[0] * sizes[1], *sizes[2:]))
    affine = _repeated(weight, sizes[0]), _repeated(bias, sizes[0])
    normalised = native_batch_norm_kernel(flat, *affine, None, None, True, 0.0, eps)[0]
    return wrap(normalised._array.reshape(sizes))


def _as_one(f: Any, x: Any) -> Any:
    return f.reshape(x, [1, x.shape[0] * x.shape[1], *x.shape[2:]])


def _gradients(f: Any, grad: Any, input: Any, weight: Any, eps: float) -> Any:
    samples, channels = input.shape[0], input.shape[1]
    scale = None if weight is None else f.repeat(weight, [samples])
    by_input, *each = f.own("batch_norm_gradients", _as_one(f, grad), _as_one(f, input), scale, eps)
    return f.reshape(by_input, list(input.shape)), *[f.sum(f.reshape(e, [samples, channels]), [0]) for e in each]


def _sample(*sizes: int) -> Sample:
    image = (np.arange(int(np.prod(sizes)), dtype=np.float32) * 29 % 17) / 4 - 2
    affine = [wrap(np.arange(1, sizes[1] + 1, dtype=np.float32) * scale) for scale in (0.5, -0.25)]
    return Sample(args=(wrap(image.reshape(sizes).astype(np.float32)), *affine, 1e-5))


declare(
    "flambeau::instance_norm_alone(Tensor input, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    kernel=kernel,
    doc="Each channel of each sample with mean 0 and variance 1, then scaled and shifted.",
    dtype=input_dtype,
    shape=input_shape,
    samples=lambda: [_sample(2, 3, 5), _sample(2, 2, 4, 5)],
    ulp=ULP,
    is_method=False,
    is_function=False,
    on_tensors=True,
)
formulas("flambeau::instance_norm_alone", **together(_gradients, "input", "weight", "bias"))
