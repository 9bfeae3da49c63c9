"""What the compiler made of an archive, read back by whoever loads the same archive again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.executor.parameter_promotion import Promotion
from flambeau.executor.plan import ExecutionPlan
from flambeau.ir import Graph
from tests.serialize.handmade import never_as_written


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))
    never_as_written(monkeypatch)


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.linspace(-1.0, 1.0, width))

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.tanh(x * self.weight) + 1.0


class Net(nn.Module):
    def __init__(self, width: int = 4, count: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(width) for _ in range(count)])
        self.rounds = count

    def forward(self, x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        for layer in self.layers:
            x = layer(x) * y
        for _ in range(self.rounds):
            x = x / 2
        return x.sum(-1)


class Guarded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.limit = 3

    def forward(self, x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        if x.dim() > self.limit:
            raise ValueError("too many axes")
        return self.net(x, y)


def saved(module: nn.Module) -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(module), stream)
    return stream.getvalue()


def loaded(content: bytes) -> Any:
    return flambeau.jit.load(io.BytesIO(content))


def plan_of(module: Any) -> ExecutionPlan:
    return module.forward._executor.plans[-1]


def is_read(plan: ExecutionPlan) -> bool:
    return "read from the cache" in dict(plan.stages)


X, Y = flambeau.arange(8.0).reshape(2, 4), flambeau.ones(2, 4)


def test_the_second_to_load_an_archive_reads_its_plan() -> None:
    content = saved(Net())
    first, second = loaded(content), loaded(content)
    with flambeau.no_grad():
        expected = first(X, Y)
        assert flambeau.equal(second(X, Y), expected)
    assert not is_read(plan_of(first))
    assert is_read(plan_of(second))
    assert str(plan_of(second).graph) == str(plan_of(first).graph)
    assert not second.forward.script_function.is_compiled, "the code was compiled, though nothing needs it"
    assert "read from the cache" in str(second.forward.explain())


def test_other_arguments_attributes_and_programs_have_plans_of_their_own() -> None:
    content = saved(Net())
    with flambeau.no_grad():
        loaded(content)(X, Y)
        other = loaded(content)
        assert other(X.double(), Y).dtype is flambeau.float64
        assert not is_read(plan_of(other))
        fewer = loaded(saved(Net(count=2)))
        assert flambeau.equal(fewer(X, Y), Net(count=2)(X, Y))
        assert not is_read(plan_of(fewer))
        flambeau.set_default_dtype(flambeau.float64)
        try:
            under_another_default = loaded(content)
            under_another_default(X, Y)
            assert not is_read(plan_of(under_another_default))
        finally:
            flambeau.set_default_dtype(flambeau.float32)


class Switched(nn.Module):
    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return nn.functional.dropout(x, 0.5, self.training) + 1.0


def test_a_mode_that_is_written_into_the_plan_is_told_apart() -> None:
    content = saved(Switched())
    with flambeau.no_grad():
        for training in (False, True, False, True):
            module = loaded(content).train(training)
            assert flambeau.equal(module(X), X + 1.0) is not training


class Remembers(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.sum = flambeau.zeros(4)
        self.p = p

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        self.sum = self.sum + nn.functional.dropout(x, self.p, self.training).sum(0)
        return self.sum * 2.0


@pytest.mark.parametrize("training", [False, True])
def test_whether_a_method_that_assigns_needs_its_object_is_read(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(Remembers(1.0))
    first, second = loaded(content).train(training), loaded(content).train(training)
    with flambeau.no_grad():
        expected = [first(X), first(X)]
        monkeypatch.setattr(Promotion, "_specialised", lambda *_: pytest.fail("a graph was made anew"))
        assert all(flambeau.equal(second(X), one) for one in expected)
        assert flambeau.equal(second.sum, first.sum)
    assert (second.forward._seen.native is None) == training


def traced(table: flambeau.Tensor) -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.trace(lambda x: x * table + table.sum(), (X,)), stream)
    return stream.getvalue()


def test_constants_are_part_of_the_program() -> None:
    for table in (flambeau.ones(4), flambeau.full((4,), 2.0), flambeau.ones(4)):
        assert flambeau.equal(loaded(traced(table))(X), X * table + table.sum())


def test_gradients_are_those_of_a_first_run() -> None:
    content = saved(Net())
    gradients, results = [], []
    for _ in range(2):
        module, x = loaded(content), X.clone().requires_grad_()
        module(x, Y).sum().backward()
        gradients.append([x.grad, *(p.grad for p in module.parameters())])
        results.append(module)
        (again,) = flambeau.autograd.grad(module(x, Y).sum(), x, create_graph=True)
        gradients[-1] += flambeau.autograd.grad(again.sum(), x)
    for cold, warm in zip(*gradients, strict=True):
        assert flambeau.equal(cold, warm)
    halves = [m.forward._executor.derivatives.gradient_plans[0] for m in results]
    assert str(halves[1].backward.graph) == str(halves[0].backward.graph)
    made, read = (h.backward.runner.plans[-1] for h in halves)
    assert is_read(read)
    assert not is_read(made)


def test_errors_are_those_of_a_first_run() -> None:
    content, texts = saved(Guarded()), []
    with flambeau.no_grad():
        loaded(content)(X, Y)
    for _ in range(2):
        for arguments in ((flambeau.ones(1, 1, 1, 4), Y), (flambeau.ones(2, 3), Y), (X,)):
            with pytest.raises((RuntimeError, ValueError, TypeError)) as caught, flambeau.no_grad():
                loaded(content)(*arguments)
            texts.append(f"{type(caught.value)} {caught.value}")
    assert texts[:3] == texts[3:]
    assert "too many axes" in texts[0]
    assert "x * self.weight" in texts[1]


def test_a_graph_that_was_changed_is_not_read() -> None:
    content = saved(Net())
    with flambeau.no_grad():
        expected = loaded(content)(X, Y)
        changed = loaded(content)
        for node in changed.layers[0].forward.graph.find_all("aten::tanh"):
            node.set_op("aten::neg")
        x, weight = X, Net().layers[0].weight
        for _ in range(3):  # the layers are of one class
            x = (-(x * weight) + 1.0) * Y
        assert flambeau.allclose(changed(X, Y), x.div(8).sum(-1))
        assert flambeau.equal(loaded(content)(X, Y), expected)


def test_what_a_graph_is_changed_to_runs_in_the_place_of_a_plan_that_was_read() -> None:
    content = saved(Net())
    with flambeau.no_grad():
        expected = loaded(content)(X, Y)
        module = loaded(content)
        module(X, Y)
    assert is_read(plan_of(module))
    with flambeau.no_grad():
        _negate(module.graph)
        assert flambeau.equal(module(X, Y), -expected)
        _negate(module.layers[1].graph)
        changed = module(X, Y)
        assert not flambeau.allclose(changed, -expected)
        _negate(module.layers[1].graph)
        assert flambeau.allclose(module(X, Y), -expected)
        assert flambeau.equal(loaded(content)(X, Y), expected)


def _negate(graph: Graph) -> None:
    """Have a graph give the negative of what it gives."""
    negative = graph.insert("aten::neg", graph.returns).result()
    graph.body.remove_return(0)
    graph.body.add_return(negative)


class Twice(nn.Module):
    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.tanh(flambeau.tanh(x))


def test_kernels_of_users_are_seen() -> None:
    from flambeau.library import Library

    content = saved(Twice())
    expected = loaded(content)(X)
    library = Library("aten", "IMPL")
    library.impl("tanh", lambda x: x + 100.0, "CPU")
    try:
        assert flambeau.equal(loaded(content)(X), X + 200.0)
    finally:
        library._destroy()
    assert flambeau.equal(loaded(content)(X), expected)


def test_kernels_for_operators_of_users_change_nothing() -> None:
    from flambeau.library import Library

    library = Library("shelved", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    content = saved(Net())
    with flambeau.no_grad():
        for expected in (False, True):
            module = loaded(content)
            module(X, Y)
            assert is_read(plan_of(module)) is expected
    library._destroy()


def test_a_broken_entry_is_made_again(tmp_path: Path) -> None:
    content = saved(Net())
    with flambeau.no_grad():
        expected = loaded(content)(X, Y)
        for path in (tmp_path / "cache").rglob("*.object"):
            path.write_bytes(path.read_bytes()[:-40])
        module = loaded(content)
        assert flambeau.equal(module(X, Y), expected)
        assert not is_read(plan_of(module))


class Talks(nn.Module):
    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        flambeau.save(x, "/proc/nonexistent/file")
        return x


def test_what_may_reach_the_world_is_asked_each_time() -> None:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(Talks()), stream)
    content = stream.getvalue()
    allowed = flambeau.jit.load(io.BytesIO(content), allow=["aten::save"])
    with pytest.raises(RuntimeError, match="Parent directory /proc/nonexistent does not exist"):
        allowed(X)
    with pytest.raises(flambeau.jit.ArchiveError, match="reaches outside of its memory"):
        loaded(content)(X)


def test_kernels_that_were_lowered_and_scheduled_once_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(Net())
    with flambeau.no_grad():
        expected = loaded(content)(X, Y)
        refuse_work(monkeypatch)
        again = loaded(content)
        assert flambeau.equal(again(X, Y), expected)
    assert is_read(plan_of(again))
    called = [kernel for kernel in plan_of(again).kernels if kernel.is_read or kernel.calls]
    assert called
    assert all(kernel.state == "native" for kernel in called)


def refuse_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lowers or schedules from now on fails."""

    def refused(*arguments: Any, **keywords: Any) -> Any:
        raise AssertionError("it was made before")

    monkeypatch.setattr("flambeau.executor.fused.lower_graph", refused)
    monkeypatch.setattr("flambeau.codegen.schedules._scheduled", refused)


def test_calls_of_another_pattern_find_kernels_of_their_own() -> None:
    content = saved(Net())
    wide, narrow = flambeau.arange(16.0).reshape(4, 4).t().contiguous().t(), flambeau.ones(1, 4)
    with flambeau.no_grad():
        loaded(content)(X, Y)
        for x, y in ((X, Y), (wide, flambeau.ones(4, 4)), (wide, narrow), (X[:0], Y[:0])):
            assert flambeau.allclose(loaded(content)(x, y), Net()(x, y))


def test_kernels_that_cannot_be_read_are_made_again(tmp_path: Path) -> None:
    content = saved(Net())
    with flambeau.no_grad():
        expected = loaded(content)(X, Y)
        for entry in (tmp_path / "cache").rglob("*.object"):
            entry.write_bytes(entry.read_bytes()[:-3])
        assert flambeau.equal(loaded(content)(X, Y), expected)
