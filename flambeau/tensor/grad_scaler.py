"""`GradScaler`: losses that are scaled up before `backward`, so that small gradients do not vanish in float16."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from flambeau.schema.dtype import float16
from flambeau.tensor.autocast import is_here
from flambeau.tensor.autocast_state import check_device
from flambeau.tensor.dispatch import call
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor

NOT_HERE: Final = "GradScaler is enabled, but there is no device '{}' here. Disabling."
NO_SCALE: Final = (
    "Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
    "earlier in the iteration."
)
NO_GRADIENTS: Final = "No inf checks were recorded for this optimizer."
NO_CHECKS: Final = "No inf checks were recorded prior to update."
NO_CLOSURE: Final = "Closure use is not currently supported if GradScaler is enabled."
NO_STATE: Final = (
    "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
)


class _Stage(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, unscales gradients, leaves out steps whose gradients are not finite, and adapts the scale.

    The scale grows by `growth_factor` after `growth_interval` steps without an infinite gradient, and shrinks by
    `backoff_factor` after one with. Warns, and does nothing, for a device that is not here. Raises AssertionError for a
    growth factor of at most 1 and a backoff factor of at least 1.

    Args:
        device: "cpu": where the losses are.
        init_scale: the first scale.
        growth_factor: what the scale is multiplied by when it grows.
        backoff_factor: what it is multiplied by when it shrinks.
        growth_interval: after how many steps it grows.
        enabled: whether it does anything.

    >>> import flambeau
    >>> weight = flambeau.ones(2, requires_grad=True)
    >>> optimizer = flambeau.optim.SGD([weight], lr=0.5)
    >>> scaler = GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([4., 4.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.grad, weight.tolist()
    (tensor([1., 1.]), [0.5, 0.5])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = check_device(device)
        self._enabled = enabled
        if enabled and not is_here(device):
            warnings.warn(NOT_HERE.format(device), stacklevel=2)
            self._enabled = False
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._scale: float | None = None
        """The scale; None before anything was scaled."""
        self._stages: dict[int, tuple[_Stage, bool]] = {}
        """Of each optimiser since the last update, by identity: how far it is, and whether a gradient was infinite."""

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale, in the tensor's dtype; of an iterable each. Raises ValueError for anything else.

        Args:
            outputs: a tensor, or lists and tuples of such.

        >>> import flambeau
        >>> GradScaler("cpu", init_scale=2.0).scale([flambeau.ones(1)])
        [tensor([2.])]
        """
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = self._init_scale
        if isinstance(outputs, Tensor):
            return call("aten::mul", outputs, self._scale)
        if isinstance(outputs, Iterable) and not isinstance(outputs, str | bytes | dict):
            scaled = [self.scale(one) for one in outputs]
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place: before they are clipped, say.

        Raises RuntimeError when this was done since the last `update`, or after `step`; ValueError for gradients in
        float16, which cannot hold them; AssertionError before anything was scaled.

        Args:
            optimizer: whose gradients.
        """
        if not self._enabled:
            return
        self._check_scale("unscale_")
        stage, _ = self._stages.get(id(optimizer), (_Stage.READY, False))
        if stage is _Stage.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage is _Stage.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._stages[id(optimizer)] = (_Stage.UNSCALED, self._unscaled(optimizer))

    def _unscaled(self, optimizer: Any) -> bool:
        """Unscale gradients; whether one is not finite."""
        assert self._scale is not None
        is_infinite = False
        with no_grad():
            for gradient in _gradients(optimizer):
                if gradient.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                call("aten::mul_", gradient, 1.0 / self._scale)
                is_infinite = is_infinite or not bool(call("aten::all", call("aten::isfinite", gradient)))
        return is_infinite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale gradients, unless `unscale_` has, and step if all are finite; what the step returned, else None.

        Raises RuntimeError for a second step before `update`, and for closures; AssertionError before anything was
        scaled, and for an optimiser whose parameters have no gradients.

        Args:
            optimizer: what steps.
            args, kwargs: passed on to its `step`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(NO_CLOSURE)
        self._check_scale("step")
        stage, is_infinite = self._stages.get(id(optimizer), (_Stage.READY, False))
        if stage is _Stage.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage is _Stage.READY:
            self.unscale_(optimizer)
            is_infinite = self._stages[id(optimizer)][1]
        assert _gradients(optimizer), NO_GRADIENTS
        result = None if is_infinite else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = (_Stage.STEPPED, is_infinite)
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to the steps since the last update. Raises AssertionError where there was none.

        Args:
            new_scale: set this instead.
        """
        if not self._enabled:
            return
        self._check_scale("update")
        assert self._scale is not None
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            assert self._stages, NO_CHECKS
            if any(is_infinite for _, is_infinite in self._stages.values()):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._stages.clear()

    def _check_scale(self, name: str) -> None:
        assert self._scale is not None, NO_SCALE.format(name=name)

    def get_scale(self) -> float:
        """The scale; 1 where it is not enabled.

        >>> GradScaler("cpu").get_scale()
        65536.0
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale

    def _get_growth_tracker(self) -> int:
        """How many steps without an infinite gradient there were since the scale changed."""
        return self._growth_tracker if self._enabled else 0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when it shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes, between iterations; empty where it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state. Raises RuntimeError for an empty one.

        Args:
            state_dict: what `state_dict` gave.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(NO_STATE)
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _gradients(optimizer: Any) -> list[Tensor]:
    """The gradients of an optimiser's parameters that have one."""
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
