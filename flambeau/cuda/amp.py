"""`cuda.amp`: `autocast` and `GradScaler` with the device left out; without one they do nothing, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.cuda.devices import is_available
from flambeau.schema.dtype import DType
from flambeau.tensor.autocast import HERE
from flambeau.tensor.autocast import CudaAutocast as autocast  # noqa: N813  (as programs write it)
from flambeau.tensor.autocast_functions import custom_bwd as _custom_bwd
from flambeau.tensor.autocast_functions import custom_fwd as _custom_fwd
from flambeau.tensor.grad_scaler import GradScaler as _GradScaler

HERE["cuda"] = is_available


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: DType | None = None) -> Callable[..., Any]:
    """`amp.custom_fwd` for CUDA devices: decorate the `forward` of a custom function.

    Args:
        fwd: the function; without it, a decorator is returned.
        cast_inputs: the dtype that floating arguments are converted to where autocast is on; it is off within.

    >>> import flambeau
    >>> class Square(flambeau.autograd.Function):
    ...     @staticmethod
    ...     @flambeau.cuda.amp.custom_fwd(cast_inputs=flambeau.float32)
    ...     def forward(ctx, x):
    ...         return x * x
    >>> Square.apply(flambeau.full((2,), 3.0, device="cuda")).tolist()
    [9.0, 9.0]
    """
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`amp.custom_bwd` for CUDA devices: the `backward` of a custom function runs as its `forward` did.

    Args:
        bwd: the function; without it, a decorator is returned.

    >>> import flambeau
    >>> class Double(flambeau.autograd.Function):
    ...     @staticmethod
    ...     @flambeau.cuda.amp.custom_fwd
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @flambeau.cuda.amp.custom_bwd
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = flambeau.ones(2, device="cuda", requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    return _custom_bwd(bwd, device_type="cuda")


class GradScaler(_GradScaler):
    """`amp.GradScaler` for CUDA devices.

    Args:
        init_scale, growth_factor, backoff_factor, growth_interval, enabled: as of `amp.GradScaler`.

    >>> import flambeau
    >>> scaler = flambeau.cuda.amp.GradScaler(init_scale=1024.0)
    >>> scaler.scale(flambeau.ones(2, device="cuda")).tolist()
    [1024.0, 1024.0]
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
