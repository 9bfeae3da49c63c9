"""Runs that are recorded, plans specialised on what was seen, and guards that are left without a wrong answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import flambeau
from flambeau import _C, Tensor, jit, nn
from flambeau.ir.verify import verify

TWO = [("STATIC", 1), ("DYNAMIC", 1)]


@pytest.fixture(autouse=True)
def profiling() -> Iterator[None]:
    """The executor is on, with two levels of guards."""
    with jit.fuser("fuser1"):
        before = jit.set_fusion_strategy(TWO)
        yield
        jit.set_fusion_strategy(before)


def products(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.tanh(x * y) + 1


def scripted(fn: Any) -> Any:
    """The function, of which nothing has been seen."""
    found = flambeau.script(fn)
    found._debug_flush_compilation_cache()
    return found


def kinds(graph: Any) -> list[str]:
    return [node.kind() for node in graph.nodes()]


def group_of(graph: Any) -> list[str]:
    """The operators of the only group of a graph."""
    [group] = graph.findAllNodes("prim::TensorExprGroup")
    return [n.kind() for n in group.g("Subgraph").nodes() if n.kind() != "prim::Constant"]


def plan_of(fn: Any) -> Any:
    return fn.get_debug_state().execution_plans["profiled"]


def test_a_run_records_what_comes_by() -> None:
    fn = scripted(products)
    fn(flambeau.ones(2, 3), flambeau.ones(3))
    graph = jit.last_executed_optimized_graph()
    seen = [node.ty("profiled_type").str() for node in graph.findAllNodes("prim::profile")]
    first = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert seen == [first, first.replace("(2, 3, strides=[3, 1]", "(3, strides=[1]"), first, first, first]
    assert {node.i("seen_none") for node in graph.findAllNodes("prim::profile")} == {0}
    verify(graph)


def test_what_several_runs_saw_is_merged() -> None:
    before = _C._jit_set_num_profiled_runs(3)
    try:
        fn = scripted(products)
        for n in (2, 3, 3):
            x = flambeau.ones(n, 4)
            assert fn(x, x).shape == (n, 4)
            assert "prim::profile" in kinds(jit.last_executed_optimized_graph())
        node = jit.last_executed_optimized_graph().findNode("prim::profile")
        assert node.ty("profiled_type").str() == "Float(*, 4, strides=[4, 1], requires_grad=0, device=cpu)"
        fn(x, x)
        guard = jit.last_executed_optimized_graph().findNode("prim::TypeCheck")
        assert [t.str() for t in guard.tys("types")] == ["Float(*, *, requires_grad=0, device=cpu)"] * 2
    finally:
        assert _C._jit_set_num_profiled_runs(before) == 3


def maybe(x: Tensor, y: Tensor | None = None) -> Tensor:
    z = flambeau.tanh(x) * 2
    if y is not None:
        z = z + y
    return z


def test_definedness_is_recorded() -> None:
    def f(x: Tensor, w: Tensor | None = None) -> Tensor:
        return flambeau.tanh(nn.functional.layer_norm(x, [2], w)) + 1

    fn, x = scripted(f), flambeau.randn(3, 2)
    fn(x)
    graph = jit.last_executed_optimized_graph()
    seen = {n.inputsAt(0).debugName().partition(".")[0]: n.i("seen_none") for n in graph.findAllNodes("prim::profile")}
    assert (seen["w"], seen["x"]) == (1, 0)
    for w in (None, flambeau.ones(2), None, flambeau.full([2], 2.0)):
        assert flambeau.allclose(fn(x, w), f(x, w))


def test_the_group_stands_behind_a_guard() -> None:
    fn, x = scripted(products), flambeau.randn(2, 3)
    expected = products(x, x)
    for _ in range(3):
        assert flambeau.allclose(fn(x, x), expected)
    graph = fn.graph_for(x, x)
    assert graph is jit.last_executed_optimized_graph()
    assert kinds(graph) == ["prim::TypeCheck", "prim::If"]
    then, otherwise = graph.findNode("prim::If").blocks()
    assert kinds(then) == ["prim::TensorExprGroup"]
    assert kinds(otherwise) == ["prim::Constant", "prim::CallFunction", "prim::TupleUnpack"]
    assert group_of(graph) == ["aten::mul", "aten::tanh", "aten::add"]
    text = str(graph)
    assert 'prim::Constant[name="fallback_function", fallback=1]()' in text
    assert str(_C.parse_ir(text)) == text
    verify(graph)


CALLS: list[Callable[[], Tensor]] = [
    lambda: flambeau.randn(2, 3),
    lambda: flambeau.randn(5, 3),
    lambda: flambeau.randn(4),
    lambda: flambeau.randn(2, 3, dtype=flambeau.float64),
    lambda: flambeau.ones(2, 3, dtype=flambeau.int64),
    lambda: flambeau.randn(3, 2).t(),
    lambda: flambeau.randn(2, 1).expand(2, 3),
    lambda: flambeau.randn(2, 3, requires_grad=True),
    lambda: flambeau.randn(0, 3),
    lambda: flambeau.tensor(2.0),
    lambda: flambeau.randn(2, 3, dtype=flambeau.complex64),
]


@pytest.mark.parametrize("first", CALLS)
def test_no_guard_lets_through_a_wrong_answer(first: Callable[[], Tensor]) -> None:
    fn = scripted(products)
    for make in (first, first, *CALLS, *reversed(CALLS)):
        x = make()
        got, expected = fn(x, x), products(x, x)
        assert (got.dtype, got.shape, got.requires_grad) == (expected.dtype, expected.shape, expected.requires_grad)
        assert flambeau.allclose(got, expected, atol=1e-6, equal_nan=True)


def test_specialising_ends() -> None:
    fn = scripted(products)
    for n in range(1, 12):
        for rank in (1, 2, 3):
            x = flambeau.randn(*[n] * rank)
            assert flambeau.allclose(fn(x, x), products(x, x))
    first = plan_of(fn)
    assert (first.code.num_bailouts(), len(first.fallbacks), len(first.fallbacks[0].fallbacks)) == (1, 1, 0)
    guards = [one.graph.findNode("prim::TypeCheck").tys("types")[0].str() for one in (first, *first.fallbacks)]
    assert guards == ["Float(1, strides=[1], requires_grad=0, device=cpu)", "Float(*, *, requires_grad=0, device=cpu)"]
    assert first.code.failures == [32]  # all 33 calls but the first, which was recorded


def test_a_bailout_can_be_asked_for() -> None:
    fn, x = scripted(products), flambeau.randn(3)
    fn(x, x), fn(x, x)
    code = plan_of(fn).code
    assert code.failures == [0]
    code.request_bailout(0)
    assert flambeau.allclose(fn(x, x), products(x, x))
    assert flambeau.allclose(fn(x, x), products(x, x))
    assert code.failures == [1]
    with pytest.raises(IndexError, match=r"there is no guard 1: num_bailouts\(\) is 1"):
        code.request_bailout(1)


def test_the_kernels_of_groups_can_be_read() -> None:
    fn, x = scripted(products), flambeau.ones(3)
    fn(x, x)
    assert plan_of(fn).loops == plan_of(fn).llvm_ir == ""
    fn(x, x), fn(x, x)
    plan = plan_of(fn)
    assert "tanh" in plan.loops
    assert "define" in plan.llvm_ir


def joined(x: Tensor, y: Tensor) -> Tensor:
    z = flambeau.cat([x, y], 0).unsqueeze(0) * 2
    a, b = flambeau.chunk(z, 2, 1)
    return (a - b).type_as(x) + flambeau.rand_like(x) * 0


def test_what_groups_take() -> None:
    fn, x, y = scripted(joined), flambeau.randn(2, 3), flambeau.randn(2, 3)
    for _ in range(3):
        assert flambeau.allclose(fn(x, y), joined(x, y))
    inside = set(group_of(fn.graph_for(x, y)))
    assert inside >= {"aten::cat", "aten::unsqueeze", "aten::chunk", "aten::type_as", "aten::rand_like"}
    plan = plan_of(fn)
    assert plan.graph.findNode("prim::TensorExprGroup") is not None
    z = x.double()
    assert fn(z, y).dtype == joined(z, y).dtype == flambeau.float64


def test_random_numbers_come_in_the_order_of_the_program() -> None:
    def f(x: Tensor) -> Tensor:
        a = flambeau.rand_like(x) + 1
        b = flambeau.randn_like(x) * 2
        return a * b - flambeau.rand_like(x)

    fn, x = scripted(f), flambeau.zeros(4)
    for _ in range(3):
        flambeau.manual_seed(5)
        got = fn(x)
        flambeau.manual_seed(5)
        assert got.tolist() == f(x).tolist()


def test_branches_loops_and_writes() -> None:
    def f(x: Tensor, n: int) -> Tensor:
        total = flambeau.zeros_like(x)
        for i in range(n):
            if i % 2 == 0:
                total = total + flambeau.tanh(x) * i
            else:
                total[0] = flambeau.relu(total[0] - 1) * 2
        x.add_(1)
        return total * x.sum()

    fn = scripted(f)
    for n in (0, 1, 5, 5, 3):
        for size in (3, 4):
            x, y = flambeau.ones(size), flambeau.ones(size)
            assert flambeau.allclose(fn(x, n), f(y, n))
            assert x.tolist() == y.tolist()


def test_errors_are_those_of_the_program() -> None:
    fn, x = scripted(products), flambeau.ones(3)
    for _ in range(3):
        fn(x, x)
        with pytest.raises(RuntimeError, match="must match the size of tensor"):
            fn(x, flambeau.ones(2))


def test_gradients_go_through_a_guarded_graph() -> None:
    fn = scripted(products)
    x, y = flambeau.randn(3, requires_grad=True), flambeau.randn(3)
    fn(x, y)
    node = jit.last_executed_optimized_graph().findNode("prim::profile")
    assert "requires_grad=1" in node.ty("profiled_type").str()
    fn(x, y)
    graph = jit.last_executed_optimized_graph()
    assert kinds(graph) == ["prim::RequiresGradCheck", "prim::If"]
    assert graph.findNode("prim::DifferentiableGraph") is not None
    for one, other in ((x, y), (y, x), (x, x), (y, y)):
        got, expected = fn(one, other), products(one, other)
        assert got.requires_grad == expected.requires_grad
        if expected.requires_grad:
            [found] = flambeau.autograd.grad(got.sum(), [x])
            assert flambeau.allclose(found, flambeau.autograd.grad(expected.sum(), [x])[0])
    with flambeau.no_grad():
        assert not fn(x, y).requires_grad


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        return flambeau.relu(self.norm(self.lin(x))) + 1


def test_modules() -> None:
    net = Net()
    module, x = flambeau.script(net), flambeau.randn(5, 3)
    for _ in range(3):
        module(x).sum().backward()
    assert int(net.norm.num_batches_tracked) == 3  # type: ignore[arg-type]
    module.eval()
    net.eval()
    with flambeau.no_grad():
        for rows in (5, 5, 2, 7):
            x = flambeau.randn(rows, 3)
            assert flambeau.allclose(module(x), net(x), atol=1e-6)


def test_settings_are_this_threads() -> None:
    fn, x = scripted(maybe), flambeau.ones(3)
    found: list[Any] = []

    def other() -> None:
        fn(x), fn(x)
        found.extend((_C._jit_set_profiling_executor(False), jit.last_executed_optimized_graph()))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found[0] is False
    assert found[1].findNode("prim::TypeCheck") is None
    fn(x), fn(x)
    assert jit.last_executed_optimized_graph().findNode("prim::TypeCheck") is not None


def test_threads_share_what_was_recorded() -> None:
    fn = scripted(products)
    wrong: list[Any] = []

    def work(number: int) -> None:
        with jit.fuser("fuser1"):
            for n in range(8):
                x = flambeau.full([number % 3 + 1, n + 1], float(n))
                if not flambeau.allclose(fn(x, x), products(x, x)):
                    wrong.append((number, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_off_by_default_and_out_of_the_way() -> None:
    with jit.fuser("fuser0"):
        pass
    fn, x = scripted(products), flambeau.ones(3)
    fn(x, x), fn(x, x)
    assert _C._jit_set_profiling_executor(False) is True
    assert "prim::TypeCheck" not in kinds(fn.graph_for(x, x))
    assert flambeau.allclose(fn(x, x), products(x, x))
    assert _C._jit_set_profiling_executor(True) is False
    with jit.optimized_execution(False):
        assert flambeau.allclose(fn(x, x), products(x, x))
    assert flambeau.allclose(flambeau.func.vmap(fn)(x, x), products(x, x))
    with flambeau.autocast("cpu"):
        assert flambeau.script(squared)(flambeau.ones(2, 2)).dtype == flambeau.bfloat16
    fn._debug_flush_compilation_cache()
    assert "profiled" not in fn.get_debug_state().execution_plans


def squared(x: Tensor) -> Tensor:
    return x @ x


def test_without_groups() -> None:
    fn, x = scripted(products), flambeau.ones(3)
    with jit.fuser("none"):
        assert _C._jit_texpr_fuser_enabled() is False
        for _ in range(3):
            assert flambeau.allclose(fn(x, x), products(x, x))
        assert kinds(fn.graph_for(x, x))[-3:] == ["aten::mul", "aten::tanh", "aten::add"]
    _C._jit_set_profiling_executor(False)
    with jit.fuser("fuser2"):
        assert flambeau.allclose(fn(x, x), products(x, x))
        assert "prim::FusionGroup" not in kinds(fn.graph_for(x, x))
    assert "prim::FusionGroup" in kinds(fn.graph_for(x, x))
    _C._jit_set_profiling_executor(True)


def test_reductions_may_stay_outside() -> None:
    def f(x: Tensor) -> Tensor:
        return (flambeau.tanh(x) * 2).sum() + 1

    x = flambeau.ones(3)
    for folds in (True, False):
        assert _C._jit_set_texpr_reductions_enabled(folds) is folds
        fn = scripted(f)
        fn(x), fn(x)
        assert ("aten::sum" in group_of(fn.graph_for(x))) is folds
        fn._debug_flush_compilation_cache()
    assert _C._jit_texpr_reductions_enabled() is False
    _C._jit_set_texpr_reductions_enabled(True)


def test_switches_say_what_they_do() -> None:
    assert _C._jit_get_num_profiled_runs() == 1
    with pytest.warns(UserWarning, match="bailout depth is deprecated"):
        assert _C._jit_set_bailout_depth(3) == 2
    assert _C._jit_set_fusion_strategy(TWO) == [("STATIC", 3)]
    assert _C._jit_set_profiling_mode(False) is True
    fn, x = scripted(products), flambeau.ones(3)
    assert "prim::FusionGroup" in kinds(fn.graph_for(x, x))
    assert _C._jit_set_profiling_mode(True) is False
    assert _C._get_graph_executor_optimize(False) is True
    assert _C._get_graph_executor_optimize() is False
    assert flambeau.allclose(fn(x, x), products(x, x))
    _C._set_graph_executor_optimize(True)
    assert _C._get_graph_executor_optimize() is True
    assert (_C._jit_can_fuse_on_cpu(), _C._jit_nvfuser_enabled(), _C._jit_can_fuse_on_gpu()) == (True, False, True)
    assert _C._jit_set_nvfuser_enabled(False) is False
    with pytest.warns(UserWarning, match=r"_jit_set_nvfuser_enabled\(True\) changes nothing: there is one fuser"):
        assert _C._jit_set_nvfuser_enabled(True) is False
    must = _C._jit_get_te_must_use_llvm_cpu()
    _C._jit_set_te_must_use_llvm_cpu(False)
    assert (must, _C._jit_get_te_must_use_llvm_cpu()) == (True, False)
    _C._jit_set_te_must_use_llvm_cpu(must)
    for name, first, other in (
        ("te_cuda_pointwise_block_size", -1, 256),
        ("te_generate_block_code", False, True),
        ("tracer_state_warn", True, False),
        ("logging_option", "", "dead_code_elimination"),
    ):
        get, put = getattr(_C, f"_jit_get_{name}"), getattr(_C, f"_jit_set_{name}")
        assert (get(), put(other), get(), put(first), get()) == (first, None, other, None, first)
    assert (_C._jit_set_symbolic_shapes_test_mode(True), _C._jit_set_symbolic_shapes_test_mode(False)) == (False, True)
    assert not _C._jit_symbolic_shapes_test_mode_enabled()
    with pytest.raises(ValueError, match="only supported 'STATIC' or 'DYNAMIC', got: OTHER"):
        jit.set_fusion_strategy([("OTHER", 2)])
    with pytest.raises(ValueError, match="STATIC guards are made 0 or more times, not -1"):
        jit.set_fusion_strategy([("STATIC", -1)])
    with pytest.raises(TypeError, match="a fusion strategy is a list of pairs"):
        jit.set_fusion_strategy(["STATIC"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="run and recorded 0 or more times, not -1"):
        _C._jit_set_num_profiled_runs(-1)


def test_profiles_by_lines_are_taken_as_well() -> None:
    fn, x = scripted(products), flambeau.ones(3)
    profile = jit._ScriptProfile()
    profile.enable()
    fn(x, x)
    profile.disable()
    assert any(line.hits for line in profile.lines)
    fn(x, x), fn(x, x)
    assert "prim::TypeCheck" in kinds(jit.last_executed_optimized_graph())
