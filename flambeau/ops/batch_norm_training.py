"""Norms over batches in training without effects, as plans have them: results are what running statistics move to."""

from __future__ import annotations

from flambeau.ops.batch_norm import native_batch_norm_kernel
from flambeau.ops.families.opaque import declare
from flambeau.ops.normalization import ULP
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Role, Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def training_kernel(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and each channel's mean and unbiased variance in the dtypes of the running ones, of which only the
    sizes count.
    """
    mean, variance = (wrap(np.zeros(t._array.shape, t._array.dtype)) for t in (running_mean, running_var))
    result, _, _ = native_batch_norm_kernel(input, weight, bias, mean, variance, True, 1.0, eps)
    return result, mean, variance


def _image(*sizes: int) -> Tensor:
    count = int(np.prod(sizes))
    return wrap(((np.arange(count, dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


def _vector(*values: float) -> Tensor:
    return wrap(np.array(values, np.float32))


declare(
    "flambeau::batch_norm_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float eps) -> (Tensor, Tensor, Tensor)",
    kernel=training_kernel,
    traits=Traits(role=Role.NORMALISATION, has_routine=True),
    doc="A norm over a batch that trains, with each channel's mean and unbiased variance; it changes nothing.",
    differentiable=(True, False, False),
    dtype=lambda input, running_mean, running_var: (input.dtype, running_mean.dtype, running_var.dtype),
    shape=lambda input, running_mean, running_var: (input.sizes, running_mean.sizes, running_var.sizes),
    samples=lambda: [
        Sample(args=(_image(3, 2, 5), None, None, _vector(0, 1), _vector(1, 1), 1e-5)),
        Sample(args=(_image(2, 2, 4, 5), _vector(2, -1), _vector(0, 1), _vector(0, 1), _vector(1, 1), 1e-5)),
    ],
    errors=lambda: [
        ErrorSample(
            args=(_image(2, 3), None, None, _vector(1, 2), _vector(1, 2), 1e-5),
            error=RuntimeError,
            message="running_mean should contain 3 elements not 2",
        )
    ],
    ulp=ULP,
    is_method=False,
    on_tensors=True,
    is_function=False,
)
