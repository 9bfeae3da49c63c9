"""Methods of an archive with equal code over equal classes: one is compiled, the graphs of the others are copies of it.

An archive has a class for each layer that has constants of its own, so that one method may be there a hundred times.
Two of them are the same if their texts are, but for the names of modules' classes, and these classes are, as far as a
method can see them: attributes, signatures of methods, and those constants whose names the text has. A copy has the
classes and the places of its own code.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import blocks, subgraphs
from flambeau.program.unit import demangle
from flambeau.schema.types import ClassType, Type
from flambeau.util.late_range import LateRange
from flambeau.util.names import ROOT
from flambeau.util.source import Source, SourceRange

_NAMES: Final = re.compile(rf"{ROOT}(?:\.\w+)+")
_WORDS: Final = re.compile(r"\w+")
_ESCAPE: Final = "\\"
"""Before it a text says no longer which attributes it names."""
Classes = dict[ClassType, ClassType]


class MethodCode(NamedTuple):
    """The text of a method, where it stands, and the class that it is of."""

    name: str
    text: str
    source: Source
    start: int
    owner: ClassType


class _Compiled(NamedTuple):
    """A method that was compiled, and its graph."""

    code: MethodCode
    graph: Graph
    spans: list[tuple[int, int] | None]
    """Of each node where it stands in the source of the code; None for one that stands elsewhere."""


class _NotComparedError(Exception):
    """A class that cannot be compared with others."""


class EqualCode:
    """The methods of one archive that were compiled, by what tells them from each other."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        """`types` are those of the archive that are known, by name."""
        self._types = types
        self._compiled: dict[Any, _Compiled] = {}
        self._counts: Counter[str] = Counter()
        self._numbers: dict[Any, int] = {}
        """A number for each class as others see it."""
        self._of_classes: dict[tuple[str, frozenset[str]], int | None] = {}
        """The same by name and the constants that are looked at; None while the number is looked for."""
        self._constants: tuple[int, frozenset[str]] = 0, frozenset()

    def count(self, name: str) -> None:
        """Note that there is a method of a name."""
        self._counts[demangle(name)] += 1

    def is_single(self, name: str) -> bool:
        """Whether no other method has the name, but for what numbers were put into it."""
        return self._counts[demangle(name)] < 2

    def key(self, code: MethodCode) -> Any:
        """What two methods share if the graph of one follows from that of the other; None for one that has no such."""
        text = code.text
        words = set(_WORDS.findall(text))
        if not text.isascii() or (_ESCAPE in text and not words.isdisjoint(("getattr", "hasattr"))):
            return None
        looked_at = frozenset(words & self._constant_names())
        try:
            names = tuple([self._named(name, looked_at) for name in _NAMES.findall(text)])
            return demangle(code.name), self._of_type(code.owner, looked_at), names, tuple(_NAMES.split(text))
        except _NotComparedError:
            return None

    def keep(self, key: Any, code: MethodCode, graph: Graph) -> None:
        """Have copies of a graph that was looked at, whose nodes stand where the code is or know where they stood."""
        if key is not None and key not in self._compiled and not any(map(_names_classes, _nodes(graph))):
            spans = [_span(node.range, code.source) for node in _nodes(graph)]
            self._compiled[key] = _Compiled(code, graph, spans)

    def copy(self, key: Any, code: MethodCode) -> Graph | None:
        """The graph of a method, its nodes where its own code is; None if that has to be compiled."""
        known = None if key is None else self._compiled.get(key)
        classes = None if known is None else self._correspondence(known.code, code)
        if known is None or classes is None:
            return None
        graph = clone_graph(known.graph)
        types: dict[Type, Type | None] = {}  # None where one stays
        for value in _values(graph):
            type_ = value.static_type
            if type_ not in types:
                renamed = _renamed(type_, classes)
                types[type_] = None if renamed is type_ else renamed
            becomes = types[type_]
            if becomes is not None:
                value.set_type(becomes)
        offsets = _Offsets(known.code, code)
        for node, span in zip(_nodes(graph), known.spans, strict=True):
            if span is not None:
                node.range = code.source.range(offsets.at(span[0]), offsets.at(span[1]))
        return graph

    # -- what is equal ------------------------------------------------------------------------------------------------

    def _constant_names(self) -> frozenset[str]:
        """The names of the constants of all classes that are known."""
        if len(self._types) != self._constants[0]:
            definitions = [t.definition for t in list(self._types.values()) if isinstance(t, ClassType)]
            self._constants = len(self._types), frozenset().union(*(d.constants for d in definitions))
        return self._constants[1]

    def _named(self, name: str, looked_at: frozenset[str]) -> Any:
        type_ = self._types.get(name)
        return name if type_ is None else self._of_type(type_, looked_at)

    def _of_type(self, type_: Type, looked_at: frozenset[str]) -> Any:
        if _is_of_module(type_):
            return self._of_class(type_, looked_at)
        if any(map(_is_of_module, type_.walk())):
            return type(type_), getattr(type_, "name", ""), *[self._of_type(t, looked_at) for t in type_.contained]
        return type_, getattr(type_, "inferred", False)

    def _of_class(self, type_: Any, looked_at: frozenset[str]) -> int:
        known = type_.name, looked_at
        if known in self._of_classes:
            number = self._of_classes[known]
            if number is None:  # it is within itself
                raise _NotComparedError
            return number
        self._of_classes[known] = None
        definition = type_.definition
        seen = (
            demangle(type_.name),
            definition.hooks,
            tuple([
                (a.name, self._of_type(a.type, looked_at), a.is_parameter, a.is_buffer) for a in definition.attributes
            ]),
            tuple([(name, _plain(v) if name in looked_at else "") for name, v in definition.constants.items()]),
            tuple([self._of_schema(method.schema, looked_at) for method in definition.methods.values()]),
        )  # fmt: skip
        number = self._of_classes[known] = self._numbers.setdefault(seen, len(self._numbers))
        return number

    def _of_schema(self, schema: Any, looked_at: frozenset[str]) -> Any:
        parameters = [
            (a.name, self._of_type(a.type, looked_at), a.kwarg_only, a.has_default and _plain(a.default))
            for a in schema.arguments[1:]
        ]
        return schema.name, tuple(parameters), self._of_type(schema.returns[0].type, looked_at)

    def _correspondence(self, known: MethodCode, code: MethodCode) -> Classes | None:
        """Which class of a method stands for which of another; None where one would stand for two, or two for one."""
        classes: Classes = {}
        waiting: list[tuple[Type, Type]] = [(known.owner, code.owner)]
        for name, other in zip(_NAMES.findall(known.text), _NAMES.findall(code.text), strict=True):
            if name in self._types:
                waiting.append((self._types[name], self._types[other]))
        while waiting:
            one, other = waiting.pop()
            if not isinstance(one, ClassType) or not isinstance(other, ClassType) or not _is_of_module(one):
                waiting.extend(zip(one.contained, other.contained, strict=True))
            elif one not in classes:
                classes[one] = other
                waiting.extend(zip(_types_in(one), _types_in(other), strict=True))
            elif classes[one] != other:
                return None
        return classes if len(set(classes.values())) == len(classes) else None


class _Offsets:
    """Where something stands in the text of a method that stands at a place in that of another."""

    def __init__(self, known: MethodCode, code: MethodCode) -> None:
        pairs = zip(_NAMES.finditer(known.text), _NAMES.finditer(code.text), strict=True)
        spans = [(one.span(), other.span()) for one, other in pairs]
        self._starts = [known.start, *[known.start + end for (_, end), _ in spans]]
        """Of each piece between names: those are as long in both texts."""
        self._new_starts = [code.start, *[code.start + end for _, (_, end) in spans]]
        self._ends = [*[code.start + start for _, (start, _) in spans], code.start + len(code.text)]

    def at(self, offset: int) -> int:
        """The offset in the other source."""
        piece = bisect_right(self._starts, offset) - 1
        if piece < 0:
            return offset
        return min(self._new_starts[piece] + offset - self._starts[piece], self._ends[piece])


def _types_in(type_: ClassType) -> Iterator[Type]:
    definition = type_.definition
    yield from [a.type for a in definition.attributes]
    for method in definition.methods.values():
        yield from [a.type for a in (*method.schema.arguments[1:], *method.schema.returns)]


def _is_of_module(type_: Type) -> bool:
    return isinstance(type_, ClassType) and type_.definition.is_module


def _renamed(type_: Type, classes: Classes) -> Type:
    """A type with other classes in it; the type itself if it has none of them."""
    if isinstance(type_, ClassType):
        return classes.get(type_, type_)
    old = type_.contained
    new = tuple([_renamed(t, classes) for t in old])
    return type_ if new == old else type_.with_contained(new)


def _plain(value: Any) -> str:
    """A constant as a text that says all of it."""
    parts = value if isinstance(value, list | tuple) else ()
    if value is not None and type(value) not in (bool, int, float, complex, str, list, tuple):
        raise _NotComparedError
    for part in parts:
        _plain(part)
    return repr(value)


def _nodes(graph: Graph) -> Iterator[Node]:
    for part in subgraphs(graph):
        for block in blocks(part.body):
            yield from block


def _values(graph: Graph) -> Iterator[Value]:
    for part in subgraphs(graph):
        for block in blocks(part.body):
            yield from block.parameters
            for node in block:
                yield from node.results


def _names_classes(node: Node) -> bool:
    """Whether a node itself, not the types of its values, has a class of a module."""
    attributes = node.attributes.values()
    parts = [part for a in attributes for part in (a if isinstance(a, list | tuple) else (a,))]
    return any(isinstance(part, Type) and any(map(_is_of_module, part.walk())) for part in parts)


def _span(where: SourceRange | None, source: Source) -> tuple[int, int] | None:
    where = where.known if isinstance(where, LateRange) else where
    return None if where is None or where.source is not source else (where.start, where.end)
