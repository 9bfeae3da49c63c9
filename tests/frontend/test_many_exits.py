"""Functions with more exits than nest well: cut into pieces, they mean what they mean in Python."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.frontend.ssa import pieces
from flambeau.ir.graph import Block


def many(count: int, *, loop: bool) -> Callable[..., Any]:
    """A function with that many early returns; in a loop, with some `break` and `continue` among them."""
    lines = ["def f(x: int, y: float):"]
    indent = "    "
    if loop:
        lines.append("    for i in range(3):")
        indent = "        "
    for i in range(count):
        lines += [f"{indent}if x == {i}:", f"{indent}    return {i}.5 + y"]
        if i % 7 == 0:
            lines.append(f"{indent}z{i} = y + {i}")
        if i % 7 == 6:
            lines.append(f"{indent}y = y + z{i - 6}")
        if i % 5 == 4:
            lines += [f"{indent}if x == {-i}:", f"{indent}    raise ValueError('{i}')"]
        if loop and i % 5 == 2:
            lines += [f"{indent}if x == {-i}:", f"{indent}    break"]
        if loop and i % 5 == 3:
            lines += [f"{indent}if x == {-i}:", f"{indent}    y += 1.0", f"{indent}    continue"]
    source = "\n".join([*lines, "    return -1.0 * y"]) + "\n"
    name = f"<{count} exits{' in a loop' if loop else ''}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"__name__": "exits"}
    exec(compile(source, name, "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_EXITS", 2)
    monkeypatch.setattr(pieces, "EXITS_IN_A_PIECE", 2)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
@pytest.mark.parametrize("loop", [False, True])
def test_pieces_mean_the_same(loop: bool, backend: str) -> None:
    function = many(12, loop=loop)
    script = flambeau.script(function, backend=backend, verify=True)
    for x in (*range(14), -1, -2, -3, -7, -8):
        assert script(x, 0.25) == function(x, 0.25)
    with pytest.raises(Exception, match="4"):
        script(-4, 0.25)


def depth(block: Block) -> int:
    """How deep blocks are nested."""
    return 1 + max((depth(inner) for node in block for inner in node.nested_blocks), default=0)


@pytest.mark.parametrize("loop", [False, True])
def test_hundreds_of_exits(loop: bool) -> None:
    function = many(200, loop=loop)
    script = flambeau.script(function, backend="interpreter")
    for x in (0, 1, 77, 199, 500, -3, -22, -152):
        assert script(x, 0.25) == function(x, 0.25)
    assert depth(script.graph.body) < 40


def test_thousands_of_exits_compile() -> None:
    assert depth(flambeau.script(many(2000, loop=False)).graph.body) < 40
