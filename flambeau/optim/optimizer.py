"""`Optimizer`: groups of parameters with their settings, the state of each parameter, and hooks around a step."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.optim import state_dicts
from flambeau.optim.parameter_groups import as_groups, checked_group
from flambeau.tensor.grad_mode import enable_grad, set_grad_enabled
from flambeau.tensor.tensor import Tensor
from flambeau.util.hooks import RemovableHandle, add_hook

Closure = Callable[[], Any]
Parameters = Iterable[Any]
BEFORE_EVERY_STEP: Final[dict[int, Any]] = {}
AFTER_EVERY_STEP: Final[dict[int, Any]] = {}
NO_STEP: Final = (
    "{name} does not say what a step does: define `step(self, closure=None)`, which changes the parameters in "
    "`self.param_groups` by their `grad`"
)
WRONG_ARGUMENTS: Final = "{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimiser.

    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return add_hook(BEFORE_EVERY_STEP, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimiser.

    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return add_hook(AFTER_EVERY_STEP, hook)


class Optimizer:
    """What all optimisers have; those that users write derive from it and define `step`.

    Args:
        params: tensors, pairs of names and tensors, or dicts that have them as `"params"` and settings of their own.
        defaults: the settings of groups that say nothing else.

    Raises TypeError for what is no parameter; ValueError for none, for results of operations, and for a parameter that
    is in two groups.

    >>> import flambeau
    >>> class Descent(Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @flambeau.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(p.grad * group["lr"])
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> optimizer = Descent([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    2.4
    """

    param_groups: list[dict[str, Any]]
    """Each with `"params"`, a list, and settings."""
    state: defaultdict[Any, Any]
    """By parameter: what is remembered from step to step."""

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._make_hooks()
        for group in as_groups(params):
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._step_pre_hooks: dict[int, Any] = {}
        self._step_post_hooks: dict[int, Any] = {}
        self._state_dict_pre_hooks: dict[int, Any] = {}
        self._state_dict_post_hooks: dict[int, Any] = {}
        self._load_state_dict_pre_hooks: dict[int, Any] = {}
        self._load_state_dict_post_hooks: dict[int, Any] = {}
        self._steps_begun = 0
        """How many steps there were: schedulers look whether there was one."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by their gradients. `closure` computes them and the loss anew, which is returned.

        Raises NotImplementedError in classes that define none.
        """
        raise NotImplementedError(NO_STEP.format(name=type(self).__name__))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or fill them with zeros.

        >>> import flambeau
        >>> x = flambeau.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> flambeau.optim.SGD([x]).zero_grad()
        >>> x.grad is None
        True
        """
        for parameter in self._parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is not None:
                parameter.grad = gradient = gradient.detach()
            else:
                gradient.requires_grad_(False)
            F.zero_(gradient)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Have parameters, `param_group["params"]`, changed too, with the settings given there.

        Raises as the constructor does.
        """
        self.param_groups.append(checked_group(param_group, self.defaults, self.param_groups))

    def _parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    def _closed(self, closure: Closure | None) -> Any:
        """The loss that a closure gives, recorded; None without one."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def state_dict(self) -> dict[str, Any]:
        """The state and the settings, parameters as numbers: what `load_state_dict` takes, and PyTorch's too.

        >>> import flambeau
        >>> x = flambeau.tensor(3.0, requires_grad=True)
        >>> flambeau.optim.SGD([x], lr=0.1).state_dict()["param_groups"][0]["lr"]
        0.1
        """
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self)
        result = state_dicts.collect(self)
        for hook in list(self._state_dict_post_hooks.values()):
            result = _replaced(hook(self, result), result)
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take state and settings of an optimiser of parameters of the same number, from PyTorch's too.

        Raises ValueError if the groups do not match.
        """
        state_dict = dict(state_dict)
        for hook in list(self._load_state_dict_pre_hooks.values()):
            state_dict = _replaced(hook(self, state_dict), state_dict)
        self.__setstate__(state_dicts.restored(self, state_dict))
        for hook in list(self._load_state_dict_post_hooks.values()):
            hook(self)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step, where `args` begins with the optimizer; arguments that
        it returns take the place of the step's."""
        return add_hook(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before a state dict is made."""
        return add_hook(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on each state dict; what it returns, if anything, takes its place."""
        return add_hook(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before one is loaded; what it returns, if anything, takes its place."""
        return add_hook(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state dict was loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook, prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults = self.__dict__.setdefault("defaults", {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Optimizer:
        copied = memo[id(self)] = type(self).__new__(type(self))
        copied.__setstate__(deepcopy(self.__getstate__(), memo))
        return copied

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            settings = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {number}\n{settings}"
        return text + ")"


def _replaced(returned: Any, before: dict[str, Any]) -> dict[str, Any]:
    """What a hook returned, unless that is nothing."""
    return before if returned is None else returned


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's `step` with the hooks around it; `super().step()` inside does not run them again."""
    if hasattr(step, "has_hooks"):
        return step

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in [*BEFORE_EVERY_STEP.values(), *self._step_pre_hooks.values()]:
            result = hook(self, (self, *args), kwargs)
            if isinstance(result, tuple) and len(result) == 2:
                args, kwargs = tuple(result[0]), result[1]
                args = args[1:] if args and args[0] is self else args
            elif result is not None:
                raise RuntimeError(WRONG_ARGUMENTS.format(step=step, result=result))
        self._steps_begun += 1
        result = step(self, *args, **kwargs)
        for hook in [*self._step_post_hooks.values(), *AFTER_EVERY_STEP.values()]:
            hook(self, (self, *args), kwargs)
        return result

    run.has_hooks = True  # type: ignore[attr-defined]
    return run


def recorded_if_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Run a step without recording, or recorded if the optimiser is `differentiable`."""

    @functools.wraps(step)
    def run(self: Optimizer, closure: Closure | None = None) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return step(self, closure)

    return run
