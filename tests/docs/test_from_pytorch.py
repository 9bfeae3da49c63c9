"""Both columns of the page for people who come from PyTorch give the same."""

from __future__ import annotations

import linecache
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional

PAGE = (Path(__file__).parents[2] / "docs" / "from-pytorch.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
SETUP = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Net" in block)
TEXT = "graph(%x, %n : int):\n  %y = aten::mul(%x, %n)\n  return (%y)\n"
NUMBERS = [[1.0, -2.0], [3.0, 0.5]]


def namespace(library: Any, functional: Any, name: str) -> dict[str, Any]:
    """What the expressions of one column see."""
    source, filename = SETUP.replace("TENSOR", f"{name}.tensor"), f"<from pytorch: {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    found = {
        name: library, "F": functional, "nn": library.nn, "Tensor": library.Tensor, "x": library.tensor(NUMBERS),
        "ints": [3, 1, 2], "text": TEXT, "__name__": "from_pytorch",
    }  # fmt: skip
    exec(compile(source, filename, "exec"), found)
    return found


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


def test_the_tables_are_there() -> None:
    assert len(ROWS) >= 25
