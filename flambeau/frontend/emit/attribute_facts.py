"""What conditions tell of attributes: behind `self.bias is not None`, `self.bias` is no Optional.

A fact holds for the rest of the scope, as that of a variable does, until the attribute is assigned. That nothing else
has changed the attribute is checked when the program runs: what is read there is unwrapped, which raises for None.
Loops start without facts, for their body may assign what the next round reads.
"""

from __future__ import annotations

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.trees.views import Expr, Select, Var
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Sugared
from flambeau.schema.types import NoneType, OptionalType, Type
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(frozen=True, slots=True)
class AttributeFact(Sugared):
    """What is known of an attribute; kept in a frame under the attribute's path."""

    type: Type | None
    """None where nothing is known any more."""


def path_of(e: Emission, tree: Expr) -> str | None:
    """`self.a.b` as text; None for what is no attribute of `self`."""
    names: list[str] = []
    while isinstance(tree, Select):
        names.append(tree.name)
        tree = tree.value
    if not names or not e.has_self or not isinstance(tree, Var) or tree.name != "self":
        return None
    return ".".join(["self", *reversed(names)])


def note(e: Emission, path: str, type_: Type | None) -> None:
    """From here on in this scope, an attribute is known to have a type, or nothing is known of it."""
    e.frame.names[path] = AttributeFact(type_)


def narrowed(e: Emission, where: SourceRange, tree: Select, found: Sugared) -> Sugared:
    """An attribute as it was read, unwrapped where it is known to be there."""
    if not isinstance(found, SimpleValue) or not isinstance(found.value.type, OptionalType):
        return found
    path = path_of(e, tree)
    fact = None if path is None else e.frame.find(path)
    if not isinstance(fact, AttributeFact) or fact.type != found.value.type.element:
        return found
    return SimpleValue(call_operator(e, where, "aten::_unwrap_optional", [found.value]))


def assigned(e: Emission, tree: Select, type_: Type) -> None:
    """Take note of an assignment of a value of `type_`."""
    path = path_of(e, tree)
    if path is not None:
        note(e, path, None if isinstance(type_, OptionalType | NoneType) else type_)


def forget_all(e: Emission) -> None:
    """Forget what is known of attributes around this scope."""
    frame = e.frame.parent
    while frame is not None:
        for name, meaning in frame.names.items():
            if isinstance(meaning, AttributeFact):
                e.frame.names.setdefault(name, AttributeFact(None))
        frame = frame.parent
