"""Programs that random search once found to go wrong, made small: every path gives what CPython gives."""

from __future__ import annotations

import linecache

import pytest

import flambeau
from tests.random_programs.check import PATHS, compile_source
from tests.random_programs.flow.check import arguments, outcome
from tests.random_programs.flow.prelude import PRELUDE

PROGRAMS = {
    "a break in a handler, in a loop over a generator": """
def main(n: int, k: int, x: float, flag: bool, s: str, ints: list[int]) -> tuple[list[str], int]:
    log: list[str] = []
    for i, j in pairs_of(ints):
        try:
            log.append(str(check(log, i + j)))
        except ValueError:
            break
        log.append("on")
    return log, n
""",
    "a break in a handler, in a loop without an end": """
def main(n: int, k: int, x: float, flag: bool, s: str, ints: list[int]) -> tuple[list[str], int]:
    log: list[str] = []
    while True:
        n += 1
        try:
            log.append(str(check(log, n)))
        except Exception:
            log.append("over")
            break
    log.append("behind")
    return log, n
""",
    "items of a dict that change in a loop": """
def main(n: int, k: int, x: float, flag: bool, s: str, ints: list[int]) -> tuple[list[str], int]:
    log: list[str] = []
    d = {"a": [9, 17], s: ints}
    for key, values in d.items():
        values.append(n)
    for i, (key, values) in enumerate(list(d.items())):
        values.append(i)
    for both in zip(d.keys(), d.values()):
        both[1].insert(0, k)
    log.append(",".join([str(v) for values in d.values() for v in values]))
    return log, n
""",
    "an attribute that a method assigns again": """
class K:
    def __init__(self, n: int):
        self.x: Optional[int] = n

    def reset(self) -> None:
        self.x = None

    def found(self, n: int) -> Optional[int]:
        self.x = n
        self.reset()
        return self.x

    def told(self, n: int) -> str:
        self.x = n
        self.reset()
        if self.x is None:
            return "none"
        return "some"


def main(n: int, k: int, x: float, flag: bool, s: str, ints: list[int]) -> tuple[list[str], int]:
    log: list[str] = []
    it = K(n)
    log.append(it.told(k))
    found = it.found(k)
    log.append("none" if found is None else str(found))
    return log, n
""",
    "a comprehension whose condition never holds": """
def main(n: int, k: int, x: float, flag: bool, s: str, ints: list[int]) -> tuple[list[str], int]:
    log: list[str] = []
    last = n
    pairs = [(i > 2, str(i)) for i in ints if last is None]
    log.append(",".join([pair[1].upper() for pair in pairs]))
    return log, len(pairs)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_path_gives_what_python_gives(name: str) -> None:
    filename = f"<found {name}>"
    function = compile_source(PRELUDE + PROGRAMS[name], filename)["main"]
    calls = [arguments(seed) for seed in range(8)]
    with flambeau.disabled():
        wanted = [outcome(function, given) for given in calls]
    for options in PATHS.values():
        scripted = flambeau.script(function, **options)
        assert [outcome(scripted, given) for given in calls] == wanted
    linecache.cache.pop(filename)
