"""What code asks of a compiler that follows bytecode, and the names that annotations are written with."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.types import Device, Number


def asks(x: int) -> int:
    if flambeau.compiler.is_compiling() or flambeau.compiler.is_exporting():
        return nowhere(x)  # type: ignore[name-defined]  # noqa: F821
    if not flambeau.compiler.is_dynamo_compiling():
        return x + 1
    return x


def test_nobody_follows_code() -> None:
    scripted = flambeau.script(asks)
    assert asks(2) == scripted(2) == 3
    assert scripted.graph.findNode("prim::If") is None


def test_marks_leave_functions_as_they_are() -> None:
    compiler = flambeau.compiler
    for mark in (compiler.disable, compiler.disable(), compiler.disable(recursive=False, reason="prints"),
                 compiler.allow_in_graph, compiler.assume_constant_result):  # fmt: skip
        assert mark(asks) is asks
    assert flambeau.script(compiler.disable(asks))(1) == 2


def scaled(x: Tensor, by: Number) -> Tensor:
    if isinstance(by, int):
        return x * (by + 1)
    return x * float(by)


def test_numbers_in_programs() -> None:
    scripted = flambeau.script(scaled)
    assert str(scripted.schema).startswith("scaled(Tensor x, Union(float, int, bool) by)")
    assert scripted(flambeau.ones(1), 2).item() == 3
    assert scripted(flambeau.ones(1), 2.5).item() == 2.5


def test_kinds() -> None:
    assert isinstance(flambeau.device("cpu"), Device)
    assert isinstance("cpu", Device)
    assert isinstance(3.5, flambeau.types._Number)
    assert not isinstance(3.5, Device)
