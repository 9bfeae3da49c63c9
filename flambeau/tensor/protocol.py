"""Python's operators, indexing, iteration and attributes of tensors, each by the operator that does it.

Importing this module installs them on `Tensor`. An operand that is no number, tensor or array is left to Python,
which then says "unsupported operand type(s) for +: 'Tensor' and 'str'".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.dtype import Category, DType
from flambeau.schema.symbolic import SymbolicInt, SymbolicNumber
from flambeau.tensor import create, index, text_form
from flambeau.tensor.bridge import is_foreign
from flambeau.tensor.defaults import get_default_dtype
from flambeau.tensor.dispatch import call, operator_of
from flambeau.tensor.observer import thread
from flambeau.tensor.overridden_functions import method_of
from flambeau.tensor.overrides import NOT_OVERRIDDEN as _NOBODY
from flambeau.tensor.overrides import answer
from flambeau.tensor.python_forms import nonzero
from flambeau.tensor.size import Size
from flambeau.tensor.subclasses import special as subclasses
from flambeau.tensor.tensor import Tensor, install_method
from flambeau.tensor.typed import kind_named

_NUMBERS: Final = (int, float, complex)
_OPERANDS: Final = (Tensor, *_NUMBERS, SymbolicNumber, np.ndarray, np.generic)

BINARY: Final = {
    "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__floordiv__": "floor_divide",
    "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip
"""`x + y` is `add(x, y)`, `y + x` with a number `y` too, and `x += y` is `add_(x, y)`."""
COMPARISONS: Final = {"__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__eq__": "eq", "__ne__": "ne"}
ASKED_AS_WRITTEN: Final = frozenset([
    "__eq__", "__floordiv__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
])  # fmt: skip
"""Operators that classes of operands are asked about by Python's name; about others by that of the method."""
REFLECTED_METHODS: Final = frozenset(["__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"])
"""Of operators with a tensor behind, those whose sides may change places: classes are asked about the method."""
UNARY: Final = {"__neg__": "neg", "__abs__": "abs", "__pos__": "positive"}


def _is_operand(other: Any) -> bool:
    """Whether Python's operators take a value beside a tensor: numbers, arrays, and those of other libraries."""
    return isinstance(other, _OPERANDS) or is_foreign(other)


def _named(method: Callable[..., Any], special: str) -> Callable[..., Any]:
    method.__name__ = special
    method.__qualname__ = f"Tensor.{special}"
    method.is_overridable = True  # type: ignore[attr-defined]
    return method


def _binary(special: str, name: str) -> Callable[[Tensor, Any], Any]:
    target = operator_of(name)
    find = target.fast_path.get
    short = name.removeprefix("aten::")
    takes_numbers = special != "__matmul__"

    def method(self: Tensor, other: Any) -> Any:
        fast_path = find((type(self), type(other)))
        if fast_path is not None and not thread.handlers:
            return fast_path(self, other)
        if subclasses.exists or thread.handlers or not isinstance(other, _OPERANDS):
            asked = method if special in ASKED_AS_WRITTEN else getattr(Tensor, short, method)
            result = answer(asked, (self, other), {}, is_operator=True)
            if result is not _NOBODY:
                return result
        can_be = _is_operand(other) and (takes_numbers or isinstance(other, Tensor))
        return target.call_positional((self, other)) if can_be else NotImplemented

    return _named(method, special)


def _reflected(special: str, name: str) -> Callable[[Tensor, Any], Any]:
    """The method for a tensor that stands behind; a number before it stays a number, in a trace too, where it can."""
    target = operator_of(name)
    short = name.removeprefix("aten::")
    takes_numbers = special != "__rmatmul__"

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, SymbolicNumber):
            return _reflected_symbolic(self, other, name)
        if subclasses.exists or thread.handlers:
            asked = getattr(Tensor, short, method) if special in REFLECTED_METHODS else method
            result = answer(asked, (self, other), {}, is_operator=True)
            if result is not _NOBODY:
                return result
        if isinstance(other, _NUMBERS) and target.candidates[0].traits.commutes:
            return target(self, other)
        can_be = _is_operand(other) and (takes_numbers or isinstance(other, Tensor))
        return call(name, other, self) if can_be else NotImplemented

    return _named(method, special)


def _of_one(divide: Callable[[Tensor, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """The method for a tensor that divides, where 1 by real numbers is an operator of its own, to the bit, while nobody
    watches."""
    target = operator_of("aten::reciprocal")
    find = target.fast_path.get

    def method(self: Tensor, other: Any) -> Any:
        is_watched = thread.handlers or subclasses.exists
        if type(other) in (int, float) and other == 1 and not is_watched and not self.dtype.is_complex:
            fast_path = find(type(self))
            return target.call_positional((self,)) if fast_path is None else fast_path(self)
        return divide(self, other)

    return _named(method, "__rtruediv__")


SPARSE: Final = ": flambeau has no sparse tensors: keep the values beside their indices"
INSTEAD: Final = {
    "to_sparse": SPARSE, "coalesce": SPARSE, "to_dense": SPARSE,
}  # fmt: skip
"""What to write in the place of attributes that tensors of PyTorch have, or had."""


def _missing(self: Tensor, name: str) -> Any:
    """An attribute that tensors do not have."""
    text = f"'{type(self).__name__}' object has no attribute '{name}'"
    raise AttributeError(f"{text}{INSTEAD.get(name, '')}", name=name, obj=self)


def _reflected_symbolic(self: Tensor, other: SymbolicNumber, name: str) -> Any:
    """A number of a trace before a tensor: a tensor without axes, of the dtype that makes no difference."""
    if registry.overloads(name)[0].traits.commutes:
        return call(name, self, other)
    if isinstance(other, SymbolicInt):
        dtype = dtypes.int64 if self.dtype is dtypes.bool_ else self.dtype
    else:
        dtype = self.dtype if self.dtype.is_floating_point or self.dtype.is_complex else get_default_dtype()
    return call(name, call("aten::full", [], other, dtype=dtype), self)


def _unary(special: str, name: str) -> Callable[[Tensor], Any]:
    target = operator_of(name)
    find = target.fast_path.get
    short = name.removeprefix("aten::")

    def method(self: Tensor) -> Any:
        fast_path = find(type(self))
        if fast_path is not None and not thread.handlers:
            return fast_path(self)
        return target.call_positional((self,), getattr(Tensor, short, method) if special in UNARY else method)

    method.__name__ = special
    method.__qualname__ = f"Tensor.{special}"
    method.is_overridable = special.startswith("__")  # type: ignore[attr-defined]  # others become properties
    return method


def _reflected_subtraction(self: Tensor, other: Any) -> Any:
    if subclasses.exists or thread.handlers:
        result = answer(Tensor.__rsub__, (self, other), {}, is_operator=True)
        if result is not _NOBODY:
            return result
    return call("aten::rsub", self, other) if _is_operand(other) else NotImplemented


def _invert(self: Tensor) -> Any:
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return call("aten::bitwise_not", self)


def _arithmetic() -> dict[str, Callable[..., Any]]:
    """The methods of Python's number protocol."""
    methods: dict[str, Callable[..., Any]] = {"__invert__": _invert}
    methods["__rsub__"] = _named(_reflected_subtraction, "__rsub__")
    methods["__rtruediv__"] = _of_one(_reflected("__rtruediv__", "aten::div"))
    for special, name in BINARY.items():
        stem = special.removeprefix("__")
        methods[special] = _binary(special, f"aten::{name}")
        methods.setdefault(f"__r{stem}", _reflected(f"__r{stem}", f"aten::{name}"))
        if special != "__matmul__":
            methods[f"__i{stem}"] = _binary(f"__i{stem}", f"aten::{name}_")
    for special, name in COMPARISONS.items():
        methods[special] = _binary(special, f"aten::{name}")
    for special, name in UNARY.items():
        methods[special] = _unary(special, f"aten::{name}")
    return methods


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self._array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


_iter.is_overridable = True  # type: ignore[attr-defined]  # `unbind` asks, whose results are of the subclass


def _no_deletion(self: Tensor, key: Any) -> None:
    """Elements stay where they are."""
    raise TypeError("Tensor does not support deleting items: make another one, x[kept] or cat of what stays")


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, _OPERANDS):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    if isinstance(element, Tensor) or self.device.type == "cuda":
        return bool(call("aten::any", call("aten::eq", self, element)))
    return bool(np.any(self._array == element))


def _reversed(self: Tensor) -> Tensor:
    flipped: Tensor = call("aten::flip", self, [0] if self.dim() else [])
    return flipped


def _attribute(name: str, doc: str) -> property:
    return property(_unary(name, name), doc=doc)


def _part(name: str, doc: str) -> property:
    """A part of complex numbers, which may be assigned: the numbers change."""
    read = _unary(name, name)

    def write(self: Tensor, values: Any) -> None:
        read(self)[...] = values

    return property(read, write, doc=doc)


CASTS: Final = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.complex32,
}  # fmt: skip
"""`x.float()` is `x.to(float32)`."""


def _set_data(self: Tensor, source: Any) -> None:
    """Show another tensor's memory from now on. Raises TypeError for what is no tensor, RuntimeError for integers where
    a gradient is asked for."""
    if not isinstance(source, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(source).__name__}")
    if self.requires_grad and source.dtype.category < Category.FLOAT:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    replace_memory(self, source)


def replace_memory(tensor: Tensor, source: Tensor) -> None:
    """Have a tensor show another one's memory, and go on counting its own writes."""
    version = tensor._storage.version if type(tensor._storage) is type(source._storage) else None
    tensor._array, tensor._storage = source._array, source._storage.counted_apart(version)


_detached: Final = _unary("data", "aten::detach")


def data_of(tensor: Tensor) -> Tensor:
    """The same memory without a record: what is written through it does not count as written to `tensor`."""
    result: Tensor = _detached(tensor)
    if type(result) is Tensor and thread.observer is None and not thread.handlers:
        result._storage = result._storage.counted_apart()
    return result


def _cast(name: str, dtype: DType) -> Callable[..., Tensor]:
    find = operator_of("aten::to").fast_path.get

    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is None and not thread.handlers:
            fast_path = find((type(self), DType))
            if fast_path is not None:
                return fast_path(self, dtype)  # type: ignore[no-any-return]
            converted: Tensor = call("aten::to", self, dtype)
            return converted
        result: Tensor = call("aten::to", self, dtype, memory_format=memory_format)
        return result

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"The tensor as {dtype.name}: itself if it is that already, else a copy."
    return method


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with a copy of `data` and, unless told otherwise, the dtype of this one."""
    return create.tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


def _new(self: Tensor, *arguments: Any) -> Tensor:
    """What the old `x.new(...)` makes: memory of sizes, or of a sequence its elements, in this dtype on this device.

    Of a tensor of this dtype it is another one with the same memory. Raises TypeError for one of another dtype.
    """
    match arguments:
        case (Size() as sizes,):
            arguments = tuple(sizes)
        case (Tensor() as other,):
            if other.dtype is not self.dtype:
                raise TypeError(NEW_TENSOR.format(wanted=self.dtype, given=other.dtype))
            detached: Tensor = call("aten::detach", other)
            return detached
        case (data,) if not isinstance(data, int):
            return _new_tensor(self, data, device=self.device)
    result: Tensor = call("aten::new_empty", self, list(arguments) or [0])
    return result


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor converted to a dtype or to a type of that name.

    Raises ValueError for a name that is no tensor's.
    """
    if dtype is None:
        return f"torch.{'cuda.' * self.is_cuda}{self.dtype.display}Tensor"
    if not isinstance(dtype, str | type) or dtype in (bool, int, float, complex):
        return call("aten::to", self, dtype)
    kind = kind_named(dtype)
    if kind is None:
        raise ValueError(f"invalid type: {dtype!r}: write x.to(flambeau.float64), or x.type('torch.DoubleTensor')")
    return call("aten::to", self, Device(kind[1]), kind[0], non_blocking)


def _always(value: Any, doc: str) -> property:
    return property(lambda self: value, doc=doc)


NEW_TENSOR: Final = "x.new(tensor) takes a tensor of {wanted}, not of {given}: write x.new_tensor(tensor)"
OTHER_KINDS: Final = (
    "ipu", "maia", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse", "sparse_csr", "vulkan", "xla",
    "xpu",
)  # fmt: skip
"""What tensors here never are: `x.is_sparse` is False."""


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return text_form.tensor_text(self)


def _format(self: Tensor, spec: str) -> str:
    return text_form.formatted(self, spec)


def _install() -> None:
    for name, dtype in CASTS.items():
        install_method(name, _cast(name, dtype))
    methods: dict[str, Any] = _arithmetic() | {
        "__getattr__": _missing, "__getitem__": index.get_item, "__setitem__": index.set_item, "__repr__": _repr,
        "__format__": _format,
        "new": _new, "new_tensor": _new_tensor, "type": _type, "nonzero": method_of(nonzero),
        "__iter__": _iter, "__delitem__": _no_deletion, "__contains__": _contains, "__reversed__": _reversed,
        "T": _attribute("aten::numpy_T", "The dimensions in reverse order; a view."),
        "mT": _attribute("aten::mT", "The last two dimensions swapped; a view."),
        "H": _attribute("aten::matrix_H", "The conjugate of a matrix's transpose."),
        "mH": _attribute("aten::mH", "The conjugate of `mT`."),
        "real": _part("aten::real", "The real parts; a view. Assigning them changes the numbers."),
        "imag": _part("aten::imag", "The imaginary parts, likewise. Raises RuntimeError for real tensors."),
        "data": property(data_of, _set_data, doc="The same memory without a record, which counts its own writes."),
    }  # fmt: skip
    methods |= {f"is_{kind}": _always(False, f"Whether it is {kind}: never.") for kind in OTHER_KINDS}
    methods["is_meta"] = _always(False, 'Whether it is on the device "meta": then its class says so.')
    methods["name"] = _always(None, "The name of a tensor: none has one.")
    for name, method in methods.items():
        if name.startswith("__"):
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
        install_method(name, method)


_install()
