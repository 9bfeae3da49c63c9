"""Lists, dicts and sets of numbers and texts that calls bring where nothing is annotated: types, and who may write.

def total(xs): ...      total([1.5, 2.0])    →    xs : float[], a copy, so that a program that changes it is refused
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.graph import Node, Value
from flambeau.passes.inline import callee_of
from flambeau.program.function import Function
from flambeau.program.generators import over, step
from flambeau.program.named_tuples import register_class
from flambeau.program.protected import Protected
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import unify
from flambeau.schema.types import BOOL, FLOAT, INT, STRING, DictType, ListType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.inversions import CLASS_COMPILER
from flambeau.util.names import qualified_name

_SIMPLE: Final[dict[Any, Type]] = {int: INT, float: FLOAT, bool: BOOL, str: STRING}
_EMPTY: Final[dict[Any, type[Type]]] = {
    (list, frozenset()): ListType, (dict, frozenset()): DictType, (set, frozenset()): SetType,
}  # fmt: skip
"""Containers that hold nothing, and what types they have."""
CHANGED: Final = (
    "{function} changes '{name}', which is a {kind} here: programs work on copies of the containers that calls bring, "
    "so that the caller would not see it. Change {name}.copy() and return that, or pass an array"
)
MEANT: Final = (
    "'{name}' is a {kind} in this call: pass np.array({name}) or flambeau.tensor({name}) where one of these is meant. "
)


def container_type(pattern: Any) -> Type | None:
    """The type of a list, dict or set of numbers, texts, tuples and containers of these, by what is known of it:
    classes, and for containers what they hold; None for others, and for those that hold nothing.

    >>> str(container_type((list, frozenset({int})))), container_type((list, frozenset({int, str})))
    ('int[]', None)
    """
    if not isinstance(pattern, tuple):
        return _SIMPLE.get(pattern)
    kind, inner = pattern
    if kind in (list, set):
        element = _common(inner)
        return None if element is None else ListType(element) if kind is list else SetType(element)
    if kind is dict:
        key, item = _common({k for k, _ in inner}), _common({item for _, item in inner})
        return None if key is None or item is None else DictType(key, item)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return tuple_type(kind, list(map(container_type, inner)))
    return None


def object_type(cls: Any) -> Type | None:
    """The type of objects of a user's class, compiled now if no program has met it; None for what is none.

    Raises CompileError for what the class has that programs have not.

    >>> object_type(int)
    """
    definition = CLASS_COMPILER.implementation(cls) if isinstance(cls, type) else None
    return None if definition is None else definition.type


def tuple_type(cls: type, types: Sequence[Type | None]) -> TupleType | None:
    """The type of tuples of a class, whose fields have names where the class says some; None where an item has no type.

    >>> str(tuple_type(tuple, [INT, FLOAT])), tuple_type(tuple, [INT, None])
    ('(int, float)', None)
    """
    known = tuple([t for t in types if t is not None])
    if len(known) != len(types):
        return None
    fields: tuple[str, ...] = getattr(cls, "_fields", ())
    if not fields:
        return TupleType(known)
    defaults = tuple(getattr(cls, "_field_defaults", {}).items())
    type_ = TupleType(known, qualified_name(cls), fields, defaults)
    register_class(type_, cls)
    return type_


def merged(patterns: Collection[Any]) -> Any:
    """One pattern for items of which each has its own: what holds nothing is like the others. None where they differ.

    >>> merged([(tuple, (str, (list, frozenset({int})))), (tuple, (str, (list, frozenset())))])
    (<class 'tuple'>, (<class 'str'>, (<class 'list'>, frozenset({<class 'int'>}))))
    """
    kinds = {pattern[0] if isinstance(pattern, tuple) else pattern for pattern in patterns}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    inners = [pattern[1] for pattern in patterns if isinstance(pattern, tuple)]
    if kind in (list, set, dict) and len(inners) == len(patterns):
        return _merged_containers(kind, inners)
    if isinstance(kind, type) and issubclass(kind, tuple) and len(set(map(len, inners))) == 1:
        parts = [merged(set(parts)) for parts in zip(*inners, strict=True)]
        return None if None in parts else (kind, tuple(parts))
    return next(iter(patterns)) if len(set(patterns)) == 1 else None


def _merged_containers(kind: type, inners: Sequence[Collection[Any]]) -> Any:
    """The same of lists, sets or dicts with these items."""
    if not any(inners):
        return kind, frozenset()
    items = {item for inner in inners for item in inner}
    if kind is not dict:
        item = merged(items)
    else:
        pair = tuple([merged(set(column)) for column in zip(*items, strict=True)])
        item = None if None in pair else pair
    return None if item is None else (kind, frozenset({item}))


def _common(patterns: Collection[Any]) -> Type | None:
    """The type of all; what holds nothing is of the type of the others, where these are of its kind."""
    one = merged(patterns)
    if one is not None and len(patterns) > 1:
        return container_type(one)
    filled = [pattern for pattern in patterns if pattern not in _EMPTY]
    types = [container_type(pattern) for pattern in filled]
    if not types:
        return None
    common = functools.reduce(lambda a, b: None if a is None or b is None else unify(a, b), types)
    kinds = {_EMPTY[pattern] for pattern in patterns if pattern in _EMPTY}
    return common if all(isinstance(common, kind) for kind in kinds) else None


def refuse_changes(function: Function, name: str, containers: Mapping[str, Type]) -> None:
    """Raise CompileError if a function, or one that it calls, may write to one of these parameters. A function that
    nowhere writes to them but in calls of itself does not write to them.
    """
    if not containers:
        return
    graph = inlined_graph(function)
    aliases = AliasAnalysis(graph, apart=True)  # containers are made for the call
    for argument, parameter in zip(function.schema.arguments, graph.parameters, strict=True):
        if argument.name in containers and any(callee_of(w) is not function for w in _changing(parameter, aliases)):
            kind = kind_of(containers[argument.name])
            raise CompileError(CHANGED.format(function=name, name=argument.name, kind=kind))


def _changing(container: Value, aliases: AliasAnalysis) -> Iterator[Node]:
    """The nodes that may change a container: of `try` blocks those in their bodies."""
    for node in aliases.writers(container):
        called = node.attributes.get("callable")
        if isinstance(called, Protected):
            body = inlined_graph(called.body)
            inner = AliasAnalysis(body, apart=True)
            for operand, parameter in zip(node.operands, body.parameters, strict=True):
                if aliases.may_contain_alias(operand, container):
                    yield from _changing(parameter, inner)
        elif called is not over and called is not step:  # a generator that it goes on with was made by another node
            yield node


def kind_of(type_: Type) -> str:
    """What messages call a container."""
    kinds = {ListType: "list", DictType: "dict", SetType: "set"}
    return next((name for kind, name in kinds.items() if isinstance(type_, kind)), "tuple")


def with_hint(error: CompileError, containers: Mapping[str, Type]) -> CompileError:
    """A refusal of a program in which parameters are such containers."""
    hint = "".join(MEANT.format(name=name, kind=kind_of(type_)) for name, type_ in containers.items())
    return CompileError(hint + error.message, error.range, error.call_chain)
