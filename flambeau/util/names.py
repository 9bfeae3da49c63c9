"""The names that programs know Python's functions and classes by."""

from __future__ import annotations

from typing import Any


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
    return ".".join(["__torch__", *(p if p.isidentifier() else p.strip("<>") or "_" for p in parts)])
