"""``fn.ptx``: the PTX of a function's fused groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.cuda.bound_program import Layout, bind_program
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.lower import lower_graph
from flambeau.specialise.spec import refine
from tests.codegen.cuda.cuda_kernels import assemble, ptxas
from tests.codegen.cuda.on_host import on_host

TOOL = ptxas()


@flambeau.script
def scores(x: Tensor, w: Tensor, bias: float) -> tuple[Tensor, Tensor]:
    y = flambeau.tanh(x) * w + bias
    return flambeau.softmax(y, 1), y.sum(1)


@flambeau.script
def two_groups(x: Tensor) -> Tensor:
    y = flambeau.exp(x) * 0.5
    print(y.size(0))
    return flambeau.relu(flambeau.flip(y, [0]) + 1.0)


@flambeau.script
def nothing(x: Tensor) -> Tensor:
    return flambeau.flip(x, [0])


@flambeau.script
def running(x: Tensor) -> Tensor:
    return flambeau.cumsum(x, 0)


@flambeau.script
def bits(x: Tensor) -> Tensor:
    return flambeau.sigmoid(x) * 2.0


def comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("// ")]


def test_a_function_with_several_results() -> None:
    text = scores.ptx(flambeau.ones(64, 700), flambeau.ones(700), 0.25, arch="sm_90")
    assert ".target sm_90" in text
    notes = "\n".join(comments(text))
    assert "group_0: " in notes
    assert "tanh, mul, add" in notes
    assert "softmax" in notes
    line = scores.graph.find_all("aten::tanh")
    assert line
    assert f"({Path(__file__).name}" in notes or f"{__file__}:" in notes
    assert "x0 float32[64, 700]" in notes
    assert "parameters: x0, " in notes
    assert "blocks of 128 threads" in notes


def test_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Asking is not calling; what is computed on the way is taken to be row-major."""
    text = two_groups.ptx(flambeau.ones(30, 4))
    assert capsys.readouterr().out == ""
    assert "group_0" in text
    assert "group_1" in text
    assert "assumed" in text


@pytest.mark.skipif(TOOL is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_it_assembles(arch: str, tmp_path: Path) -> None:
    assert TOOL is not None
    for text in (
        scores.ptx(flambeau.ones(64, 700), flambeau.ones(700), 0.25, arch=arch),
        two_groups.ptx(flambeau.ones(30, 4), arch=arch),
    ):
        assert assemble(TOOL, text, arch, tmp_path)


def test_layouts_of_arguments_are_followed() -> None:
    """A whole array is one axis; rows with gaps are two."""
    x = flambeau.ones(6, 8)
    assert "parameters: x0, y0, size of a0, stride" in bits.ptx(x)
    assert "size of a0, size of a1" in bits.ptx(x[:, :5])


def test_a_function_without_groups() -> None:
    assert nothing.ptx(flambeau.ones(3)) == "// no fused groups: nothing here runs as a CUDA kernel\n"


def test_a_group_that_has_no_kernel_says_why() -> None:
    text = bits.ptx(flambeau.ones(0, 3))
    assert text.startswith("// group_0: sigmoid, mul  (")
    assert text.endswith("//   no CUDA kernel: its results have no elements\n")


def test_running_states_have_kernels() -> None:
    assert ".entry flambeau_group_0(" in running.ptx(flambeau.ones(3))


def test_an_unknown_architecture_is_refused() -> None:
    for function in (bits, nothing):
        with pytest.raises(ValueError, match="no device architecture is called 'gfx90a'; write one of sm_70"):
            function.ptx(flambeau.ones(3), arch="gfx90a")


def test_arguments_are_checked_as_in_a_call() -> None:
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        bits.ptx()


OPERATORS = {
    "softmax": "flambeau.softmax(x, 1)",
    "softmax of columns": "flambeau.softmax(x, 0)",
    "log_softmax": "flambeau.log_softmax(x * 2.0, -1)",
    "layer norm": "flambeau.layer_norm(x, [37]) * 1.0",
    "scaled layer norm": "flambeau.layer_norm(x, [37], w, w)",
    "var": "flambeau.var(x, 1)",
    "std of all": "flambeau.std(x) + 0.0",
    "mean of all": "(x * x).mean()",
    "mean of columns": "x.mean(0)",
    "argmax": "(x * w).argmax(1)",
    "argmin of all": "x.abs().argmin()",
    "largest": "x.amax([0, 1])",
    "gelu": "flambeau.gelu(x) + w",
    "broadcast": "flambeau.where(x > w, x, w * 2.0) - x.sin()",
    "running sums": "flambeau.cumsum(x, 1) * 2.0",
    "running products of columns": "flambeau.cumprod(x, 0)",
    "integers": "((x > w).sum(1) + 7) // 2",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_groups_in_the_simulator_and_here(name: str) -> None:
    """An operator's kernel gives what calling the function gives."""
    source = f"def f(x: Tensor, w: Tensor):\n    return {OPERATORS[name]}\n"
    function = flambeau.CompilationUnit(source).f
    x = flambeau.tensor(np.random.default_rng(0).normal(size=(5, 37)).astype(np.float32))
    w = flambeau.tensor(np.linspace(-1, 1, 37, dtype=np.float32))
    want = np.asarray(function(x, w))
    plan = function._executor.plan_for((x, w))
    groups = plan.graph.find_all("prim::FusionGroup")
    if len(groups) != 1 or len(groups[0].results) != 1:
        pytest.fail(f"{name} is not one group:\n{plan.graph}")
    graph, given = groups[0].attribute("Subgraph"), dict(zip(plan.graph.parameters, (x, w), strict=True))
    arrays = [np.asarray(given[v]) for v in groups[0].operands]
    types = [refine(v.static_type, given[o]) for v, o in zip(graph.parameters, groups[0].operands, strict=True)]
    lowered = lower_graph(graph, types)
    for schedule in (None, CudaSchedule("block", 64, shared_scratch=True), CudaSchedule("thread", 32)):
        made = bind_program(lowered.kernel, lowered.spans, [Layout.of(a) for a in arrays], schedule)
        (simulated,) = simulate(made, *arrays)
        np.testing.assert_allclose(simulated, want, rtol=2e-5, atol=2e-6, err_msg=name)
    (here,) = on_host(made, *arrays)
    np.testing.assert_allclose(here, want, rtol=2e-5, atol=2e-6, err_msg=name)
