"""What goes into a trace, what comes out, and how a trace is checked."""

from __future__ import annotations

import itertools
import threading
import warnings
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import TracingCheckError
from flambeau.util.errors import TracerWarning

X = flambeau.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def names(traced: Any) -> list[str]:
    return [v.name for v in traced.graph.parameters]


def test_parameters_have_the_names_of_the_function() -> None:
    def add(first: Tensor, second: Tensor, scale: float = 2.0, *, other: Any = None, **rest: Any) -> Tensor:
        return first + second * scale + sum(rest.values())

    traced = flambeau.trace(add, [X, X])
    assert names(traced) == ["first", "second"]
    assert traced(second=X * 2, first=X).tolist() == (X * 5).tolist()
    traced = flambeau.trace(add, X, example_kwarg_inputs={"more": X, "second": X})
    assert names(traced) == ["first", "second", "more"]
    assert traced(X, second=X, more=X).tolist() == (X * 4).tolist()
    with pytest.raises(RuntimeError, match="missing value for argument 'second'"):
        traced(X, more=X)


def test_dicts_are_taken_by_their_keys() -> None:
    traced = flambeau.trace(lambda d: d["a"] - d["b"], {"a": X, "b": X})
    assert traced({"c": X, "b": X, "a": X * 3}).tolist() == (X * 2).tolist()
    with pytest.raises(RuntimeError, match="KeyError: b"):
        traced({"a": X})


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


def test_named_tuples_have_their_fields() -> None:
    traced = flambeau.trace(lambda p, q: p.a - p.b + q[0][0], (Pair(X * 2, X), ([X],)))
    assert traced(Pair(X * 5, X), ([X],)).tolist() == (X * 5).tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((X, 3), r"Type 'Tuple\[Tensor, int\]' cannot be traced"),
        (("text",), r"Type 'Tuple\[str\]' cannot be traced"),
        (([],), "List trace inputs must have elements"),
        (({},), "Dictionary inputs must have entries"),
        (([X, (X,)],), "consistent"),
        (({"a": X, "b": [X]},), "consistent"),
        (({None: X},), "must all be strings"),
    ],
)
def test_inputs_that_cannot_be_traced(given: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flambeau.trace(lambda *args: X, given)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: None, "The traced function didn't return any values! Side-effects are not captured in traces"),
        (lambda x: (x, 3), "can be output from traced functions, got a int"),
        (lambda x: [[x]], "can be output from traced functions, got a list of list"),
        (lambda x: [], "can be output from traced functions, got a list"),
        (lambda x: {"a": x}, "Encountering a dict at the output"),
    ],
)
def test_outputs_that_cannot_be_traced(result: Any, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        with pytest.raises(RuntimeError, match=message):
            flambeau.trace(result, X)


def test_dicts_at_the_output() -> None:
    def both(x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        return {"a": (x, x + 1), "b": (x, x)}

    traced = flambeau.trace(both, X, strict=False)
    assert traced(X * 2)["a"][1].tolist() == (X * 2 + 1).tolist()
    for bad in ({"a": 3}, {1: X}, {"a": X, "b": (X, X)}):
        with pytest.raises(RuntimeError, match="cannot be understood by the tracer, only outputs matching"):
            flambeau.trace(lambda x, bad=bad: bad, X, strict=False)


def test_inputs_given_back_and_outputs_given_twice() -> None:
    def twice(x: Tensor, unused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = x + 1
        return y, x, y

    a, b, c = flambeau.trace(twice, (X, X))(X * 2, X)
    assert a.tolist() == c.tolist() == (X * 2 + 1).tolist()
    assert b.tolist() == (X * 2).tolist()


def test_inputs_stay_what_they_are_while_tracing() -> None:
    def writes(x: Tensor) -> Tensor:
        x.mul_(2)
        return x + 1

    x = X.clone()
    traced = flambeau.trace(writes, x)
    assert x.tolist() == X.tolist()
    assert traced(x).tolist() == (X * 2 + 1).tolist()
    assert x.tolist() == (X * 2).tolist()


# -- checks -----------------------------------------------------------------------------------------------------------


def test_other_inputs_that_need_another_graph() -> None:
    def absolute(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        flambeau.trace(absolute, X, check_inputs=[X * 2, (X[:1],)])
        with pytest.raises(TracingCheckError, match="Graphs differed across invocations!"):
            flambeau.trace(absolute, X, check_inputs=[-X])
        flambeau.trace(absolute, X, check_inputs=[-X], check_trace=False)


def test_constants_that_change() -> None:
    numbers = itertools.count()

    def counting(x: Tensor) -> Tensor:
        return x + flambeau.tensor([float(next(numbers))])

    with pytest.raises(TracingCheckError, match="Tensor-valued Constant nodes differed in value across invocations"):
        flambeau.trace(counting, X)


def test_results_that_differ_warn() -> None:
    calls = itertools.count()

    def changing(x: Tensor) -> Tensor:
        return x + 1 if next(calls) < 2 else x + 2

    with pytest.warns(TracerWarning, match=r"Output nr 1\. of the traced function does not match the corresponding"):
        flambeau.trace(changing, X)


def test_what_is_compiled_already_comes_back() -> None:
    traced = flambeau.trace(lambda x: x + 1, X)
    with pytest.warns(UserWarning, match="already a ScriptFunction, tracing it is a no-op"):
        assert flambeau.trace(traced, X) is traced
    module = flambeau.trace(nn.ReLU(), X)
    with pytest.warns(UserWarning, match="already a ScriptModule"):
        assert flambeau.trace(module, X) is module


def test_what_nobody_can_call_is_refused() -> None:
    for value, kind in ((3, "int"), (X.shape, "Size"), ("relu", "str")):
        with pytest.raises(TypeError, match=f"takes a function or a module, not a {kind}: it is run once, with"):
            flambeau.trace(value, X)  # type: ignore[call-overload]


def test_backward_hooks_are_refused() -> None:
    layer = nn.Linear(3, 3)
    vars(layer)["_backward_hooks"] = {0: print}
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind, match="backward hooks assigned"):
            flambeau.trace(nn.Sequential(layer), X)


# -- nodes ------------------------------------------------------------------------------------------------------------


def kinds(traced: Any) -> list[str]:
    return [n.op for n in traced.graph.nodes() if n.op.startswith("aten::")]


def test_nodes_are_those_of_other_tracers() -> None:
    assert kinds(flambeau.trace(lambda x: (x * 2).detach_(), X)) == ["aten::mul", "aten::detach"]
    assert kinds(flambeau.trace(lambda x: x.data * 2, X)) == ["aten::detach", "aten::mul"]
    assert kinds(flambeau.trace(lambda x: x.double().int(), X)) == ["aten::to", "aten::to"]
    assert kinds(flambeau.trace(lambda x: x.clone().add_(1), X)) == ["aten::clone", "aten::add_"]
    assert kinds(flambeau.trace(lambda x: x.clone().add_(1), X, _force_outplace=True)) == ["aten::clone", "aten::add"]


def test_assignments_follow_sizes() -> None:
    def assigned(x: Tensor, i: Tensor) -> Tensor:
        y = x.clone()
        y[i] = 1.0
        y[..., -1] = y[0, 0]
        y[1:] = x[0]
        return y

    traced = flambeau.trace(assigned, (X, flambeau.tensor([0, 1])))
    x = flambeau.arange(20.0).reshape(4, 5)
    i = flambeau.tensor([3])
    assert traced(x, i).tolist() == assigned(x, i).tolist()


def test_threads_trace_for_themselves() -> None:
    found: list[Any] = []

    def work(n: int) -> None:
        traced = flambeau.trace(lambda x: x * x.shape[0] + n, X)
        found.append((n, traced(flambeau.ones(5)).tolist() == [5.0 + n] * 5, traced.baked))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(n, True, []) for n in range(4)]


def test_traces_are_python_while_compilation_is_disabled() -> None:
    def absolute(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    class Layer(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return absolute(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        traced, layer = flambeau.trace(absolute, X), flambeau.trace(Layer(), X)
    with flambeau.disabled():
        assert traced(-X).tolist() == layer(-X).tolist() == X.tolist()
        assert flambeau.trace(absolute, X) is absolute
        module = Layer()
        assert flambeau.trace(module, X) is flambeau.jit.trace_module(module, {"forward": X}) is module
        assert flambeau.jit.freeze(module) is flambeau.jit.optimize_for_inference(module) is module
        flambeau.jit.run_frozen_optimizations(module)
    with pytest.raises(flambeau.jit.GuardError):
        traced(-X)


def test_programs_can_ask_whether_they_are_traced() -> None:
    asked: list[bool] = []

    def asking(x: Tensor) -> Tensor:
        asked.append(flambeau.jit.is_tracing())
        return x + 1

    flambeau.trace(asking, X)
    assert asked == [True, True, False]


def test_force_outplace() -> None:
    """In-place operators become others; a copy becomes what is copied, as large as what it went to."""
    x = flambeau.ones(2, 3)

    def copies(x: Tensor, y: Tensor) -> Tensor:
        return x.clone().copy_(y) * 2

    traced = flambeau.trace(copies, (x, flambeau.ones(3)), _force_outplace=True)
    assert [n.op for n in traced.graph.nodes() if n.op in ("aten::copy_", "aten::expand_as")] == ["aten::expand_as"]
    y = flambeau.tensor([1.0, 2.0, 3.0])
    assert traced(flambeau.zeros(4, 3), y).tolist() == (y * 2).expand(4, 3).tolist()

    def writes_to_a_view(x: Tensor) -> Tensor:
        x = x.clone()
        x[0].add_(1)
        return x

    with pytest.warns(flambeau.jit.TracerWarning, match="live references to the data region being modified"):
        flambeau.trace(writes_to_a_view, x, _force_outplace=True, check_trace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flambeau.trace(lambda x: x.clone().add_(1), x, _force_outplace=True)
        flambeau.trace(writes_to_a_view, x)


def test_inputs_by_name_are_in_the_order_of_the_parameters() -> None:
    def minus(a: Tensor, b: Tensor, *, k: Tensor | None = None) -> Tensor:
        return a - b if k is None else a - b * k

    one, two = flambeau.ones(2), flambeau.ones(2) * 2
    traced = flambeau.trace(minus, example_kwarg_inputs={"b": one, "a": two})
    assert [v.name for v in traced.graph.parameters] == ["a", "b"]
    assert traced(two, one).tolist() == traced(b=one, a=two).tolist() == [1.0, 1.0]
    traced = flambeau.trace(minus, example_kwarg_inputs={"k": two, "b": one, "a": two})
    assert traced(a=two, b=one, k=one).tolist() == [1.0, 1.0]

    class Minus(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return a - b

    given = {"forward": {"b": one, "a": two}}
    module = flambeau.jit.trace_module(Minus(), given, example_inputs_is_kwarg=True)
    assert module(two, one).tolist() == [1.0, 1.0]


def test_numbers_as_keys() -> None:
    traced = flambeau.trace(lambda d: d[1] - d[2], {1: X, 2: X})
    assert traced({2: X, 1: X * 3}).tolist() == (X * 2).tolist()
    with pytest.raises(RuntimeError, match="must all be strings, or all ints, floats or bools"):
        flambeau.trace(lambda d: d[1], {1: X, "a": X})


def test_sizes_are_given_as_tensors() -> None:
    traced = flambeau.trace(lambda x: (x.numel(), x.size(0) * 2, x), X)
    count, double, _ = traced(flambeau.ones(4, 5))
    assert (count.item(), double.item(), count.dtype) == (20, 8, flambeau.int64)
    assert flambeau.trace(lambda x: x.numel(), X)(X).item() == 6
    assert flambeau.jit.get_trace_graph(lambda x: x.numel(), X)[1].item() == 6
    with pytest.raises(RuntimeError, match="Only tensors, lists, tuples of tensors"):
        flambeau.trace(lambda x: 3, X)


def test_inputs_of_the_graph_come_back() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)
            self.w = nn.Parameter(flambeau.ones(3))
            self.register_buffer("b", flambeau.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x * self.w + self.b)  # type: ignore[no-any-return]

    graph, out, inputs = flambeau.jit.get_trace_graph(Scaled(), X, return_inputs=True)
    assert [v.name for v in graph.parameters] == ["x", "w", "b", "inner_weight", "inner_bias"]
    assert [tuple(t.shape) for t in inputs] == [(2, 3), (3,), (3,), (3, 3), (3,)]
    assert flambeau._C._jit_interpret_graph(graph, inputs).tolist() == out.tolist()
