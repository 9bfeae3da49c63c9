"""Calls from Python: threads, many shapes, bounded plans and kernels, interruption, arguments, origins of functions."""

from __future__ import annotations

import gc
import linecache
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor.fused import MAX_NATIVE
from flambeau.util.errors import CompileError, ExecutionError
from tests.interrupts import interrupted_once


def helper(x: Tensor, by: float) -> Tensor:
    return x * by


def mixed(x: Tensor, n: int, by: float = 0.5) -> Tensor:
    for i in range(n):
        x = flambeau.tanh(helper(x, by) + i)
    if n % 2 == 0:
        return x.sum(0, keepdim=True) + x
    return x - 1.0


# -- threads ----------------------------------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` gave in each thread; all start at once."""
    gate, results = threading.Barrier(count), [None] * count

    def one(index: int) -> None:
        gate.wait()
        try:
            results[index] = work(index)
        except BaseException as error:
            results[index] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    return results


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_thirty_two_threads_whose_first_calls_race(backend: str) -> None:
    def fresh(x: Tensor, n: int, by: float = 0.5) -> Tensor:
        for i in range(n):
            x = flambeau.tanh(helper(x, by) + i)
        return x.sum(0, keepdim=True) + x if n % 2 == 0 else x - 1.0

    function = flambeau.script(fresh, backend=backend)  # type: ignore[call-overload]
    dtypes = (np.float32, np.float64)

    def work(index: int) -> bool:
        draw = np.random.default_rng(index)
        for turn in range(12):
            rows, n = 1 + (index + turn) % 5, turn % 4
            x = flambeau.from_numpy(draw.normal(size=(rows, 3)).astype(dtypes[index % 2]))
            got, want = function(x, n), fresh(x, n)
            if got.dtype != want.dtype or not np.allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5):
                raise AssertionError(f"{got} is not {want}")
        return True

    assert in_threads(32, work) == [True] * 32
    if backend == "native":
        # Two dtypes, one row or several: a race makes no plan twice.
        assert len(function.explain().compilations) == 4


def test_threads_compile_one_function_once() -> None:
    def fresh(n: int) -> int:
        return n + 1

    graphs = in_threads(32, lambda _: flambeau.script(fresh).graph)
    assert all(graph is graphs[0] for graph in graphs)


def test_one_thread_fails_and_the_others_do_not_mind() -> None:
    function = flambeau.script(mixed)
    good, bad = flambeau.ones(2, 3), flambeau.ones(2, 0)
    want = function(good, 3).tolist()

    def work(index: int) -> Any:
        if index % 4 == 0:
            with pytest.raises(ExecutionError, match="must match"):
                flambeau.script(adds)(good, flambeau.ones(5))
            return want
        function(bad, 2)
        return function(good, 3).tolist()

    assert in_threads(16, work) == [want] * 16


@flambeau.script
def adds(a: Tensor, b: Tensor) -> Tensor:
    return (a + b) * 2.0


# -- plans and memory -------------------------------------------------------------------------------------------------


def test_plans_are_by_dtype_rank_and_size_one_never_by_size() -> None:
    function = flambeau.script(mixed, max_plans=16)  # type: ignore[call-overload]
    for size in (2, 3, 5, 100, 1000):
        function(flambeau.ones(size, size + 1), 2)
    assert len(function.explain().compilations) == 1
    function(flambeau.ones(4, 4).t(), 3)  # strides are no matter for plans
    assert len(function.explain().compilations) == 1
    function(flambeau.ones(1, 4), 2)
    function(flambeau.ones(1, 9), 1)
    function(flambeau.ones(3), 1)
    function(flambeau.ones(3, 3, dtype=flambeau.float64), 1)
    found = function.explain()
    assert [c.spec for c in found.compilations] == [
        "float32[*, *], int, float", "float32[1, *], int, float", "float32[*], int, float", "float64[*, *], int, float",
    ]  # fmt: skip
    assert found.compilations[0].cause == "first call"
    assert "'x' is float64[*, *]" in found.compilations[3].cause
    assert found.dropped == 0


def test_the_oldest_plans_go() -> None:
    function = flambeau.script(adds, max_plans=3)  # type: ignore[call-overload]
    a, ranks = flambeau.ones(2), (1, 2, 3, 4, 5)
    for rank in ranks:
        assert function(a, flambeau.ones(*[2] * rank)).shape == (2,) * rank
    assert len(function.explain().compilations) == 3
    assert function.explain().dropped == 2
    assert "2 older plan(s) were dropped" in str(function.explain())
    assert function(a, flambeau.ones(2)).tolist() == [4.0, 4.0]


def many_calls(function: Callable[..., Tensor], first: int, count: int) -> None:
    """Calls that all differ in sizes, strides or broadcasting; each 100 calls have other dtypes and ranks."""
    dtypes = (np.float32, np.float64, np.int64, np.int32, np.float16)
    for turn in range(first, first + count):
        phase = turn // 100
        rank, dtype = phase % 4, dtypes[phase % 5]
        shape = tuple((turn * (axis + 3) // 7) % 40 + 2 * (axis > 0) for axis in range(rank))
        array = np.ones(shape, dtype)
        a = flambeau.from_numpy(array.T if turn % 3 == 0 else array)
        b = flambeau.from_numpy(np.full(a.shape[-1:] if turn % 2 else (), 2, dtypes[phase % 3]))
        assert function(a, b).shape == a.shape


def test_ten_thousand_different_calls_do_not_grow_memory() -> None:
    function = flambeau.script(adds, max_plans=4)  # type: ignore[call-overload]
    many_calls(function, 0, 2000)  # what is made once: plans, kernels, type objects
    gc.collect()
    held = resident()
    many_calls(function, 2000, 7000)
    gc.collect()
    # Machine code is outside Python's heap, and the allocator gives pages back late; 7,000 calls that keep 2 kB each
    # would be 14 MB.
    assert resident() - held < 12_000_000
    tracemalloc.start()
    many_calls(function, 9000, 200)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    many_calls(function, 9200, 800)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # At any time there are at most four plans, of some 20 kB each, and they are not the same four as before. To keep
    # as little as 1 kB for each of these 800 calls would be 800 kB.
    assert grown < 250_000
    found = function.explain()
    assert len(found.compilations) == 4
    assert found.dropped > 20
    assert all(k.variants <= MAX_NATIVE * 8 for c in found.compilations for k in c.kernels)


def test_the_plan_unused_for_longest_goes() -> None:
    function = flambeau.script(adds, max_plans=2)  # type: ignore[call-overload]
    a = flambeau.ones(2)
    for rank in (1, 2, 1, 3):
        function(a, flambeau.ones(*[2] * rank))
    assert [c.spec for c in function.explain().compilations] == [
        "float32[*], float32[*]",
        "float32[*], float32[*, *, *]",
    ]


def resident() -> int:
    """Bytes of memory that this process holds now."""
    if not Path("/proc/self/statm").exists():
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# -- interruption -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_keyboard_interrupt_in_a_long_loop(backend: str) -> None:
    def endless(x: Tensor, n: int) -> Tensor:
        i = 0
        while i < n:
            x.add_(1)
            i += 1
        return x * 2

    function = flambeau.script(endless, backend=backend)  # type: ignore[call-overload]
    assert function(flambeau.zeros(2), 3).tolist() == [6.0, 6.0]
    x = flambeau.zeros(2, dtype=flambeau.float64)  # native code counts past what a float32 can
    function(x, 0)  # the interrupt is to meet the loop, not the compiler
    started = time.monotonic()
    with interrupted_once(lambda: bool(x._array[0] > 0)):
        function(x, 1 << 40)
    assert time.monotonic() - started < 30
    reached = x.tolist()[0]
    assert reached > 0
    assert function(x, 1).tolist() == [2 * (reached + 1)] * 2
    assert function(flambeau.zeros(3), 2).tolist() == [4.0] * 3


# -- arguments --------------------------------------------------------------------------------------------------------


def test_arguments_by_name_default_and_from_numpy() -> None:
    function = flambeau.script(mixed)
    x = flambeau.ones(2, 3)
    want = mixed(x, 1).numpy()
    for got in (
        function(x, 1), function(x, n=1), function(n=1, x=x), function(by=0.5, n=1, x=x),
        function(x, np.int64(1), np.float32(0.5)),
        function(np.ones((2, 3), np.float32), True),
        function(x, flambeau.tensor(1)), function(x, 1, by=np.float64(0.5)),
    ):  # fmt: skip
        assert np.allclose(got.numpy(), want)


def test_tensors_and_arrays_are_shared_and_containers_are_copied() -> None:
    @flambeau.script
    def changes(x: Tensor, items: list[int], table: dict[str, int], parts: list[Tensor]) -> int:
        x.add_(1)
        items.append(9)
        table["new"] = 1
        parts[0].mul_(2)
        parts.pop()
        return len(items) + len(table) + len(parts)

    array, part, items, table = np.zeros(2, np.float32), flambeau.ones(1), [1], {"a": 1}
    parts = [part, flambeau.ones(1)]
    assert changes(array, items, table, parts) == 2 + 2 + 1
    assert array.tolist() == [1.0, 1.0]
    assert (items, table, len(parts), part.tolist()) == ([1], {"a": 1}, 2, [2.0])
    # A tuple serves for a list.
    assert changes(array, (1, 2), {}, (part,)) == 3 + 1 + 0


def test_results_are_the_callers_own() -> None:
    @flambeau.script
    def constants(n: int) -> list[int]:
        return [1, 2, 3]

    first = constants(0)
    first.append(4)
    assert constants(0) == [1, 2, 3]

    @flambeau.script
    def ones(n: int) -> Tensor:
        return flambeau.ones([2])

    ones(0).add_(5)
    assert ones(0).tolist() == [1.0, 1.0]


def test_an_error_in_a_callee_shows_the_chain() -> None:
    with pytest.raises(ExecutionError) as caught:
        flambeau.script(mixed)(flambeau.ones(3), 1, 2.0) @ adds(flambeau.ones(2), flambeau.ones(3))
    assert f'File "{__file__}", line ' in str(caught.value)
    with pytest.raises(CompileError) as refused:
        flambeau.script(calls_broken)
    text = str(refused.value)
    assert "undefined value nowhere" in text
    assert "'broken' is being compiled since it was called from 'calls_broken'" in text
    lines = [int(line.rpartition("line ")[2]) for line in text.splitlines() if "File" in line]
    assert lines == [broken.__code__.co_firstlineno + 1, calls_broken.__code__.co_firstlineno + 1]


def broken(x: Tensor) -> Tensor:
    return x + nowhere  # type: ignore[name-defined]  # noqa: F821


def calls_broken(x: Tensor) -> Tensor:
    return broken(x) * 2


# -- where functions come from ----------------------------------------------------------------------------------------


def test_scripting_again_gives_the_same_graph() -> None:
    assert flambeau.script(mixed).graph is flambeau.script(mixed).graph
    other = flambeau.script(mixed, backend="interpreter")  # type: ignore[call-overload]
    assert other.graph is flambeau.script(mixed).graph
    assert flambeau.script(other) is not None
    scripted = flambeau.script(mixed)
    assert flambeau.script(scripted) is scripted


def cell(source: str, filename: str) -> dict[str, Any]:
    """Run a text as a notebook does: its lines are known to `linecache` under the cell's name."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"flambeau": flambeau, "Tensor": Tensor, "__name__": "__main__"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("filename", ["<ipython-input-3-0a1b2c>", "/tmp/ipykernel_77/1234567.py", "<doctest cell[0]>"])
def test_functions_of_exec_and_notebooks(filename: str) -> None:
    source = "import flambeau\n\n\n@flambeau.script\ndef twice(x: Tensor) -> Tensor:\n    return x * 2\n"
    scripted = cell(source, filename)["twice"]
    assert scripted(flambeau.ones(2)).tolist() == [2.0, 2.0]
    assert f"{filename}:6:11" in str(scripted.graph)
    # The cell is edited and run again: the new text counts.
    again = cell(source.replace("x * 2", "x * 3"), filename)["twice"]
    assert again(flambeau.ones(2)).tolist() == [3.0, 3.0]
    assert scripted(flambeau.ones(2)).tolist() == [2.0, 2.0]


def test_units_from_text() -> None:
    factor = 3  # noqa: F841  (the text below finds it here)
    unit = flambeau.CompilationUnit("""
def scale(x: Tensor) -> Tensor:
    return x * factor

def twice(x: Tensor) -> Tensor:
    return scale(scale(x))
""")
    assert unit.twice(flambeau.ones(1)).tolist() == [9.0]
    unit.define("def third(x: Tensor) -> Tensor:\n    return twice(x) / factor\n")
    assert unit.third(flambeau.ones(1)).tolist() == [3.0]
    with pytest.raises(CompileError, match=r'(?s)undefined value y.*File "<string>", line 2'):
        unit.define("def bad(x: Tensor) -> Tensor:\n    return y\n")
    assert unit.find_function("bad") is None
    with pytest.raises(RuntimeError, match="function 'third' is defined already in this unit"):
        unit.define("def third(x: Tensor) -> Tensor:\n    return x\n")
    assert [f.name for f in unit.get_functions()] == ["scale", "twice", "third"]


def test_switched_off_by_the_environment() -> None:
    code = (
        "import flambeau\n"
        "from flambeau import Tensor\n"
        "def f(x: Tensor):\n"
        "    yield x\n"
        "assert flambeau.script(f) is f\n"
        "assert flambeau.script(backend='interpreter')(f) is f\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"FLAMBEAU_DISABLE": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bool_for_a_float() -> None:
    def half(x: float, xs: list[float]):
        return x / 2, xs

    assert flambeau.script(half)(True, [False, 2]) == (0.5, [0.0, 2.0])  # type: ignore[list-item]
