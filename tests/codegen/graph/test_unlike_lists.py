"""Lists of tensors that differ and leave a function, and parts of lists of known length: as the interpreter's."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import Arguments, agree


def floats(*sizes: int) -> Tensor:
    count = 1
    for n in sizes:
        count *= n
    return (flambeau.arange(count).float() * 0.75 - 2).reshape(sizes)


LEAVING: dict[str, tuple[str, Arguments]] = {
    "ranks and dtypes": ("""
def f(x: Tensor) -> List[Tensor]:
    return [x * 2, x.sum(0), x.sum(), x > 0, x.long()]
""", lambda: (floats(3, 4),)),
    "in a tuple, beside numbers": ("""
def f(x: Tensor, k: int) -> Tuple[int, List[Tensor], float]:
    return k + 1, [x + k, x[0]], 0.5
""", lambda: (floats(3, 4), 2)),
    "arguments, views and the same twice": ("""
def f(x: Tensor, y: Tensor) -> List[Tensor]:
    z = y * 2
    return [x, y, x[0], z, z, z[1:], x.t()]
""", lambda: (floats(3, 4), floats(2))),
    "one element, which is a view": ("""
def f(x: Tensor) -> List[Tensor]:
    y = x + 1
    return [y, y[0], y[0, 0]]
""", lambda: (floats(3, 4),)),
    "tensors written to": ("""
def f(x: Tensor) -> List[Tensor]:
    y = x * 2
    row = y[0]
    row += 1
    return [y, row, row.sum()]
""", lambda: (floats(3, 4),)),
    "nothing in them": ("""
def f(x: Tensor) -> List[Tensor]:
    return [x * 2, x.sum(0)]
""", lambda: (floats(0, 4),)),
    "after a loop": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    total = x.sum()
    for k in range(n):
        total = total + k
    return [x, total]
""", lambda: (floats(3, 4), 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVING)
def test_lists_that_differ_leave(name: str) -> None:
    agree(*LEAVING[name])


PARTS: dict[str, tuple[str, Arguments]] = {
    "of sizes, from a place on": ("""
def f(x: Tensor) -> Tuple[List[int], List[int], List[int], List[int]]:
    return x.shape[1:], x.shape[:-1], x.shape[::2], x.shape[5:]
""", lambda: (floats(2, 3, 4),)),
    "backwards": ("""
def f(x: Tensor) -> List[int]:
    return x.shape[::-1]
""", lambda: (floats(2, 3, 4),)),
    "changed afterwards": ("""
def f(x: Tensor) -> Tuple[List[int], int]:
    sizes = x.shape[1:]
    sizes.append(7)
    sizes[0] = 9
    return sizes, len(x.shape)
""", lambda: (floats(2, 3, 4),)),
    "at places that the call tells": ("""
def f(x: Tensor, a: int, b: int) -> List[int]:
    return x.shape[a:b]
""", lambda: (floats(2, 3, 4), 1, 3)),
    "at places before the front and behind the end": ("""
def f(x: Tensor, a: int, b: int) -> List[int]:
    return x.shape[a:b]
""", lambda: (floats(2, 3, 4), -7, 99)),
    "of tensors": ("""
def f(x: Tensor, a: int) -> List[Tensor]:
    parts = [x, x * 2, x + 1]
    return parts[a:]
""", lambda: (floats(2, 3), 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_lists(name: str) -> None:
    agree(*PARTS[name])
