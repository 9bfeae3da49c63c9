"""`collections.deque` in programs does what Python's does, natively."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def distances(indptr: np.ndarray, indices: np.ndarray, start: int):
    found = np.full(len(indptr) - 1, -1)
    found[start] = 0
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for k in range(indptr[at], indptr[at + 1]):
            to = indices[k]
            if found[to] < 0:
                found[to] = found[at] + 1
                waiting.append(to)
    return found


def through_a_grid(walls: np.ndarray):
    height, width = walls.shape
    steps = np.full((height, width), -1)
    waiting = deque()
    waiting.append((0, 0, 0))
    steps[0, 0] = 0
    while len(waiting) > 0:
        y, x, so_far = waiting.popleft()
        for dy, dx in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            i, j = y + dy, x + dx
            if 0 <= i < height and 0 <= j < width and walls[i, j] == 0 and steps[i, j] < 0:
                steps[i, j] = so_far + 1
                waiting.append((i, j, so_far + 1))
    return steps


def largest_of_windows(x: np.ndarray, size: int):
    found = []
    places = deque()
    for i in range(len(x)):
        while places and x[places[-1]] <= x[i]:
            places.pop()
        places.append(i)
        if places[0] <= i - size:
            places.popleft()
        if i >= size - 1:
            found.append(x[places[0]])
    return found


def anything(orders: list[int], limit: int):
    q = deque([1, 2, 3]) if limit < 0 else deque([1, 2, 3], maxlen=limit)
    seen = [0]
    for i, order in enumerate(orders):
        if order == 0:
            q.append(i)
        elif order == 1:
            q.appendleft(i)
        elif order == 2 and len(q) > 0:
            seen.append(q.pop())
        elif order == 3 and q:
            seen.append(q.popleft())
        elif order == 4:
            q.rotate(2)
        elif order == 5:
            q.rotate(-3)
        elif order == 6:
            q.reverse()
        elif order == 7:
            q.extend([i, i + 1])
        elif order == 8:
            q.extendleft([i, i + 1])
        elif order == 9 and len(q) > 2:
            q[1] = q[-1]
            q.remove(q[0])
        elif order == 10 and len(q) != limit:
            q.insert(i % 7 - 3, i)
        elif order == 11 and i % 5 == 0:
            q.clear()
        elif order == 12 and q:
            seen.append(q.index(q[len(q) // 2]))
        elif order == 13:
            q += [i]
        seen.append(len(q))
        seen.append(q.count(3))
        if 5 in q:
            seen.append(-5)
    for item in q:
        seen.append(item)
    return seen, list(q), sorted(q), q == q.copy(), str(q)


def sums_of_the_last(x: list[float], count: int):
    last = deque(maxlen=count)
    sums = []
    for value in x:
        last.append(value)
        sums.append(sum(last))
    return sums


def letters(text: str):
    q: deque[str] = deque()
    for letter in text:
        q.appendleft(letter)
    return "".join(q)


def swap(q, x):
    q.append(x)
    return q.popleft()


def passed_on(n: int):
    q = deque([1.5])
    total = 0.0
    for _ in range(n):
        total += swap(q, total + 1)
    return total


class Buffer:
    def __init__(self) -> None:
        self.q: deque[int] = deque([0], 3)

    def push(self, x: int) -> int:
        self.q.append(x)
        return sum(self.q)


def in_an_object(n: int):
    buffer = Buffer()
    return [buffer.push(k) for k in range(n)]


RNG = np.random.default_rng(0)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (distances, (np.arange(0, 1001, 5), RNG.integers(0, 200, 1000), 0)),
    (through_a_grid, (np.where(RNG.random((20, 30)) < 0.3, 1, 0) * (np.arange(600).reshape(20, 30) > 0),)),
    (largest_of_windows, (RNG.normal(size=100), 7)),
    (sums_of_the_last, ([0.5, 1.0, 2.0, 4.0, 8.0], 2)),
    (sums_of_the_last, ([0.5, 1.0], 0)),
    (letters, ("abc",)),
    (passed_on, (20,)),
    (in_an_object, (6,)),
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS)
def test_queues_are_pythons(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    fn = flambeau.script(program)
    for _ in range(4):
        np.testing.assert_array_equal(fn(*args), program(*args))


@pytest.mark.parametrize("limit", [-1, 0, 1, 4])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.filterwarnings("ignore:anything. this loop is interpreted:flambeau.PerformanceWarning")
def test_random_orders(limit: int, backend: str) -> None:
    fn = flambeau.script(anything, backend=backend)
    rng = random.Random(limit)
    for count in (0, 1, 5, 50, 400):
        orders = [rng.randrange(14) for _ in range(count)]
        assert fn(orders, limit) == anything(orders, limit)


@pytest.mark.parametrize("program", [distances, through_a_grid])
def test_searches_are_native(program: Callable[..., Any]) -> None:
    args = next(a for p, a in PROGRAMS if p is program)
    fn = flambeau.script(program)
    fn(*args)
    assert "native from end to end" in str(fn.explain())


def emptied(n: int):
    q = deque([n])
    q.popleft()
    return q.popleft()


def beyond(n: int):
    return deque([n])[n]


def not_there(n: int):
    return deque([n]).index(n + 1)


def limited(n: int):
    return len(deque([n], maxlen=-n))


@pytest.mark.parametrize(
    ("program", "kind", "text"),
    [
        (emptied, IndexError, "pop from an empty deque"),
        (beyond, IndexError, "deque index out of range"),
        (not_there, ValueError, "4 is not in deque"),
        (limited, ValueError, "maxlen must be non-negative"),
    ],
)
def test_errors_are_pythons(program: Callable[..., Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        program(3)
    with pytest.raises(kind, match=text):
        flambeau.script(program)(3)


def given_back(n: int):
    return 1, deque([n])


def three(n: int):
    return len(deque([n], 3, 4))


def misnamed(n: int):
    return len(deque([n], size=4))


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (given_back, "a deque stays in the function that makes it: return list"),
        (three, "deque expected at most 2 arguments, got 3"),
        (misnamed, r"deque\(\) has no keyword argument 'size': it takes iterable and maxlen"),
    ],
)
def test_refusals_say_what_to_write(program: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)


def counted(q: deque[int]) -> int:
    return len(q)


def test_python_passes_lists() -> None:
    with pytest.raises(RuntimeError, match="declare a list, pass list"):
        flambeau.script(counted)(deque([1]))


def test_saved_programs_have_queues(tmp_path: Any) -> None:
    fn = flambeau.script(passed_on)
    fn.save(str(tmp_path / "queue.pt"))
    assert flambeau.jit.load(str(tmp_path / "queue.pt"))(20) == passed_on(20)


def test_texts_are_gone_over_letter_by_letter() -> None:
    def program(s: str):
        q = deque(["z"])
        q.extend(s)
        q += s
        q.extendleft(s)
        q.append(s)
        return list(q)

    for backend in ("native", "interpreter"):
        function = flambeau.script(program, **({} if backend == "native" else {"backend": backend}))
        assert function("abc") == program("abc")


def test_queues_of_tensors_and_texts_are_known_by_what_is_put_in() -> None:
    def tensors(x: flambeau.Tensor):
        q = deque()
        q.append(x)
        q.append(x + 1)
        return q.popleft(), len(q)

    x = flambeau.ones(2)
    first, count = flambeau.script(tensors)(x)
    assert (first.tolist(), count) == ([1.0, 1.0], 1)
