"""Traces do what the function does, stay open in sizes, and guard what Python learned."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.errors import GuardError, TracerWarning


def t(*values: float) -> Tensor:
    return flambeau.tensor(list(values))


def test_records_operators_and_stays_open_in_sizes() -> None:
    traced = flambeau.trace(lambda x: (x * 2 + 1).reshape(x.shape[0] * x.shape[1]), flambeau.ones(2, 3))
    assert traced(flambeau.zeros(4, 5)).shape == (20,)
    assert "aten::size" in str(traced.graph)


def test_each_node_has_its_constants_before_it() -> None:
    """Function constants of calls too, of which there is one at each call."""
    twice = flambeau.script(flambeau.nn.functional.relu)
    kinds = [n.op for n in flambeau.trace(lambda x: twice(twice(x)).sum([0]), flambeau.ones(2, 2)).graph.nodes()]
    calls = ["prim::Constant"] * 2 + ["prim::CallFunction"]
    assert kinds[:6] == calls * 2
    assert kinds[6:] == ["prim::Constant", "prim::ListConstruct", "prim::Constant", "prim::Constant", "aten::sum"]


@pytest.mark.parametrize("fn", [lambda x: 2 * x, lambda x: 2 + x, lambda x: 2.5 * x, lambda x: True * x])
def test_numbers_before_tensors_have_no_dtype_of_their_own(fn: Any) -> None:
    """Of a tensor without axes, the result has its dtype after saving and loading too."""
    x = flambeau.tensor(3, dtype=flambeau.int32)
    traced = flambeau.trace(fn, x)
    buffer = io.BytesIO()
    flambeau.jit.save(traced, buffer)
    buffer.seek(0)
    loaded = flambeau.jit.load(buffer)
    assert "CONSTANTS" not in traced.code
    assert loaded(x).dtype == traced(x).dtype == fn(x).dtype
    assert loaded(x) == fn(x)


def branchy(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x + 1
    return x - 1


def test_a_branch_warns_at_its_line_and_is_guarded() -> None:
    with pytest.warns(TracerWarning, match="a Python boolean") as seen:
        traced = flambeau.trace(branchy, t(1.0, 2.0))
    line = branchy.__code__.co_firstlineno + 1
    assert (seen[0].filename, seen[0].lineno) == (__file__, line)
    assert traced(t(3.0, 4.0)).tolist() == [4.0, 5.0]
    with pytest.raises(GuardError, match=rf"test_trace\.py:{line} to True"):
        traced(t(-3.0, 1.0))
    assert [b.what for b in traced.baked] == ["a Python boolean"]


def test_without_guards_the_branch_stays_fixed() -> None:
    with pytest.warns(TracerWarning, match="Nothing guards it"):
        traced = flambeau.trace(branchy, t(1.0), guard=False)
    assert traced(t(-3.0)).tolist() == [-2.0]


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (lambda x: x * int(x.sum()), "a Python integer"),
        (lambda x: x * float(x.max()), "a Python float"),
        (lambda x: complex(x.max()) * x, "a Python complex number"),
        (lambda x: (x * 1j).sum().item() * x, "a Python number"),
        (lambda x: x * x.sum().item(), "a Python number"),
        (lambda x: x * len(x.tolist()), "a Python list"),
        (lambda x: x + x.numpy().sum(), "a NumPy array"),
        (lambda x: x.expand(2, 3) if x.shape[0] == 3 else x, "a comparison"),
        (lambda x: sum(x * i for i in range(x.shape[0])), "a Python index"),
        (lambda x: x + 1 if 1.0 in x else x, "a Python boolean"),
        (lambda x: x * len(x), "a Python integer"),
        (lambda x: sum(row for row in x) + x, "Iterating over a tensor fixes the number of rows"),
        (lambda x: x + 1 if flambeau.equal(x, x * 1) else x - 1, "a Python boolean"),
        (lambda x: x[: int(x.sum())], "a Python integer"),
    ],
)
def test_what_python_learns_is_named_and_guarded(take: Any, what: str) -> None:
    with pytest.warns(TracerWarning, match=what):
        traced = flambeau.trace(take, t(1.0, 2.0, 3.0))
    assert traced(t(1.0, 2.0, 3.0)).tolist() == take(t(1.0, 2.0, 3.0)).tolist()
    assert any(is_refused(traced, x) for x in (t(5.0, 2.0, 3.0), t(1.0, 2.0), t(0.0, float("nan"), 3.0)))


def test_the_error_is_found_by_the_name_that_messages_have() -> None:
    package, _, name = GuardError.name.partition(".")
    assert getattr(sys.modules[package], name) is GuardError


def is_refused(traced: Any, x: Tensor) -> bool:
    try:
        traced(x)
    except GuardError as error:
        assert "the trace fixed" in str(error)  # noqa: PT017
        return True
    return False


def test_no_warning_without_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flambeau.trace(lambda x: flambeau.cat([x, x.t()], 0).view(-1, x.size(1)).softmax(1), flambeau.ones(3, 3))


def test_in_place_and_views() -> None:
    def write(x: Tensor) -> Tensor:
        y = x.clone()
        y[0] = 7.0
        y[:, 1].add_(1)
        return y

    traced = flambeau.trace(write, flambeau.zeros(2, 3))
    x = flambeau.ones(3, 4)
    assert traced(x).tolist() == write(x).tolist()


def test_inputs_of_every_structure() -> None:
    def mix(
        pair: tuple[Tensor, Tensor], rows: list[Tensor], table: dict[str, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return pair[0] + rows[1], (table["a"] * 2, pair[1])

    given = ((t(1.0), t(2.0)), [t(3.0), t(4.0)], {"a": t(5.0)})
    traced = flambeau.trace(mix, given)
    other = ((t(10.0), t(20.0)), [t(30.0), t(40.0)], {"a": t(50.0)})
    first, (second, third) = traced(*other)
    assert [first.item(), second.item(), third.item()] == [50.0, 100.0, 20.0]


def test_modules_keep_their_parameters() -> None:
    layer = nn.Linear(3, 2)
    traced = flambeau.trace(layer, flambeau.ones(1, 3))
    assert 'prim::GetAttr[name="weight"]' in str(traced.graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.weight.detach().mul_(2.0)
    x = flambeau.randn(4, 3)
    np.testing.assert_allclose(traced(x).detach().numpy(), layer(x).detach().numpy(), rtol=1e-6)
    assert list(traced.state_dict()) == ["weight", "bias"]


def test_scripts_inside_traces_keep_their_control_flow() -> None:
    scripted = flambeau.script(branchy)
    traced = flambeau.trace(lambda x: scripted(x) * 2, t(1.0))
    assert "prim::CallFunction" in str(traced.graph)
    assert traced(t(-3.0)).tolist() == [-8.0]


def test_numbers_cannot_be_traced() -> None:
    with pytest.raises(RuntimeError, match=r"Type 'Tuple\[Tensor, int\]' cannot be traced"):
        flambeau.trace(lambda x, n: x * n, (t(1.0), 2))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: 3, "can be output from traced functions, got a int"),
        (lambda x: {"a": x}, "Encountering a dict at the output"),
    ],
)
def test_outputs_that_cannot_be_traced(result: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flambeau.trace(result, t(1.0))


def test_lists_at_the_output_warn() -> None:
    with pytest.warns(TracerWarning, match="cause the trace to be incorrect"):
        traced = flambeau.trace(lambda x: [x, x + 1], t(1.0))
    assert [v.item() for v in traced(t(5.0))] == [5.0, 6.0]


def test_random_results_are_not_compared() -> None:
    with pytest.warns(TracerWarning, match="Trace had nondeterministic nodes"):
        flambeau.trace(lambda x: x + flambeau.rand_like(x), t(1.0))


def test_a_graph_that_changes_between_runs_is_refused() -> None:
    calls: list[int] = []

    def changing(x: Tensor) -> Tensor:
        calls.append(1)
        return x + 1 if len(calls) % 2 else x * 2

    with pytest.raises(flambeau.jit.TracingCheckError, match="Graphs differed across invocations!"):
        flambeau.trace(changing, t(1.0))


def test_captured_tensors_that_need_gradients_are_refused() -> None:
    w = flambeau.ones(1).requires_grad_()
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        flambeau.trace(lambda x: x * w, t(1.0))


def test_sizes_are_operands_of_operators() -> None:
    def sizes(x: Tensor) -> tuple[Tensor, ...]:
        n = x.shape[0]
        return x * n, n - x, x / n, x + 2 * n, n**x, x**n, x == n

    traced = flambeau.trace(sizes, flambeau.ones(3))
    assert traced.baked == []
    for n in (2, 5):
        x = flambeau.arange(n, dtype=flambeau.float32)
        for want, got in zip(sizes(x), traced(x), strict=True):
            assert flambeau.equal(want, got)


def test_constants_have_the_types_of_their_values() -> None:
    """A list of dimensions, a device and a dtype are given where None is possible: their constants cannot be None."""
    traced = flambeau.trace(lambda x: x.sum([0]) + flambeau.zeros(2, device="cpu"), flambeau.ones(2, 2))
    types = {str(v.static_type) for n in traced.graph.nodes() for v in n.results}
    assert {"int[]", "Device"} <= types
    assert not [t for t in types if "?" in t]


def test_of_a_matrix_it_is_the_sum_of_the_diagonal() -> None:
    assert flambeau.trace(flambeau.eye(3)).item() == 3

    @flambeau.script
    def program(x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.trace(x) * 2

    assert program(flambeau.eye(3)).item() == 6
