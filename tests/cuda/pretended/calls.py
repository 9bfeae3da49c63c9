"""Calls of NumPy's functions on arrays of a device: what they are given is checked, what they give is the device's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cuda.pretended import allocation
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.engine import Queue, engine
from tests.cuda.pretended.errors import CAPTURE_UNSUPPORTED, CUDARuntimeError
from tests.cuda.pretended.streams import queue_of

_SIZED_BY_ELEMENTS = """
    nonzero argwhere flatnonzero unique allclose array_equal array_equiv extract compress setdiff1d intersect1d union1d
    repeat trim_zeros bincount histogram histogramdd isin
"""
SYNCHRONISING = frozenset(_SIZED_BY_ELEMENTS.split())
"""Functions whose results have sizes that depend on elements: the host waits for them."""
_LIMITS = ("int32", "float32", "float64", "uint32", "uint64")
SCATTERED = {"add": (*_LIMITS, "float16", "complex64", "complex128"), "maximum": _LIMITS, "minimum": _LIMITS}
"""The dtypes of targets by the function of a scatter."""
UNSUPPORTED = "Unsupported type {type}"


class Arrays:
    """The class of arrays, which is made above this module."""

    kind: Any = None


def is_array(value: Any) -> bool:
    return isinstance(value, Arrays.kind)


def walk(value: Any) -> list[Any]:
    """The values in lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in walk(item)]
    return [value]


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same containers with other values in them."""
    if isinstance(value, dict):
        return {k: mapped(v, change) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)._make(mapped(v, change) for v in value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(v, change) for v in value)
    return change(value)


def refuse_host_arrays(*values: Any) -> None:
    """Arrays of the host are no operands."""
    for leaf in walk(list(values)):
        if isinstance(leaf, np.ndarray):
            raise TypeError(UNSUPPORTED.format(type=type(leaf)))


def check_devices(arrays: list[Any]) -> None:
    """Arrays must lie in allocated memory of the device in use."""
    for array in arrays:
        if array.size and array.data.device_id != engine.device:
            raise ValueError(
                f"The device where the array resides ({array.data.device_id}) is different from the current device "
                f"({engine.device}). Peer access is unavailable between these devices."
            )
        array.check()


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str = "") -> Any:
    """What the function gives, as arrays of the device in use; the work is its current stream's."""
    name = name or function.__name__
    sources = [leaf for leaf in walk([args, kwargs]) if is_array(leaf)]
    check_devices(sources)
    queue = queue_of()
    # Whoever gives memory may ask the engine for events while it holds a lock of its own: results are made without
    # the engine's.
    if engine.is_lazy(queue) and name not in SYNCHRONISING:
        return _later(function, args, kwargs, sources, queue)
    with engine.lock:
        if engine.is_lazy(queue) and queue.capture is not None:
            raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
        engine.settle(queue)
        if name in SYNCHRONISING:
            engine.synchronised += 1
        lent: dict[int, Any] = {}
        result = function(*_lend(args, lent), **_lend(kwargs, lent))
    return mapped(result, lambda leaf: taken(leaf, sources, lent))


def _lend(value: Any, lent: dict[int, Any], *, copies: bool = False) -> Any:
    """Views of the same memory that NumPy can read, remembered by what they are of."""

    def change(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        view = leaf.on_host.copy() if copies else leaf.on_host
        lent[id(view)] = (view, leaf)
        return view

    return mapped(value, change)


def taken(leaf: Any, sources: list[Any], lent: dict[int, Any], *, is_tried: bool = False) -> Any:
    """A result of NumPy's as CuPy has it: an array of the device, a view where it is one of an operand.

    What was only tried is not written: memory may be in use by work before.
    """
    if id(leaf) in lent:
        return lent[id(leaf)][1]
    if isinstance(leaf, np.generic) and not isinstance(leaf, np.ndarray):
        leaf = np.asarray(leaf)
    if not isinstance(leaf, np.ndarray):
        return leaf
    address = arena.on_device(leaf.ctypes.data)
    if address is not None and leaf.size:
        for source in sources:
            memory = source.data.mem
            if memory.ptr <= address <= memory.ptr + memory.size:
                pointer = allocation.MemoryPointer(memory, address - memory.ptr)
                return Arrays.kind(leaf.shape, leaf.dtype, pointer, leaf.strides, _base=source)
    result = like(leaf)
    if not is_tried:
        result.on_host[...] = leaf
    return result


def like(array: Any) -> Any:
    """A new array with the layout of one of NumPy's, if that has no gaps, else row-major."""
    order = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
    strides, step = [0] * array.ndim, array.itemsize
    for k in reversed(order):
        strides[k] = step
        step *= max(array.shape[k], 1)
    if any(s <= 0 for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        return Arrays.kind(array.shape, array.dtype)
    return Arrays.kind(array.shape, array.dtype, None, tuple(strides))


def _later(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], sources: list[Any], queue: Queue
) -> Any:
    """Run it now to see what it gives, on copies where it writes, and again when the stream gets there."""
    writes = kwargs.get("out") is not None
    tried: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        try:
            seen = function(*_lend(args, tried), **_lend(kwargs, tried, copies=writes))
        except IndexError:  # places that nobody has written yet
            tried.clear()
            seen = function(*mapped(args, _first_places), **_lend(kwargs, tried, copies=writes))
    pairs: list[tuple[int, Any]] = []

    def keep(leaf: Any) -> Any:
        result = taken(leaf, sources, tried, is_tried=True)
        if is_array(result) and getattr(result, "base", None) is None and not any(result is s for s in sources):
            pairs.append((len(pairs), result))
        return result

    results = mapped(seen, keep)

    args, kwargs = bare(args), bare(kwargs)
    pairs = [(number, bare(result)) for number, result in pairs]

    def action() -> None:
        lent: dict[int, Any] = {}
        again = function(*_lend(args, lent), **_lend(kwargs, lent))
        fresh = [a for a in walk(again) if isinstance(a, np.ndarray | np.generic) and id(a) not in lent]
        fresh = [a for a in fresh if arena.on_device(np.asarray(a).ctypes.data) is None]
        for (_, result), value in zip(pairs, fresh, strict=True):
            result.on_host[...] = value

    if pairs or writes:
        engine.submit(queue, action)
    return results


def check_scattered(ufunc: Any, dtype: Any) -> None:
    """Raise TypeError, as CuPy does, for dtypes that atomic functions do not take."""
    names = SCATTERED.get(ufunc.__name__, ())
    if not names:
        raise NotImplementedError(f"`cupy_{ufunc.__name__}.at` is not supported yet")
    if np.dtype(dtype).name not in names:
        raise TypeError(f"cupyx.scatter_{ufunc.__name__} only supports {', '.join(names)} as data type")


def _first_places(leaf: Any) -> Any:
    """An array for a trial whose integers are zeros."""
    if not is_array(leaf):
        return leaf
    return np.zeros(leaf.shape, leaf.dtype) if leaf.dtype.kind in "iu" else leaf.on_host


def bare(value: Any) -> Any:
    """The arrays without their owners: work that is given to a device keeps no memory."""

    def change(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        memory = allocation.UnownedMemory(leaf.data.mem.ptr, leaf.data.mem.size, None, leaf.data.device_id)
        pointer = allocation.MemoryPointer(memory, leaf.data.ptr - memory.ptr)
        return Arrays.kind(leaf.shape, leaf.dtype, pointer, leaf.strides)

    return mapped(value, change)


def write(target: Any, sources: list[Any], action: Callable[[], None]) -> None:
    """Give the current stream work that writes into an array."""
    check_devices([target, *sources])
    engine.submit(queue_of(), action)
