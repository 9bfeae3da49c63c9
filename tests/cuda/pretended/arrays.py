"""CuPy's `ndarray`: an array whose memory is a device's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cuda.pretended import allocation, calls
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.calls import call, is_array, refuse_host_arrays, walk
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.errors import CAPTURE_UNSUPPORTED, ILLEGAL_ADDRESS, CUDARuntimeError
from tests.cuda.pretended.names import NAMES, check_arguments
from tests.cuda.pretended.places import wrapped
from tests.cuda.pretended.streams import current

IMPLICIT = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
)


class Flags:
    """How the elements of an array lie."""

    def __init__(self, array: Any) -> None:
        self.c_contiguous = _is_dense(array.shape[::-1], array.strides[::-1], array.itemsize)
        self.f_contiguous = _is_dense(array.shape, array.strides, array.itemsize)
        self.forc = self.c_contiguous or self.f_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous
        self.owndata = array.base is None

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    if 0 in shape:
        return True
    for n, s in zip(shape, strides, strict=True):
        if n != 1 and s != step:
            return False
        step *= n
    return True


class ndarray:  # noqa: N801  (as CuPy calls it)
    """An array of a device."""

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C",
        *, _base: Any = None,
    ) -> None:  # fmt: skip
        self.shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        if any(n < 0 for n in self.shape):
            raise ValueError("Negative dimensions are not allowed")
        self.dtype = np.dtype(dtype)
        if self.dtype.kind in "OSUMm" or self.dtype.itemsize > 16 or self.dtype == np.longdouble:
            raise ValueError(f"Unsupported dtype {self.dtype}")
        self.itemsize, self.ndim = self.dtype.itemsize, len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.itemsize
        self.base = _base
        if strides is None:
            steps, step = [0] * self.ndim, self.itemsize
            for k in range(self.ndim) if order == "F" else reversed(range(self.ndim)):
                steps[k] = step
                step *= max(self.shape[k], 1)
            strides = steps
        self.strides = tuple(map(int, strides))
        self.data = allocation.alloc(self.nbytes) if memptr is None else memptr

    # Memory

    @property
    def extent(self) -> tuple[int, int]:
        """The first address and the number of bytes that the elements reach over."""
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s > 0)
        return self.data.ptr + low, high - low + self.itemsize

    def check(self) -> None:
        """Raise as the runtime does if the memory is not allocated."""
        if not self.size:
            return
        start, nbytes = self.extent
        arena.check(start, nbytes)
        memory = self.data.mem
        if not memory.ptr <= start <= start + nbytes <= memory.ptr + memory.size:
            arena.mistakes.append(f"an array reaches over its memory: {self.shape}, {self.strides}")
            raise CUDARuntimeError(ILLEGAL_ADDRESS)

    @property
    def on_host(self) -> Any:
        """The same memory as NumPy can read it."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        self.check()
        at = self.data.ptr - arena.first
        return np.ndarray(self.shape, self.dtype, arena.bytes, at, self.strides)

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def device(self) -> Any:
        from tests.cuda.pretended.devices import Device

        return Device(self.data.device_id)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "version": 3,
            "stream": current().ptr or 1, "strides": None if self.flags.c_contiguous else self.strides,
            "data": (self.data.ptr, False),
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.data.device_id

    def __dlpack__(self, **options: Any) -> Any:
        from tests.cuda.pretended.capsules import capsule_of

        return capsule_of(self)

    # To and from the host

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        stream = current() if stream is None else stream
        if stream.is_capturing():
            raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
        calls.check_devices([self] if self.data.device_id == engine.device else [])
        with engine.lock:
            engine.synchronise(stream.queue)
            if out is not None:
                out[...] = self.on_host
                return out
            return np.array(self.on_host, order=order)

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        staged, target = arr.copy(), calls.bare(self)
        calls.write(self, [], lambda: target.on_host.__setitem__(..., staged))

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self.get().tobytes(order)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(IMPLICIT)

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __reduce__(self) -> Any:
        from tests.cuda.pretended.creation import asarray

        return asarray, (self.get(),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # Elements

    def __getitem__(self, key: Any) -> Any:
        parts = [part for part in walk(key) if is_array(part) or isinstance(part, np.ndarray)]
        is_mask = any(p.dtype.kind == "b" for p in parts)
        return call(lambda a, k: a[wrapped(k, a.shape)], (self, key), {}, "nonzero" if is_mask else "getitem")

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, list | tuple | np.ndarray) and np.ndim(value):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        used = [v for v in walk([key, value]) if is_array(v)]
        target, places, given = calls.bare((self, key, value))

        def action() -> None:
            at = calls.mapped(places, lambda k: k.on_host if is_array(k) else k)
            target.on_host[wrapped(at, target.shape)] = given.on_host if is_array(given) else given

        calls.write(self, used, action)

    def fill(self, value: Any) -> None:
        refuse_host_arrays(value)
        target, given = calls.bare((self, value))
        calls.write(self, [], lambda: target.on_host.fill(given.on_host if is_array(given) else given))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        target = calls.bare(self)
        calls.write(self, [], lambda: target.on_host.sort(axis=axis))

    def partition(self, kth: Any, axis: int = -1) -> None:
        target = calls.bare(self)
        calls.write(self, [], lambda: target.on_host.partition(kth, axis=axis))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        return call(lambda a: a.view(self.dtype if dtype is None else np.dtype(dtype)), (self,), {}, "view")

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return call(lambda a: a.astype(np.dtype(dtype), order=order, copy=True), (self,), {}, "astype")

    def copy(self, order: str = "C") -> Any:
        return call(lambda a: a.copy(order), (self,), {}, "copy")

    def scatter_add(self, slices: Any, value: Any) -> None:
        call_ufunc(np.add, "at", (self, slices, value), {})

    def scatter_max(self, slices: Any, value: Any) -> None:
        call_ufunc(np.maximum, "at", (self, slices, value), {})

    def scatter_min(self, slices: Any, value: Any) -> None:
        call_ufunc(np.minimum, "at", (self, slices, value), {})

    def toDlpack(self) -> Any:  # noqa: N802
        return self.__dlpack__()

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if NAMES.get(ufunc.__name__, ("", ()))[0] not in ("ufunc", "function") or method in ("reduceat", "at"):
            return NotImplemented
        if "out" in kwargs:
            if len(kwargs["out"]) == 1:
                (kwargs["out"],) = kwargs["out"]
            else:
                raise ValueError("The 'out' parameter must have exactly one array value")
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        space = function.__module__.partition(".")[2]
        name = f"{space}.{function.__name__}" if space else function.__name__
        if name not in NAMES:
            return NotImplemented
        from tests.cuda.pretended.functions import function_named

        return function_named(name)(*args, **kwargs)


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods, on arrays of the device and numbers."""
    operands = inputs[:1] + inputs[2:] if method == "at" else inputs
    for operand in (*operands, kwargs.get("out")):
        refuse_host_arrays(operand)
        if isinstance(operand, list):
            raise TypeError(calls.UNSUPPORTED.format(type=list))
        if operand is not None and operand is kwargs.get("out") and not is_array(operand):
            raise TypeError("return arrays must be of ArrayType")
    if method in ("reduce", "accumulate") and ufunc not in (np.add, np.multiply):
        raise NotImplementedError(f"`cupy_{ufunc.__name__}.{method}` is not supported yet")
    if method == "at":
        target, *rest = inputs
        calls.check_scattered(ufunc, target.dtype)
        used = [v for v in walk(rest) if is_array(v)]
        written, given = calls.bare((target, tuple(rest)))

        def action() -> None:
            ufunc.at(written.on_host, *calls.mapped(given, lambda v: v.on_host if is_array(v) else v))

        return calls.write(target, used, action)
    if kwargs.get("dtype") is None:
        kwargs.pop("dtype", None)
    if method == "__call__" and (unknown := kwargs.keys() - {"out", "dtype", "casting"}):
        raise TypeError(f"Wrong arguments {sorted(unknown)}")
    function = getattr(ufunc, method)
    if ufunc is np.matmul and inputs[0].dtype.name == "bfloat16" == inputs[1].dtype.name:
        function = _product_of_bfloats
    with np.errstate(all="ignore"):
        return call(function, inputs, kwargs, ufunc.__name__)


def _product_of_bfloats(x: Any, y: Any, out: Any = None) -> Any:
    """A product that is rounded once; NumPy's own has dtype float32."""
    result = (x.astype(np.float32) @ y.astype(np.float32)).astype(x.dtype)
    if out is None:
        return result
    out[...] = result
    return out


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_arguments(f"ndarray.{name}", args, kwargs)
        refuse_host_arrays(*([] if name in ("take", "choose", "repeat", "put") else args))
        with np.errstate(all="ignore"):
            if name == "take":
                kwargs["mode"] = "wrap"
            return call(lambda a, *rest, **options: getattr(a, name)(*rest, **options), (self, *args), kwargs, name)

    method.__name__ = name
    return method


def _attribute(name: str) -> Any:
    def change(self: Any, value: Any) -> None:
        refuse_host_arrays(value)
        used = [value] if is_array(value) else []
        calls.write(self, used, lambda: setattr(self.on_host, name, value.on_host if is_array(value) else value))

    return property(lambda self: call(lambda a: getattr(a, name), (self,), {}, name), change)


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "matmul": "matmul",
}  # fmt: skip
_COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _operator(ufunc: Any, *, is_turned: bool = False, is_in_place: bool = False) -> Any:
    def operator(self: Any, *other: Any) -> Any:
        operands = (*other, self) if is_turned else (self, *other)
        return call_ufunc(ufunc, "__call__", operands, {"out": self} if is_in_place else {})

    return operator


for _name, (_kind, _) in NAMES.items():
    _short = _name.removeprefix("ndarray.")
    if _name.startswith("ndarray.") and _short not in vars(ndarray) and hasattr(np.ndarray, _short):
        if _kind == "method":
            setattr(ndarray, _short, _method(_short))
        elif _short in ("T", "mT", "real", "imag"):
            setattr(ndarray, _short, _attribute(_short))
for _name, _ufunc in _BINARY.items():
    setattr(ndarray, f"__{_name}__", _operator(getattr(np, _ufunc)))
    setattr(ndarray, f"__r{_name}__", _operator(getattr(np, _ufunc), is_turned=True))
    if _name != "matmul":
        setattr(ndarray, f"__i{_name}__", _operator(getattr(np, _ufunc), is_in_place=True))
for _name, _ufunc in {**_COMPARED, **_UNARY}.items():
    setattr(ndarray, f"__{_name}__", _operator(getattr(np, _ufunc)))
calls.Arrays.kind = ndarray
