"""What tests and assignments tell of attributes holds until something else is assigned; then reading them says so."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.util.errors import ScriptError
from tests.random_programs.check import PATHS


class Holder:
    def __init__(self, u: int | str):
        self.u = u
        self.x: int | None = 1

    def reset(self) -> None:
        self.u = "a"
        self.x = None

    def tested(self, now: bool) -> int:
        if isinstance(self.u, int):
            if now:
                self.reset()
            return self.u + 1
        return 0

    def asked_again(self) -> int:
        if isinstance(self.u, int) and self.x is not None:
            self.reset()
            if isinstance(self.u, str) and self.x is None:
                return len(self.u)
        return -1


@pytest.mark.parametrize("path", PATHS)
def test_an_attribute_that_is_no_longer_what_a_test_told_raises(path: str) -> None:
    @flambeau.script(**PATHS[path])
    def run(n: int, now: bool) -> int:
        return Holder(n).tested(now)

    assert run(3, False) == 4
    with pytest.raises(ScriptError, match=r"self\.u was known to be int, and has been assigned something else since"):
        run(3, True)


@pytest.mark.parametrize("path", PATHS)
def test_a_test_asks_anew(path: str) -> None:
    @flambeau.script(**PATHS[path])
    def run(n: int) -> int:
        return Holder(n).asked_again()

    assert run(3) == Holder(3).asked_again() == 1
