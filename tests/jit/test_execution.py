"""Names by which TorchScript's users ask about compilation: each has a meaning here, or says why it has none."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.executor.executor import Executor
from flambeau.jit import _logging, _state


def plus_one(x: Tensor) -> Tensor:
    return x + 1


def doubled(x: Tensor) -> Tensor:
    return x * 2


# -- what is compiled -------------------------------------------------------------------------------------------------


def test_the_cache_can_be_looked_at_and_emptied() -> None:
    first = flambeau.script(plus_one)
    assert plus_one in _state._jit_caching_layer
    assert _state._jit_caching_layer[plus_one] is first.script_function
    assert flambeau.script(plus_one).graph is first.graph
    del _state._jit_caching_layer[plus_one]
    assert plus_one not in _state._jit_caching_layer
    assert flambeau.script(plus_one).graph is not first.graph
    for missing in (doubled.__class__, len, 3):
        assert missing not in _state._jit_caching_layer
        with pytest.raises(KeyError):
            del _state._jit_caching_layer[missing]
    assert plus_one in list(_state._jit_caching_layer)
    assert len(_state._jit_caching_layer) >= 1


def test_a_function_that_asks_not_to_be_cached_is_not() -> None:
    def f(x: Tensor) -> Tensor:
        return x

    f.__disable_jit_function_caching__ = True  # type: ignore[attr-defined]
    assert flambeau.script(f).graph is not flambeau.script(f).graph
    assert f not in _state._jit_caching_layer


def test_dropping_all_functions_leaves_those_in_use() -> None:
    first = flambeau.script(plus_one)
    unit = _state._python_cu
    assert unit.find_function(first.qualified_name) is first.script_function
    assert first.script_function in unit.get_functions()
    unit.drop_all_functions()
    assert unit.find_function(first.qualified_name) is None
    assert first(flambeau.ones(1)).tolist() == [2.0]
    assert flambeau.script(plus_one).graph is not first.graph


def test_disable_holds_for_this_thread_until_enable() -> None:
    found: list[bool] = []
    _state.disable()
    _state.disable()
    try:
        assert flambeau.script(plus_one) is plus_one  # type: ignore[comparison-overlap]
        assert flambeau.trace(plus_one, flambeau.ones(1)) is plus_one
        thread = threading.Thread(target=lambda: found.append(flambeau.script(plus_one) is plus_one))  # type: ignore[comparison-overlap]
        thread.start()
        thread.join()

        class Plain(jit.ScriptModule):
            @jit.script_method
            def forward(self, x: Tensor) -> Tensor:
                return x + 1

        assert Plain()(flambeau.ones(1)).tolist() == [2.0]
    finally:
        _state.enable()
        _state.enable()
    assert found == [False]
    assert flambeau.script(plus_one) is not plus_one  # type: ignore[comparison-overlap]


# -- what ran ---------------------------------------------------------------------------------------------------------


def test_the_graph_that_ran_last() -> None:
    one, two = flambeau.script(plus_one), flambeau.script(doubled)
    x = flambeau.ones(2, 3)
    one(x)
    two(x)
    assert jit.last_executed_optimized_graph() is two.graph_for(x)
    x = flambeau.ones(4, 3, 2)
    one(x)
    assert jit.last_executed_optimized_graph() is one.graph_for(x)


def test_a_plan_costs_the_same_however_many_functions_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    drop = Executor.drop_fast_paths
    monkeypatch.setattr(Executor, "drop_fast_paths", lambda self: (looked_at.append(self.name), drop(self)))
    x = flambeau.ones(2)
    for k in range(12):
        fn = jit.CompilationUnit(f"def f{k}(x: Tensor) -> Tensor:\n    return x * {k}.5 + 1.0\n").find_function(f"f{k}")
        assert fn is not None
        for _ in range(3):
            fn(x)
        assert jit.last_executed_optimized_graph() is fn.graph_for(x)
    assert [name for name in looked_at if name in ("f0", "f1", "f2")] == ["f0", "f1", "f2"], "each once"


def test_where_the_last_graph_cannot_be_told() -> None:
    def other(x: Tensor) -> Tensor:
        return x - 1

    one, two = flambeau.script(plus_one), flambeau.script(other)
    for _ in range(4):
        one(flambeau.ones(2))
    two(flambeau.ones(2))
    for _ in range(4):
        one(flambeau.ones(2))
    assert jit.last_executed_optimized_graph() is one.graph_for(flambeau.ones(2))  # the first came through Python
    two(flambeau.ones(2))
    with pytest.raises(RuntimeError, match=r"cannot tell which function ran last, .*plus_one.*fn.graph_for\(\*args\)"):
        jit.last_executed_optimized_graph()
    errors: list[str] = []

    def ask() -> None:
        try:
            jit.last_executed_optimized_graph()
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert errors[0].startswith("no compiled function has run in this thread")


def test_unoptimised_execution_is_for_a_block() -> None:
    def f(x: Tensor) -> Tensor:
        return (x + 1) * 2

    scripted = flambeau.script(f)
    x = flambeau.ones(3)
    with jit.optimized_execution(False):
        assert scripted(x).tolist() == [4.0] * 3
        assert not scripted._executor.plans
        with jit.optimized_execution(True):
            scripted(x)
        assert len(scripted._executor.plans) == 1
    assert scripted(x).tolist() == [4.0] * 3


def test_names_of_fusers() -> None:
    x = flambeau.ones(1)
    for name in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        with jit.fuser(name):
            assert [flambeau.script(plus_one)(x).tolist() for _ in range(3)] == [[2.0]] * 3
    unknown = r"unrecognized fuser option \(name: f\): there are 'fuser0' to 'fuser3', and 'none'"
    with pytest.raises(RuntimeError, match=unknown), jit.fuser("f"):
        pass
    with pytest.warns(UserWarning, match="about the profiling executor, which is off in this thread"):
        before = jit.set_fusion_strategy([("STATIC", 2)])
    assert before == [("STATIC", 2), ("DYNAMIC", 10)]
    with jit.fuser("fuser1"):
        assert jit.set_fusion_strategy(before) == [("STATIC", 2)]


def test_graphs_without_source_ranges() -> None:
    graph = flambeau.script(plus_one).graph
    assert "test_execution.py" in str(graph)
    with jit._hide_source_ranges():
        assert "test_execution.py" not in str(graph)
        assert "#" not in str(next(graph.nodes()))
    assert "test_execution.py" in str(graph)


# -- what there is ----------------------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 3)
        self.same = self.lin

    def forward(self, x: Tensor) -> Tensor:
        waiting = jit.fork(plus_one, x)
        return flambeau.relu(self.lin(x)) + x.sum() * len([1]) + jit.wait(waiting).mean()


def test_names_of_operators() -> None:
    names = jit.export_opnames(flambeau.script(Net()))
    expected = ["aten::add.Scalar", "aten::add.Tensor", "aten::len.t", "aten::linear", "aten::mean", "aten::mul.Scalar"]
    assert names == [*expected, "aten::relu", "aten::sum"]
    with pytest.raises(TypeError, match="takes a scripted or traced module or function, not a Net; script it first"):
        jit.export_opnames(Net())  # type: ignore[arg-type]


def test_names_of_operators_that_constants_rule_out() -> None:
    assert jit.export_opnames(flambeau.script(nn.ReLU())) == ["aten::relu"]
    assert jit.export_opnames(flambeau.script(nn.ReLU(inplace=True))) == ["aten::relu_"]


def test_each_tensor_once() -> None:
    net = Net()
    assert sorted(net.state_dict()) == ["lin.bias", "lin.weight", "same.bias", "same.weight"]
    unique = jit._unique_state_dict(net)
    assert sorted(unique) == ["lin.bias", "lin.weight"]
    assert not isinstance(unique["lin.bias"], nn.Parameter)
    assert jit._unique_state_dict(net, keep_vars=True)["lin.bias"] is net.lin.bias


def counted(n: int) -> int:
    start = _logging.time_point()
    for i in range(n):
        _logging.add_stat_value("rounds", i)
    return _logging.time_point() - start


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_counters(backend: Any) -> None:
    counters = _logging.LockingLogger()
    before = _logging.set_logger(counters)
    try:
        scripted = flambeau.script(counted, backend=backend)
        for _ in range(3):
            assert scripted(5) >= 0
        assert counters.get_counter_val("rounds") == 30
        assert counted(5) >= 0
        counters.set_aggregation_type("rounds", _logging.AggregationType.AVG)
        assert counters.get_counter_val("rounds") == 2
        assert counters.get_counter_val("other") == 0
        _logging.add_stat_value("below", -3)
        _logging.add_stat_value("below", -4)
        counters.set_aggregation_type("below", _logging.AggregationType.AVG)
        assert counters.get_counter_val("below") == -3
    finally:
        assert _logging.set_logger(before) is counters
    assert before.get_counter_val("rounds") == 0


def test_trees_by_name() -> None:
    tree = jit.frontend.get_jit_def(plus_one, "other")
    assert tree.name == "other"
    assert str(tree).startswith("(def\n  (ident other)")
    assert issubclass(jit.frontend.UnsupportedNodeError, jit.frontend.NotSupportedError)
    with pytest.raises(jit.frontend.FrontendError, match="expected a Python function"):
        jit.frontend.get_jit_def(3)
