"""What one step of each optimiser does to a parameter and to what is remembered of it, as code over whole arrays.

A formula takes tensors of one shape (the parameter, its gradient, the state), then numbers, then flags. It gives new
tensors in the place of the parameter and the state: nothing is written here. `optim.formula` compiles it, with the
flags as constants, into one kernel that writes them over the old ones; with `differentiable=True` it runs as it stands.

`step` counts from 1. A tensor that the flags make useless may be None.
"""

from __future__ import annotations

from flambeau.optim.formula import Formula
from flambeau.tensor.tensor import Tensor


@Formula
def sgd(
    param: Tensor, grad: Tensor, momentum_buffer: Tensor,
    lr: float, momentum: float, dampening: float, weight_decay: float,
    has_momentum: bool, decays: bool, nesterov: bool, maximize: bool, is_first: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Stochastic gradient descent; the first step fills the buffer with the gradient."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    if has_momentum:
        momentum_buffer = grad if is_first else momentum_buffer * momentum + grad * (1.0 - dampening)
        grad = grad + momentum_buffer * momentum if nesterov else momentum_buffer
    return param - grad * lr, momentum_buffer


@Formula
def adam(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, max_exp_avg_sq: Tensor,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: float,
    amsgrad: bool, decays: bool, decoupled: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Adam and AdamW (Kingma and Ba 2014; Loshchilov and Hutter 2017; AMSGrad: Reddi, Kale and Kumar 2018)."""
    if maximize:
        grad = -grad
    if decays:
        if decoupled:
            param = param * (1.0 - lr * weight_decay)
        else:
            grad = grad + param * weight_decay
    exp_avg = exp_avg.lerp(grad, 1.0 - beta1)
    exp_avg_sq = exp_avg_sq * beta2 + grad * (1.0 - beta2) * grad
    step_size = lr / (1.0 - beta1**step)
    root_correction = (1.0 - beta2**step) ** 0.5
    if amsgrad:
        max_exp_avg_sq = max_exp_avg_sq.maximum(exp_avg_sq)
        spread = max_exp_avg_sq.sqrt() / root_correction + eps
    else:
        spread = exp_avg_sq.sqrt() / root_correction + eps
    return param - exp_avg * step_size / spread, exp_avg, exp_avg_sq, max_exp_avg_sq


@Formula
def adamax(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_inf: Tensor,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: float,
    decays: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Adam with the largest absolute gradient in the place of its mean square."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    exp_avg = exp_avg.lerp(grad, 1.0 - beta1)
    exp_inf = (exp_inf * beta2).maximum(grad.abs() + eps)
    step_size = lr / (1.0 - beta1**step)
    return param - exp_avg * step_size / exp_inf, exp_avg, exp_inf


@Formula
def rmsprop(
    param: Tensor, grad: Tensor, square_avg: Tensor, momentum_buffer: Tensor, grad_avg: Tensor,
    lr: float, alpha: float, eps: float, weight_decay: float, momentum: float,
    has_momentum: bool, centered: bool, decays: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Steps divided by the root mean square of recent gradients (Graves 2013, when `centered`)."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    square_avg = square_avg * alpha + grad * (1.0 - alpha) * grad
    if centered:
        grad_avg = grad_avg.lerp(grad, 1.0 - alpha)
        spread = (square_avg - grad_avg * grad_avg).sqrt() + eps
    else:
        spread = square_avg.sqrt() + eps
    if has_momentum:
        momentum_buffer = momentum_buffer * momentum + grad / spread
        param = param - momentum_buffer * lr
    else:
        param = param - grad * lr / spread
    return param, square_avg, momentum_buffer, grad_avg


@Formula
def adagrad(
    param: Tensor, grad: Tensor, sum: Tensor,
    lr: float, lr_decay: float, eps: float, weight_decay: float, step: float,
    decays: bool, maximize: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Steps divided by the root of the sum of all squared gradients (Duchi, Hazan and Singer 2011)."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    step_size = lr / (1.0 + (step - 1.0) * lr_decay)
    total = sum + grad * grad
    return param - grad * step_size / (total.sqrt() + eps), total


@Formula
def adadelta(
    param: Tensor, grad: Tensor, square_avg: Tensor, acc_delta: Tensor,
    lr: float, rho: float, eps: float, weight_decay: float,
    decays: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Steps in the units of the parameters (Zeiler 2012)."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    square_avg = square_avg * rho + grad * (1.0 - rho) * grad
    delta = (acc_delta + eps).sqrt() / (square_avg + eps).sqrt() * grad
    acc_delta = acc_delta * rho + delta * (1.0 - rho) * delta
    return param - delta * lr, square_avg, acc_delta


@Formula
def nadam(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, mu: float, mu_next: float,
    mu_product: float, step: float,
    decays: bool, decoupled: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Adam with Nesterov's momentum (Dozat 2016). `mu_product` is that of all `mu` so far, this step's included."""
    if maximize:
        grad = -grad
    if decays:
        if decoupled:
            param = param * (1.0 - lr * weight_decay)
        else:
            grad = grad + param * weight_decay
    exp_avg = exp_avg.lerp(grad, 1.0 - beta1)
    exp_avg_sq = exp_avg_sq * beta2 + grad * (1.0 - beta2) * grad
    spread = (exp_avg_sq / (1.0 - beta2**step)).sqrt() + eps
    param = param - grad * (lr * (1.0 - mu) / (1.0 - mu_product)) / spread
    param = param - exp_avg * (lr * mu_next / (1.0 - mu_product * mu_next)) / spread
    return param, exp_avg, exp_avg_sq


@Formula
def radam(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, rectification: float, step: float,
    is_rectified: bool, decays: bool, decoupled: bool, maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Adam whose first steps, of which the variance is not yet known, are those of momentum (Liu et al. 2019)."""
    if maximize:
        grad = -grad
    if decays:
        if decoupled:
            param = param * (1.0 - lr * weight_decay)
        else:
            grad = grad + param * weight_decay
    exp_avg = exp_avg.lerp(grad, 1.0 - beta1)
    exp_avg_sq = exp_avg_sq * beta2 + grad * (1.0 - beta2) * grad
    direction = exp_avg / (1.0 - beta1**step)
    if is_rectified:
        root_correction = (1.0 - beta2**step) ** 0.5
        direction = direction * lr * (exp_avg_sq.sqrt() + eps).reciprocal() * root_correction * rectification
    else:
        direction = direction * lr
    return param - direction, exp_avg, exp_avg_sq


@Formula
def asgd(
    param: Tensor, grad: Tensor, ax: Tensor,
    lambd: float, weight_decay: float, eta: float, mu: float,
    averages: bool, decays: bool, maximize: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Averaged gradient descent (Polyak and Juditsky 1992): `ax` is the mean of parameters, once `averages` is set."""
    if maximize:
        grad = -grad
    if decays:
        grad = grad + param * weight_decay
    param = param * (1.0 - lambd * eta) - grad * eta
    ax = ax + (param - ax) * mu if averages else param
    return param, ax


@Formula
def rprop(
    param: Tensor, grad: Tensor, prev: Tensor, step_size: Tensor,
    eta_minus: float, eta_plus: float, least: float, most: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Steps by the signs of gradients: longer where one stays, shorter where it turns (Riedmiller and Braun 1993)."""
    if maximize:
        grad = -grad
    agreement = grad * prev
    stayed, turned = agreement > 0, agreement < 0
    factor = agreement.sign()
    factor = factor.where(factor != 0, 1.0).where(stayed.logical_not(), eta_plus).where(turned.logical_not(), eta_minus)
    step_size = (step_size * factor).clamp(least, most)
    grad = grad.where(turned.logical_not(), 0.0)
    return param - grad.sign() * step_size, grad, step_size
