"""Dicts whose values are tensors, in native code: values stay what they are while the dict gets others."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import Arguments, agree


def floats(*sizes: int) -> flambeau.Tensor:
    return flambeau.arange(int(np.prod(sizes))).to(flambeau.float64).reshape(sizes) * 0.5 - 1


PROGRAMS: dict[str, tuple[str, Arguments]] = {
    "sums by key": ("""
def f(x: Tensor, n: int):
    groups: Dict[int, Tensor] = {}
    for i in range(n):
        if i % 3 in groups:
            groups[i % 3] += x * i
        else:
            groups[i % 3] = x * 2
    return groups, len(groups), list(groups), groups[0].sum()
""", lambda: (floats(4), 20)),
    "written over while somebody has the old value": ("""
def f(x: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    for i in range(n):
        d[0] = x * i
        old = d[0]
        d[0] = x + i
        del d[0]
        d[0] = old * 2
        old += 1
        x = x + old * 0.5
    return x, d
""", lambda: (floats(3), 9)),
    "views and values that two keys share": ("""
def f(x: Tensor, n: int):
    d: Dict[str, Tensor] = {}
    d["all"] = x.clone()
    d["some"] = d["all"][1:]
    for i in range(n):
        d["some"] += i
        d["same"] = d["some"]
        d["all"] *= 0.5
    return d
""", lambda: (floats(5), 4)),
    "taken out, kept and set by default": ("""
def f(x: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    d[0] = x + 1
    d[1] = x * 3
    p = d.pop(0)
    for i in range(n):
        p = p + d.get(1, p) + d.setdefault(i, p * i)
    s = x * 0
    for k, v in d.items():
        s = s + v * k
    for v in d.values():
        v += 1
    return p, s, d
""", lambda: (floats(2, 3), 12)),
    "many keys": ("""
def f(x: Tensor, n: int):
    d: Dict[Tuple[int, int], Tensor] = {}
    for i in range(n):
        d[(i % 7, i % 11)] = x[i % 3:] * i
    return d, (3, 3) in d
""", lambda: (floats(6), 100)),
    "nothing in it": ("""
def f(x: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    for i in range(n):
        d[i] = x
    return d, len(d), x.sum()
""", lambda: (floats(2), 0)),
    "a key that is not there": ("""
def f(x: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    for i in range(n):
        d[i] = x * i
    return d[n]
""", lambda: (floats(2), 3)),
}  # fmt: skip
OTHERS = ("""
def f(x: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    for i in range(n):
        d[i] = x if i % 2 else x.to(flambeau.float32)
    return d
""", lambda: (floats(2), 3))  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_what_python_makes_of_them(name: str) -> None:
    agree(*PROGRAMS[name])


def test_values_of_several_dtypes_are_left_to_python() -> None:
    agree(*OTHERS, is_native=False)


def test_memory_goes_with_the_dict() -> None:
    source, arguments = PROGRAMS["written over while somebody has the old value"]
    function = flambeau.CompilationUnit(source).f
    for _ in range(4):
        function(*arguments())
    x, _ = arguments()
    large = flambeau.zeros(200_000, dtype=flambeau.float64) + x[0]
    function(large, 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):  # 1.6 MB a value: some gigabytes if any stayed
        function(large, 3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
    assert function(x, 9)[0].tolist() == function(*arguments())[0].tolist()
