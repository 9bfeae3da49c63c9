"""Functions of neural networks: every operator declared for this module, and the spellings that differ from an
operator's.

Functions whose operators have an in-place form take `inplace=True`.

>>> import flambeau
>>> flambeau.nn.functional.relu(flambeau.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.nn.functional_images import (  # noqa: F401
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    dropout1d,
    dropout2d,
    dropout3d,
    interpolate,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    upsample,
)
from flambeau.nn.functional_layers import (  # noqa: F401
    batch_norm,
    bilinear,
    embedding,
    fold,
    group_norm,
    instance_norm,
    layer_norm,
    linear,
    normalize,
    rms_norm,
    unfold,
)
from flambeau.nn.functional_loss import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from flambeau.ops import surface as _surface
from flambeau.schema.dtype import DType
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor


def __getattr__(name: str) -> Callable[..., Tensor]:
    """A function derived from an operator, made when it is first asked for."""
    found: Callable[..., Tensor] = _surface.member("nn.functional", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_surface.members("nn.functional")})


@_surface.runs("aten::sigmoid")
def sigmoid(input: Tensor) -> Any:
    """1 / (1 + exp(-x))."""
    return call("aten::sigmoid", input)


@_surface.runs("aten::tanh")
def tanh(input: Tensor) -> Any:
    """The hyperbolic tangent."""
    return call("aten::tanh", input)


@_surface.runs("aten::log_sigmoid")
def logsigmoid(input: Tensor) -> Any:
    """log(sigmoid(x)), accurate far out."""
    return call("aten::log_sigmoid", input)


def softsign(input: Tensor) -> Any:
    """x / (1 + |x|)."""
    return call("aten::div", input, call("aten::add", call("aten::abs", input), 1))


def tanhshrink(input: Tensor) -> Any:
    """x - tanh(x)."""
    return call("aten::sub", input, call("aten::tanh", input))


@_surface.runs("aten::hardtanh")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x brought between `min_val` and `max_val`. Raises ValueError if these are in the wrong order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return call("aten::hardtanh_" if inplace else "aten::hardtanh", input, min_val, max_val)


@_surface.runs("aten::softmax")
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """exp(x) divided by its sum along `dim`; computed in `dtype` if given."""
    return call("aten::softmax", input, _last_dim(input, dim), dtype)


@_surface.runs("aten::log_softmax")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """The logarithm of `softmax`, accurate far out."""
    return call("aten::log_softmax", input, _last_dim(input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """`softmax` of -x."""
    return softmax(call("aten::neg", input), dim, _stacklevel, dtype)


def _last_dim(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


@_surface.runs("aten::dropout")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element zeroed with probability `p` while training, the others divided by 1 - p; the tensor itself
    otherwise.

    Raises ValueError for a probability outside [0, 1].
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return call("aten::dropout_" if inplace else "aten::dropout", input, p, training)
