"""The names that programs know Python's functions and classes by.

Each begins with a root that no package of Python has, so that a program's names and Python's cannot be mistaken for one
another.
"""

from __future__ import annotations

from typing import Any, Final

ROOT: Final = "__torch__"
"""What the qualified name of every function and class of a program begins with."""

OPAQUE_CLASSES: Final = f"{ROOT}.torch.classes."
"""What the names of classes begin with that have no code: operators alone make their objects and look into them."""


def is_qualified(name: str) -> bool:
    """Whether a name is a qualified one, and not the root by itself.

    >>> is_qualified("__torch__.net.Linear"), is_qualified("__torch__"), is_qualified("net.Linear")
    (True, False, False)
    """
    return name.startswith(f"{ROOT}.")


def in_root(name: str) -> str:
    """The qualified name of what has this name below the root.

    >>> in_root("net.Linear")
    '__torch__.net.Linear'
    """
    return f"{ROOT}.{name}"


def without_root(name: str) -> str:
    """What is behind the root; nothing of the root itself; a name that does not begin with it as it is.

    >>> without_root("__torch__.net.Linear"), without_root("__torch__"), without_root("net.Linear")
    ('net.Linear', '', 'net.Linear')
    """
    return "" if name == ROOT else name.removeprefix(f"{ROOT}.")


def qualified_name(value: Any) -> str:
    """`__torch__.module.name` of a function or class, wherever in the module it is defined.

    >>> import decimal
    >>> qualified_name(decimal.Decimal)
    '__torch__.decimal.Decimal'
    """
    module = value.__module__ or "__main__"
    parts = [*module.split("."), value.__name__]
    if parts[0] == "__main__":
        parts = parts[1:]
    return in_root(".".join(_word(p) for p in parts))


def python_name(cls: type) -> str:
    """A class as messages name it: with its module, unless it is one of Python's builtins.

    >>> import decimal
    >>> python_name(decimal.Decimal), python_name(list)
    ('decimal.Decimal', 'list')
    """
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _word(part: str) -> str:
    """A part of a name as an identifier: a lambda's is `_lambda`."""
    if part.isidentifier():
        return part
    return "_lambda" if part == "<lambda>" else part.strip("<>") or "_"
