"""Tables, pages and lines of JSON, from rows made up here."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import limits, report
from benchmarks.__main__ import SLOWING, THREADS, family, main, parser, settings
from benchmarks.harness import Cost, Goal, Row
from benchmarks.limits import Level, Limits
from flambeau.codegen.llvm.host import this_host

LIMITS = Limits(
    levels=[
        Level(name="L2", capacity=1000.0, copy=100.0, read=200.0),
        Level(name="memory", capacity=float("inf"), copy=10.0, read=20.0),
    ],
    float32=100.0,
    float64=50.0,
)
ROWS = [
    Row(
        name="one", kind="a", goal=Goal(), cost=Cost(read=4000, written=4000),
        microseconds={"flambeau": 2.0, "numba": 6.0, "numba/parallel": 4.0, "jax": 5.0},
    ),
    Row(
        name="two", kind="a", goal=Goal(times=2.0, against="numba"), cost=Cost(flops=100, wide=True),
        microseconds={"flambeau": 1.0, "numba": 1.5, "jax": 0.5}, missing={"torch": "not installed (torch)"},
    ),
    Row(
        name="three", kind="b", goal=Goal(nanoseconds=100.0), cost=Cost(), microseconds={"numba": 1234.0},
        missing={"flambeau": "took over 20 s", "torch": "not installed (torch)"},
    ),
]  # fmt: skip
ENVIRONMENT = {"date": "2026-01-01", "processor": "P", "cores": 2, "python": "3.11", "versions": {"numpy": "2.4"}}


def _run(stopped: str = "") -> report.Run:
    return report.Run(title="One thread", environment=ENVIRONMENT, limits=LIMITS, rows=ROWS, stopped=stopped)


@pytest.mark.parametrize(
    ("cost", "least", "what"),
    [
        (Cost(read=400, written=400), 0.008, "L2"),
        (Cost(read=800), 0.004, "L2"),
        (Cost(written=800), 0.008, "L2"),
        (Cost(read=4000, written=1000), 0.2 + 0.15, "memory"),
        (Cost(read=400, flops=1000), 0.01, "arithmetic"),
        (Cost(read=400, flops=1000, wide=True), 0.02, "arithmetic"),
    ],
)
def test_the_least_time(cost: Cost, least: float, what: str) -> None:
    found, why = LIMITS.microseconds(cost)
    assert found == pytest.approx(least)
    assert why == what


def test_the_better_of_two_measurements() -> None:
    other = replace(LIMITS, float32=90.0, float64=70.0, levels=[replace(x, read=150.0) for x in LIMITS.levels])
    found = LIMITS.best(other)
    assert (found.float32, found.float64, [x.read for x in found.levels]) == (100.0, 70.0, [200.0, 150.0])


def test_tables() -> None:
    lines = report.table(ROWS[:2], LIMITS)
    assert lines[0] == ["workload", "flambeau", "numba", "jax", "ratio", "goal", "reached", "of limit"]
    assert lines[1] == ["one", "2", "**4 p**", "5", "2.00x", "1x", "yes", "40% memory"]
    assert lines[2] == ["two", "1", "1.5", "**0.5**", "0.50x", "2x numba", "1.50x no", "-"]
    assert report.table(ROWS[2:], LIMITS)[1] == ["three", "**1,230**", "-", "<= 100 ns", "-", "-"]
    assert report.share(ROWS[1], LIMITS) == "-"
    assert report.markdown([["a|b", "c"], ["1", "2"]]) == "| a\\|b | c |\n|---|---:|\n| 1 | 2 |\n"
    assert report.aligned([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc   d\n"


def test_means_are_of_the_ratios_to_the_goals() -> None:
    found = report.means(ROWS)
    assert found["a"][0] == pytest.approx((2.0 * 1.5) ** 0.5)
    assert found["a"][1:] == (2, 2, 1)
    assert found["all"] == found["a"]
    assert list(found) == ["a", "all"]


def test_the_page_and_the_text() -> None:
    page = report.page([_run("stopped after 3 rows: exit status -11")], "python -m benchmarks")
    for part in (
        "P, 2 cores, Python 3.11; numpy 2.4.", "## One thread", "### A\n", "| one | 2 | **4 p** |",
        "* flambeau: took over 20 s (three)\n", "* torch: not installed (torch)\n", "* stopped after 3 rows",
        "| a | 1.73x | - | 2 | 2 | 1 |",
    ):  # fmt: skip
        assert part in page, part
    text = report.text([_run()])
    assert "== One thread" in text
    assert "**" not in text
    assert "flambeau: took over 20 s (three)" in text


def test_rows_survive_json() -> None:
    assert [report.from_dict(json.loads(json.dumps(report.as_dict(row)))) for row in ROWS] == ROWS
    assert Limits.from_dict(LIMITS.as_dict()) == LIMITS


def test_numbers_are_short() -> None:
    assert [report.number(v) for v in (0.123456, 1.0, 99.95, 123456.0)] == ["0.123", "1", "100", "123,000"]


def test_the_machine_is_described() -> None:
    found = limits.environment(2)
    assert found["threads"] == 2
    assert found["versions"]["numpy"]
    copy, read = limits._bandwidth(1 << 12, 1 << 14, 2)
    assert copy > 0
    assert read > 0


def test_settings_reach_every_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SLOWING[0], "Haswell")
    found = settings(2)
    assert SLOWING[0] not in found
    assert {found[name] for name in THREADS} == {"2"}
    assert [family(p) for p in ("numba/parallel", "flambeau alone", "torch.jit")] == ["numba", "flambeau", "torch.jit"]
    assert parser().parse_args(["--only", "x", "--peers", "numpy", "--threads", "1"]).seconds > 0


x86 = pytest.mark.skipif(this_host().level is None, reason="levels are those of x86-64")


@x86
def test_c20_a_level_restricts_every_library() -> None:
    found = settings(1, "x86-64-v2")
    assert found["FLAMBEAU_CPU"] == found["NUMBA_CPU_NAME"] == found["TORCHINDUCTOR_CPP_MARCH"] == "x86-64-v2"
    assert found["NPY_DISABLE_CPU_FEATURES"] == "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
    assert (found["ATEN_CPU_CAPABILITY"], found["OPENBLAS_CORETYPE"]) == ("default", "Nehalem")
    assert "avx" not in found["NUMBA_CPU_FEATURES"]
    assert found["XLA_FLAGS"].split() == ["--xla_cpu_multi_thread_eigen=false", "--xla_cpu_max_isa=SSE4_2"]
    with pytest.raises(ValueError, match="--cpu avx2: expected one of x86-64-v2, x86-64-v3, x86-64-v4"):
        settings(1, "avx2")


@x86
def test_c20_libraries_keep_to_the_level() -> None:
    """NumPy is asked for what it found; of ours, the assembly is looked at in tests/codegen."""
    program = "import numpy as np\nprint(np._core._multiarray_umath.__cpu_features__.get('X86_V3'))\n"
    program += "from flambeau.codegen.llvm.engine import engine\nprint(engine().processor.level)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=settings(1, "x86-64-v2"), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "x86-64-v2"]


def test_the_command_writes_a_page_and_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, lines = tmp_path / "page.md", tmp_path / "rows.jsonl"
    arguments = ["--threads", "1", "--only", "^calls: x", "--peers", "numpy", "--rounds", "1", "--seconds", "0.001"]
    monkeypatch.setattr("sys.argv", ["benchmarks", *arguments, "--page", str(page), "--json", str(lines)])
    main()
    assert "x + 1, 16 floats" in capsys.readouterr().out
    assert "| x + 1, 16 floats |" in page.read_text(encoding="utf-8")
    (row,) = [report.from_dict(json.loads(x)) for x in lines.read_text(encoding="utf-8").splitlines()]
    assert set(row.microseconds) == {"flambeau", "numpy"}


def test_our_failures_end_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        wrong = replace(ROWS[0], microseconds={"jax": 1.0}, missing={"flambeau": "wrong by 1.0e+00"})
        row = json.dumps(report.as_dict(wrong))
        machine = json.dumps({"environment": ENVIRONMENT, "limits": LIMITS.as_dict()})
        Path(command[command.index("--child") + 1]).write_text(f"{machine}\n{row}\n", encoding="utf-8")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--threads", "1", "--only", "one"])
    with pytest.raises(SystemExit, match="not everything ran\none: wrong by"):
        main()
    assert "flambeau: wrong by 1.0e+00 (one)" in capsys.readouterr().out


def test_an_interrupted_command_keeps_its_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str], **options: object) -> None:
        machine = json.dumps({"environment": ENVIRONMENT, "limits": LIMITS.as_dict()})
        row = json.dumps(report.as_dict(ROWS[0]))
        Path(command[command.index("--child") + 1]).write_text(f"{machine}\n{row}\n", encoding="utf-8")
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--threads", "1,2", "--only", "one"])
    with pytest.raises(SystemExit, match="not everything ran"):
        main()
    printed = capsys.readouterr().out
    assert "stopped after 1 rows: exit status 130" in printed
    assert printed.count("== ") == 1


def test_no_row_matches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "--threads", "1", "--only", "^nothing"])
    with pytest.raises(SystemExit, match="no row matches --only '\\^nothing'"):
        main()


def test_rows_in_which_a_peer_is_faster_are_listed_worst_first() -> None:
    worst = replace(ROWS[1], name="worst", microseconds={"flambeau": 4.0, "torch": 1.0})
    assert report.slower([*ROWS, worst]) == "\n**Below 1x**, and the best peer: worst 0.25 (torch); two 0.50 (jax).\n"
    assert report.slower(ROWS[:1]) == ""
