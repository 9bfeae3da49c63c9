"""What the tests of compiled modules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor, nn

BACKENDS = ("native", "interpreter", "reference")


def same(a: Any, b: Any) -> bool:
    """Whether two results are alike."""
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.shape == b.shape and bool(flambeau.allclose(a, b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def agree(make: Callable[[], nn.Module], *args: Any, rounds: int = 2) -> None:
    """A module does in every backend what it does in Python, again and again."""
    for backend in BACKENDS:
        flambeau.manual_seed(0)
        eager = make()
        flambeau.manual_seed(0)
        scripted = flambeau.script(make(), backend=backend, verify=True)
        for _ in range(rounds):
            expected, found = eager(*args), scripted(*args)
            assert same(expected, found), (backend, expected, found)
