"""What stands for values of a graph while a formula is traced: a tensor, a number, a list of tensors.

It answers what is known of the value (dtype, rank, sizes of 1); a question about anything else raises
`UntraceableError`. Arithmetic inserts nodes, through the builder that it belongs to (`graph_operators.Builder`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from flambeau.autodiff.symbolic_sizes import ONE, Size
from flambeau.ir.graph import Value
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.symbolic import SymbolicFloat, SymbolicInt, SymbolicTensor
from flambeau.schema.types import TensorType


class UntraceableError(Exception):
    """A formula asks for something that is known only when the graph runs."""


def refuse(what: str) -> Any:
    raise UntraceableError(what)


class Operand(ABC):
    """What Python's operators are applied to while a formula is traced: those with one meaning for all such values."""

    __slots__ = ()

    @abstractmethod
    def _apply(self, name: str, *operands: Any) -> Any:
        """The result of the operator `aten::name`."""

    def __rpow__(self, other: Any) -> Any:
        return self._apply("pow", other, self)

    def __neg__(self) -> Any:
        return self._apply("neg", self)

    def __lt__(self, other: Any) -> Any:
        return self._apply("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._apply("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._apply("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._apply("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return self._apply("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._apply("ne", self, other)

    __hash__ = None  # type: ignore[assignment]  # equality is a value of the program


class NumberProxy(Operand):
    """A number of a graph; which one is known when the graph runs."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Value) -> None:
        self.builder = builder
        self.value = value

    def _apply(self, name: str, *operands: Any) -> Any:
        return self.builder.scalar(f"aten::{name}", operands)

    def __add__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, TensorProxy) else self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, TensorProxy) else self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, TensorProxy):
            return NotImplemented
        return self if type(other) is int and other == 1 else self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self if type(other) is int and other == 1 else self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, TensorProxy) else self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply("floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        return self._apply("remainder", self, other)

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, TensorProxy) else self._apply("pow", self, other)

    def __bool__(self) -> bool:
        return bool(refuse("a condition that only the run knows"))

    def __index__(self) -> int:
        return int(refuse("a number that only the run knows"))

    def __float__(self) -> float:
        return float(refuse("a number that only the run knows"))

    __int__ = __index__

    def conjugate(self) -> Any:
        """The number itself: it is real."""
        return self

    @property
    def real(self) -> Any:
        """The number itself."""
        return self


class FloatProxy(NumberProxy, SymbolicFloat):
    """A float of a graph."""

    __slots__ = ()


class IntProxy(NumberProxy, SymbolicInt):
    """An int of a graph; of a size, which one it is."""

    __slots__ = ("size",)

    def __init__(self, builder: Any, value: Value, size: Size | None = None) -> None:
        super().__init__(builder, value)
        self.size = size

    def __eq__(self, other: object) -> Any:
        if isinstance(other, IntProxy) and (self.value is other.value or (self.size and self.size is other.size)):
            return True
        if self.size is not None and self.size.is_one is False and type(other) is int and other == 1:
            return False
        return NumberProxy.__eq__(self, other)

    def __ne__(self, other: object) -> Any:
        return not equal if isinstance(equal := self == other, bool) else NumberProxy.__ne__(self, other)


    def as_float(self) -> Any:
        """The number converted to a float, in the graph."""
        return self.builder.scalar("aten::Float", (self,))


class BoolProxy:
    """A bool of a graph: which way a formula goes does not follow from it."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(refuse("a condition that only the run knows"))

    def __and__(self, other: Any) -> Any:
        return refuse("a condition beside elements")

    __or__ = __rand__ = __ror__ = __and__


class ListProxy:
    """A list of tensors of a graph whose length is not known."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Value) -> None:
        self.builder, self.value = builder, value

    def __getitem__(self, index: int) -> Any:
        return self.builder.node("aten::__getitem__", [self.value, self.builder.constant(index)])

    def __len__(self) -> int:
        return int(refuse("the length of a list"))

    def __iter__(self) -> Any:
        return refuse("the items of a list")


class TensorProxy(Operand, SymbolicTensor):
    """A tensor of a graph."""

    __slots__ = ("_primal", "builder")

    def __init__(self, builder: Any, primal: Value) -> None:
        self.builder = builder
        self._primal = primal

    @property
    def value(self) -> Value:
        """The value, where nodes are inserted now: kept or computed again, if it is of the way there."""
        value: Value = self.builder.use(self._primal)
        return value

    @property
    def type(self) -> TensorType:
        """What is known of it."""
        type_ = self._primal.static_type
        return type_ if isinstance(type_, TensorType) else refuse("something that is no tensor")

    @property
    def dtype(self) -> DType:
        """The dtype. Raises UntraceableError if it is not known."""
        return self.type.dtype or refuse("a dtype")

    @property
    def device(self) -> Device:
        """The device. Raises UntraceableError if it is not known."""
        return self.type.device or refuse("a device")

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def shape(self) -> list[Any]:
        """The sizes: 1, or what stands for another."""
        sizes = self.builder.sizes.of(self._primal)
        if sizes is None:
            return list(refuse("a rank"))
        return [1 if size is ONE else self._size(axis, size) for axis, size in enumerate(sizes)]

    def _size(self, axis: int, size: Size) -> Any:
        type_ = self.type.sizes
        if type_ is not None and type_[axis] is not None:
            return type_[axis]
        return self.builder.size(self, axis, size)

    def dim(self) -> int:
        """The rank. Raises UntraceableError if it is not known."""
        rank = self.type.rank
        return rank if rank is not None else int(refuse("a rank"))

    @property
    def ndim(self) -> int:
        """The rank."""
        return self.dim()

    def numel(self) -> Any:
        """How many elements there are."""
        return self.builder.node("aten::numel", [self.value])

    def reshape(self, *sizes: Any) -> Any:
        """The elements in other sizes; itself, if these are its own."""
        wanted = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
        return self if self.has_sizes(wanted) else self.builder.call("aten::reshape", (self, list(wanted)), {})

    def has_sizes(self, wanted: Any) -> bool:
        """Whether sizes are surely its own."""
        own = self.builder.sizes.of(self._primal)
        if own is None or len(own) != len(wanted):
            return False
        return all(
            size is ONE if type(other) is int and other == 1 else isinstance(other, IntProxy) and other.size is size
            for size, other in zip(own, wanted, strict=True)
        )

    @property
    def mT(self) -> Any:  # noqa: N802  (the operator's name)
        """A matrix's transpose."""
        return self.builder.operators.mT(self)

    def item(self) -> Any:
        """Refuse: formulas that look at elements are not traced."""
        return refuse("an element")

    def __bool__(self) -> bool:
        return bool(refuse("an element"))

    __float__ = __int__ = __index__ = __iter__ = __len__ = __bool__

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.builder.call(f"aten::{name}", (self, *args), kwargs)

    def _apply(self, name: str, *operands: Any) -> Any:
        return self.builder.call(f"aten::{name}", operands, {})

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("rsub", self, other)

    def __mul__(self, other: Any) -> Any:
        return self if type(other) is int and other == 1 else self._apply("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply("mul", self._apply("reciprocal", self), other)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply("floor_divide", self, other)

    def __pow__(self, other: Any) -> Any:
        return self._apply("pow", self, other)

    def __matmul__(self, other: Any) -> Any:
        return self._apply("matmul", self, other)

    def __invert__(self) -> Any:
        return self._apply("bitwise_not", self)

    def __and__(self, other: Any) -> Any:
        return self._apply("bitwise_and", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._apply("bitwise_or", self, other)

    __ror__ = __or__
