"""The examples in docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import flambeau

MODULES = ["flambeau", *(m.name for m in pkgutil.walk_packages(flambeau.__path__, "flambeau."))]
FLAGS = doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", [n for n in MODULES if not n.endswith("__main__")])
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    for example in finder.find(module):
        runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert (
        sum(
            bool(e.examples)
            for n in MODULES
            if not n.endswith("__main__")
            for e in finder.find(importlib.import_module(n))
        )
        > 80
    )
