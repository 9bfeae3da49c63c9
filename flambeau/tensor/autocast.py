"""`autocast`: blocks and functions in mixed precision.

Within a block, products and convolutions compute in bfloat16 or float16, what would lose too much in float32, and what
takes operands of one dtype in the widest of theirs (`flambeau.ops.cast_policies`); everything else computes in what it
is given.

>>> with autocast("cpu"):
...     is_autocast_enabled("cpu")
True
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from flambeau.schema.dtype import DType, by_code
from flambeau.tensor.autocast_state import (
    DTYPES,
    Precision,
    check_device,
    dtype_on,
    end_block,
    local,
    precision,
    set_precision,
    with_devices,
)

F = TypeVar("F", bound=Callable[..., Any])

AUTOCAST: Final = "__autocast__"
"""The attribute of a decorated function that says its mixed precision: device, dtype, and whether it is on."""
HERE: Final[dict[str, Callable[[], bool]]] = {"cpu": lambda: True}
"""Kinds of devices, each with what says whether tensors can be on one."""
NOT_HERE: Final = "User provided device_type of '{}', but it is not available. Disabling"
UNSUPPORTED_DTYPE: Final = (
    "In {0} autocast, but the target dtype is not supported. Disabling autocast.\n{0} Autocast only supports dtypes of "
    "{1} currently."
)


def is_here(device_type: str) -> bool:
    """Whether tensors can be on a kind of device.

    >>> is_here("cpu"), is_here("mps")
    (True, False)
    """
    return device_type in HERE and HERE[device_type]()


def is_possible(device_type: str, dtype: DType) -> str:
    """Why there is no mixed precision in a dtype on a kind of device; empty if there is.

    >>> is_possible("mps", dtype_on("mps"))
    "User provided device_type of 'mps', but it is not available. Disabling"
    """
    if not is_here(device_type):
        return NOT_HERE.format(device_type)
    known = DTYPES[device_type]
    if dtype not in known:
        names = ", ".join(sorted(str(d) for d in known))
        return UNSUPPORTED_DTYPE.format(device_type.upper(), names)
    return ""


class _Block:
    """One block under way: what it found, to be put back."""

    def __init__(self, device_type: str, dtype: DType, enabled: bool, caches: bool) -> None:
        self._wanted = (device_type, dtype, enabled, caches)
        self._before: tuple[Precision, DType, bool] | None = None

    def __enter__(self) -> None:
        device_type, dtype, enabled, caches = self._wanted
        self._before = (precision(), dtype_on(device_type), local.caches)
        others = {name: other for name, other in precision() if name != device_type}
        set_precision(with_devices(others | ({device_type: dtype} if enabled else {})))
        local.dtypes[device_type], local.caches = dtype, caches
        local.depth += 1

    def __exit__(self, *error: object) -> None:
        assert self._before is not None
        end_block()
        before, local.dtypes[self._wanted[0]], local.caches = self._before
        set_precision(before)


class autocast:  # noqa: N801  (as programs write it)
    """A block or a function in mixed precision.

    Products and convolutions within compute in `dtype`, losses, decompositions and transforms in float32, and what
    joins tensors in the widest of their dtypes. Parameters are converted once within the outermost block. Gradients
    come in the dtypes of what they are of; `backward()` belongs behind the block. Nested blocks hold until they end,
    also with `enabled=False`. In scripted functions the same, in native code too.

    Warns, and does nothing, for devices that are not here and for dtypes that mixed precision does not compute in.
    Raises ValueError for a device that is no text, RuntimeError for an unknown kind of device.

    Args:
        device_type: "cpu": on tensors of which device.
        dtype: what to compute in, bfloat16 or float16; None for the device's usual one, bfloat16 on the CPU.
        enabled: whether it is on within the block.
        cache_enabled: whether copies of parameters are kept until the outermost block ends; None for as it is.

    >>> import flambeau
    >>> x = flambeau.ones(2, 2)
    >>> with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
    ...     y = x @ x
    ...     loss = flambeau.nn.functional.mse_loss(y, x)
    >>> y.dtype, loss.dtype
    (flambeau.bfloat16, flambeau.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | int | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = check_device(device_type)
        self.fast_dtype = (
            dtype_on(device_type) if dtype is None else by_code(dtype) if isinstance(dtype, int) else dtype
        )
        refusal = is_possible(device_type, self.fast_dtype) if enabled else ""
        if refusal:
            warnings.warn(refusal, stacklevel=3 if type(self) is not autocast else 2)
        self._enabled = bool(enabled) and not refusal
        self._caches = cache_enabled
        self._blocks: list[_Block] = []

    def _block(self) -> _Block:
        return _Block(
            self.device, self.fast_dtype, self._enabled, local.caches if self._caches is None else self._caches
        )

    def __enter__(self) -> Self:
        block = self._block()
        block.__enter__()
        self._blocks.append(block)
        return self

    def __exit__(self, *error: object) -> None:
        self._blocks.pop().__exit__(*error)

    def __call__(self, function: F) -> F:
        """The function, within the block whenever it is called."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._block():
                return function(*args, **kwargs)

        blocks = vars(call).get(AUTOCAST, ())
        vars(call)[AUTOCAST] = ((self.device, self.fast_dtype, self._enabled), *blocks)
        return call  # type: ignore[return-value]


class CudaAutocast(autocast):
    """`cuda.amp.autocast`: the device goes without saying.

    >>> import flambeau
    >>> with flambeau.cuda.amp.autocast(dtype=flambeau.bfloat16, enabled=False):
    ...     flambeau.is_autocast_enabled("cuda")
    False
    """

    def __init__(
        self, enabled: bool = True, dtype: DType | int | None = None, cache_enabled: bool | None = True
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuAutocast(autocast):
    """`cpu.amp.autocast`: the device goes without saying.

    >>> import flambeau
    >>> with flambeau.cpu.amp.autocast():
    ...     (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype
    flambeau.bfloat16
    """

    def __init__(
        self, enabled: bool = True, dtype: DType | int | None = None, cache_enabled: bool | None = True
    ) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operators on a kind of device compute in mixed precision now, on this thread.

    Args:
        device_type: "cpu" or another device.

    >>> import flambeau
    >>> with flambeau.autocast("cpu"):
    ...     flambeau.is_autocast_enabled("cpu"), flambeau.is_autocast_enabled()
    (True, False)
    """
    return any(name == device_type for name, _ in precision()) if check_device(device_type) else False


def is_autocast_cpu_enabled() -> bool:
    """Whether operators on the CPU compute in mixed precision.

    >>> import flambeau
    >>> flambeau.is_autocast_cpu_enabled()
    False
    """
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> DType:
    """What mixed precision computes in on the CPU.

    >>> import flambeau
    >>> flambeau.get_autocast_cpu_dtype()
    flambeau.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Set what mixed precision computes in on the CPU, for this thread.

    >>> import flambeau
    >>> flambeau.set_autocast_cpu_dtype(flambeau.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Turn mixed precision on the CPU on or off, for this thread.

    >>> import flambeau
    >>> flambeau.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is mixed precision for a kind of device. Raises RuntimeError for an unknown kind.

    >>> is_autocast_available("cpu")
    True
    """
    return check_device(device_type) in DTYPES


def get_autocast_dtype(device_type: str) -> DType:
    """What mixed precision computes in: within a block what that says, else what is set, bfloat16 on the CPU.

    Args:
        device_type: "cpu" or another device.

    >>> import flambeau
    >>> flambeau.get_autocast_dtype("cpu")
    flambeau.bfloat16
    """
    return dtype_on(check_device(device_type))


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set what mixed precision computes in on this thread where nothing else is said.

    Args:
        device_type: "cpu" or another device.
        dtype: bfloat16 or float16.

    >>> import flambeau
    >>> flambeau.set_autocast_dtype("cpu", flambeau.bfloat16)
    """
    local.dtypes[check_device(device_type)] = dtype
    if is_autocast_enabled(device_type):
        set_autocast_enabled(device_type, True)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Turn mixed precision on or off on this thread, from here on: `autocast` does so for a block.

    Args:
        device_type: "cpu" or another device.
        enabled: whether it is on.

    >>> import flambeau
    >>> flambeau.set_autocast_enabled("cpu", False)
    """
    others = {name: dtype for name, dtype in precision() if name != check_device(device_type)}
    set_precision(with_devices(others | ({device_type: dtype_on(device_type)} if enabled else {})))


def is_autocast_cache_enabled() -> bool:
    """Whether copies of parameters are kept until the outermost block ends.

    >>> is_autocast_cache_enabled()
    True
    """
    return local.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether copies of parameters are kept until the outermost block ends.

    Args:
        enabled: whether they are.

    >>> set_autocast_cache_enabled(True)
    """
    local.caches = enabled


def clear_autocast_cache() -> None:
    """Forget the copies of parameters that were made within the blocks around.

    >>> clear_autocast_cache()
    """
    local.cache.clear()


def autocast_increment_nesting() -> int:
    """Count one block more around this thread; how many there are then.

    >>> autocast_increment_nesting(), autocast_decrement_nesting()
    (1, 0)
    """
    local.depth += 1
    return local.depth


def autocast_decrement_nesting() -> int:
    """Count one block less around this thread; how many there are then. Behind the last, copies are forgotten.

    >>> autocast_increment_nesting(), autocast_decrement_nesting()
    (1, 0)
    """
    return end_block()
