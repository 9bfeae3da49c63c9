"""Arguments that may be None: native either way, each with code of its own."""

from __future__ import annotations

import pytest

import flambeau
from tests.codegen.graph.one_meaning import Arguments, agree, assert_native, functions

PROGRAMS: dict[str, tuple[str, list[Arguments]]] = {
    "an int": ("""
def f(x: Tensor, n: Optional[int]) -> Tensor:
    if n is None:
        n = 2
    return x * n + 1
""", [lambda: (flambeau.ones(3), 5), lambda: (flambeau.ones(3), None)]),
    "a float, that an int may stand for": ("""
def f(n: int, s: Optional[float]) -> float:
    t = 0.5
    for i in range(n):
        t = t * (s if s is not None else 1.5)
    return t
""", [lambda: (3, 2.0), lambda: (3, 2), lambda: (3, None), lambda: (2, float("nan"))]),
    "a bool": ("""
def f(n: int, up: Optional[bool] = None) -> int:
    t = 0
    for i in range(n):
        if up is None:
            t += 1
        elif up:
            t += i
        else:
            t -= i
    return t
""", [lambda: (5, True), lambda: (5, False), lambda: (5, None)]),
    "set and unset in a loop": ("""
def f(n: int, last: Optional[int]) -> Optional[int]:
    for i in range(n):
        if last is not None and last > 2:
            last = None
        else:
            last = i + (last if last is not None else 0)
    return last
""", [lambda: (4, 3), lambda: (4, None), lambda: (0, 7), lambda: (0, None)]),
    "a list": ("""
def f(x: Tensor, ks: Optional[List[int]]) -> Tensor:
    x = x * 2
    if ks is not None:
        ks.append(4)
        for k in ks:
            x = x + k
    return x
""", [lambda: (flambeau.ones(3), [1, 2]), lambda: (flambeau.ones(3), []), lambda: (flambeau.ones(3), None)]),
    "a list of tensors": ("""
def f(x: Tensor, ks: Optional[List[Tensor]]) -> Tensor:
    x = x * 2
    if ks is not None:
        for k in ks:
            x = x + k
    return x
""", [lambda: (flambeau.ones(3), [flambeau.ones(3), flambeau.ones(1)]), lambda: (flambeau.ones(3), None)]),
    "a tuple": ("""
def f(x: Tensor, p: Optional[Tuple[int, Optional[float]]]) -> Tensor:
    x = x * 2
    if p is not None:
        n, s = p
        for i in range(n):
            x = x * (2.0 if s is None else s)
    return x
""", [lambda: (flambeau.ones(3), (2, 3.0)), lambda: (flambeau.ones(3), (2, None)), lambda: (flambeau.ones(3), None)]),
    "given back": ("""
def f(m: int, n: Optional[int], x: Optional[Tensor]) -> Tuple[Optional[int], Optional[Tensor], int]:
    t = 0
    for i in range(m):
        t += n if n is not None else 1
    return n, x, t
""", [lambda: (3, 2, flambeau.ones(3)), lambda: (3, None, None), lambda: (0, 2, None)]),
}  # fmt: skip


CALLS = [(name, k) for name, (_, sets) in PROGRAMS.items() for k in range(len(sets))]


@pytest.mark.parametrize(("name", "which"), CALLS)
def test_one_meaning(name: str, which: int) -> None:
    source, sets = PROGRAMS[name]
    agree(source, sets[which])


@pytest.mark.parametrize("name", PROGRAMS)
def test_by_iterations(name: str) -> None:
    source, sets = PROGRAMS[name]
    by = functions(source)

    for _ in range(4):
        for arguments in sets:
            assert repr(by["native"](*arguments())) == repr(by["interpreter"](*arguments()))
    assert_native(by["native"])
