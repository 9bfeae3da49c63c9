"""Custom functions (`autograd.Function`) in mixed precision: what their forward and backward run in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flambeau.schema.dtype import DType
from flambeau.tensor.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from flambeau.tensor.autocast_calls import is_cast
from flambeau.tensor.autocast_state import check_device
from flambeau.tensor.tensor import Tensor


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of a custom function: `custom_bwd` then runs its backward in the same mixed precision.

    With `cast_inputs`, floating tensors among the arguments are converted to that dtype where autocast is on, and it is
    off within. Raises ValueError for a device that is no text, RuntimeError for an unknown kind.

    Args:
        fwd: the function; without it, a decorator is returned.
        device_type: "cpu": of which device.
        cast_inputs: the dtype that the function computes in.

    >>> import flambeau
    >>> class Square(flambeau.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
    ...     def forward(ctx, x):
    ...         return x @ x
    >>> with flambeau.autocast("cpu"):
    ...     Square.apply(flambeau.ones(2, 2)).dtype
    flambeau.float32
    """
    check_device(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    function = fwd

    @functools.wraps(function)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        if cast_inputs is None or not is_on:
            ctx._fwd_used_autocast = is_on
            return function(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            cast = _cast(args, device_type, cast_inputs)
            return function(ctx, *cast, **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of a custom function: it runs in the mixed precision that `custom_fwd` saw.

    Raises ValueError for a device that is no text, RuntimeError for an unknown kind.

    Args:
        bwd: the function; without it, a decorator is returned.
        device_type: "cpu": of which device.

    >>> custom_bwd(device_type="cpu")(lambda ctx, grad: grad).__name__
    '<lambda>'
    """
    check_device(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    function = bwd

    @functools.wraps(function)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return function(ctx, *args, **kwargs)

    return backward


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Tensors of a device in another dtype, within containers too; what is no floating tensor as it is."""
    if isinstance(value, Tensor):
        return value.to(dtype) if is_cast(value, device_type) else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_cast(one, device_type, dtype) for one in value)
    return value
