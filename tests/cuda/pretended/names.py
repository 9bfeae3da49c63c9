"""What CuPy has: its names, what they are, and which parameters they take (`names.txt`, made from CuPy itself)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAMES: dict[str, tuple[str, tuple[str, ...]]] = {}
"""Kind and parameters by name: `linalg.inv`, `ndarray.sum`."""
for _line in Path(__file__).with_name("names.txt").read_text().splitlines()[1:]:
    _name, _kind, *_parameters = _line.split()
    NAMES[_name] = _kind, tuple(_parameters)


def check_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError, as Python does, for arguments that CuPy's function does not take."""
    kind, parameters = NAMES[name]
    if kind not in ("function", "method"):
        return
    plain = [p for p in parameters if not p.startswith("*")]
    if not any(p.startswith("*") and not p.startswith("**") for p in parameters) and len(args) > len(plain):
        raise TypeError(f"{name}() takes {len(plain)} positional arguments but {len(args)} were given")
    if any(p.startswith("**") for p in parameters):
        return
    for given in kwargs:
        if given not in plain:
            raise TypeError(f"{name}() got an unexpected keyword argument {given!r}")
