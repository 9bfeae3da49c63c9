"""A convolution, its gradient by the input (which is the transposed one) and by the weight, on arrays of CuPy.

Among the algorithms that cuDNN's heuristics propose the first is taken that gives the same bits each time; one that
does not is taken only where there is no other, or where `flambeau.backends.cudnn.benchmark` asks for speed alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.backends import cudnn as switches
from flambeau.cuda import library
from flambeau.cuda.cudnn.binding import DTYPES, Descriptor, call, handle, ints, is_available, scalar

Ints = Sequence[int]
MOST_ALGORITHMS: Final = 10
MOST_WORK: Final = 1 << 30
"""Bytes of memory that an algorithm may ask for beside its operands."""
CROSS_CORRELATION, DEFAULT_MATH, FMA_MATH = 1, 0, 3
FORWARD, BACKWARD_DATA, BACKWARD_FILTER = "Forward", "BackwardData", "BackwardFilter"


class _Performance(ctypes.Structure):
    """What cuDNN says of an algorithm (`cudnnConvolutionFwdAlgoPerf_t` and the two like it)."""

    _fields_ = (
        ("algorithm", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("is_deterministic", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


def convolution(
    x: Any, weight: Any, result: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int, transposed: bool
) -> Callable[..., None] | None:
    """What fills `result` with the convolution of arrays that lie as these: called with input, weight, bias and result.

    None where cuDNN is missing or has nothing for such arrays.
    """
    if not _is_served(x, weight, result):
        return None
    direction = BACKWARD_DATA if transposed else FORWARD
    image, seen = (result, x) if transposed else (x, result)
    plan = _plan(direction, image, weight, seen, stride, padding, dilation, groups)
    if plan is None:
        return None

    def fill(x: Any, weight: Any, bias: Any, result: Any) -> None:
        first, second = (weight, x) if transposed else (x, weight)
        plan(first, second, result)
        if bias is not None:
            result += bias.reshape(-1, *(1,) * (result.ndim - 2))

    return fill


def weight_gradient(
    x: Any, slope: Any, result: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Callable[[Any, Any, Any], None] | None:
    """What adds to `result` the gradient of a weight for arrays that lie as these: called with the convolution's input,
    the gradient of its result, and where to add. None as for `convolution`."""
    if not _is_served(x, slope, result):
        return None
    return _plan(BACKWARD_FILTER, x, result, slope, stride, padding, dilation, groups, adds=True)


def _is_served(*arrays: Any) -> bool:
    first = arrays[0]
    return (
        is_available()
        and switches.enabled
        and first.ndim in (3, 4, 5)
        and all(a.dtype == first.dtype and a.dtype.name in DTYPES and a.size for a in arrays)
        and all(_fits(a) for a in arrays)
    )


def _fits(array: Any) -> bool:
    """Whether cuDNN's ints hold its sizes, and elements lie at multiples of their size, forwards, each once."""
    item = array.dtype.itemsize
    return all(0 <= s // item < 1 << 31 and s % item == 0 for s in array.strides) and all(
        s or n == 1 for s, n in zip(array.strides, array.shape, strict=True)
    )


def _plan(
    direction: str, image: Any, weight: Any, seen: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    *, adds: bool = False,
) -> Callable[[Any, Any, Any], None] | None:  # fmt: skip
    """Descriptors and an algorithm for arrays that lie as these, as a function of two operands and the result."""
    is_last = _is_channels_last(weight)
    if not (is_last or weight.flags.c_contiguous):
        return None
    dtype = image.dtype
    tensor, filters, other = _tensor(image), _filters(weight, is_last), _tensor(seen)
    about = _about(dtype, stride, padding, dilation, groups)
    order = {
        FORWARD: (tensor, filters, about, other),
        BACKWARD_DATA: (filters, other, about, tensor),
        BACKWARD_FILTER: (tensor, other, about, filters),
    }[direction]
    chosen = _algorithm(direction, order)
    if chosen is None:
        return None
    algorithm, nbytes = chosen
    first, second, _, target = order
    one, start = scalar(1.0, dtype), scalar(1.0 if adds else 0.0, dtype)

    def run(a: Any, b: Any, result: Any) -> None:
        work = library.cupy().empty(nbytes, "uint8") if nbytes else None
        call(
            f"cudnnConvolution{direction}", handle(), one, first.pointer, _at(a), second.pointer, _at(b), about.pointer,
            algorithm, _at(work), ctypes.c_size_t(nbytes), start, target.pointer, _at(result),
        )  # fmt: skip

    return run


def _algorithm(direction: str, order: Sequence[Descriptor]) -> tuple[int, int] | None:
    """The number of an algorithm and the bytes of memory it needs; None if there is none."""
    count, measured = ctypes.c_int(), (_Performance * MOST_ALGORITHMS)()
    name = f"cudnnGetConvolution{direction}Algorithm_v7"
    call(name, handle(), *[d.pointer for d in order], MOST_ALGORITHMS, ctypes.byref(count), measured)
    usable = [p for p in measured[: count.value] if p.status == 0 and p.memory <= MOST_WORK]
    same_bits = [p for p in usable if p.is_deterministic]
    best = usable if switches.benchmark and not switches.deterministic else same_bits or usable
    return (best[0].algorithm, best[0].memory) if best else None


def _at(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(0 if array is None else array.data.ptr)


def _raised(values: Ints, one: int) -> list[int]:
    """At least two numbers, one for each dimension: cuDNN has no convolution over one."""
    return [one, *values] if len(values) == 1 else list(values)


def _tensor(array: Any) -> Descriptor:
    item = array.dtype.itemsize
    sizes, strides = list(array.shape), [s // item for s in array.strides]
    if array.ndim == 3:
        sizes, strides = [*sizes[:2], 1, sizes[2]], [*strides[:2], strides[2] * sizes[2], strides[2]]
    descriptor = Descriptor("Tensor")
    dtype = DTYPES[array.dtype.name]
    call("cudnnSetTensorNdDescriptor", descriptor.pointer, dtype, len(sizes), ints(sizes), ints(strides))
    return descriptor


def _filters(weight: Any, is_last: bool) -> Descriptor:
    sizes = [*weight.shape[:2], *_raised(weight.shape[2:], 1)]
    descriptor = Descriptor("Filter")
    dtype = DTYPES[weight.dtype.name]
    call("cudnnSetFilterNdDescriptor", descriptor.pointer, dtype, int(is_last), len(sizes), ints(sizes))
    return descriptor


def _is_channels_last(weight: Any) -> bool:
    order = (0, *range(2, weight.ndim), 1)
    return not weight.flags.c_contiguous and bool(weight.transpose(order).flags.c_contiguous)


def _about(dtype: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Descriptor:
    descriptor = Descriptor("Convolution")
    pads, steps, apart = _raised(padding, 0), _raised(stride, 1), _raised(dilation, 1)
    computed = DTYPES["float64" if dtype.name == "float64" else "float32"]
    call(
        "cudnnSetConvolutionNdDescriptor", descriptor.pointer, len(pads), ints(pads), ints(steps), ints(apart),
        CROSS_CORRELATION, computed,
    )  # fmt: skip
    call("cudnnSetConvolutionGroupCount", descriptor.pointer, groups)
    may_round = dtype.name in ("float16", "bfloat16") or switches.allow_tf32
    call("cudnnSetConvolutionMathType", descriptor.pointer, DEFAULT_MATH if may_round else FMA_MATH)
    return descriptor
