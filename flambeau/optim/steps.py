"""One step of each optimiser as a function of lists: parameters, gradients, and what is remembered of each.

>>> import flambeau
>>> x, gradient = flambeau.ones(2), flambeau.ones(2)
>>> sgd([x], [gradient], [None], weight_decay=0, momentum=0, lr=0.5, dampening=0, nesterov=False, maximize=False)
>>> x
tensor([0.5000, 0.5000])

Parameters and what is remembered are changed in place; counts of steps are tensors without dimensions, which are
counted up first. `foreach`, `fused`, `capturable` and `has_complex` make no difference: each update is the same kernel.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from flambeau.optim.adam import Adam, Adamax, NAdam, RAdam
from flambeau.optim.adaptive import Adadelta, Adagrad, RMSprop
from flambeau.optim.formula_optimizer import FormulaOptimizer
from flambeau.optim.sgd import SGD
from flambeau.optim.signs_and_averages import ASGD, Rprop
from flambeau.tensor.grad_mode import set_grad_enabled
from flambeau.tensor.tensor import Tensor

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
]  # fmt: skip
Tensors = Sequence[Tensor]
Optionals = list[Tensor | None]
Rate = float | Tensor
UNEQUAL: Final = "{name}: {what} has {got} entries for {wanted} parameters"
SCALED: Final = "{name}: grad_scale and found_inf are of fused updates: divide the gradients before (amp.GradScaler)"


@lru_cache(None)
def _settings(kind: type[FormulaOptimizer]) -> dict[str, Any]:
    """The settings of a group of this class, as its constructor has them."""
    parameters = inspect.signature(kind.__init__).parameters
    return {name: parameters[name].default for name in kind.hyperparameters}


def _step(
    kind: type[FormulaOptimizer], params: Tensors, grads: Tensors, states: Mapping[str, Sequence[Any]], **settings: Any
) -> FormulaOptimizer:
    """One step of an optimiser of this class that has these states."""
    name = kind.__name__.lower()
    for what, values in {"the list of gradients": grads, **states}.items():
        if len(values) != len(params):
            raise ValueError(UNEQUAL.format(name=name, what=what, got=len(values), wanted=len(params)))
    optimizer = kind.__new__(kind)
    optimizer.defaults = {**_settings(kind), **settings, "foreach": None}
    optimizer.param_groups, optimizer.state = [], defaultdict(dict)
    optimizer._make_hooks()
    for number, parameter in enumerate(params):
        optimizer.state[parameter] = {key: values[number] for key, values in states.items()}
    with set_grad_enabled(bool(settings.get("differentiable"))):
        optimizer.step_of(optimizer.defaults, zip(params, grads, strict=True))
    return optimizer


def _unscaled(name: str, *scales: Any) -> None:
    if any(scale is not None for scale in scales):
        raise NotImplementedError(SCALED.format(name=name))


def sgd(
    params: Tensors, d_p_list: Tensors, momentum_buffer_list: Optionals, has_sparse_grad: bool = False,
    foreach: bool | None = None, fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, *, weight_decay: float, momentum: float, lr: Rate, dampening: float,
    nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of `SGD`; where a buffer of momentum is None, it is made, and put in the list.

    >>> import flambeau
    >>> x, buffers = flambeau.ones(1), [None]
    >>> sgd([x], [x * 2], buffers, weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False, maximize=False)
    >>> x, buffers
    (tensor([0.8000]), [tensor([2.])])
    """
    _unscaled("sgd", grad_scale, found_inf)
    optimizer = _step(
        SGD, params, d_p_list, {"momentum_buffer": momentum_buffer_list}, weight_decay=weight_decay, momentum=momentum,
        lr=lr, dampening=dampening, nesterov=nesterov, maximize=maximize,
    )  # fmt: skip
    if momentum:
        momentum_buffer_list[:] = [optimizer.state[parameter]["momentum_buffer"] for parameter in params]


def adam(
    params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, max_exp_avg_sqs: Tensors,
    state_steps: Tensors, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
    fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: Rate, beta2: Rate,
    lr: Rate, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adam`; `max_exp_avg_sqs` may be empty without `amsgrad`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> adam(
    ...     [x], [x * 2], [first], [second], [], [count], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1,
    ...     weight_decay=0, eps=1e-8, maximize=False,
    ... )
    >>> x
    tensor([0.9000])
    """
    _unscaled("adam", grad_scale, found_inf)
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps}
    if amsgrad:
        states["max_exp_avg_sq"] = max_exp_avg_sqs
    _step(
        Adam, params, grads, states, amsgrad=amsgrad, betas=(beta1, beta2), lr=lr, weight_decay=weight_decay,
        eps=eps, maximize=maximize, differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip


def adamw(
    params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, max_exp_avg_sqs: Tensors,
    state_steps: Tensors, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
    fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    has_complex: bool = False, *, amsgrad: bool, beta1: Rate, beta2: Rate, lr: Rate,
    weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `AdamW`; `max_exp_avg_sqs` may be empty without `amsgrad`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> adamw(
    ...     [x], [x * 2], [first], [second], [], [count], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1,
    ...     weight_decay=0, eps=1e-8, maximize=False,
    ... )
    >>> x
    tensor([0.9000])
    """
    _unscaled("adamw", grad_scale, found_inf)
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps}
    if amsgrad:
        states["max_exp_avg_sq"] = max_exp_avg_sqs
    _step(
        Adam, params, grads, states, amsgrad=amsgrad, betas=(beta1, beta2), lr=lr, weight_decay=weight_decay,
        eps=eps, maximize=maximize, differentiable=differentiable, decoupled_weight_decay=True,
    )  # fmt: skip


def adamax(
    params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_infs: Tensors, state_steps: Tensors,
    foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: Rate, weight_decay: float,
) -> None:  # fmt: skip
    """One step of `Adamax`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> adamax(
    ...     [x], [x * 2], [first], [second], [count], eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0,
    ... )
    >>> x
    tensor([0.9000])
    """
    states = {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps}
    _step(
        Adamax, params, grads, states, betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, eps=eps,
        maximize=maximize, differentiable=differentiable,
    )  # fmt: skip


def nadam(
    params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, mu_products: Tensors,
    state_steps: Tensors, decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False,
    differentiable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
    lr: Rate, weight_decay: float, momentum_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of `NAdam`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> nadam(
    ...     [x], [x * 2], [first], [second], [flambeau.tensor(1.0)], [count], beta1=0.9, beta2=0.999, lr=0.1,
    ...     weight_decay=0, momentum_decay=0.004, eps=1e-8,
    ... )
    >>> x
    tensor([0.8944])
    """
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "mu_product": mu_products, "step": state_steps}
    _step(
        NAdam, params, grads, states, betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, eps=eps,
        momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        differentiable=differentiable,
    )  # fmt: skip


def radam(
    params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, state_steps: Tensors,
    decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False,
    capturable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
    lr: Rate, weight_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of `RAdam`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> radam(
    ...     [x], [x * 2], [first], [second], [count], beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, eps=1e-8
    ... )
    >>> x
    tensor([0.8000])
    """
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps}
    _step(
        RAdam, params, grads, states, betas=(beta1, beta2), lr=lr, weight_decay=weight_decay, eps=eps,
        decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, differentiable=differentiable,
    )  # fmt: skip


def adadelta(
    params: Tensors, grads: Tensors, square_avgs: Tensors, acc_deltas: Tensors, state_steps: Tensors,
    capturable: bool = False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *,
    lr: Rate, rho: float, eps: float, weight_decay: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adadelta`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> adadelta(
    ...     [x], [x * 2], [first], [second], [count], lr=100.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False
    ... )
    >>> x
    tensor([0.6838])
    """
    states = {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps}
    _step(
        Adadelta, params, grads, states, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
        differentiable=differentiable,
    )  # fmt: skip


def adagrad(
    params: Tensors, grads: Tensors, state_sums: Tensors, state_steps: Tensors, fused: bool | None = None,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_sparse_grad: bool = False,
    foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *, lr: Rate,
    weight_decay: float, lr_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adagrad`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> adagrad([x], [x * 2], [first], [count], lr=0.1, weight_decay=0, lr_decay=0, eps=1e-10, maximize=False)
    >>> x
    tensor([0.9000])
    """
    _unscaled("adagrad", grad_scale, found_inf)
    _step(
        Adagrad, params, grads, {"sum": state_sums, "step": state_steps}, lr=lr, weight_decay=weight_decay,
        lr_decay=lr_decay, eps=eps, maximize=maximize, differentiable=differentiable,
    )  # fmt: skip


def rmsprop(
    params: Tensors, grads: Tensors, square_avgs: Tensors, grad_avgs: Tensors, momentum_buffer_list: Tensors,
    state_steps: Tensors, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    capturable: bool = False, has_complex: bool = False, *, lr: Rate, alpha: float, eps: float, weight_decay: float,
    momentum: float, centered: bool,
) -> None:  # fmt: skip
    """One step of `RMSprop`; `grad_avgs` may be empty unless `centered`, `momentum_buffer_list` without momentum.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> rmsprop(
    ...     [x], [x * 2], [first], [], [], [count], lr=0.1, alpha=0.75, eps=1e-8, weight_decay=0, momentum=0,
    ...     centered=False,
    ... )
    >>> x
    tensor([0.8000])
    """
    states = {"square_avg": square_avgs, "step": state_steps}
    if centered:
        states["grad_avg"] = grad_avgs
    if momentum:
        states["momentum_buffer"] = momentum_buffer_list
    _step(
        RMSprop, params, grads, states, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
        centered=centered, maximize=maximize, differentiable=differentiable,
    )  # fmt: skip


def rprop(
    params: Tensors, grads: Tensors, prevs: Tensors, step_sizes: Tensors, state_steps: Tensors,
    foreach: bool | None = None, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    has_complex: bool = False, *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float,
) -> None:  # fmt: skip
    """One step of `Rprop`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> rprop(
    ...     [x], [x * 2], [first], [second + 0.1], [count], step_size_min=0.0, step_size_max=9.0, etaminus=0.5,
    ...     etaplus=1.2,
    ... )
    >>> x
    tensor([0.9000])
    """
    _step(
        Rprop, params, grads, {"prev": prevs, "step_size": step_sizes, "step": state_steps},
        etas=(etaminus, etaplus), step_sizes=(step_size_min, step_size_max), maximize=maximize,
        differentiable=differentiable,
    )  # fmt: skip


def asgd(
    params: Tensors, grads: Tensors, axs: Tensors, mus: Tensors, etas: Tensors, state_steps: Tensors,
    foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, lambd: float, lr: Rate, t0: float, alpha: float, weight_decay: float,
) -> None:  # fmt: skip
    """One step of `ASGD`.

    >>> import flambeau
    >>> x, count = flambeau.ones(1), flambeau.tensor(0.0)
    >>> first, second = flambeau.zeros(1), flambeau.zeros(1)
    >>> asgd(
    ...     [x], [x * 2], [first], [flambeau.tensor(1.0)], [flambeau.tensor(0.1)], [count], lambd=0.0, lr=0.1, t0=1.0,
    ...     alpha=0.75, weight_decay=0,
    ... )
    >>> x
    tensor([0.8000])
    """
    _step(
        ASGD, params, grads, {"ax": axs, "mu": mus, "eta": etas, "step": state_steps}, lambd=lambd, lr=lr, t0=t0,
        alpha=alpha, weight_decay=weight_decay, maximize=maximize, differentiable=differentiable,
    )  # fmt: skip
