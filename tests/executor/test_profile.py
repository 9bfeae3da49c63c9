"""`fn.profile`: counts are those of a trace by hand, times add up, and the call is the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from examples import mandelbrot, nbody
from flambeau.codegen import available
from flambeau.executor.ledger import Profile
from flambeau.util.errors import ScriptError

needs_llvm = pytest.mark.skipif(not available(), reason="native code needs llvmlite")

COUNTS = """
def collatz(n: int, x: Tensor):
    longest = 0
    for start in range(1, n):
        value = start
        steps = 0
        while value != 1:
            if value % 2 == 0:
                value = value // 2
            else:
                value = 3 * value + 1
            steps += 1
        if steps > longest:
            longest = steps
        x[start] = float(steps)
    return longest
"""


def by_hand(n: int) -> dict[int, int]:
    """How often each line of `collatz` runs: by its number, the first of the text being empty."""
    hits = dict.fromkeys(range(1, 17), 0)
    longest = 0
    for start in range(1, n):
        hits[4] += 1
        value, steps = start, 0
        while value != 1:
            hits[7] += 1
            even = value % 2 == 0
            hits[8] += 1
            hits[9 if even else 11] += 1
            value = value // 2 if even else 3 * value + 1
            hits[12] += 1
            steps += 1
        hits[13] += 1
        if steps > longest:
            longest = steps
        hits[15] += 1
    return hits


def unit(text: str) -> Any:
    return flambeau.CompilationUnit(text)


def adds_up(found: Profile) -> bool:
    return 0.0 < sum(cost.seconds for cost in found.lines) <= found.seconds * 1.05 + 1e-6


@needs_llvm
def test_counts_of_native_code_are_exact() -> None:
    x = flambeau.zeros(300)
    found = unit(COUNTS).collatz.profile(300, x)
    want = by_hand(300)
    for line in (4, 8, 9, 11, 12, 13, 15):
        assert found[line].hits == want[line], f"line {line}"
    assert found.result == 127
    assert float(x[27]) == 111.0, "it writes where a call writes"
    assert adds_up(found)
    assert [r.name for r in found.regions] == ["whole graph"]


def test_counts_of_bytecode_are_exact() -> None:
    function = flambeau.script(scripted, backend="interpreter")
    found = function.profile(100)
    body = [cost for cost in found.lines if "total +=" in cost.source]
    assert found.result == sum(range(100))
    assert [cost.hits for cost in body] == [100]
    assert adds_up(found)


def scripted(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


@needs_llvm
def test_profiling_changes_nothing_for_other_calls() -> None:
    function = flambeau.script(scripted)
    function(5)
    before = function.llvm_ir
    for _ in range(2):
        assert function.profile(7).result == 21
    assert function.llvm_ir == before
    assert "flambeau_counts" not in before
    assert len(function.explain(measure=False).compilations) == 1


@needs_llvm
def test_the_lines_of_fused_groups() -> None:
    text = "def f(x: Tensor):\n    y = x * 2.0\n    z = flambeau.tanh(y)\n    return z + 1.0\n"
    function = unit(text).f
    x = flambeau.from_numpy(np.linspace(-1, 1, 4096, dtype=np.float32))
    want = function(x).numpy()
    found = function.profile(x)
    np.testing.assert_array_equal(found.result.numpy(), want)
    assert found[3].seconds > found[2].seconds > 0.0, "tanh costs more than a product"
    (group,) = found.regions
    assert (group.name, group.calls, group.bytes_moved) == ("group_0", 1, 2 * 4 * 4096)
    assert group.operators == ("mul", "tanh", "add")
    assert group.fraction is not None
    assert group.fraction > 0.0


@needs_llvm
def test_regions_between_what_is_interpreted() -> None:
    text = (
        "def f(x: Tensor, n: int):\n    numbers: Dict[float, int] = {}\n    s = 0.0\n    for i in range(n):\n"
        "        s += float(i) * 2.0\n    numbers[float(n)] = n\n    return s, numbers\n"
    )
    found = unit(text).f.profile(flambeau.ones(2), 1000)
    assert found.result == (999000.0, {1000.0: 1000})
    assert found[5].hits == 1000
    assert found[6].hits == 1
    assert [(r.name, r.calls) for r in found.regions] == [("region_0", 1)]
    assert adds_up(found)


@needs_llvm
def test_functions_called_have_their_own_lines() -> None:
    found = nbody.simulate.profile(*nbody.bodies(), 10)
    hits = {cost.source.strip(): cost.hits for cost in found.lines if cost.hits}
    assert hits["for _ in range(count):"] == 10
    assert hits["dx = x[i][0] - x[j][0]"] in (10, 100)  # in `energy`, and in `advance`
    assert sum(cost.hits for cost in found.lines if "dx = x[i][0] - x[j][0]" in cost.source) == 10 + 10 * 10
    assert adds_up(found)


@needs_llvm
def test_loops_that_run_as_lanes_count_their_lanes() -> None:
    text = (
        "def f(n: int):\n    total = 0\n    for i in range(n):\n        k = i\n        while k > 0:\n"
        "            total += 1\n            k = k // 2\n    return total\n"
    )
    function = unit(text).f
    found = function.profile(1000)
    want = sum(i.bit_length() for i in range(1000))
    assert found.result == want
    assert found[6].hits == want
    assert found[7].hits == want


def test_a_program_that_raises_raises() -> None:
    text = "def f(n: int):\n    for i in range(n):\n        if i == 3:\n            raise ValueError('three')\n"
    function = unit(f"{text}    return n\n").f
    with pytest.raises(ScriptError, match="three"):
        function.profile(5)
    assert function.profile(2).result == 2


def test_the_reference_backend_tells_no_times() -> None:
    function = flambeau.script(scripted, backend="reference")
    with pytest.raises(RuntimeError, match="the reference evaluator tells no times: profile scripted with backend="):
        function.profile(3)


def test_lines_that_are_not_there() -> None:
    found = flambeau.script(scripted).profile(3)
    with pytest.raises(KeyError, match="line 100000 is not in the profile of scripted"):
        found[100000]


def test_it_prints_beside_the_source_and_draws(tmp_path: Path) -> None:
    found = flambeau.script(scripted).profile(1000)
    text = str(found)
    assert text.splitlines()[0].startswith("scripted: ")
    assert any("total += i" in line and "1,000" in line for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 100
    page = tmp_path / "profile.html"
    found.save(page)
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "total += i" in html
    assert "1,000" in html
    assert found._repr_html_() in html


@needs_llvm
def test_time_spent_on_compiling_is_left_out() -> None:
    function = flambeau.script(mandelbrot.image.__wrapped__)
    assert function.profile(17, 11, 13).seconds < 0.05, "its kernels take longer to compile"
