"""Initial values of parameters. Each function fills its tensor in place and returns it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

from flambeau.ops.random import normal as drawn_normal
from flambeau.ops.random import normal_one_by_one
from flambeau.ops.random import uniform as drawn_uniform
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch, layout
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.overridden_functions import overridable
from flambeau.tensor.random import Generator, drawing
from flambeau.tensor.random_draws import Array, Draws
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas
from flambeau.util.user_code import warn_user

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
    "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
    "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

GAINS: Final = {
    **dict.fromkeys(
        ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"),
        1.0,
    ),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}
EMPTY: Final = "Initializing zero-element tensors is a no-op"
FAR_MEAN: Final = (
    "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect: move "
    "[a, b], or the mean"
)


def _fill(name: str, tensor: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
    """Runs an in-place operator on the tensor's memory, of which no gradient is recorded."""
    dispatch.call(f"aten::{name}", tensor.detach(), *arguments, **keywords)
    return tensor


def _is_empty(tensor: Tensor) -> bool:
    """Whether there is nothing to fill, of which it warns."""
    if tensor.numel() == 0:
        warn_user(EMPTY, UserWarning)
        return True
    return False


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity; `param` is the slope of leaky_relu.

    Raises ValueError for a name that is not known.

    >>> calculate_gain("relu") ** 2
    2.0000000000000004
    """
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, int | float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}; write one of leaky_relu, {', '.join(GAINS)}")
    return GAINS[nonlinearity]


@overridable
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with draws from the uniform distribution on [a, b).

    >>> import flambeau
    >>> bool(((draws := uniform_(flambeau.empty(3, 4), -1.0, 1.0)).abs() <= 1).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with draws from the normal distribution.

    >>> import flambeau
    >>> normal_(flambeau.empty(100, 100), 5.0, 0.1).mean().round().item()
    5.0
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with draws from the normal distribution that lie in [a, b]. Warns where few of its draws do.

    Raises ValueError unless a < b and std > 0.

    >>> import flambeau
    >>> bool((trunc_normal_(flambeau.empty(100), a=-1.0, b=1.0).abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(FAR_MEAN, UserWarning)

    if not (std > 0 and a < b):
        raise ValueError(f"trunc_normal_ draws between a and b, but got a={a:g}, b={b:g}, std={std:g}")
    low, high = (a - mean) / std, (b - mean) / std
    order = layout.elementwise_order(tensor.shape, [tensor.stride()])
    sizes = tuple([tensor.shape[axis] for axis in order])
    draw = drawn_normal if tensor.is_contiguous() else normal_one_by_one
    with drawing(generator) as rng:
        numbers = _drawn_between(rng, draw, sizes, tensor.dtype, low, high)
    numbers = numbers.transpose([order.index(axis) for axis in range(len(order))])
    return _fill("copy_", tensor, wrap(numbers * std + mean))


def _drawn_between(
    rng: Draws, draw: Callable[..., Array], shape: tuple[int, ...], dtype: DType, low: float, high: float
) -> Array:
    """Normal numbers between two bounds: all are drawn anew until each has been one that lies there.

    Where few normal numbers do, uniform ones are taken, each with the probability that its density says.
    """
    is_likely = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2 > LIKELY
    nearest = min(max(0.0, low), high)
    numbers, is_missing = np.zeros(shape), np.ones(shape, bool)
    while is_missing.any():
        if is_likely:
            drawn = draw(rng, shape, dtype).astype(np.float64)
            is_taken = (drawn >= low) & (drawn <= high)
        else:
            drawn = low + (high - low) * drawn_uniform(rng, shape, dtype).astype(np.float64)
            is_taken = drawn_uniform(rng, shape, dtype) < np.exp((nearest * nearest - drawn * drawn) / 2)
        is_taken &= is_missing
        numbers[is_taken] = drawn[is_taken]
        is_missing &= ~is_taken
    return numbers


LIKELY: Final = 0.3
"""The share of normal numbers between two bounds from which on they are drawn until they lie there."""


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> import flambeau
    >>> constant_(flambeau.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    >>> import flambeau
    >>> zeros_(flambeau.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    >>> import flambeau
    >>> ones_(flambeau.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """A matrix with ones on its diagonal. Raises ValueError for another number of dimensions.

    >>> import flambeau
    >>> eye_(flambeau.empty(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    return _fill("copy_", tensor, wrap(np.eye(*tensor.shape)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weight of a convolution that passes channels through, as many as there are, within each group.

    Raises ValueError for a tensor that is no such weight.

    >>> import flambeau
    >>> weight = dirac_(flambeau.empty(2, 2, 3))
    >>> flambeau.nn.functional.conv1d(flambeau.ones(2, 4), weight, padding=1).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.dim()}")
    rows, columns, *kernel = tensor.shape
    if rows % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {rows} and {groups}")
    values = np.zeros(tuple(tensor.shape))
    each = rows // groups
    for group in range(groups):
        for i in range(min(each, columns)):
            values[(group * each + i, i, *(n // 2 for n in kernel))] = 1.0
    return _fill("copy_", tensor, wrap(values))


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs one unit of a weight has: (columns, rows), times the receptive field.

    Raises ValueError for a tensor of fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform with variance 2 gain^2 / (fan_in + fan_out): Glorot and Bengio (2010).

    >>> import flambeau
    >>> bool((xavier_uniform_(flambeau.empty(3, 3)).abs() <= 1).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance 2 gain^2 / (fan_in + fan_out).

    >>> import flambeau
    >>> xavier_normal_(flambeau.empty(3, 5), gain=2.0).shape
    flambeau.Size([3, 5])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def _fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[0 if mode == "fan_in" else 1]


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))


@overridable
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Uniform with variance gain^2 / fan: He et al. (2015), by default for leaky rectifiers of slope `a`.

    Raises ValueError for another mode or nonlinearity. A tensor without elements stays as it is.

    >>> import flambeau
    >>> bool((kaiming_uniform_(flambeau.empty(4, 6), nonlinearity="relu").abs() <= 1).all())
    True
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal with variance gain^2 / fan. Raises ValueError as `kaiming_uniform_`.

    >>> import flambeau
    >>> kaiming_normal_(flambeau.empty(4, 8), mode="fan_out").shape
    flambeau.Size([4, 8])
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Rows, or columns if there are more of them than rows, at right angles: Saxe et al. (2013).

    Dimensions behind the first count as columns. Raises ValueError for fewer than two dimensions.

    >>> import flambeau
    >>> q = orthogonal_(flambeau.empty(2, 3))
    >>> bool((q @ q.T - flambeau.eye(2)).abs().max() < 1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with drawing(generator) as rng:
        drawn = drawn_normal(rng, (rows, columns), tensor.dtype).astype(np.float64)
    matrix, triangle = blas.linalg.qr(drawn.T if rows < columns else drawn)
    matrix = matrix * np.sign(np.diag(triangle))
    matrix = (matrix.T if rows < columns else matrix) * gain
    return _fill("copy_", tensor, wrap(np.ascontiguousarray(matrix).reshape(tuple(tensor.shape))))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal, but this share of every column is zero: Martens (2010). Raises ValueError for what is no matrix.

    >>> import flambeau
    >>> (sparse_(flambeau.empty(10, 3), sparsity=0.2) == 0).sum(0).tolist()
    [2, 2, 2]
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    rows, columns = tensor.shape
    normal_(tensor, 0.0, std, generator)
    is_zero = np.zeros((rows, columns), np.bool_)
    with drawing(generator) as rng:
        for column in range(columns):
            is_zero[rng.permutation(rows)[: math.ceil(sparsity * rows)], column] = True
    return _fill("masked_fill_", tensor, wrap(is_zero).to(tensor.device), 0.0)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """`fans`, under the name that other code knows it by."""
    return fans(tensor)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The one of `fans` that a mode names."""
    return _fan(tensor, mode)


def _older_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = function.__name__.rstrip("_")

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"nn.init.{name} is deprecated: write nn.init.{name}_", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


uniform, normal, constant = _older_name(uniform_), _older_name(normal_), _older_name(constant_)
eye, dirac = _older_name(eye_), _older_name(dirac_)
xavier_uniform, xavier_normal = _older_name(xavier_uniform_), _older_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _older_name(kaiming_uniform_), _older_name(kaiming_normal_)
orthogonal, sparse = _older_name(orthogonal_), _older_name(sparse_)
