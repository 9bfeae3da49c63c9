"""The end of a process: nothing is looked for among objects, unless one of them has something to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import atexit, gc
before = gc.get_freeze_count()  # Python 3.12 begins with some
atexit.register(lambda: print("short" if gc.get_freeze_count() > before else "long"))
import flambeau
"""
CYCLE = """
class Owner:
    def __init__(self, **values):
        self.itself = self
        self.__dict__.update(values)
"""
WITH_WORK = {
    "a file": "owner = Owner(file=open({file!r}, 'w'))\nowner.file.write('all of it')",
    "a finaliser": "class Log(Owner):\n    def __del__(self):\n        print('closed')\nlog = Log()",
    "a generator": (
        "def lines():\n    try:\n        yield 1\n    finally:\n        print('closed')\n"
        "owner = Owner(lines=lines())\nnext(owner.lines)"
    ),
    "a stream of Python's that lost its buffer": "sys.__stdin__.detach()",
    "a callback of the collector": "gc.callbacks.append(lambda phase, info: None)",
}


PATHS = f"import sys; sys.path[:] = {sys.path!r}\n"


def said(program: str) -> list[str]:
    run = subprocess.run([sys.executable, "-S", "-c", PATHS + program], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout.split("\n")[:-1]


@pytest.mark.parametrize("program", ["", "owner = Owner()", "flambeau.script"])
def test_the_end_is_short(program: str) -> None:
    assert said(BEGIN + CYCLE + program) == ["short"]


@pytest.mark.parametrize("kind", WITH_WORK)
def test_what_has_something_to_do_does_it(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "written"
    lines = said(BEGIN + CYCLE + WITH_WORK[kind].format(file=str(file)))
    assert lines[0] == "long"
    if kind == "a file":
        assert file.read_text() == "all of it"
    elif "closed" in WITH_WORK[kind]:
        assert lines[1:] == ["closed"]
