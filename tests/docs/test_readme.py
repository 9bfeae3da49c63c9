"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

import flambeau

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def run(source: str, filename: str) -> str:
    """What a program prints."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, filename, "exec"), {"__name__": "readme", "flambeau": flambeau})
    return printed.getvalue()


def test_the_first_example_prints_its_answer_and_its_graph() -> None:
    (_, source), (_, graph) = BLOCKS[:2]
    answer, _, printed = run(source, "smooth.py").partition("\n")
    assert f"# {answer}\n" in source
    assert printed.strip() == graph.strip()


def test_the_other_examples_print_the_answers_beside_them() -> None:
    examples = [text for kind, text in BLOCKS[2:] if kind == "python" and "print(" in text]
    assert len(examples) >= 2
    for number, source in enumerate(examples):
        printed = run("import flambeau\nfrom flambeau import Tensor\n" + source, f"example_{number}.py")
        assert printed.splitlines() == re.findall(r"^print\(.*\)\s+# (.*)$", source, re.MULTILINE)


def test_the_error_is_shown_as_it_is() -> None:
    at = next(i for i, (_, text) in enumerate(BLOCKS) if "splork" in text)
    with pytest.raises(flambeau.jit.CompileError) as caught:
        run(BLOCKS[at][1], "broken.py")
    assert f"CompileError: {caught.value}".strip() == BLOCKS[at + 1][1].strip()


def test_the_named_pages_and_targets_exist() -> None:
    root = Path(__file__).parents[2]
    for page in re.findall(r"`(docs/[\w-]+\.md|CONTRIBUTING\.md)`", README):
        assert (root / page).is_file(), page
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
