"""Types as TorchScript's users handle them: `ListType(IntType.get())`, `t.kind()`, `t.with_sizes([2, None])`.

Each object stands for one of `flambeau.schema.types`, which it has as `ours`.

>>> t = ListType(IntType.get())
>>> t.kind(), t.str(), t.annotation_str, t.isSubtypeOf(OptionalType(t))
('ListType', 'int[]', 'List[int]', True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from flambeau.ir.constant_text import type_text
from flambeau.schema import types as t
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.subtype import is_subtype, union_of

Text = str
NO_CONSTRUCTOR = "{kind}: No constructor defined! Write {kind}.get()"
NO_ELEMENT = "Can not create {kind} with None type"
class Type:
    """A type. Two that stand for equal types are equal. `str(t)` is the annotation, `t.str()` the text in graphs."""

    ours: t.Type

    @classmethod
    def of(cls, ours: t.Type) -> Self:
        """What stands for a type of `flambeau.schema.types`."""
        type_ = object.__new__(_CLASSES.get(type(ours), Type))
        type_.ours = ours
        return type_  # type: ignore[return-value]  # a type is of the class that stands for it

    def kind(self) -> Text:
        """The name of the class, `ListType`."""
        return self.ours.kind

    def str(self) -> Text:
        """The spelling in graph text."""
        return type_text(self.ours)

    @property
    def annotation_str(self) -> Text:
        """The spelling in source code, which evaluates back with the names of `typing`."""
        return self.ours.annotation

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether every value of this type is one of `other`."""
        return is_subtype(self.ours, other.ours)

    def is_interface_type(self) -> bool:
        """Whether it is an interface."""
        return isinstance(self.ours, t.InterfaceType)

    def containedTypes(self) -> list[Type]:
        """The types inside."""
        return [Type.of(inner) for inner in self.ours.contained]

    # -- what is known of tensors; None for other types, too --------------------------------------------------------

    def _property(self, name: Text) -> Any:
        return getattr(self.ours, name) if isinstance(self.ours, t.TensorType) else None

    def scalarType(self) -> Text | None:
        """The dtype's name in graph text, `Float`."""
        known = self._property("dtype")
        return None if known is None else known.display

    def dtype(self) -> DType | None:
        """The dtype."""
        return self._property("dtype")  # type: ignore[no-any-return]

    def device(self) -> Device | None:
        """The device."""
        return self._property("device")  # type: ignore[no-any-return]

    def dim(self) -> int | None:
        """The number of dimensions."""
        return self._property("rank")  # type: ignore[no-any-return]

    def sizes(self) -> list[int] | None:
        """The sizes; None unless all are known."""
        known = self.varyingSizes()
        return None if known is None or None in known else known  # type: ignore[return-value]

    def varyingSizes(self) -> list[int | None] | None:
        """The sizes, those that are not known as None."""
        known = self._property("sizes")
        return None if known is None else [s if s is not None and s >= 0 else None for s in known]

    def symbolic_sizes(self) -> list[int | None] | None:
        """The sizes; a negative number names one that is not known, equal numbers equal sizes."""
        known = self._property("sizes")
        return None if known is None else list(known)

    def strides(self) -> list[int] | None:
        """The strides; None unless all are known."""
        known = self._property("strides")
        return None if known is None or None in known else list(known)

    def requires_grad(self) -> bool:
        """Whether it may need a gradient: True where that is not known."""
        known = self._property("requires_grad")
        return isinstance(self.ours, t.TensorType) and known is not False

    def contiguous(self) -> Type:
        """This tensor type with the strides of a dense tensor of its sizes."""
        known = self.sizes()
        if known is None:
            return self
        return self._tensor(strides=tuple(math.prod(known[i + 1 :]) for i in range(len(known))))

    def undefined(self) -> bool | None:
        """Whether it stands for a gradient of nothing."""
        return self._property("undefined")  # type: ignore[no-any-return]

    def _tensor(self, **known: Any) -> Type:
        if not isinstance(self.ours, t.TensorType):
            raise TypeError(f"a {self.kind()} has no {next(iter(known))}")
        return Type.of(self.ours.refine(**known))

    def with_sizes(self, sizes: Sequence[int | None] | None) -> Type:
        """This tensor type with other sizes: a number, None, or a negative number that names a size."""
        return self._tensor(sizes=None if sizes is None else tuple(sizes), strides=None)

    def with_dtype(self, dtype: DType) -> Type:
        """This tensor type with another dtype."""
        return self._tensor(dtype=dtype)

    def with_device(self, device: Device) -> Type:
        """This tensor type on another device."""
        return self._tensor(device=device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.ours == other.ours

    def __hash__(self) -> int:
        return hash(self.ours)

    def __repr__(self) -> Text:
        return self.ours.annotation


class _Single(Type):
    """A type without contents."""

    _ours: ClassVar[t.Type]

    def __init__(self) -> None:
        """Never: there is one of each. Raises TypeError."""
        raise TypeError(NO_CONSTRUCTOR.format(kind=type(self).__name__))

    @classmethod
    def get(cls) -> Self:
        """The type."""
        return cls.of(cls._ours)


class AnyType(_Single):
    """Any value."""

    _ours = t.ANY


class NoneType(_Single):
    """None."""

    _ours = t.NONE


class BoolType(_Single):
    """A bool.

    >>> BoolType.get().isSubtypeOf(AnyType.get())
    True
    """

    _ours = t.BOOL


class IntType(_Single):
    """An int.

    >>> IntType.get().isSubtypeOf(NumberType.get())
    True
    """

    _ours = t.INT


class FloatType(_Single):
    """A float.

    >>> FloatType.get(), FloatType.get() == IntType.get()
    (float, False)
    """

    _ours = t.FLOAT


class ComplexType(_Single):
    """A complex number."""

    _ours = t.COMPLEX


class StringType(_Single):
    """A text."""

    _ours = t.STRING


class NumberType(_Single):
    """An int, float, complex number or bool.

    >>> NumberType.get()
    number
    """

    _ours = t.NUMBER


class DeviceObjType(_Single):
    """A device."""

    _ours = t.DEVICE


class _GeneratorType(_Single):
    """A generator of random numbers."""

    _ours = t.GeneratorType()


class StreamObjType(_Single):
    """A queue of work of a device."""

    _ours = t.StreamType()


class TensorType(_Single):
    """A tensor, and what is known of it.

    >>> TensorType.get().with_sizes([2, None]).symbolic_sizes()
    [2, None]
    """

    _ours = t.TENSOR

    @classmethod
    def getInferred(cls) -> Self:
        """The type of a parameter without annotation."""
        return cls.of(t.TensorType(inferred=True))

    @classmethod
    def create_from_tensor(cls, tensor: Any) -> Self:
        """All that can be known of a tensor."""
        known = t.TensorType(
            tensor.dtype, tuple(map(int, tensor.shape)), tuple(tensor.stride()), tensor.device, tensor.requires_grad
        )
        return cls.of(known)


class _Wrapping(Type):
    """A type around one other."""

    def __init__(self, element: Type) -> None:
        if not isinstance(element, Type):
            raise RuntimeError(NO_ELEMENT.format(kind=type(self).__name__))
        self.ours = self._around(element.ours)

    @staticmethod
    def _around(element: t.Type) -> t.Type:
        raise AssertionError("each kind makes its own")

    def getElementType(self) -> Type:
        """The type inside."""
        return Type.of(self.ours.contained[0])


class ListType(_Wrapping):
    """A list.

    >>> ListType(IntType.get()), ListType.ofInts().getElementType()
    (List[int], int)
    """

    _around = staticmethod(t.ListType)

    @classmethod
    def ofTensors(cls) -> Self:
        """`List[Tensor]`."""
        return cls.of(t.ListType(t.TENSOR))

    @classmethod
    def ofInts(cls) -> Self:
        """`List[int]`."""
        return cls.of(t.ListType(t.INT))

    @classmethod
    def ofFloats(cls) -> Self:
        """`List[float]`."""
        return cls.of(t.ListType(t.FLOAT))

    @classmethod
    def ofComplexDoubles(cls) -> Self:
        """`List[complex]`."""
        return cls.of(t.ListType(t.COMPLEX))

    @classmethod
    def ofBools(cls) -> Self:
        """`List[bool]`."""
        return cls.of(t.ListType(t.BOOL))

    @classmethod
    def ofStrings(cls) -> Self:
        """`List[str]`."""
        return cls.of(t.ListType(t.STRING))


class OptionalType(_Wrapping):
    """A value or None.

    >>> OptionalType(TensorType.get()) == OptionalType.ofTensor()
    True
    """

    _around = staticmethod(t.OptionalType.of)

    @classmethod
    def ofTensor(cls) -> Self:
        """`Optional[Tensor]`."""
        return cls.of(t.OptionalType(t.TENSOR))


class RRefType(_Wrapping):
    """A reference to a value of another process; no program of this package makes one.

    >>> RRefType(IntType.get())
    RRef[int]
    """

    _around = staticmethod(t.RRefType)


class FutureType(_Wrapping):
    """A result that is being computed.

    >>> FutureType(TensorType.get())
    Future[Tensor]
    """

    _around = staticmethod(t.FutureType)


class AwaitType(_Wrapping):
    """A result that is computed when it is asked for.

    >>> AwaitType(TensorType.get())
    Await[Tensor]
    """

    _around = staticmethod(t.AwaitType)


class DictType(Type):
    """A dict.

    >>> DictType(StringType.get(), IntType.get()).getValueType()
    int
    """

    def __init__(self, key: Type, value: Type) -> None:
        if not isinstance(key, Type) or not isinstance(value, Type):
            raise RuntimeError(NO_ELEMENT.format(kind="DictType"))
        self.ours = t.DictType(key.ours, value.ours)

    def getKeyType(self) -> Type:
        """The keys' type."""
        return Type.of(self.ours.contained[0])

    def getValueType(self) -> Type:
        """The values' type."""
        return Type.of(self.ours.contained[1])


class _Several(Type):
    """A type of several."""

    def __init__(self, elements: Sequence[Type]) -> None:
        if not all(isinstance(element, Type) for element in elements):
            raise RuntimeError(NO_ELEMENT.format(kind=type(self).__name__))
        self.ours = self._of_all(tuple([element.ours for element in elements]))

    @staticmethod
    def _of_all(elements: tuple[t.Type, ...]) -> t.Type:
        raise AssertionError("each kind makes its own")


class TupleType(_Several):
    """A tuple, named or not.

    >>> TupleType([IntType.get(), StringType.get()]).elements()
    [int, str]
    """

    _of_all = staticmethod(t.TupleType)

    def elements(self) -> list[Type]:
        """The types of its elements."""
        return self.containedTypes()


class UnionType(_Several):
    """One of several; a `ListType` or the like where one of them covers the others.

    >>> UnionType([IntType.get(), StringType.get()])
    Union[int, str]
    """

    @staticmethod
    def _of_all(elements: tuple[t.Type, ...]) -> t.Type:
        return union_of(elements)


class EnumType(Type):
    """An enum class."""


class ClassType(Type):
    """A user's class or a module's.

    >>> import flambeau
    >>> scripted = flambeau.script(flambeau.nn.Linear(2, 2))
    >>> Type.of(scripted.graph.parameters[0].static_type).name()
    'Linear'
    """

    def name(self) -> Text:
        """The last part of its name."""
        return self.qualified_name().rpartition(".")[2]

    def qualified_name(self) -> Text:
        """Its name, `__torch__.package.Name`."""
        assert isinstance(self.ours, t.NamedType)
        return self.ours.name

    def method_names(self) -> list[Text]:
        """The methods compiled so far."""
        assert isinstance(self.ours, t.NamedType)
        return list(self.ours.definition.methods)


class InterfaceType(ClassType):
    """A set of method signatures."""

    def getMethodNames(self) -> list[Text]:
        """The methods that it asks for."""
        return self.method_names()


_CLASSES: dict[type[t.Type], type[Type]] = {
    t.AnyType: AnyType, t.NoneType: NoneType, t.BoolType: BoolType, t.IntType: IntType, t.FloatType: FloatType,
    t.ComplexType: ComplexType, t.StringType: StringType, t.NumberType: NumberType, t.DeviceType: DeviceObjType,
    t.TensorType: TensorType, t.ListType: ListType, t.OptionalType: OptionalType, t.FutureType: FutureType,
    t.AwaitType: AwaitType, t.DictType: DictType, t.TupleType: TupleType, t.UnionType: UnionType,
    t.RRefType: RRefType, t.StreamType: StreamObjType, t.GeneratorType: _GeneratorType, t.EnumType: EnumType,
    t.ClassType: ClassType, t.InterfaceType: InterfaceType,
}  # fmt: skip
