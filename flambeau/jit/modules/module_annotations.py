"""What a module's class says of its attributes' types, and `Attribute`, which says it for one instance."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
import warnings
from typing import Any, ClassVar, NamedTuple

from flambeau.frontend.source.python_source import innermost_function
from flambeau.util.errors import FrontendError
from flambeau.util.python_text import parse

EMPTY_IN_INIT = (
    "The TorchScript type system doesn't support instance-level annotations on empty non-base types in `__init__`. "
    "Instead, either 1) use a type annotation in the class body, or 2) wrap the type in `flambeau.jit.Attribute`. The "
    "attribute is '{name}' of {owner}"
)
_BASE_TYPES = frozenset(("int", "float", "bool", "str", "complex", "Tensor", "None"))


DECLARED = "_declared_types"
"""The attribute of a `ScriptModule` under construction with the types that `Attribute` gave, by name."""


class Attribute(NamedTuple):
    """A value with the type that it has in programs: for an attribute whose value does not tell, as an empty list.

    Args:
        value: the value.
        type: its type in programs.

    >>> Attribute([], list[int]).type
    list[int]
    """

    value: Any
    type: Any


def class_annotations(cls: type) -> dict[str, Any]:
    """The annotations in class bodies, base classes first; those that cannot be resolved are left out."""
    annotations_of_all: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        own = vars(base).get("__annotations__", {})
        scope = _closures(base) if own else {}
        around = _globals(base) if own else None
        for name, annotation in own.items():
            if annotation is ClassVar or typing.get_origin(annotation) is ClassVar:
                continue
            alone = type(base.__name__, (), {"__annotations__": {name: annotation}, "__module__": base.__module__})
            try:
                annotations_of_all[name] = typing.get_type_hints(alone, around, scope)[name]
            except Exception:  # whatever is wrong with this annotation: the others count
                continue
    return annotations_of_all


def _globals(cls: type) -> dict[str, Any] | None:
    """The names of the module that a class was written in, as its methods have them; None for those of `__module__`.

    A module that was run but never imported is known to nobody else.
    """
    own = (inspect.unwrap(m) for m in vars(cls).values() if inspect.isfunction(m) and m.__module__ == cls.__module__)
    return next((m.__globals__ for m in own), None)


def _closures(cls: type) -> dict[str, Any]:
    """The names around a class that is defined in a function, as far as its methods use them."""
    names: dict[str, Any] = {cls.__name__: cls}
    for member in vars(cls).values():
        if inspect.isfunction(member):
            names.update(inspect.getclosurevars(inspect.unwrap(member)).nonlocals)
    return names


def warn_of_empty_annotations(cls: type) -> None:
    """Warn of `self.x: List[int] = []` in `__init__`: an annotation there says nothing to a program."""
    if cls.__module__.startswith("flambeau.") or "__init__" not in vars(cls):
        return
    try:
        source = inspect.getsource(innermost_function(cls.__init__))  # type: ignore[misc]
        tree = parse(textwrap.dedent(source))
    except (OSError, TypeError, SyntaxError, FrontendError):
        return
    declared = class_annotations(cls)
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                pass
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Call(
                    func=ast.Attribute(attr="annotate") | ast.Name(id="annotate"), args=[annotation, _]
                ),
            ):
                pass
            case _:
                continue
        if name not in declared and _is_empty(node.value) and not _is_base(annotation):
            warnings.warn(EMPTY_IN_INIT.format(name=name, owner=cls.__name__), UserWarning, stacklevel=6)


def _is_empty(value: ast.expr | None) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Constant(value=None):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="annotate") | ast.Name(id="annotate"), args=[_, inner]):
            return _is_empty(inner)
    return False


def _is_base(annotation: ast.expr) -> bool:
    name = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")
    return name in _BASE_TYPES
