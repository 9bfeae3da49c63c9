"""How the front end asks for Python values: names that a program does not define itself, and functions it calls.

The front end knows no user objects. Who compiles a program gives it a `Resolver`; `Names` is a plain one, for texts.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.types import NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange


class _Missing:
    """The answer for a name that means nothing."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Final = _Missing()


class Resolver(Protocol):
    """What a compilation needs to know of the Python world around it."""

    reaches_python: bool
    """Whether programs may import modules and have statements that stay Python. Code that came in a file may not."""

    def resolve(self, name: str) -> Any:
        """The Python value of a name where the program was defined (closure, globals, builtins), or `MISSING`."""

    def member(self, owner: Any, name: str) -> Any:
        """The attribute of a Python value that a program names, or `MISSING`."""

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """The compiled form of a Python callable that the program calls at `where`.

        None if it is nothing that can be compiled. Raises CompileError when it can, but is wrong or calls itself.
        """

    def operator_name(self, value: Any) -> str | None:
        """`aten::add` for the package's own `add`; None for what is no operator."""

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """The type that instances of a user's class have in programs; None if the class cannot be used."""

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """A `Sugared` for a value that only the caller understands (modules, classes), or None."""


def recursion_error(name: str, where: SourceRange | None) -> CompileError:
    """The refusal of a function that is reached again while it is being compiled."""
    text = f"function '{name}' is called recursively. Recursive calls are not supported"
    hint = f"unless the function declares what it returns: `def {name}(...) -> int:`, or returns something before that"
    hint += "; a generator says what it yields: `-> Iterator[int]`"
    return CompileError(f"{text} {hint}", where)


class Names:
    """A resolver over a dict: names to Python values, and names to functions that are compiled already.

    >>> Names({"k": 3}).resolve("k")
    3
    """

    reaches_python = True

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values = dict(values or {})

    def resolve(self, name: str) -> Any:
        """The value of that name, or the builtin."""
        return self.values.get(name, getattr(builtins, name, MISSING))

    def member(self, owner: Any, name: str) -> Any:
        """The attribute, if programs reach Python values."""
        return getattr(owner, name, MISSING) if self.reaches_python else MISSING

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """Only what is compiled already."""
        return fn if isinstance(fn, Function) else None

    def operator_name(self, value: Any) -> str | None:
        """What the value says of itself in `operator_name`."""
        name = getattr(value, "operator_name", None)
        return name if isinstance(name, str) else None

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """No class is known."""
        return None

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """No value is known."""
        return None


@runtime_checkable
class ObjectResolver(Protocol):
    """What else a resolver can do when programs use objects whose methods are compiled when first reached."""

    def compile_method(self, owner: NamedType, name: str, where: SourceRange) -> Function | None:
        """A method that the class does not have yet, compiled now; None if there is none of that name."""

    def object_attribute(self, owner: Value | type, name: str, where: SourceRange) -> Any:
        """The Python value or `Sugared` of an attribute that is no value of the graph (a static method), or None.

        The owner is a value, or the class of enums or named tuples itself.

        Raises CompileError for one that exists in Python and cannot be in a program.
        """

    def object_items(self, owner: Value, where: SourceRange) -> list[tuple[str, Type]] | None:
        """What a container of modules or parameters holds, by attribute, in order; None for what is no container."""

    def object_keys(self, owner: Value, where: SourceRange) -> list[str] | None:
        """The keys of a container that is reached by name: its attributes. None for what is none."""

    def call_object(self, owner: Value, where: SourceRange) -> Any:
        """A `Sugared` whose call is that of the object, where it is more than a call of one method; else None."""
