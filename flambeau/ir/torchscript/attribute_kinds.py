"""The kinds of attributes of nodes: which values are of one, and what is kept of a value that is given as one.

>>> given("f", 3), given("is", [1, True])
(3.0, [1, 1])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from flambeau.ir.literals import is_tensor
from flambeau.ir.torchscript import types
from flambeau.ir.torchscript.argument_checks import wrong_argument
from flambeau.ir.torchscript.graph_methods import GraphMethods
from flambeau.schema.types import Type


class Kind(NamedTuple):
    """One kind of attribute."""

    holds: Callable[[Any], bool]
    """Whether a value that a node has is of it."""
    accepts: Callable[[Any], bool]
    """Whether a value may be given as one."""
    kept: Callable[[Any], Any]
    """What the node has then."""
    what: str
    """As messages call it."""


def _is(*classes: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, classes)


def _same(value: Any) -> Any:
    return value


def _type_of(value: Any) -> Type:
    return value.ours if isinstance(value, types.Type) else value


KINDS: Final = {
    "i": Kind(_is(int), lambda v: hasattr(v, "__index__") and not is_tensor(v), lambda v: int(v.__index__()), "an int"),
    "f": Kind(_is(float), _is(int, float), float, "a float"),
    "c": Kind(_is(complex), _is(int, float, complex), complex, "a complex number"),
    "s": Kind(_is(str), _is(str), _same, "a str"),
    "t": Kind(is_tensor, is_tensor, _same, "a Tensor"),
    "g": Kind(_is(GraphMethods), _is(GraphMethods), _same, "a Graph"),
    "ty": Kind(_is(Type), _is(Type, types.Type), _type_of, "a type"),
}


def kind_of(value: Any) -> str:
    """The kind of an attribute: `i`, `f`, `c`, `s`, `t`, `g` or `ty`, with an `s` behind it for lists; else `ival`.

    >>> kind_of(3), kind_of([1.5]), kind_of({})
    ('i', 'fs', 'ival')
    """
    for name, kind in KINDS.items():
        if kind.holds(value):
            return name
        if isinstance(value, list) and value and all(map(kind.holds, value)):
            return f"{name}s"
    return "ival"


def given(name: str, value: Any) -> Any:
    """What a node keeps of a value that is given as an attribute of a kind. Raises TypeError for one of another."""
    if name == "ival":
        return value
    if name in KINDS:
        kind = KINDS[name]
        if not kind.accepts(value):
            raise wrong_argument(f"{name}_", kind.what, value)
        return kind.kept(value)
    kind = KINDS[name[:-1]]
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_sequence or not all(map(kind.accepts, value)):
        raise wrong_argument(f"{name}_", f"a list, each element {kind.what}", value)
    return [kind.kept(v) for v in value]
