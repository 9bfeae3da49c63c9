"""Calls of interpreted programs on texts and numbers alone, and on lists and dicts of these, with nothing between the
call and the machine.

Converting such arguments, and finding the plan for them, takes longer than many such programs run. What there is to
know of them are their classes: `short_way` gives what looks at these, and runs the program. A program gets copies of
the lists and dicts that its user gives: `OnContainers` makes them, which calls from one program to another must not.

>>> import flambeau
>>> initials = flambeau.CompilationUnit('def f(s: str): return "".join([w[0] for w in s.split()])').f
>>> [initials("round the clock") for _ in range(4)][-1], initials(s="as always")
('rtc', 'aa')
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
Taker = Callable[[Any], Any]


def short_way(graph: Graph, interpret: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[..., Any] | None:
    """Takes arguments as users give them and gives the result, or `MISSED` for others than texts and numbers of the
    declared classes; `interpret` gives the results of the program. Gives an `OnContainers` for programs that have lists
    or dicts of such as parameters, and None for those that have others, or tensors.
    """
    classes = tuple([_CLASSES.get(type(v.static_type)) for v in graph.parameters])
    if len(graph.returns) != 1 or _may_have_tensors(graph):
        return None
    if None in classes:
        takers = [_taker(v.static_type) for v in graph.parameters]
        known = [take for take in takers if take is not None]
        return OnContainers(known, interpret) if len(known) == len(takers) else None
    ints = tuple([k for k, c in enumerate(classes) if c is int])

    def call(*arguments: Any) -> Any:
        if tuple(map(type, arguments)) != classes:
            return MISSED
        for k in ints:
            if not MIN <= arguments[k] <= MAX:
                return MISSED
        return interpret(arguments)[0]

    return call


class OnContainers:
    """Calls with lists and dicts among the arguments; `answer` takes what users give, in place of the call itself."""

    __slots__ = ("_interpret", "_takers")

    def __init__(self, takers: Sequence[Taker], interpret: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self._takers = tuple(takers)
        self._interpret = interpret

    def __call__(self, *arguments: Any) -> Any:
        """`MISSED`: who calls may share the lists with the program."""
        return MISSED

    def answer(self, arguments: Sequence[Any]) -> Any:
        """The result, or `MISSED` for arguments of other classes than the declared ones."""
        if len(arguments) != len(self._takers):
            return MISSED
        taken = [take(value) for take, value in zip(self._takers, arguments, strict=True)]
        return MISSED if MISSED in taken else self._interpret(taken)[0]


def _taker(type_: Type) -> Taker | None:
    """What gives the program's own copy of a value of exactly a type, and `MISSED` for any other."""
    if isinstance(type_, ListType):
        return _list_taker(_CLASSES.get(type(type_.element)))
    if isinstance(type_, DictType):
        return _dict_taker(_CLASSES.get(type(type_.key)), _CLASSES.get(type(type_.value)))
    plain = _CLASSES.get(type(type_))
    return None if plain is None else lambda value: value if _are_plain((value,), plain) else MISSED


def _list_taker(item: type | None) -> Taker | None:
    return None if item is None else lambda x: x.copy() if type(x) is list and _are_plain(x, item) else MISSED


def _dict_taker(key: type | None, value: type | None) -> Taker | None:
    if key is None or value is None:
        return None

    def take(entries: Any) -> Any:
        is_plain = type(entries) is dict and _are_plain(entries, key) and _are_plain(entries.values(), value)
        return entries.copy() if is_plain else MISSED

    return take


def _are_plain(items: Collection[Any], plain: type) -> bool:
    """Whether all items are instances of a class itself, ints of 64 bits."""
    if not items:
        return True
    if set(map(type, items)) != {plain}:
        return False
    return plain is not int or (min(items) >= MIN and max(items) <= MAX)


def _may_have_tensors(graph: Graph) -> bool:
    """Whether a value of a graph may be a tensor, or hold one."""
    return not all(_is_plain(v.static_type) for node in graph.listed_nodes() for v in node.results)


def _is_plain(type_: Type) -> bool:
    if isinstance(type_, ListType | DictType | TupleType | OptionalType):
        return all(map(_is_plain, type_.contained))
    return isinstance(type_, (*_CLASSES, ComplexType, NoneType, NumberType))
