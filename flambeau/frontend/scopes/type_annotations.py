"""The types that annotations mean, written as trees in a program or held by Python as objects.

>>> from typing import Optional
>>> str(type_of(Optional[list[int]]))
'int[]?'
"""

from __future__ import annotations

import enum
import types
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, ForwardRef, Union

import numpy as np
import numpy.typing as npt

from flambeau.frontend.emit.values.named_tuple_types import named_tuple_type
from flambeau.frontend.library.queues import queue_class
from flambeau.frontend.scopes.name_resolution import MISSING, Resolver
from flambeau.frontend.scopes.named_objects import is_array, python_value
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.frontend.trees.function_conversion import parse_annotation
from flambeau.frontend.trees.tree_views import (
    Apply,
    BinOp,
    Dots,
    Expr,
    ListLiteral,
    NoneLit,
    Select,
    StringLiteral,
    Subscript,
    TupleLiteral,
    Var,
)
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.set_type import SetType, is_item
from flambeau.schema.subtype import union_of
from flambeau.schema.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    AnyDictType,
    AnyListType,
    AnyTupleType,
    AwaitType,
    DictType,
    FutureType,
    ListType,
    NoneType,
    OptionalType,
    RRefType,
    TupleType,
    Type,
    is_key,
)
from flambeau.tensor.formats import Layout, MemoryFormat
from flambeau.tensor.typed import TYPED_TENSORS
from flambeau.util.broadcasting import COUNTS
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

UNKNOWN_NAME = "Unknown type name '{name}'"
UNKNOWN_CONSTRUCTOR = "Unknown type constructor {name}"
INSTEAD: Final = {
    "Function": (
        ". Printed code shows a function that gives functions to Python, and is not read back: compile the text it "
        "came from"
    ),
    "Callable": ": functions are passed from one function of a program to another, and not from Python to a program",
    "Sequence": ": write List[int], with what it holds",
    "MutableSequence": ": write List[int], with what it holds",
    "Mapping": ": write Dict[str, int], with what it holds",
    "MutableMapping": ": write Dict[str, int], with what it holds",
    "Literal": ": write the type of the values, such as str, or an Enum",
    "object": ": write Any, and isinstance where it is used",
    "TypeVar": ": write one function for each type, or leave a lambda's parameter open",
}
"""What to write for types that programs have not."""
OF_SCALARS = ": write float, int, bool or complex; elements of arrays compute in the dtypes of their arrays"
OF_BYTES = ": write list[int] and pass list(b), or np.ndarray and pass np.frombuffer(b, dtype=np.uint8).astype(int)"
OF_ANYTHING = ": write np.ndarray, or float, and make arrays of lists outside"
NOT_A_CONSTRUCTOR = "Subscripted type must be a type identifier"
NOT_A_TYPE = "Expression of type {kind} cannot be used in a type expression"
CALL = "Type annotation should not contain calls, but found '{text}'"
TUPLE_LITERAL = "Tuple literal in Tuple type annotation must not have any elements!"
BARE = "Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
BARE_DICT = "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"
BAD_KEY = (
    "Cannot create dict for key type '{key}', only int, float, complex, Tensor, device and string keys are supported"
)
DTYPE_IS_LOST = (
    "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are normal Tensors. dtype "
    "constraints are not enforced in compilation either: {name} is taken for Tensor"
)
UNKNOWN_OBJECT = "Unknown type annotation: '{text}'"

NAMES: Final[dict[str, Type]] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX, "str": STRING, "None": NONE,
    "NoneType": NONE, "Any": ANY, "Device": DEVICE, "Generator": GENERATOR, "number": NUMBER, "Number": NUMBER,
    "device": DEVICE, "dtype": INT, "layout": INT, "memory_format": INT,
}  # fmt: skip
"""Types by their last name, however it is reached: `Tensor`, `flambeau.Tensor`."""

_SIMPLE: Final[dict[Any, Type]] = {
    int: INT, float: FLOAT, bool: BOOL, complex: COMPLEX, str: STRING, type(None): NONE, None: NONE, Any: ANY,
    Device: DEVICE, DType: INT, Layout: INT, MemoryFormat: INT,
}  # fmt: skip

_TENSOR_CLASSES: Final = frozenset({"Tensor", "Parameter"})
_OUTCOMES: Final = ("flambeau.interpreter.awaiting", "flambeau.interpreter.future")
_HOMES: Final = ("flambeau", "torch")
"""Packages whose classes are known by name, so that neither has to be imported here."""


def _sequence(make: Callable[[Type], Type]) -> Callable[[tuple[Type, ...]], Type]:
    return lambda inner: make(*inner)


CONSTRUCTORS: Final[dict[str, Callable[[tuple[Type, ...]], Type]]] = {
    "List": _sequence(ListType),
    "list": _sequence(ListType),
    "Iterator": _sequence(ListType),
    "Iterable": _sequence(ListType),
    "Dict": lambda inner: DictType(*inner),
    "dict": lambda inner: DictType(*inner),
    "OrderedDict": lambda inner: DictType(*inner),
    "Set": _sequence(SetType),
    "set": _sequence(SetType),
    "Optional": _sequence(OptionalType.of),
    "Union": union_of,
    "Tuple": TupleType,
    "tuple": TupleType,
    "Future": _sequence(FutureType),
    "Await": _sequence(AwaitType),
    "_Await": _sequence(AwaitType),
    "RRef": _sequence(RRefType),
    "Final": lambda inner: inner[0],
    **dict.fromkeys(COUNTS, _sequence(ListType)),
}
"""What a subscripted name makes of the types in its brackets."""

QUEUES: Final = ("deque", "Deque")
"""`collections.deque` and `typing.Deque`, subscripted: the class of queues of such items."""
NOT_HASHABLE = "the items of a set must be hashable, not {found}: numbers, texts, enums and tuples of them are"
_PLURAL: Final = ("Dict", "dict", "OrderedDict")
_SINGLE: Final = ("List", "list", "Optional", "Future", "Tuple", "tuple", "Set", "set")

BARE_CONTAINERS: Final[dict[str, Type]] = {
    "list": AnyListType(), "List": AnyListType(), "tuple": AnyTupleType(), "Tuple": AnyTupleType(),
    "dict": AnyDictType(), "Dict": AnyDictType(), "set": SetType(ANY), "Set": SetType(ANY),
    "_Await": AwaitType(ANY), "Future": FutureType(ANY),
}  # fmt: skip
"""Containers without contents, which `isinstance` alone understands."""


class AnnotationError(CompileError, ValueError):
    """An annotation that is a class which programs cannot use."""


def type_of_tree(tree: Expr, resolver: Resolver, *, bare: bool = False) -> Type:
    """The type that an annotation means. Raises CompileError for what is none.

    With `bare`, `list`, `tuple` and `dict` alone are types too.
    """
    match tree:
        case NoneLit():
            return NONE
        case StringLiteral():
            return type_of_tree(parse_annotation(tree.value, tree), resolver, bare=bare)
        case Subscript():
            return _subscripted(tree, resolver)
        case BinOp(op="|"):
            return union_of([type_of_tree(side, resolver, bare=bare) for side in (tree.left, tree.right)])
        case Var() | Select():
            return _named(tree, resolver, bare)
        case Apply():
            raise CompileError(CALL.format(text=tree.range.text), tree.range)
        case TupleLiteral(items=()):
            return TupleType(())
    raise CompileError(NOT_A_TYPE.format(kind=tree.head), tree.range)


def _named(tree: Var | Select, resolver: Resolver, bare: bool) -> Type:
    """The type that a name means by itself."""
    name = tree.name
    value = python_value(tree, resolver)
    if value is npt.ArrayLike:
        raise CompileError(UNKNOWN_NAME.format(name=tree.range.text or name) + OF_ANYTHING, tree.range)
    is_bare = value is MISSING or _is_container(value)
    if bare and is_bare and name in BARE_CONTAINERS:
        return BARE_CONTAINERS[name]
    type_ = None if is_bare else try_type_of(value, resolver, tree.range)
    if type_ is not None:
        return type_
    if name in _PLURAL:
        raise CompileError(BARE_DICT, tree.range)
    if name in _SINGLE:
        shown = name.capitalize() if name in ("list", "tuple", "set") else name
        raise CompileError(BARE.format(name=shown), tree.range)
    if name in NAMES and (value is MISSING or isinstance(tree, Select)):
        return NAMES[name]
    raise _no_type(tree, value)


def _no_type(tree: Var | Select, value: Any) -> CompileError:
    """The error for a name that means no type, with what to write where that is known."""
    unknown = UNKNOWN_NAME.format(name=tree.range.text or tree.name)
    if isinstance(value, typing.TypeVar):
        return CompileError(unknown + INSTEAD["TypeVar"], tree.range)
    if isinstance(value, type) and issubclass(value, np.generic):
        return AnnotationError(unknown + OF_SCALARS, tree.range)
    if value in (bytes, bytearray, memoryview):
        return AnnotationError(unknown + OF_BYTES, tree.range)
    if isinstance(value, type) and value is not object:
        return AnnotationError(f"{unknown}. {UNKNOWN_OBJECT.format(text=value)}", tree.range)
    return CompileError(unknown + INSTEAD.get(tree.name, ""), tree.range)


def _is_container(value: Any) -> bool:
    return (
        value in (list, tuple, dict, set)
        or getattr(value, "__module__", "") in _OUTCOMES
        or (typing.get_origin(value) in (list, tuple, dict, set) and not typing.get_args(value))
    )


def _subscripted(tree: Subscript, resolver: Resolver) -> Type:
    """`List[int]` and the like."""
    head = tree.value
    if not isinstance(head, Var | Select):
        raise CompileError(NOT_A_CONSTRUCTOR, head.range)
    if is_array(python_value(head, resolver)):
        return TENSOR
    name = _constructor_name(head, resolver)
    if name in QUEUES and len(tree.indices) == 1:
        return type_of(queue_class(type_of_tree(tree.indices[0], resolver)), resolver, tree.range)
    if name not in CONSTRUCTORS:
        text = UNKNOWN_CONSTRUCTOR.format(name=head.range.text or name)
        raise CompileError(text + INSTEAD.get(name, ""), tree.range)
    inner = tuple(type_of_tree(item, resolver) for item in _in_brackets(tree, name))
    _check_inner(tree, name, inner)
    return CONSTRUCTORS[name](inner)


def _in_brackets(tree: Subscript, name: str) -> Sequence[Expr]:
    """What is in the brackets behind a constructor. Raises CompileError for what is no type."""
    items: Sequence[Expr] = tree.indices
    if len(items) == 1 and isinstance(items[0], TupleLiteral):
        if items[0].items and name in ("Tuple", "tuple"):
            raise CompileError(TUPLE_LITERAL, items[0].range)
        items = items[0].items
    for item in items:
        if isinstance(item, Dots | ListLiteral):
            raise CompileError(NOT_A_TYPE.format(kind=item.head), item.range)
    return items


def _check_inner(tree: Subscript, name: str, inner: Sequence[Type]) -> None:
    """Raise CompileError for types that a constructor does not take, or too few or too many of them."""
    wanted = 2 if name in _PLURAL else 1
    if name not in ("Union", "Tuple", "tuple") and len(inner) != wanted:
        raise CompileError(f"Type constructor {name} needs {wanted} type(s) but was given {len(inner)}", tree.range)
    if name in _PLURAL and not is_key(inner[0]):
        raise CompileError(BAD_KEY.format(key=inner[0]), tree.range)
    if name in ("Set", "set") and not is_item(inner[0]):
        raise CompileError(NOT_HASHABLE.format(found=inner[0].annotation), tree.range)
    if CONSTRUCTORS[name] is CONSTRUCTORS["List"] and isinstance(inner[0], NoneType):
        raise CompileError("Can not create ListType with None type", tree.range)


def broadcast_count(tree: Expr, resolver: Resolver) -> int | None:
    """How many equal numbers one number stands for in a parameter so annotated; None if it stands for itself."""
    match tree:
        case BinOp(op="|"):
            sides = (broadcast_count(side, resolver) for side in (tree.left, tree.right))
            return next((count for count in sides if count is not None), None)
        case Subscript(value=Var() | Select()):
            assert isinstance(tree.value, Var | Select)
            name = _constructor_name(tree.value, resolver)
            return broadcast_count(tree.indices[0], resolver) if name == "Optional" else COUNTS.get(name)
        case Var() | Select():
            # A name for such an annotation, as `_size_2_t` is.
            alias = typing.get_origin(python_value(tree, resolver))
            return None if alias is None else COUNTS.get(getattr(alias, "__name__", ""))
    return None


def _constructor_name(head: Var | Select, resolver: Resolver) -> str:
    """The constructor's own name, also when it is imported under another."""
    value = python_value(head, resolver)
    for candidate in (value, typing.get_origin(value)):
        if candidate is Union:
            return "Union"
        name = getattr(candidate, "_name", None) or getattr(candidate, "__name__", None)
        if isinstance(name, str) and name in CONSTRUCTORS:
            return name
    return head.name


def type_of(annotation: Any, resolver: Resolver | None = None, where: SourceRange | None = None) -> Type:
    """The type that a Python annotation object means. Raises ValueError for what is none."""
    type_ = try_type_of(annotation, resolver, where)
    if type_ is None:
        raise ValueError(UNKNOWN_OBJECT.format(text=annotation))
    return type_


def try_type_of(annotation: Any, resolver: Resolver | None, where: SourceRange | None) -> Type | None:
    """The type that a Python annotation object means, or None."""
    if isinstance(annotation, Type):
        return annotation
    try:
        if annotation in _SIMPLE:
            return _SIMPLE[annotation]
    except TypeError:
        return None
    if isinstance(annotation, str | ForwardRef):
        return _forward_reference(annotation, resolver)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None and args:
        return _generic(origin, args, resolver, where)
    if annotation in (tuple[()], typing.Tuple[()]):  # noqa: UP006  (both spellings come)
        return TupleType(())
    if not isinstance(annotation, type):
        return None
    return _class(annotation, resolver, where)


def _forward_reference(annotation: str | ForwardRef, resolver: Resolver | None) -> Type | None:
    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    if resolver is None:
        return NAMES.get(text)
    where = SourceRange.at("<annotation>", 1, 0)
    return type_of_tree(parse_annotation(text, StringLiteral(where, text)), resolver)


def _generic(origin: Any, args: tuple[Any, ...], resolver: Resolver | None, where: SourceRange | None) -> Type | None:
    if is_array(origin):
        return TENSOR
    if any(a is Ellipsis for a in args):
        return None
    inner = tuple(try_type_of(a, resolver, where) for a in args)
    type_arguments = tuple(t for t in inner if t is not None)
    if len(type_arguments) != len(inner):
        return None
    if origin is Union or origin is types.UnionType:
        return union_of(type_arguments)
    name = getattr(origin, "__name__", "")
    if name in _PLURAL and not is_key(type_arguments[0]):
        raise CompileError(BAD_KEY.format(key=type_arguments[0]), where)
    make = CONSTRUCTORS.get(name)
    return None if make is None else make(type_arguments)


def _class(cls: type, resolver: Resolver | None, where: SourceRange | None) -> Type | None:
    home = (cls.__module__ or "").partition(".")[0]
    if cls is np.ndarray or (home in _HOMES and cls.__name__ in _TENSOR_CLASSES):
        return TENSOR
    if home in _HOMES and cls.__name__ in TYPED_TENSORS:
        warnings.warn(DTYPE_IS_LOST.format(name=cls.__name__), UserWarning, stacklevel=2)
        return TENSOR
    if home in _HOMES and cls.__name__ in NAMES:
        return NAMES[cls.__name__]
    class_type = None if resolver is None else resolver.class_type(cls, where)
    if class_type is not None:
        return class_type
    if issubclass(cls, enum.Enum):
        try:
            return enum_type(cls)
        except TypeError as error:
            raise CompileError(str(error), where) from None
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return named_tuple_type(cls, try_type_of, resolver, where)
    return None
