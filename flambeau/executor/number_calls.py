"""Calls of interpreted programs on texts and numbers alone, with nothing between the call and the machine.

Converting such arguments, and finding the plan for them, takes longer than many such programs run. What there is to
know of them are their classes: `short_way` gives what looks at these, and runs the program.

>>> import flambeau
>>> initials = flambeau.CompilationUnit('def f(s: str): return "".join([w[0] for w in s.split()])').f
>>> [initials("round the clock") for _ in range(4)][-1], initials(s="as always")
('rtc', 'aa')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.codegen.callable_type import MISSED
from flambeau.ir.graph import Graph
from flambeau.ops.language.int64 import MAX, MIN
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TupleType,
    Type,
)

_CLASSES: Final[dict[type[Type], type]] = {StringType: str, IntType: int, FloatType: float, BoolType: bool}
"""Of arguments that go in as they are."""


def short_way(graph: Graph, interpret: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[..., Any] | None:
    """Takes arguments as users give them and gives the result, or `MISSED` for others than texts and numbers of the
    declared classes; `interpret` gives the results of the program. None for programs that have other parameters, or
    tensors.
    """
    classes = tuple([_CLASSES.get(type(v.static_type)) for v in graph.parameters])
    if None in classes or len(graph.returns) != 1 or _may_have_tensors(graph):
        return None
    ints = tuple([k for k, c in enumerate(classes) if c is int])

    def call(*arguments: Any) -> Any:
        if tuple(map(type, arguments)) != classes or any(not MIN <= arguments[k] <= MAX for k in ints):
            return MISSED
        return interpret(arguments)[0]

    return call


def _may_have_tensors(graph: Graph) -> bool:
    """Whether a value of a graph may be a tensor, or hold one."""
    return not all(_is_plain(v.static_type) for node in graph.listed_nodes() for v in node.results)


def _is_plain(type_: Type) -> bool:
    if isinstance(type_, ListType | DictType | TupleType | OptionalType):
        return all(map(_is_plain, type_.contained))
    return isinstance(type_, (*_CLASSES, ComplexType, NoneType, NumberType))
