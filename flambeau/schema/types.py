"""The types of a program's values (TorchScript's), as interned immutable objects.

Two equal types are the same kind of frozen dataclass with equal fields; compare with `==`. `str(type)` is the spelling
of graph text (`int[]`, `Float(2, 3, strides=[3, 1])`), `type.annotation` the one of source code (`List[int]`). Both are
written in `type_text`, and read in `type_parser`.

>>> from flambeau.schema.types import IntType, ListType, OptionalType
>>> str(ListType(OptionalType.of(IntType())))
'int?[]'
>>> ListType(IntType()).annotation
'List[int]'
"""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.util.inversions import TYPE_TEXT
from flambeau.util.record import dataclass, field, replace


class Type:
    """Base of all types. `kind` names the class for messages and tables."""

    __slots__ = ()
    kind: ClassVar[str] = "Type"

    def __str__(self) -> str:
        return TYPE_TEXT.implementation(self, False)

    @property
    def annotation(self) -> str:
        """The spelling in source code, which evaluates back with the names of `typing`."""
        return TYPE_TEXT.implementation(self, True)

    @property
    def contained(self) -> tuple[Type, ...]:
        """The types inside this one, outermost first."""
        return ()

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        """This type with other contents (for substitution of type variables)."""
        assert not new
        return self

    def walk(self) -> tuple[Type, ...]:
        """This type and every type inside it."""
        contained = self.contained
        return (self, *[t for inner in contained for t in inner.walk()]) if contained else (self,)


@dataclass(frozen=True)
class SimpleType(Type):
    """A type without contents; one subclass each."""

    text: ClassVar[str] = ""
    spelling: ClassVar[str] = ""


@dataclass(frozen=True)
class IntType(SimpleType):
    """Python's int within signed 64 bits; also dtypes, layouts and memory formats as numbers."""

    kind = "IntType"
    text = spelling = "int"


@dataclass(frozen=True)
class FloatType(SimpleType):
    """Python's float: 64 bits."""

    kind = "FloatType"
    text = spelling = "float"


@dataclass(frozen=True)
class BoolType(SimpleType):
    """True or False."""

    kind = "BoolType"
    text = spelling = "bool"


@dataclass(frozen=True)
class ComplexType(SimpleType):
    """Python's complex: two 64-bit floats."""

    kind = "ComplexType"
    text = spelling = "complex"


@dataclass(frozen=True)
class StringType(SimpleType):
    """Unicode text."""

    kind = "StringType"
    text = spelling = "str"


@dataclass(frozen=True)
class NoneType(SimpleType):
    """The type of None."""

    kind = "NoneType"
    text = spelling = "NoneType"


@dataclass(frozen=True)
class AnyType(SimpleType):
    """The top type: any value."""

    kind = "AnyType"
    text = spelling = "Any"


@dataclass(frozen=True)
class NumberType(SimpleType):
    """An int, float, bool or complex, known only at run time (`Scalar` in schemas)."""

    kind = "NumberType"
    text = "Scalar"
    spelling = "number"


@dataclass(frozen=True)
class DeviceType(SimpleType):
    """A `Device`."""

    kind = "DeviceObjType"
    text = spelling = "Device"


@dataclass(frozen=True)
class GeneratorType(SimpleType):
    """A random number generator."""

    kind = "GeneratorType"
    text = spelling = "Generator"


@dataclass(frozen=True)
class StreamType(SimpleType):
    """A queue of device work."""

    kind = "StreamObjType"
    text = spelling = "Stream"


@dataclass(frozen=True)
class StorageType(SimpleType):
    """The memory behind tensors."""

    kind = "StorageType"
    text = spelling = "Storage"


@dataclass(frozen=True)
class QSchemeType(SimpleType):
    """A quantisation scheme; programs may name one."""

    kind = "QSchemeType"
    text = spelling = "QScheme"


@dataclass(frozen=True)
class AnyListType(SimpleType):
    """Any list, in `isinstance(x, list)`."""

    kind = "AnyListType"
    text = spelling = "list"


@dataclass(frozen=True)
class AnyTupleType(SimpleType):
    """Any tuple, in `isinstance(x, tuple)`."""

    kind = "AnyTupleType"
    text = spelling = "tuple"


@dataclass(frozen=True)
class AnyDictType(SimpleType):
    """Any dict, in `isinstance(x, dict)`."""

    kind = "AnyDictType"
    text = spelling = "dict"


@dataclass(frozen=True)
class AnyEnumType(SimpleType):
    """Any enum, in schemas."""

    kind = "AnyEnumType"
    text = spelling = "AnyEnumType"


@dataclass(frozen=True)
class AnyClassType(SimpleType):
    """Any class, in schemas."""

    kind = "AnyClassType"
    text = spelling = "AnyClassType"


@dataclass(frozen=True)
class FunctionType(SimpleType):
    """A function held as a constant; which one is an attribute of the constant's node."""

    kind = "FunctionType"
    text = spelling = "Function"


@dataclass(frozen=True)
class TensorType(Type):
    """A tensor, refined by what is known of it; each None means not known.

    `sizes` has an entry per dimension: a size, None, or a negative number that names a symbol (equal symbols, equal
    sizes). `inferred` marks a parameter that is a Tensor only because nobody annotated it; it takes no part in
    comparisons.
    """

    kind = "TensorType"
    is_array: ClassVar[bool] = False
    dtype: DType | None = None
    sizes: tuple[int | None, ...] | None = None
    strides: tuple[int | None, ...] | None = None
    device: Device | None = None
    requires_grad: bool | None = None
    undefined: bool = False
    inferred: bool = field(default=False, compare=False)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if known."""
        return None if self.sizes is None else len(self.sizes)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is known beyond being a tensor."""
        return self == TensorType()

    @property
    def is_complete(self) -> bool:
        """Whether dtype, device, every size and every stride are known."""
        return (
            self.dtype is not None
            and self.device is not None
            and self.sizes is not None
            and all(s is not None and s >= 0 for s in self.sizes)
            and self.strides is not None
            and all(s is not None for s in self.strides)
        )

    def refine(self, **known: Any) -> TensorType:
        """This type with some fields replaced."""
        return replace(self, **known)

    def merge(self, other: TensorType) -> TensorType:
        """What holds of both: fields that differ become unknown."""

        def both(a: Any, b: Any) -> Any:
            return a if a == b else None

        def dims(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
            return None if a is None or b is None or len(a) != len(b) else tuple(map(both, a, b))

        return TensorType(
            dtype=both(self.dtype, other.dtype),
            sizes=dims(self.sizes, other.sizes),
            strides=dims(self.strides, other.strides),
            device=both(self.device, other.device),
            requires_grad=both(self.requires_grad, other.requires_grad),
        )


@dataclass(frozen=True)
class _Wrapper(Type):
    element: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return type(self)(*new)


@dataclass(frozen=True)
class OptionalType(_Wrapper):
    """The element or None. Build with `OptionalType.of`, which keeps unions flat."""

    kind = "OptionalType"

    @staticmethod
    def of(element: Type) -> Type:
        """Optional of `element`; Any, None and optionals stay themselves, a union takes None in."""
        if isinstance(element, OptionalType | AnyType | NoneType):
            return element
        if isinstance(element, UnionType):
            return element if NoneType() in element.members else UnionType((*element.members, NoneType()))
        return OptionalType(element)

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return OptionalType.of(new[0])


@dataclass(frozen=True)
class ListType(_Wrapper):
    """A mutable list of one element type; invariant."""

    kind = "ListType"


@dataclass(frozen=True)
class FutureType(_Wrapper):
    """A value that a forked task will produce."""

    kind = "FutureType"


@dataclass(frozen=True)
class AwaitType(_Wrapper):
    """A value computed when first asked for."""

    kind = "AwaitType"


@dataclass(frozen=True)
class RRefType(_Wrapper):
    """A reference to a value on another worker."""

    kind = "RRefType"


@dataclass(frozen=True)
class DictType(Type):
    """A mutable, insertion-ordered dict; invariant."""

    kind = "DictType"
    key: Type
    value: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.key, self.value)

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return DictType(*new)


@dataclass(frozen=True)
class UnionType(Type):
    """One of several types. Build with `subtype.union_of`, which flattens, merges and sorts."""

    kind = "UnionType"
    members: tuple[Type, ...]

    @property
    def contained(self) -> tuple[Type, ...]:
        return self.members

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return UnionType(new)


_UNION_ORDER = (
    "AnyType", "EnumType", "AnyEnumType", "TensorType", "StorageType", "TupleType", "ListType", "DictType", "SetType",
    "NumberType", "FloatType", "ComplexType", "FutureType", "AwaitType", "RRefType", "IntType", "NoneType",
    "StringType", "GeneratorType", "BoolType", "OptionalType", "VarType", "DeviceObjType", "StreamObjType",
    "FunctionType", "ClassType", "InterfaceType", "QSchemeType", "AnyListType", "AnyTupleType", "AnyDictType",
    "AnyClassType", "UnionType",
)  # fmt: skip


def union_order(member: Type, text: str | None = None) -> tuple[int, str]:
    """The sort key of a union's member: its kind as TorchScript numbers them, then its text."""
    return _UNION_ORDER.index(member.kind), str(member) if text is None else text


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple of known length; covariant. A named tuple has a qualified name, field names and defaults."""

    kind = "TupleType"
    elements: tuple[Type, ...]
    name: str | None = None
    fields: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Any], ...] = ()

    def __hash__(self) -> int:
        return hash((self.elements, self.name, self.fields))  # defaults may be lists

    @property
    def contained(self) -> tuple[Type, ...]:
        return self.elements

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return replace(self, elements=new)


@dataclass(frozen=True)
class VarType(Type):
    """A type variable of a schema: `t` in `aten::append.t(t[](a!) self, t(c -> *) el)`."""

    kind = "VarType"
    name: str


@dataclass(frozen=True)
class EnumType(Type):
    """An enum class: member names with their values, all of one type."""

    kind = "EnumType"
    name: str
    value_type: Type = field(compare=False)
    members: tuple[tuple[str, Any], ...] = field(compare=False)
    python: Any = field(default=None, compare=False, repr=False)
    """The Python class, where there is one. Two classes of one name are two types."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EnumType) or self.name != other.name:
            return False
        return self.python is other.python or self.python is None or other.python is None

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class NamedType(Type):
    """A class, module or interface by its qualified name; what it has inside lives in `program.classes`.

    Identity is the definition's, not the name's: two classes of one name are two types.
    """

    name: str
    definition: Any = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedType) and self.definition is other.definition and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.name, id(self.definition)))


@dataclass(frozen=True, eq=False)
class ClassType(NamedType):
    """A scripted class or module."""

    kind = "ClassType"


@dataclass(frozen=True, eq=False)
class InterfaceType(NamedType):
    """A set of method signatures."""

    kind = "InterfaceType"


TENSOR = TensorType()
INT = IntType()
FLOAT = FloatType()
BOOL = BoolType()
COMPLEX = ComplexType()
STRING = StringType()
NONE = NoneType()
ANY = AnyType()
NUMBER = NumberType()
DEVICE = DeviceType()
GENERATOR = GeneratorType()
FUNCTION = FunctionType()


def is_number(type_: Type) -> bool:
    """Whether values of the type are Python numbers: int, float, bool, complex or Scalar."""
    return isinstance(type_, IntType | FloatType | BoolType | ComplexType | NumberType)


def is_key(type_: Type) -> bool:
    """Whether values of the type may be keys of dicts; in a tuple tensors may not, which are found by identity."""
    if isinstance(type_, TupleType):
        return all(is_key(t) and not isinstance(t, TensorType) for t in type_.elements)
    return is_number(type_) or isinstance(type_, StringType | TensorType | DeviceType | EnumType | AnyType | VarType)


def without_refinement(type_: Type) -> Type:
    """The type with every tensor inside reduced to plain `Tensor`."""
    if isinstance(type_, TensorType):
        return type_ if type_.is_array or type_ == TENSOR else TENSOR  # a type variable equals it, and stays one
    inner = type_.contained
    return type_.with_contained(tuple(map(without_refinement, inner))) if inner else type_
