"""The examples in docstrings do what they show."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import linecache
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import flambeau
from tests.together import together

MODULES = ["flambeau", *(m.name for m in pkgutil.walk_packages(flambeau.__path__, "flambeau."))]
FLAGS = doctest.NORMALIZE_WHITESPACE
CUDA_MODULES = [n for n in MODULES if f"{n}.".startswith("flambeau.cuda.")]
"""Modules whose examples need a device: `cuda/test_cuda_docstrings.py` runs them."""


@contextlib.contextmanager
def without_checks_of_files() -> Iterator[None]:
    """Files of which lines are kept do not change here: each session's debugger would look at some thousand of them."""
    check = linecache.checkcache
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linecache, "checkcache", lambda filename=None: check(filename) if filename is not None else None)
        yield


def failures(name: str) -> str:
    """What the examples of a module print where that is not what they show."""
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    with without_checks_of_files():
        for example in finder.find(importlib.import_module(name)):
            runner.run(example, out=report.append)
    return "".join(report)


def has_examples(name: str) -> bool:
    """Whether the text of a module shows any."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return ">>> " in Path(spec.origin).read_text(encoding="utf-8")


@together("name", [n for n in MODULES if n not in CUDA_MODULES and has_examples(n)])
def test_examples(name: str) -> None:
    assert failures(name) == ""


def test_there_are_examples() -> None:
    assert sum(map(has_examples, MODULES)) > 450


def offered() -> set[tuple[str, str]]:
    """What modules offer: module and name of each function and class, where it is first met, but for errors.

    Neither for what is Python's own (`typing.Any`) nor for names of types (`_size_2_t`), which have no text of theirs.
    """
    seen: set[int] = set()
    found: set[tuple[str, str]] = set()
    for name in MODULES:
        if name.endswith("__main__") or ".torch_names" in name or any(p.startswith("_") for p in name.split(".")):
            continue
        module = importlib.import_module(name)
        for listed in getattr(module, "__all__", ()):
            value = getattr(module, listed)
            is_error = isinstance(value, type) and issubclass(value, BaseException)
            home = value.__module__ if isinstance(value, FunctionType | type) else type(value).__module__
            is_ours = home.startswith("flambeau")
            if callable(value) and is_ours and not is_error and id(value) not in seen:
                seen.add(id(value))
                found.add((name, listed))
    return found


def test_every_name_has_an_example() -> None:
    texts = {f"{m}.{n}": inspect.getdoc(getattr(importlib.import_module(m), n)) or "" for m, n in offered()}
    without = sorted(name for name, text in texts.items() if ">>>" not in text and "Example:" not in text)
    assert not without, "\n".join(without)
