"""What is asked of a function shows itself at the prompt and in notebooks, as people read it."""

from __future__ import annotations

import pytest

import flambeau
from examples import demo, page
from flambeau import Tensor
from flambeau.executor.report import Compilation, KernelReport, NativeReport, Work


def looped(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = (x * 2).tanh() + x.sum(0)
    return x


STAGES = ["graph", "inlined_graph", "schema", "tree", "bytecode", "code", "asm", "llvm_ir", "loops"]


@pytest.mark.parametrize("name", STAGES)
def test_c24_stages_show_themselves_at_the_prompt(name: str) -> None:
    function = flambeau.script(looped)
    function(flambeau.ones(8, 8), 2)
    stage = getattr(function, name)
    assert repr(stage) == str(stage)
    assert " object at 0x" not in repr(stage)
    assert "\\n" not in repr(stage)


def test_c24_texts_of_methods_and_constants_too() -> None:
    class Doubled(flambeau.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    module = flambeau.script(Doubled())
    assert repr(module.code).splitlines()[0] == "def forward(self,"
    text, _ = flambeau.script(looped).code_with_constants
    assert repr(text).splitlines()[0] == "def looped(x: Tensor,"


def work(seconds: float, limit: float) -> Work:
    return Work("[8]", 64, 8, 1e-6, 1, seconds, limit, "memory")


def test_c24_no_more_than_all_of_a_limit() -> None:
    assert str(work(2e-6, 1e-6)).endswith("50% of the memory limit")
    assert str(work(1e-6, 1.5e-6)).endswith("at the memory limit")
    assert str(work(1e-6, 35.8e-6)).endswith("in a cache, where the memory limit does not hold")


def test_c24_the_whole_time_is_told() -> None:
    native = NativeReport("whole graph", "", 180.0, 1, 1, 0, 100, 1, 0, 0)
    kernel = KernelReport("group_0", ("aten::mul",), "native", 29.0, 1, 1)
    compilation = Compilation("int", "first call", 22.0, (), 1, (kernel,), (native,), "native from end to end")
    assert next(compilation.lines()) == (
        "  (int): first call; 231.0 ms (22.0 ms until there was a graph to run, 209.0 ms for native code); "
        "called 1 times"
    )


def test_c24_notebooks_show_the_picture() -> None:
    pytest.importorskip("igraph", reason="drawing graphs needs the igraph library")
    shown = flambeau.script(looped)._repr_html_()
    assert shown.index("<svg") < shown.index("<details><summary>text</summary>")
    assert "aten::tanh" in shown


def test_c24_the_page_hides_nothing_to_the_right() -> None:
    text = page.render([(demo.gelu, (flambeau.linspace(-3.0, 3.0, 7),))])
    assert "repeat(auto-fill" in text
    order = [text.index(f"<h3>{stage}") for stage in ("source", "graph", "picture", "passes", "explain", "LLVM IR")]
    assert order == sorted(order)
