"""Both columns of the page for people who come from PyTorch give the same."""

from __future__ import annotations

import io
import linecache
import re
import sys
import types
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional
from tests.language.rows import load

PAGE = (Path(__file__).parents[2] / "docs" / "from-pytorch.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(?!def )([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
CASES = re.findall(r"^\| `(def f[^`]+)` \| `([^`]+)` \| `([^`]+)` \|(?: `([^`]+)` \|)?", PAGE, re.MULTILINE)
"""Program, call, what TorchScript gives and, where that is something else, what is given here."""
REFUSED = "refused: "
SETUP = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Net" in block)
TEXT = "graph(%x, %n : int):\n  %y = aten::mul(%x, %n)\n  return (%y)\n"
NUMBERS = [[1.0, -2.0], [3.0, 0.5]]


@cache
def definitions(library: Any, functional: Any, name: str) -> dict[str, Any]:
    """What the page defines, for one column."""
    source, filename = SETUP.replace("TENSOR", f"{name}.tensor"), f"<from pytorch: {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = sys.modules["from_pytorch"] = types.ModuleType("from_pytorch")
    module.__file__ = filename  # where tools that want the source of a class look for it
    found = vars(module)
    found |= {
        name: library, "F": functional, "jit": library.jit, "nn": library.nn, "Tensor": library.Tensor, "text": TEXT,
        "autograd": library.autograd, "dataclass": dataclass, "NamedTuple": NamedTuple,
    }  # fmt: skip
    exec(compile(source, filename, "exec", dont_inherit=True), found)
    return found


def namespace(library: Any, functional: Any, name: str) -> dict[str, Any]:
    """What the expressions of one column see."""
    return {**definitions(library, functional, name), "x": library.tensor(NUMBERS), "ints": [3, 1, 2]}


def plain(value: Any) -> Any:
    """A value without the library's own classes."""
    if hasattr(value, "detach"):
        array = value.detach().numpy()
        return array.dtype.name, array.shape, np.round(array.astype(np.float64), 5).tolist()
    return value


OURS = namespace(flambeau, flambeau.nn.functional, "flambeau")


@pytest.mark.parametrize(("theirs", "ours"), ROWS)
def test_both_columns_give_the_same(theirs: str, ours: str) -> None:
    got = plain(eval(ours, OURS))
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's compiler is deprecated
        want = plain(eval(theirs, namespace(torch, torch.nn.functional, "torch")))
    assert got == want


class Helpers:
    """What calls of either package may use besides."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def after(self, fn: Any, *passes: str) -> list[str]:
        """The kinds of the nodes that passes leave of a function's graph."""
        graph = self.library.jit.script(fn).inlined_graph.copy()
        for name in (*passes, "dce"):
            getattr(self.library._C, f"_jit_pass_{name}")(graph)
        return [n.kind().removeprefix("aten::") for n in graph.nodes() if n.kind() != "prim::Constant"]

    def loaded(self, module: Any, **extra: Any) -> Any:
        """A module, saved and loaded again."""
        file = io.BytesIO()
        self.library.jit.save(module, file, _extra_files=extra)
        file.seek(0)
        return self.library.jit.load(file, _extra_files=extra)

    def extra(self, files: dict[str, str | bytes]) -> dict[str, str | bytes]:
        """What files that are saved beside a module come back as, asked for in the same way."""
        file = io.BytesIO()
        self.library.jit.save(self.library.jit.script(self.library.nn.ReLU()), file, _extra_files=files)
        file.seek(0)
        found = {name: type(content)() for name, content in files.items()}
        self.library.jit.load(file, _extra_files=found)
        return found


def run(library: Any, program: str, call: str) -> str:
    """What a call of a program gives, or why it is refused."""
    scope = load(f"{program}\n", library)
    scope |= {name: getattr(library, name) for name in ("tensor", "einsum", "celu", "ops", "device")}
    scope["C"] = library._C
    scope |= {name: getattr(library.jit, name) for name in ("script", "trace", "freeze", "fuser", "CompilationUnit")}
    columns = namespace(library, library.nn.functional, library.__name__)
    scope |= {name: value for name, value in columns.items() if not name.startswith("__")}
    helpers = Helpers(library)
    scope |= {name: getattr(helpers, name) for name in ("after", "loaded", "extra")}
    try:
        return repr(eval(call, scope))
    except Exception as error:
        return f"{REFUSED}{error}"


def check(outcome: str, cell: str) -> None:
    if cell.startswith(REFUSED):
        assert outcome.startswith(REFUSED)
        assert cell.removeprefix(REFUSED) in outcome
    else:
        assert outcome == cell


@pytest.mark.parametrize(("program", "call", "theirs", "ours"), CASES)
def test_cases_beside_torchscript(program: str, call: str, theirs: str, ours: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a trace fixes, and of the peer's age
        check(run(flambeau, program, call), ours or theirs)
        torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
        check(run(torch, program, call), theirs)


def test_the_tables_are_there() -> None:
    assert len(ROWS) >= 25
    assert len(CASES) >= 70
