"""FLAMBEAU_LOG: what each area and level tells, and what a wrong setting says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import flambeau
from flambeau.executor.fused import FusedKernel
from flambeau.ir.parser import parse_ir
from flambeau.util import log

Setting = Callable[[str], None]
SOURCE = """
def decay(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * {factor} + 1.0
    return x
"""


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    def change(text: str) -> None:
        monkeypatch.setenv(log.VARIABLE, text)
        log.reread()

    yield change
    monkeypatch.undo()
    log.reread()


def run_once(factor: float, rank: int = 1) -> None:
    unit = flambeau.CompilationUnit(SOURCE.format(factor=factor))
    unit.decay(flambeau.ones(*[3] * rank), 2)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", {}),
        ("executor", {"executor": 1}),
        ("passes:2, codegen:1,executor", {"passes": 2, "codegen": 1, "executor": 1}),
        ("all", {"executor": 1, "passes": 1, "codegen": 1, "cache": 1}),
        ("all,passes:3", {"executor": 1, "passes": 3, "codegen": 1, "cache": 1}),
        ("passes:3,all", {"executor": 1, "passes": 3, "codegen": 1, "cache": 1}),
        ("passes:0", {"passes": 0}),
    ],
)
def test_settings(text: str, levels: dict[str, int]) -> None:
    assert log.parse(text) == (levels, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pases", "there is no area 'pases'; write executor, passes, codegen, cache or all"),
        ("passes:much", "the level in 'passes:much' is no number; passes:1 tells least"),
        ("passes:-1", "the level in 'passes:-1' is no number"),
    ],
)
def test_wrong_settings_are_told_and_left_out(
    capsys: pytest.CaptureFixture[str], setting: Setting, text: str, message: str
) -> None:
    setting(f"{text},executor")
    run_once(0.5)
    printed = capsys.readouterr().err
    assert f"[flambeau] FLAMBEAU_LOG: {message}" in printed
    assert "[flambeau executor] compiled decay" in printed


def test_nothing_is_told_unasked(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    setting("")
    run_once(0.5)
    assert capsys.readouterr() == ("", "")


def test_executor(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    setting("executor")
    unit = flambeau.CompilationUnit(SOURCE.format(factor=0.25))
    for shape in ((3,), (4,), (3, 3)):
        unit.decay(flambeau.ones(*shape), 2)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 2
    assert lines[0].startswith("[flambeau executor] compiled decay for (float32[*], int) in ")
    assert lines[0].endswith("first call")
    assert "new types: 'x' is float32[*, *], was float32[*]" in lines[1]


def test_executor_stages_and_dropped_plans(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    setting("executor:2")
    unit = flambeau.CompilationUnit(SOURCE.format(factor=0.25))
    small = flambeau.script(unit.decay, max_plans=1)
    for shape in ((3,), (3, 3)):
        small(flambeau.ones(*shape), 2)
    printed = capsys.readouterr().err
    assert "[flambeau executor]   passes " in printed
    assert "dropped the plan of decay for (float32[*], int): only 1 are kept" in printed


def test_passes(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    setting("passes")
    run_once(0.5)
    one = capsys.readouterr().err
    assert "[flambeau passes] decay: fuse changed the graph in " in one
    assert "@@" not in one
    assert "left the graph" not in one
    setting("passes:2")
    run_once(0.5)
    two = capsys.readouterr().err
    assert "[flambeau passes] +" in two
    assert "left the graph" not in two
    setting("passes:3")
    run_once(0.5)
    assert "[flambeau passes] decay: licm left the graph" in capsys.readouterr().err


def run_kernel(factor: float) -> None:
    unit = flambeau.CompilationUnit(f"def scaled(x: Tensor) -> Tensor:\n    return (x * {factor}).tanh()\n")
    unit.scaled(flambeau.ones(3))


def test_codegen(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    pytest.importorskip("llvmlite", reason="native code needs it")
    setting("codegen:1")
    run_kernel(0.12345)
    one = capsys.readouterr().err
    assert "[flambeau codegen] kernel " in one
    assert "axes" not in one
    setting("codegen:2")
    run_kernel(0.12346)
    two = capsys.readouterr().err
    assert "[flambeau codegen]   axes" in two
    assert "define" not in two
    setting("codegen:3")
    run_kernel(0.12347)
    assert "[flambeau codegen] define" in capsys.readouterr().err


def test_why_a_group_is_interpreted(capsys: pytest.CaptureFixture[str], setting: Setting) -> None:
    setting("codegen")
    text = """graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
"""
    group = FusedKernel("group_0", parse_ir(text))
    assert group(flambeau.full([2], 1j, dtype=flambeau.complex32)).tolist() == [-1, -1]
    assert "[flambeau codegen] group_0 is interpreted: " in capsys.readouterr().err
