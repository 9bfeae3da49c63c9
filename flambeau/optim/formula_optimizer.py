"""Optimisers that are one formula per parameter: what is common to all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from flambeau.ops.families.composite import F
from flambeau.optim.formula import Formula
from flambeau.optim.fused_update import FusedUpdate, Numbers, apply
from flambeau.optim.optimizer import Closure, Optimizer, Parameters, recorded_if_differentiable
from flambeau.optim.settings import check_hyperparameters, check_ways
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor, wrap

Group = dict[str, Any]
State = dict[str, Any]


class FormulaOptimizer(Optimizer, ABC):
    """Runs `formula` on each parameter that has a gradient, all of them by one native kernel.

    A class says which formula, which of its state are tensors like the parameter, and what numbers and flags it gets.

    Args:
        params: parameters, pairs of names and parameters, or groups.
        arguments: the `locals()` of the class's constructor, `hyperparameters` among them.
    """

    formula: ClassVar[Formula]
    tensor_state: ClassVar[tuple[str, ...]]
    """The names of the formula's state, as users find it in `state[parameter]`, in the formula's order."""
    counts_steps: ClassVar[bool] = True
    """Whether the state has a `step`."""
    numbers_by_step: ClassVar[bool] = True
    """Whether parameters of one group at the same step have the same numbers."""
    hyperparameters: ClassVar[tuple[str, ...]]
    """The constructor's arguments that are settings of groups, in the order in which PyTorch's groups have them."""
    unbounded: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters that may be anything, though others of that name may not."""

    def __init__(self, params: Parameters, arguments: Mapping[str, Any]) -> None:
        defaults = {name: arguments[name] for name in self.hyperparameters}
        check_hyperparameters(defaults, self.unbounded)
        check_ways(defaults)
        super().__init__(params, defaults)

    def _make_hooks(self) -> None:
        super()._make_hooks()
        self._update = FusedUpdate(self.formula)

    def new_state(self, parameter: Tensor, group: Group) -> State:
        """The state of a parameter before its first step."""
        state: State = {"step": zero()} if self.counts_steps else {}
        for name in self.state_names(group):
            state[name] = F.zeros_like(parameter)
        return state

    def prepared(self, parameter: Tensor, group: Group) -> tuple[State, bool]:
        """The state of a parameter, and whether it was made now."""
        state: State = self.state[parameter]
        if state:
            return state, False
        state.update(self.new_state(parameter, group))
        return state, True

    def state_names(self, group: Group) -> Sequence[str]:
        """The tensors of the state that a group's settings ask for."""
        return self.tensor_state

    @abstractmethod
    def numbers(self, group: Group, state: State, step: float) -> tuple[Any, ...]:
        """The formula's numbers. Tensors among them are for `differentiable` optimisers."""

    @abstractmethod
    def flags(self, group: Group, step: float, is_new: bool) -> tuple[bool, ...]:
        """The formula's flags. `is_new`: the parameter was never changed before."""

    @recorded_if_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        """Change all parameters that have gradients.

        Args:
            closure: computes the loss and the gradients anew; the loss is returned.
        """
        loss = self._closed(closure)
        try:
            for group in self.param_groups:
                self._step_group(group, [(p, p.grad) for p in group["params"]])
        finally:
            self._update.finish()
        return loss

    def step_of(self, group: Group, pairs: Iterable[tuple[Tensor, Tensor | None]]) -> None:
        """One step with the settings of a group: of parameters beside their gradients, None where there is none."""
        try:
            self._step_group(group, pairs)
        finally:
            self._update.finish()

    def _step_group(self, group: Group, pairs: Iterable[tuple[Tensor, Tensor | None]]) -> None:
        common: dict[tuple[float, bool], tuple[tuple[bool, ...], Numbers]] = {}
        names, counts_steps, prepared, update = self.tensor_state, self.counts_steps, self.prepared, self._update
        plainly = group["differentiable"] or thread.observer is not None or bool(thread.handlers)
        step = 0.0
        for parameter, gradient in pairs:
            if gradient is None:
                continue
            state, is_new = prepared(parameter, group)
            if counts_steps:
                step = one_more(state["step"])
            known = common.get((step, is_new))
            if known is None:
                known = self.flags(group, step, is_new), self._numbers_of(group, state, step, common)
                if self.numbers_by_step:
                    common[step, is_new] = known
            flags, numbers = known
            tensors = [parameter, gradient, *map(state.get, names)]
            if plainly:
                apply(self.formula, tensors, numbers.scalars, flags)
            else:
                update(tensors, numbers, flags)

    def _numbers_of(
        self, group: Group, state: State, step: float, common: dict[tuple[float, bool], tuple[Any, Numbers]]
    ) -> Numbers:
        """The formula's numbers: those of a parameter at the same step, where there was one."""
        other = next((numbers for (at, _), (_, numbers) in common.items() if at == step), None)
        return Numbers(self.numbers(group, state, step)) if other is None else other


def zero(value: float = 0.0) -> Tensor:
    """A number that the state holds, as a tensor, as PyTorch has it."""
    return wrap(np.array(value, np.float32))


def number_in(holder: Tensor) -> float:
    """The number that a tensor of the state holds; a state loaded for complex parameters has complex ones."""
    return float(holder._array.real)


def set_number(holder: Tensor, value: float) -> None:
    """Have a tensor of the state hold another number, rounded to single precision, as new state is."""
    holder._array[()] = np.float32(value)
    holder._storage.version += 1


def scale_number(holder: Tensor, factor: float) -> float:
    """Multiply a number of the state, in its own precision; what it is then."""
    holder._array *= factor
    holder._storage.version += 1
    return number_in(holder)


def one_more(count: Tensor) -> float:
    """Count a step; the new count."""
    array = count._array
    step = array.item().real + 1.0  # a whole number, and `fill` is faster than arithmetic
    array.fill(step)
    count._storage.version += 1
    return step  # type: ignore[no-any-return]
