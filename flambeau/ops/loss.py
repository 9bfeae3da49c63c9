"""Losses: distances between predictions and targets. `reduction` is 0 for none, 1 for the mean, 2 for the sum."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flambeau.ops.distance_losses import bounded, by_loop, of_odds, smoothed, squares
from flambeau.ops.families.arrays import not_implemented
from flambeau.ops.families.composite import composite
from flambeau.ops.families.pointwise import to_float
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.promotion import common_dtype
from flambeau.schema.dtype import Category, DType
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

NONE: Final = 0
MEAN: Final = 1
SUM: Final = 2


OTHER_RANKS: Final = (
    "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
    "{}D, positive {}D, and negative {}D inputs"
)


def reduced(F: Any, loss: Any, reduction: int) -> Any:
    """The loss per element, its mean or its sum."""
    if reduction == MEAN:
        return F.mean(loss)
    return F.sum(loss) if reduction == SUM else loss


def require_float(name: str, tensor: Tensor) -> None:
    """Raise NotImplementedError for integers and bools."""
    if tensor.dtype.category < Category.FLOAT:
        raise not_implemented(name, tensor.dtype)


def require_real_float(name: str, tensor: Tensor) -> None:
    """Raise NotImplementedError for integers, bools and complex numbers."""
    if tensor.dtype.category != Category.FLOAT:
        raise not_implemented(name, tensor.dtype)


def mse(F: Any, self: Tensor, target: Tensor, reduction: int) -> Any:
    """Squared distance."""
    difference = F.sub(self, target)
    require_float("mse_cpu", difference)
    return reduced(F, F.mul(difference, difference), reduction)


def l1(F: Any, self: Tensor, target: Tensor, reduction: int) -> Any:
    """Distance."""
    return reduced(F, F.abs(F.sub(self, target)), reduction)


def smooth_l1(F: Any, self: Tensor, target: Tensor, reduction: int, beta: float) -> Any:
    """Squared below `beta`, then straight; with `beta` 0 just the distance.

    With the slope s = clamp(d / beta, -1, 1) both are s * (d - s * beta / 2), and s is the gradient, where d is
    infinite too.
    """
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1(F, self, target, reduction)
    difference = F.sub(self, target)
    require_real_float("smooth_l1_cpu", difference)
    slope = F.clamp(difference if beta == 1 else F.div(difference, beta), -1.0, 1.0)
    return reduced(F, F.mul(slope, F.sub(difference, slope, alpha=0.5 * beta)), reduction)


def huber(F: Any, self: Tensor, target: Tensor, reduction: int, delta: float) -> Any:
    """Half the square below `delta`, then a straight line of slope `delta`; as above, s = clamp(d, -delta, delta)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    require_real_float("huber_cpu", self)
    difference = F.sub(self, target)
    slope = F.clamp(difference, -delta, delta)
    return reduced(F, F.mul(slope, F.sub(difference, slope, alpha=0.5)), reduction)


def soft_margin(F: Any, self: Tensor, target: Tensor, reduction: int) -> Any:
    """`log(1 + exp(-target * self))`."""
    return reduced(F, F.log1p(F.exp(F.mul(F.neg(target), self))), reduction)


def bce_with_logits(
    F: Any,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: int,
) -> Any:
    """Cross entropy of two classes, from the logarithm of their odds."""
    log_sigmoid = F.log_sigmoid(self)
    if pos_weight is not None:
        scale = F.add(F.mul(F.sub(pos_weight, 1), target), 1)
        loss = F.sub(F.mul(F.rsub(target, 1), self), F.mul(scale, log_sigmoid))
    else:
        loss = F.sub(F.mul(F.rsub(target, 1), self), log_sigmoid)
    return reduced(F, loss if weight is None else F.mul(loss, weight), reduction)


def kl_div(F: Any, self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Any:
    """`target * (log(target) - self)`; nothing where the target is zero."""
    loss = (
        F.mul(F.exp(target), F.sub(target, self)) if log_target else F.sub(F.xlogy(target, target), F.mul(target, self))
    )
    return reduced(F, loss, reduction)


def poisson_nll(
    F: Any,
    input: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    eps: float,
    reduction: int,
) -> Any:
    """Minus the logarithm of a Poisson probability, without its constant unless `full`."""
    loss = (
        F.sub(F.exp(input), F.mul(target, input))
        if log_input
        else (F.sub(input, F.mul(target, F.log(F.add(input, eps)))))
    )
    if full:
        stirling = F.add(F.sub(F.mul(target, F.log(target)), target), F.mul(F.log(F.mul(target, 2 * np.pi)), 0.5))
        loss = F.add(loss, F.where(F.le(target, 1), 0.0, stirling))
    return reduced(F, loss, reduction)


def hinge_embedding(F: Any, self: Tensor, target: Tensor, margin: float, reduction: int) -> Any:
    """`self` where the target is 1, what lacks to `margin` where it is -1."""
    lacking = F.clamp_min(F.rsub(self, margin), 0)
    zeros = F.zeros_like(self)
    loss = F.add(F.where(F.ne(target, 1), lacking, zeros), F.where(F.ne(target, -1), self, zeros))
    return reduced(F, loss, reduction)


def margin_ranking(
    F: Any,
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float,
    reduction: int,
) -> Any:
    """How far two inputs fall short of `margin` in the order that the target asks for."""
    return reduced(F, F.clamp_min(F.add(F.mul(F.neg(target), F.sub(input1, input2)), margin), 0), reduction)


def loss_shape(self: TensorType, target: TensorType, reduction: Any = MEAN) -> Sizes | None:
    """Nothing left unless the loss per element is wanted."""
    if reduction is UNKNOWN:
        return None
    return broadcast_known([self.sizes, target.sizes]) if reduction == NONE else ()


def loss_dtype(self: TensorType, target: TensorType) -> DType | None:
    """The promoted dtype."""
    return common_dtype((self, target))


def fractional_dtype(*operands: TensorType) -> DType | None:
    """The promoted dtype, of integers that of fractions."""
    common = common_dtype(operands)
    return common and to_float(common)


def _distance_dtype(self: TensorType, target: TensorType) -> DType | None:
    """The promoted dtype, of complex numbers that of their distances."""
    common = common_dtype((self, target))
    return common and common.to_real()


def _ranking_shape(input1: TensorType, input2: TensorType, target: TensorType, reduction: Any) -> Sizes | None:
    if reduction is UNKNOWN:
        return None
    return broadcast_known([input1.sizes, input2.sizes, target.sizes]) if reduction == NONE else ()


def _pair(shift: float = 0.25) -> tuple[Tensor, Tensor]:
    values = (np.arange(6, dtype=np.float32).reshape(2, 3) - 2) / 2
    return wrap(values), wrap((values[::-1] * 0.5 + shift).copy())


def samples() -> Iterable[Sample]:
    """Every reduction."""
    for reduction in (MEAN, SUM, NONE):
        yield Sample(args=_pair(), kwargs={"reduction": reduction})


def errors() -> Iterable[ErrorSample]:
    """Sizes that do not broadcast."""
    yield ErrorSample(
        args=(wrap(np.ones(2, np.float32)), wrap(np.ones(3, np.float32))),
        error=RuntimeError,
        message="must match the size of tensor b",
    )


def _numpy(loss: Any) -> Any:
    folds: dict[int, Any] = {NONE: np.asarray, MEAN: np.mean, SUM: np.sum}
    return lambda self, target, reduction=MEAN: folds[reduction](loss(self.astype(np.float64), target))


for _name, _body, _loop, _dtype, _options, _doc, _reference in (
    ("mse_loss", mse, squares, loss_dtype, "", "The squared difference.", lambda x, y: (x - y) ** 2),
    ("l1_loss", l1, None, _distance_dtype, "", "The distance.", lambda x, y: np.abs(x - y)),
    (
        "smooth_l1_loss", smooth_l1, smoothed, loss_dtype, ", float beta=1.",
        "The distance, squared (and scaled) below `beta`.",
        lambda x, y: np.where(np.abs(x - y) < 1, (x - y) ** 2 / 2, np.abs(x - y) - 0.5),
    ),
    (
        "huber_loss", huber, bounded, loss_dtype, ", float delta=1.",
        "Half the square of the distance, a straight line from `delta` on.",
        lambda x, y: np.where(np.abs(x - y) < 1, (x - y) ** 2 / 2, np.abs(x - y) - 0.5),
    ),
    (
        "soft_margin_loss", soft_margin, None, lambda self, target: fractional_dtype(self, target), "",
        "log(1 + exp(-target * x)).", lambda x, y: np.log1p(np.exp(-y * x)),
    ),
):  # fmt: skip
    composite(
        f"aten::{_name}(Tensor self, Tensor target, int reduction=1{_options}) -> Tensor",
        is_expanded=True,
        outs=() if _name == "l1_loss" else ("out",),
        body=_body,
        quickly=None if _loop is None else by_loop(_loop),
        doc=_doc,
        dtype=_dtype,
        shape=loss_shape,
        samples=samples,
        errors=errors,
        reference=_numpy(_reference),
        is_function=False,
    )

composite(
    "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=1) -> Tensor",
    outs=("out",),
    body=bce_with_logits,
    quickly=of_odds,
    doc="Cross entropy of two classes; `self` is the logarithm of the odds.",
    dtype=loss_dtype,
    shape=loss_shape,
    samples=samples,
    errors=errors,
    reference=_numpy(lambda x, y: np.log1p(np.exp(-x)) + (1 - y) * x),
    is_expanded=True,
)

composite(
    "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    body=kl_div,
    doc="target * (log(target) - x): x is the logarithm of a probability.",
    dtype=lambda self, target: fractional_dtype(self, target),
    shape=loss_shape,
    samples=lambda: [Sample(args=_pair(2.0), kwargs={"reduction": NONE}), Sample(args=_pair(2.0))],
    errors=errors,
    is_expanded=True,
)

composite(
    "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> "
    "Tensor",
    body=poisson_nll,
    dtype=lambda input, target: fractional_dtype(input, target),
    shape=lambda input, target, reduction: loss_shape(input, target, reduction),
    samples=lambda: [Sample(args=(*_pair(2.0), True, full, 1e-8, MEAN)) for full in (True, False)],
    is_expanded=True,
)

composite(
    "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
    body=hinge_embedding,
    dtype=lambda self, target: fractional_dtype(self, target),
    shape=loss_shape,
    samples=lambda: [Sample(args=(_pair()[0], wrap(np.array([1, -1, 1], np.float32))))],
    is_expanded=True,
)

composite(
    "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> "
    "Tensor",
    body=margin_ranking,
    dtype=lambda input1, input2, target: fractional_dtype(input1, input2, target),
    shape=_ranking_shape,
    samples=lambda: [Sample(args=(*_pair(), wrap(np.array([1, -1, 1], np.float32))))],
    is_expanded=True,
)
