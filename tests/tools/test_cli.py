"""The command line, in this process, and once as a program of its own."""

from __future__ import annotations

import gc
import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.__main__ import run
from flambeau.codegen.llvm.engine import engine
from flambeau.tools import cli, commands

PROGRAM = """
import flambeau
from flambeau import Tensor

def halve(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 0.5 + 1.0
    return flambeau.tanh(x)

def wrong(x: Tensor) -> Tensor:
    return x.no_such_method()

def shapes(x: Tensor) -> int:
    return x.size(5)

traced = flambeau.trace(lambda x: x + 1, flambeau.ones(2))
model = flambeau.nn.Linear(2, 3)
limit = 3

class Plain:
    pass
"""
GRAPH = """graph(%n : int):
  %1 : int = prim::Constant[value=1]()
  %2 : int = aten::mul(%n, %1)
  %3 : int = aten::mul(%n, %1)
  %4 : int = aten::add(%2, %3)
  return (%4)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "shown_program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.ir"
    path.write_text(GRAPH, encoding="utf-8")
    return path


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 0
    return capsys.readouterr().out


def refusal_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 1
    printed = capsys.readouterr()
    assert "Traceback (most" not in printed.err
    return printed.err


@pytest.mark.parametrize(
    ("stage", "fragment"),
    [
        ("tree", "(ident halve)"),
        ("schema", "halve(Tensor x, int n) -> Tensor"),
        ("graph", "prim::Loop"),
        ("inlined", "aten::tanh"),
        ("code", "def halve(x: Tensor"),
        ("bytecode", "halve"),
    ],
)
def test_stages(capsys: pytest.CaptureFixture[str], program: Path, stage: str, fragment: str) -> None:
    assert fragment in out_of(capsys, "show", f"{program}:halve", "--stage", stage)


def test_stages_that_need_arguments(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    target, given = f"{program}:halve", "flambeau.ones(3), limit"
    assert "FusionGroup" in out_of(capsys, "show", target, "--stage", "optimised", "--args", given)
    assert "peephole" in out_of(capsys, "show", target, "--stage", "passes", "--args", given)
    assert "define" in out_of(capsys, "show", target, "--stage", "llvm", "--args", given)
    assert ".entry" in out_of(capsys, "show", target, "--stage", "ptx", "--args", given)
    assert "--args 'flambeau.ones(3), 2'" in refusal_of(capsys, "show", target, "--stage", "llvm")


def test_all_stages_in_order(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    text = out_of(capsys, "show", f"{program}:halve", "--args", "flambeau.ones(3), 2")
    assert tuple(commands.STAGES) == cli.STAGES
    places = [text.index(f"── {stage} ") for stage in cli.STAGES]
    assert places == sorted(places)
    assert "── llvm" not in out_of(capsys, "show", f"{program}:halve")


def test_modules_and_traces(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "aten::linear" in out_of(capsys, "show", f"{program}:model", "--stage", "graph")
    assert "so it has no tree" in out_of(capsys, "show", f"{program}:traced")
    assert "so it has no tree" in refusal_of(capsys, "show", f"{program}:traced", "--stage", "tree")


def test_archives(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = flambeau.nn.Sequential(flambeau.nn.Linear(2, 3), flambeau.nn.ReLU())
    path = tmp_path / "model.pt"
    flambeau.script(model).save(path)
    assert cli.main(["show", str(path), "--stage", "code"]) == 0
    assert "forward(self" in capsys.readouterr().out
    assert cli.main(["show", f"{path}:0", "--stage", "graph"]) == 0
    assert "aten::linear" in capsys.readouterr().out
    assert cli.main(["show", f"{path}:0.forward", "--stage", "passes", "--args", "flambeau.ones(1, 2)"]) == 0
    assert "dce" in capsys.readouterr().out
    assert cli.main(["show", f"{path}:nothing"]) == 1
    assert "has no 'nothing'; at 'nothing' there is forward, 0, 1" in capsys.readouterr().err
    assert cli.main(["show", f"{path}:0.weight"]) == 1
    assert "0.weight is no method" in capsys.readouterr().err


def test_pictures(capsys: pytest.CaptureFixture[str], program: Path, tmp_path: Path) -> None:
    pytest.importorskip("igraph", reason="lays pictures out; optional")
    picture = tmp_path / "graph.svg"
    out_of(capsys, "show", f"{program}:halve", "--stage", "graph", "--svg", str(picture))
    assert picture.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("target", "fragments"),
    [
        ("nothing", ["expected FILE.py:FN or model.pt, got 'nothing'", "for example"]),
        ("{program}", ["say which function of", "shown_program.py:FN; it defines halve, wrong, shapes"]),
        ("absent.py", ["expected FILE.py:FN or model.pt, got 'absent.py'"]),
        ("absent.pt", ["there is no file absent.pt"]),
        ("absent.py:f", ["there is no file absent.py"]),
        ("{program}:absent", ["has no 'absent'", "halve", "model", "traced"]),
        ("{program}:Plain", ["Plain is a class", "halve"]),
        ("{program}:limit", ["limit is a int"]),
        ("{program}:wrong", ["no_such_method", "<--- HERE", "line 11"]),
    ],
)
def test_refusals_of_show(
    capsys: pytest.CaptureFixture[str], program: Path, target: str, fragments: list[str]
) -> None:
    text = refusal_of(capsys, "show", target.format(program=program))
    for fragment in fragments:
        assert fragment in text


def test_files_that_fail(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "fails_at_once.py"
    path.write_text("1 / 0\n", encoding="utf-8")
    assert f"running {path} failed: ZeroDivisionError" in refusal_of(capsys, "show", f"{path}:f")


def test_arguments_that_fail(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "is no list of arguments: NameError" in refusal_of(capsys, "show", f"{program}:halve", "--args", "nobody")
    assert "missing value for argument 'n'" in refusal_of(capsys, "show", f"{program}:halve", "--args", "limit")
    assert "failed" in refusal_of(capsys, "show", f"{program}:shapes", "--args", "flambeau.ones(2)")


def test_passes_over_text(capsys: pytest.CaptureFixture[str], graph: Path) -> None:
    assert out_of(capsys, "opt", str(graph)) == GRAPH
    assert out_of(capsys, "opt", "-p", "cse,dce", str(graph)).count("aten::mul") == 1
    assert "aten::mul" not in out_of(capsys, "opt", "-p", "peephole, dce", str(graph))
    each = out_of(capsys, "opt", "-p", "cse,licm,dce", "--each", str(graph))
    assert "# after cse" in each
    assert "# after licm" not in each


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(GRAPH))
    assert "aten::mul" not in out_of(capsys, "opt", "-p", "peephole,dce", "-")


def test_refusals_of_opt(capsys: pytest.CaptureFixture[str], graph: Path, tmp_path: Path) -> None:
    text = refusal_of(capsys, "opt", "-p", "cs", str(graph))
    assert "there is no pass 'cs'. Did you mean 'cse'? The passes are" in text
    assert "there is no file absent.ir" in refusal_of(capsys, "opt", "absent.ir")
    broken = tmp_path / "broken.ir"
    broken.write_text("graph(%n : int):\n  return (%m)\n", encoding="utf-8")
    assert "%m" in refusal_of(capsys, "opt", str(broken))


def test_files_are_named_in_what_is_said_of_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong, archive = tmp_path / "wrong.ir", tmp_path / "wrong.pt"
    wrong.write_text("graph(%x : Tensor):\n  return (%y)", encoding="utf-8")
    archive.write_text("no archive", encoding="utf-8")
    assert f'File "{wrong}", line 2' in refusal_of(capsys, "opt", str(wrong))
    assert f"{archive} is no TorchScript archive" in refusal_of(capsys, "show", str(archive))


@pytest.mark.skipif(importlib.util.find_spec("igraph") is None, reason="lays pictures out; optional")
def test_a_picture_that_cannot_be_written(capsys: pytest.CaptureFixture[str], program: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "graph.svg"
    text = refusal_of(capsys, "show", f"{program}:halve", "--stage", "graph", "--svg", str(missing))
    assert text == f"flambeau: {missing}: No such file or directory\n"


def test_list_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["opt", "--list"])
    assert left.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("cse ") and "Compute once" in line for line in lines)
    assert all(len(line.split()) > 2 for line in lines)
    assert len({line.index(line.split(None, 1)[1]) for line in lines}) == 1, "what they do stands in one column"


def test_wrong_command_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["shwo"], ["show", "a.py:f", "--stage", "soup"]):
        with pytest.raises(SystemExit) as left:
            cli.main(arguments)
        assert left.value.code == 2
        assert "usage: flambeau" in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        monkeypatch.delenv(name, raising=False)
    text = out_of(capsys, "doctor")
    assert f"flambeau {flambeau.__version__}" in text
    assert "a small program compiled and ran" in text
    assert f"LLVM makes code for {engine().processor.level or engine().processor.cpu}: vectors of" in text
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert cli.main(["doctor"]) == 1
    assert "!!  OPENBLAS_CORETYPE=Haswell is set" in capsys.readouterr().out


@pytest.mark.skipif(engine().processor.level is None, reason="levels are those of x86-64")
def test_c00_doctor_says_what_was_chosen_and_what_cannot_be() -> None:
    """The level, what it has, and that the variable chose it; or what is wrong with it."""
    command = [sys.executable, "-m", "flambeau", "doctor"]
    chosen = {**os.environ, "FLAMBEAU_CPU": "x86-64-v2"}
    done = subprocess.run(command, env=chosen, capture_output=True, text=True, check=False)
    assert "LLVM makes code for x86-64-v2: vectors of 128 bits, 16 of them in registers" in done.stdout
    assert "(chosen by FLAMBEAU_CPU=x86-64-v2; this processor, " in done.stdout
    unknown = {**os.environ, "FLAMBEAU_CPU": "avx2"}
    done = subprocess.run(command, env=unknown, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "!!  FLAMBEAU_CPU='avx2' names no level: expected x86-64, x86-64-v2" in done.stdout
    assert not done.stderr


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "flambeau"]
    done = subprocess.run([*command, "opt", "-p", "cse", "-"], input=GRAPH, capture_output=True, text=True, check=True)
    assert done.stdout.count("aten::mul") == 1
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"flambeau {flambeau.__version__}"


def test_cache_says_what_is_kept_and_deletes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    assert cli.main(["cache", "info"]) == 0
    assert "hits   none yet" in capsys.readouterr().out
    unit = flambeau.CompilationUnit("def f(x):\n    return flambeau.tanh(x) * 6.5 - 3.0\n")
    unit.f(flambeau.ones(3))
    assert cli.main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert f"path   {tmp_path}" in out
    assert f" for {engine().processor.name}" in out
    assert "of at most 268,435,456" in out
    assert "hits   0 of " in out
    assert cli.main(["cache", "clear"]) == 0
    assert f"files from {tmp_path}" in capsys.readouterr().out
    assert not list(tmp_path.glob("*/*.object"))
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    assert cli.main(["cache", "info"]) == 1
    assert "there is no cache: FLAMBEAU_CACHE turns it off" in capsys.readouterr().err


def test_a_process_of_the_command_line_ends_without_looking_for_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registered = []
    monkeypatch.setattr("atexit.register", registered.append)
    monkeypatch.setattr("sys.argv", ["flambeau", "--version"])
    with pytest.raises(SystemExit):
        run()
    assert registered == [gc.freeze]
    assert capsys.readouterr().out.startswith("flambeau ")
