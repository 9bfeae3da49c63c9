"""Pages that are made from the system are as the system is."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.passes.fusible import has_kernel_form
from flambeau.schema import registry
from flambeau.tools import docs


def test_committed_pages_are_up_to_date() -> None:
    # In a process of its own: other tests may have declared operators.
    command = [sys.executable, "-m", "flambeau.tools.docs", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_operator_has_a_row() -> None:
    rows = [line.split(" | ") for line in docs.operators_page().splitlines() if line.startswith("| `")]
    named = {row[0].removeprefix("| ").strip("`"): row for row in rows}
    for name in registry.names():
        main = [d for d in registry.overloads(name) if d.family not in docs.FORMS]
        short = name.removeprefix("aten::")
        assert (short in named) == bool(main), name
        if main:
            assert named[short][3] == ("yes" if any(map(has_kernel_form, main)) else ""), name
            assert len(named[short][1].split(", ")) == len(main), name


def test_the_walk_shows_each_stage_of_a_function_that_runs() -> None:
    page = docs.walk_page()
    titles = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert titles == ["Tree", "Graph", "Code", "Passes", "Optimised graph", "Bytecode", "LLVM IR"]
    decay = flambeau.script(docs.load(docs.SOURCE, "decay.py")["decay"])
    assert str(decay.graph).strip() in page
    assert decay(flambeau.zeros(1), 1).item() == pytest.approx(0.7615942)
    assert " at 0x" not in page
    assert str(docs.ROOT) not in page


def test_checking_and_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err.count("is out of date: run make docs") == 3
    assert docs.main([], tmp_path) == 0
    assert docs.main(["--check"], tmp_path) == 0
    walk = tmp_path / "walk.md"
    walk.write_text(walk.read_text(encoding="utf-8").replace("aten::tanh", "aten::sinh"), encoding="utf-8")
    assert docs.main(["--check"], tmp_path) == 1


@pytest.mark.parametrize("name", ["tracing.md", "freezing.md", "errors.md", "modules.md"])
def test_examples_in_pages(name: str) -> None:
    flags = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    assert doctest.testfile(str(docs.ROOT / "docs" / name), module_relative=False, optionflags=flags).failed == 0
