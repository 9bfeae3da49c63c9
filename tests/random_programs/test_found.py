"""Programs that random search once found to go wrong, made small: every path gives what CPython gives."""

from __future__ import annotations

import linecache

import pytest

import flambeau
from flambeau.testing.programs.check import PATHS, compile_source
from flambeau.testing.programs.flow.check import arguments, outcome
from flambeau.testing.programs.flow.prelude import PRELUDE

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
