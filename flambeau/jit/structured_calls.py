"""Calls with dicts and lists of tensors by code for how these lie: for the keys and lengths of each call.

`step(p: dict[str, Tensor], x: Tensor)`, called with `{"w": ..., "b": ...}`, runs a function of three tensors that makes
the dict, so that the compiler knows its keys, and there is none in native code. Programs get copies of the containers
that their users give: nobody can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.graph import Node
from flambeau.passes.changed_arguments import FUNCTIONS
from flambeau.program.containers import Leaf, Tree, holds_tensors, opened, tree_of
from flambeau.program.function import Function
from flambeau.schema.types import DictType, ListType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache

MOST: Final = 16
"""How many structures code is kept for."""
MOST_LEAVES: Final = 256
"""Tensors of one call."""


class StructuredCalls:
    """The code of one function, by how its arguments lie."""

    def __init__(self, function: Function, script: Callable[[Function], Any]) -> None:
        """`script` makes what runs a function."""
        self._function, self._script = function, script
        self._types = [a.type if holds_tensors(a.type) else None for a in function.schema.arguments]
        self._scripts: SpecialisationCache[Hashable, Any] = SpecialisationCache(
            "structures of a function", MOST, describe=str
        )

    @property
    def scripts(self) -> list[Any]:
        """The code that is kept."""
        return list(self._scripts.values)

    def of(self, arguments: Sequence[Any]) -> tuple[Any, list[Any]] | None:
        """What runs the function for arguments like these, and what it is given; None for too many tensors, and once
        there were too many structures."""
        leaves: list[Any] = []
        pattern = tuple([_pattern(t, value, leaves) for t, value in zip(self._types, arguments, strict=True)])
        if len(leaves) > MOST_LEAVES or not any(pattern):
            return None
        script = self._scripts.get(pattern)
        if script is None:
            if self._scripts.statistics().misses >= MOST:
                return None
            script = self._scripts.get_or_make(pattern, lambda cause: self._new(arguments))
        return script, leaves

    def _new(self, arguments: Sequence[Any]) -> Any:
        trees: list[Tree | None] = []
        for type_, value in zip(self._types, arguments, strict=True):
            tree = None if type_ is None else tree_of(type_, value)
            trees.append(None if isinstance(tree, Leaf) else tree)
        return self._script(opened(self._function, trees))


def _pattern(type_: Type | None, value: Any, leaves: list[Any]) -> Hashable:
    """How a value of a type that holds tensors, if one is named, lies; the leaves are appended."""
    if type_ is None or not holds_tensors(type_) or not value:
        leaves.append(value)
        return None
    match type_:
        case DictType():
            inner = type_.value
            if not holds_tensors(inner):
                leaves.extend(value.values())
                return tuple(value)
            return tuple([(key, _pattern(inner, one, leaves)) for key, one in value.items()])
        case ListType():
            if not holds_tensors(type_.element):
                leaves.extend(value)
                return len(value)
            return tuple([_pattern(type_.element, one, leaves) for one in value])
    assert isinstance(type_, TupleType)
    return tuple([_pattern(t, one, leaves) for t, one in zip(type_.elements, value, strict=True)])


def gains_from_structure(function: Function) -> bool:
    """Whether a function takes dicts of tensors, which native code has none of, or takes gradients or batches of
    functions of lists."""
    types = [a.type for a in function.schema.arguments if holds_tensors(a.type)]
    if any(map(_has_dict, types)):
        return True
    return bool(types) and any(map(_is_given_container, inlined_graph(function).listed_nodes()))


def _has_dict(type_: Type) -> bool:
    return isinstance(type_, DictType) or any(map(_has_dict, type_.contained))


def _is_given_container(node: Node) -> bool:
    return node.op in FUNCTIONS and any(isinstance(v.static_type, ListType) for v in node.operands)
