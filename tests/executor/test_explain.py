"""`fn.explain`: what is native and what is not and why, what kernels cost, and how it prints."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.executor import limits
from flambeau.executor.report import WIDTH, Work, duration, wrapped

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")

MIXED = """
def mixed(x: Tensor, n: int):
    names: Dict[float, int] = {}
    s = 0.0
    for i in range(n):
        s += float(i) * 2.0
    names[0.5 * n] = n
    return flambeau.softmax(x, 1), s, names
"""


def made(text: str, name: str) -> Any:
    return getattr(flambeau.CompilationUnit(text), name)


def test_a_function_that_is_native_from_end_to_end() -> None:
    function = made("def f(n: int):\n    s = 0\n    for i in range(n):\n        s += i * i\n    return s\n", "f")
    assert not function.explain().is_native, "there is no compilation yet"
    function(10)
    found = function.explain()
    assert found.is_native
    assert found.interpreted == []
    (compilation,) = found.compilations
    assert compilation.state == "native from end to end"
    (whole,) = compilation.natives
    assert (whole.name, whole.variants, whole.tight_loops, whole.reason) == ("whole graph", 1, 1, "")
    assert whole.object_bytes > 0
    assert whole.milliseconds > 0.0


def test_what_waits_for_its_third_call() -> None:
    function = made("def f(a: int, b: int):\n    return a * b + 1\n", "f")
    function(2, 3)
    found = function.explain()
    assert not found.is_native
    assert found.compilations[0].state == "not native yet: call it again"
    assert {n.reason for n in found.interpreted} == {"a graph without loops becomes native at its third call"}
    for _ in range(3):
        function(2, 3)
    assert function.explain().is_native


def test_native_regions_and_what_is_interpreted_between_them() -> None:
    function = made(MIXED, "mixed")
    for _ in range(3):
        function(flambeau.ones(3, 4), 500)
    found = function.explain(measure=False)
    assert not found.is_native
    (compilation,) = found.compilations
    assert compilation.state == "native in parts, interpreted between them"
    whole, region = compilation.natives
    assert "prim::DictConstruct" in whole.reason
    assert (region.name, region.reason, region.calls, region.tight_loops) == ("region_0", "", 3, 1)
    kind, reason, place = found.interpreted[0]
    assert kind == "prim::DictConstruct"
    assert reason.startswith("it has no native form here: of dicts, those have one whose keys are ints")
    assert place is not None
    assert place.file_line_col()[1] == 3
    others = {n.kind for n in found.interpreted[1:]}
    assert "aten::_set_item" in others
    assert not others & {"prim::Loop", "prim::FusionGroup", "aten::softmax"}, "these are native"
    assert {n.reason for n in found.interpreted[1:]} == {"it stands between native parts"}


def test_nodes_that_native_code_has_python_run() -> None:
    text = "def f(x: Tensor, n: int):\n    s = 0\n    for i in range(n):\n        s += i\n    return x.bincount(), s\n"
    function = made(text, "f")
    function(flambeau.tensor([1, 0]), 4)
    found = function.explain()
    if not found.is_native:  # until `bincount` has a native form
        assert [n.kind for n in found.interpreted] == ["aten::bincount"]
        assert found.interpreted[0].reason.startswith("it has no native form")
        assert found.interpreted[0].range.file_line_col()[1] == 5


@pytest.mark.parametrize("backend", ["interpreter", "reference"])
def test_other_backends(backend: Any) -> None:
    function = flambeau.script(adds, backend=backend)
    function(flambeau.ones(2), flambeau.ones(2))
    found = function.explain()
    assert not found.is_native
    if backend == "interpreter":
        assert {n.reason for n in found.interpreted} == {"the backend is the interpreter"}


def adds(a: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
    return a + b


def test_work_of_a_kernel() -> None:
    function = made("def f(x: Tensor, y: Tensor): return flambeau.tanh(x) * y\n", "f")
    x = flambeau.ones(64, 32)
    function(x, x)
    (kernel,) = function.explain(measure=False).compilations[0].kernels
    work = kernel.work
    assert work is not None
    assert (work.shapes, work.bytes_moved, work.operations) == ("[64, 32], [64, 32]", 3 * 4 * 64 * 32, 2 * 64 * 32)
    assert work.estimated_seconds > 0.0
    assert (work.seconds, work.limit_seconds, work.fraction) == (None, None, None)
    (kernel,) = function.explain(measure=True).compilations[0].kernels
    work = kernel.work
    assert work is not None
    assert work.seconds is not None
    assert work.limit_seconds is not None
    assert work.fraction > 0.0  # how large it is depends on who else uses the machine
    assert work.bound in ("memory", "arithmetic")
    assert "GB/s" in str(work)
    assert f"the {work.bound} limit" in str(work)


@pytest.mark.parametrize(
    ("fraction", "words"),
    [(0.5, "50% of the memory limit"), (1.5, "at the memory limit"), (3.0, "in a cache, where the memory limit")],
)
def test_how_far_from_the_limit(fraction: float, words: str) -> None:
    assert words in str(Work("[8]", 64, 8, 1e-6, 1, 2e-6, 2e-6 * fraction, "memory"))


def test_c24_groups_that_a_native_function_runs() -> None:
    loop = "    for i in range(n):\n        x = x * 0.5 + 1.0\n"
    function = made(f"def f(x: Tensor, n: int):\n{loop}    return x.exp() + x.sum()\n", "f")
    for _ in range(4):
        function(flambeau.ones(100), 3)
    inside, called = function.explain().compilations[0].kernels
    assert (inside.state, inside.variants) == ("native inside the function around it", 0)
    assert (called.state, called.variants) == ("native, called by the function around it", 1)
    lines = [line for kernel in (inside, called) for line in kernel.lines()]
    assert lines[0] == f"{inside.name}: native inside the function around it: mul add"
    assert "calls" not in lines[1]


def test_measuring_does_not_touch_what_users_have() -> None:
    function = made("def f(x: Tensor, k: Tensor): return x[k] + 1\n", "f")
    x, k = flambeau.ones(5), flambeau.tensor([4, 0, 2])
    before = function(x, k).numpy().copy()
    calls = function.explain().compilations[0].calls
    assert function.explain(measure=True).compilations[0].calls == calls
    assert (function(x, k).numpy() == before).all()


def test_integer_kernels_that_refuse_zeros_and_ones_are_measured_if_they_can_be() -> None:
    function = made("def f(x: Tensor, y: Tensor): return x // y\n", "f")
    x = flambeau.tensor([6, 8])
    function(x, x)
    (kernel,) = function.explain(measure=True).compilations[0].kernels
    assert kernel.work is not None
    assert kernel.work.seconds is not None


def test_limits_are_plausible_and_kept() -> None:
    assert 1e9 < limits.bytes_per_second(1 << 20) < 1e13
    assert 1e9 < limits.operations_per_second() < 1e13
    assert limits.operations_per_second() == limits.operations_per_second()
    seconds, bound = limits.least_seconds(0, 10**9, 2)
    assert bound == "arithmetic"
    assert seconds == pytest.approx(0.5e9 / limits.operations_per_second())


def test_it_fits_a_hundred_columns() -> None:
    function = made(MIXED, "mixed")
    for _ in range(3):
        function(flambeau.ones(3, 4), 5)
    text = str(function.explain())
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "region_0" in text
    assert "softmax" in text
    assert "<pre" in function.explain()._repr_html_()


def test_long_lines_are_wrapped_below_themselves() -> None:
    lines = wrapped("  " + "word " * 40 + "end")
    assert len(lines) > 1
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith("      word") for line in lines[1:])
    assert [duration(s) for s in (3e-9, 4.5e-6, 0.25, 12.0)] == ["3 ns", "4.5 us", "250 ms", "12.00 s"]


def test_loops_ir_and_instructions() -> None:
    function = made(MIXED, "mixed")
    for text, mark in ((function.loops, "#"), (function.llvm_ir, ";"), (function.asm, "#")):
        assert text.startswith(f"{mark} mixed has no native code yet: call it first")
    function(flambeau.ones(3, 4), 500)
    assert "kernel k {" in function.loops
    assert "# schedule a1" in function.loops
    assert "loop <string>:5:4: counted, innermost" in function.loops
    assert "define" in function.llvm_ir
    assert "flambeau_function" in function.llvm_ir
    assert "flambeau_kernel" in function.asm
    assert "flambeau_function" in function.asm
    assert "ret" in function.asm


def test_what_python_is_asked_because_of_how_tensors_lie_in_memory() -> None:
    @flambeau.script
    def f(x: Tensor, n: int) -> Tensor:
        y = x.clone()
        for _ in range(n):
            y = y + x * 0.5
        return y

    expanded, whole = flambeau.randn(3, 1).expand(3, 4), flambeau.randn(3, 4)
    for _ in range(4):
        f(expanded, 3)
    [compilation] = f.explain().compilations
    assert compilation.state == "native but for sizes, layouts or values that only Python takes"
    [node] = compilation.unusual
    assert node.kind == "aten::clone"
    assert node.reason.startswith("it has no native form for sizes, layouts or values such as these")
    text = " ".join(str(f.explain()).split())
    assert "1 interpreted node: aten::clone" in text
    assert "native code has Python run it" in text
    for _ in range(20):
        f(whole, 3)
    assert f.explain().compilations[0].state == "native from end to end"
