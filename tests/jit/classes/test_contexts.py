"""`with` on a program's own objects: left however the block is left, in each backend as in CPython."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


class Guard:
    """Says in a list when it is entered and left."""

    def __init__(self, log: list[int], mark: int):
        self.log = log
        self.mark = mark

    def __enter__(self) -> int:
        self.log.append(self.mark)
        return len(self.log)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.log.append(-self.mark)


def plain(log: list[int], n: int) -> list[int]:
    with Guard(log, 5) as seen:
        log.append(seen * n)
    return log


def nested(log: list[int], n: int) -> list[int]:
    with Guard(log, 1) as a, Guard(log, 2) as b, Guard(log, 3):
        log.append(a * 10 + b)
    return log


def returning(log: list[int], n: int) -> list[int]:
    with Guard(log, 4):
        if n > 1:
            return log
        log.append(n)
    return log


def looping(log: list[int], n: int) -> list[int]:
    for i in range(5):
        with Guard(log, i + 1):
            if i == 1:
                continue
            if i == n:
                break
            log.append(100 + i)
    return log


def failing(log: list[int], n: int) -> list[int]:
    with Guard(log, 6), Guard(log, 7):
        log.append(log[n])
    return log


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
@pytest.mark.parametrize("program", [plain, nested, returning, looping])
@pytest.mark.parametrize("n", [0, 2, 9])
def test_left_as_in_python(program: Callable[[list[int], int], list[int]], n: int, backend: str) -> None:
    function: Any = flambeau.script(program, backend=backend)  # type: ignore[call-overload]
    for _ in range(3):
        assert function([8, 9], n) == program([8, 9], n)


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_left_when_something_is_raised(backend: str) -> None:
    function: Any = flambeau.script(failing, backend=backend)  # type: ignore[call-overload]
    log = flambeau.jit.script([8, 9])
    with pytest.raises(Exception, match="list index out of range"):
        function(log, 40)
    assert list(log) == [8, 9, 6, 7, -7, -6]
