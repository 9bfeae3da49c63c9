"""What operators make of arguments that are no values of their types: objects as texts, whatever can be looped over.

any(seen)    →    aten::any of the list of what is in the set        "".join(words)    →    aten::join of their list
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import as_number
from flambeau.frontend.emit.numpy.dtype_values import dtype_text
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.object_methods import as_text, check_sortable
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.ops.python_forms import equation_of
from flambeau.schema.array_type import holds_arrays
from flambeau.schema.dtype_code import is_code_of_dtype
from flambeau.schema.element_type import kinds_of
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    FLOAT,
    STRING,
    BoolType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NamedType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

Wrap = Callable[[Value], Sugared]
Adapter = Callable[[Emitter, SourceRange, Sequence[Given], Wrap], Sequence[Given]]
NO_NUMBERS = (
    "einsum() takes the dimensions of a tensor as a list of numbers that is written in the call, [0, 1]. Give an "
    'equation, einsum("ij,jk", x, y), for what is known later'
)
_SHOWN: Final = (SetType, ListType, TupleType, DictType, IntType, FloatType, BoolType, ComplexType, StringType)
adapts: Final = RuleTable[Adapter]("what calls in programs make of the arguments first")


def adapted(e: Emitter, where: SourceRange, name: str, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    """The arguments as the operator takes them. Raises CompileError for what cannot be sorted."""
    adapter = adapts.get(name)
    return bound if adapter is None else adapter(e, where, bound, wrap)


@adapts("aten::str")
def _as_texts(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    return [replace(g, value=printed(e, where, g.value)) for g in bound]


@adapts("python::repr")
def _as_array(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    """What `repr` shows: of arrays and dtypes what they are to Python, a text that stays as it is."""
    if bound and is_code_of_dtype(bound[0].value.static_type):
        return [replace(bound[0], value=call_operator(e, where, "python::as_dtype", [bound[0].value]))]
    if not e.arrays or not bound or not holds_arrays(bound[0].value.static_type):
        return bound
    return [replace(bound[0], value=call_operator(e, where, "python::as_array", [bound[0].value]))]


@adapts("aten::format")
def _as_formatted(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    return [replace(g, value=printed(e, where, g.value, formatted=True)) for g in bound]


def printed(e: Emitter, where: SourceRange, value: Value, *, formatted: bool = False) -> Value:
    """What Python prints of objects, in programs on arrays of all but tensors: elsewhere `1.` is TorchScript's `1.0`.

    With `formatted`, what an f-string shows: of a float of 16 or 32 bits, the digits that Python's float has.
    """
    value = as_number(e, value) if e.arrays else value
    name = dtype_text(e, where, value)
    if name is not None:
        return name
    if e.arrays and holds_arrays(value.static_type) and not isinstance(value.static_type, NamedType):
        return e.emit("python::array_text", (value,), STRING)
    if not e.arrays or not _is_plain(value.static_type):
        return as_text(e, where, value, formatted=formatted)
    kinds = {k.name for k in kinds_of(value.static_type) if k is not None}
    if value.static_type == FLOAT and not formatted and kinds in ({"float16"}, {"float32"}):
        return call_operator(e, where, f"python::text_of_{kinds.pop()}", [value])
    return e.emit("python::repr", (value,), STRING)


def _is_plain(type_: Type) -> bool:
    """Whether Python's `repr` of values of a type is what it prints, and the language's text may be another."""
    if isinstance(type_, SetType | ListType | TupleType | DictType):
        return all(isinstance(t, _SHOWN) for t in type_.walk())
    return isinstance(type_, FloatType | ComplexType)


@adapts("aten::any", "aten::all")
def _first_as_list(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    return _with_list(e, where, bound, wrap, 0, (SetType, DictType, NamedType))


@adapts("aten::join")
def _second_as_list(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    return _with_list(e, where, bound, wrap, 1, (SetType, DictType, NamedType, StringType, TupleType))


@adapts("python::dist", "python::fsum")
def _as_lists(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    """Tuples of numbers as lists of floats."""
    return [
        replace(g, value=_floats(e, where, unpack_tuple(e, g.value)))
        if isinstance(g.value.static_type, TupleType)
        else g
        for g in bound
    ]


def _floats(e: Emitter, where: SourceRange, numbers: Sequence[Value]) -> Value:
    floats = [n if n.static_type == FLOAT else call_operator(e, where, "aten::Float", [n]) for n in numbers]
    return pack_list(e, floats, FLOAT)


@adapts("aten::einsum")
def _with_equation(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    """Tensors, a list of dimensions behind each, as an equation and the tensors."""
    if not bound or not isinstance(bound[0].value.static_type, TensorType):
        return bound
    lists = [_numbers(operand) if index % 2 or index == len(bound) - 1 else None for index, operand in enumerate(bound)]
    try:
        equation = equation_of(lists[1::2], lists[2::2])
    except RuntimeError as error:
        raise CompileError(str(error), where) from None
    return [Given(e.constant(equation), where), *bound[: len(bound) // 2 * 2 : 2]]


def _numbers(argument: Given) -> list[int]:
    """The constants that a list is made of. Raises CompileError for any other value."""
    node = argument.value.defining_node
    items = () if node is None or node.op != "prim::ListConstruct" else node.operands
    nodes = [item.defining_node for item in items]
    if not nodes or any(n is None or n.op != "prim::Constant" for n in nodes):
        raise CompileError(NO_NUMBERS, argument.where)
    return [n.attributes["value"] for n in nodes if n is not None]


def _with_list(
    e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap, index: int, types: tuple[type[Type], ...]
) -> Sequence[Given]:
    """The arguments with the one at `index` as a list of its items, if it is of these types."""
    if index >= len(bound) or not isinstance(bound[index].value.static_type, types):
        return bound
    items = listed(e, where, wrap(bound[index].value))
    return [replace(g, value=items) if i == index else g for i, g in enumerate(bound)]


@adapts("aten::sort", "aten::sorted")
def _sortable(e: Emitter, where: SourceRange, bound: Sequence[Given], wrap: Wrap) -> Sequence[Given]:
    if bound:
        check_sortable(e, where, bound[0].value)
    return bound
