"""Averages of a model's parameters while it is trained: stochastic weight averaging and exponential averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final, Literal

import numpy as np

from flambeau.nn.layers.batch_norm import BatchNorm
from flambeau.nn.module import Module
from flambeau.ops.families.composite import F
from flambeau.optim.lr_scheduler.scheduler import LRScheduler, Rates, for_each_group
from flambeau.optim.optimizer import Optimizer
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor, wrap

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[list[Tensor], list[Tensor], Any], None]
BOTH: Final = "Only one of avg_fn and multi_avg_fn should be provided"


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """For `AveragedModel`: the exponential average, of which `decay` is kept. Raises ValueError if not in [0, 1].

    >>> get_ema_avg_fn(0.5)(2.0, 4.0, 7)
    3.0
    """
    _check_decay(decay)

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """As `get_ema_avg_fn`, for lists of tensors, which are written.

    >>> import flambeau
    >>> averages = [flambeau.tensor(2.0)]
    >>> get_ema_multi_avg_fn(0.5)(averages, [flambeau.tensor(4.0)], 7)
    >>> averages
    [tensor(3.)]
    """
    _check_decay(decay)

    def average(averages: list[Tensor], currents: list[Tensor], count: Any) -> None:
        for averaged, current in zip(averages, currents, strict=True):
            if averaged.dtype.is_floating_point or averaged.dtype.is_complex:
                F.lerp_(averaged, current, 1 - decay)
            else:
                F.copy_(averaged, averaged * decay + current * (1 - decay))

    return average


def get_swa_avg_fn() -> Average:
    """For `AveragedModel`: the mean of all that was seen.

    >>> get_swa_avg_fn()(2.0, 4.0, 1)
    3.0
    """
    return lambda averaged, current, count: averaged + (current - averaged) / (count + 1)


def get_swa_multi_avg_fn() -> MultiAverage:
    """As `get_swa_avg_fn`, for lists of tensors, which are written.

    >>> import flambeau
    >>> averages = [flambeau.tensor(2.0)]
    >>> get_swa_multi_avg_fn()(averages, [flambeau.tensor(4.0)], 1)
    >>> averages
    [tensor(3.)]
    """

    def average(averages: list[Tensor], currents: list[Tensor], count: Any) -> None:
        for averaged, current in zip(averages, currents, strict=True):
            F.copy_(averaged, averaged + (current - averaged) / (count + 1))

    return average


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model has over time.

    Args:
        model: the model that is trained.
        device: where the averages are; the CPU.
        avg_fn: the new average, from the last one, the parameter and how many were averaged; by default their mean.
        multi_avg_fn: the same for all parameters at once; writes the averages.
        use_buffers: average buffers too; else they are copied.

    Raises ValueError if both functions are given.

    >>> import flambeau
    >>> model = flambeau.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = flambeau.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item(), averaged.n_averaged.item()
    (3.0, 3)
    """

    n_averaged: Tensor
    """How often the parameters were averaged."""

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError(BOTH)
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", wrap(np.array(0)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Average a model's parameters too. Raises ValueError if it is not like the first one."""
        own, others = self._averaged(self.module), self._averaged(model)
        if [tuple(a.shape) for a in own] != [tuple(b.shape) for b in others]:
            raise ValueError("update_parameters() needs a model with the same parameters as the one that is averaged")
        count = self.n_averaged.item()
        if count == 0:
            for averaged, current in zip(own, others, strict=True):
                F.copy_(averaged, current)
        elif self.avg_fn is not None:
            for averaged, current in zip(own, others, strict=True):
                F.copy_(averaged, self.avg_fn(averaged, current, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(own, others, self.n_averaged)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                F.copy_(mine, theirs)
        F.add_(self.n_averaged, 1)

    def _averaged(self, module: Module) -> list[Tensor]:
        tensors = [*module.parameters(), *(module.buffers() if self.use_buffers else ())]
        return [tensor.detach() for tensor in tensors]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the statistics of batch normalisation anew, as means over all batches of a loader.

    Args:
        loader: gives batches, or tuples and lists whose first is the batch.
        model: what is run on them; it is left in the mode that it was in.
        device: where batches go; the CPU.

    >>> import flambeau
    >>> model = flambeau.nn.BatchNorm1d(1)
    >>> update_bn([flambeau.tensor([[1.0], [3.0]]), flambeau.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, list | tuple) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Rates that go to those of stochastic weight averaging, and stay there.

    Args:
        optimizer: the optimiser.
        swa_lr: the rate, or one for each group.
        anneal_epochs: how many epochs that takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: the epoch that a run which goes on has come to.

    Raises ValueError for a strategy that is not known and for fewer than no epochs.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.0, anneal_epochs=2, anneal_strategy="linear")
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.0]
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for rate, group in zip(for_each_group(optimizer, "swa_lr", swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates on the way from those that were there before."""
        self._warn_outside_step()
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        """How far the rates have come."""
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * share)) / 2 if self._anneal_strategy == "cos" else share
