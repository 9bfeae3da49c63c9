"""What Python asks about tensors in a trace: ranks and dtypes are guarded without a word, sizes stay open."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.errors import GuardError, TracerWarning


def ones(*sizes: int) -> Tensor:
    return flambeau.ones(*sizes)


def quietly(function: Any, *inputs: Tensor, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return flambeau.trace(function, inputs, **options)


@pytest.mark.parametrize(
    ("ask", "what", "other"),
    [
        (lambda x: x + 1 if x.dim() == 2 else x, "the number of dimensions", ones(2)),
        (lambda x: x + 1 if x.ndim == 2 else x, "the number of dimensions", ones(2)),
        (lambda x: x + len(x.shape), "the number of dimensions", ones(2, 3, 4)),
        (lambda x: x.reshape([*x.shape, 1]), "the number of dimensions", ones(2, 3, 4)),
        (lambda x: flambeau.zeros(x.shape[:-1]), "the number of dimensions", ones(2, 3, 4)),
        (lambda x: x + 1 if x.dtype == flambeau.float32 else x, "the dtype", ones(2, 3).double()),
        (lambda x: x + 1 if x.is_floating_point() else x, "the dtype", ones(2, 3).long()),
        (lambda x: x + 1 if x.is_contiguous() else x, "whether it is contiguous", ones(3, 2).t()),
        (lambda x: flambeau.as_strided(x, (2,), (x.stride(0),)), "the strides", ones(4, 5)),
    ],
)
def test_questions_are_guarded(ask: Any, what: str, other: Tensor) -> None:
    traced = quietly(ask, ones(2, 3))
    assert [b.what for b in traced.baked] == [what]
    assert flambeau.equal(traced(ones(2, 3)), ask(ones(2, 3)))
    with pytest.raises(GuardError, match=f"the trace fixed {what}"):
        traced(other)
    assert flambeau.equal(quietly(ask, ones(2, 3), guard=False)(ones(2, 3)), ask(ones(2, 3)))


@pytest.mark.parametrize(
    "open_", [
        lambda x: x * x.numel(),
        lambda x: x.reshape(x.shape[-1], -1),
        lambda x: x.reshape(x.size(-1), x.size(0)),
        lambda x: x[: x.shape[0] - 1],
        lambda x: x[x.shape[0] - 1],
        lambda x: x[:, x.size(1) // 2 :],
        lambda x: flambeau.arange(x.shape[0]) + x.shape[1],
        lambda x: x[x.long().sum() * 0],
        lambda x: x.topk(x.size(-1) - 1).values,
    ],
)  # fmt: skip
def test_sizes_stay_open(open_: Any) -> None:
    traced = quietly(open_, ones(2, 3))
    assert traced.baked == []
    for x in (ones(2, 3), ones(4, 5)):
        assert flambeau.equal(traced(x), open_(x))


def test_what_follows_from_one_guard_has_none_of_its_own() -> None:
    def layers(x: Tensor) -> Tensor:
        for _ in range(3):
            if x.dim() != 2:
                raise ValueError("expected two dimensions")
            x = flambeau.tanh(x @ ones(3, 3))
        return x

    traced = quietly(layers, ones(2, 3))
    assert len(traced.graph.find_all("prim::If")) == 1
    assert [b.what for b in traced.baked] == ["the number of dimensions"]
    with pytest.raises(GuardError, match="the number of dimensions"):
        traced(ones(1, 2, 3))


def test_a_rank_that_is_the_same_for_all_inputs_holds() -> None:
    traced = quietly(lambda x: x.flatten().dim() + x, ones(2, 3))
    assert traced(ones(2)).tolist() == [2.0, 2.0]


def test_parameters_are_what_they_are() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(3))
            self.register_buffer("switch", flambeau.tensor(True))

        def forward(self, x: Tensor) -> Tensor:
            y = x * self.weight if self.weight.dim() == 1 else x
            return y * self.weight.shape[0]

    assert quietly(Layer(), ones(3)).baked == []

    class Switched(Layer):
        def forward(self, x: Tensor) -> Tensor:
            return x * self.weight if self.switch else x

    module = Switched()
    with pytest.warns(TracerWarning, match="a Python boolean"):
        traced = flambeau.trace(module, ones(3))
    traced(ones(3))
    module.switch.fill_(False)
    with pytest.raises(GuardError, match="the trace fixed a Python boolean"):
        traced(ones(3))


def test_allowed_values_are_guarded_without_a_warning() -> None:
    def repeated(x: Tensor) -> Tensor:
        n = flambeau.jit.allow(x.shape[0])
        y = x * flambeau.jit.allow(x.sum())
        return flambeau.stack([y for _ in range(n)])

    traced = quietly(repeated, ones(2))
    assert [b.value for b in traced.baked] == [2, 2.0]
    with pytest.raises(GuardError):
        traced(ones(3))
    assert flambeau.jit.allow(ones(1)) == 1.0
    assert flambeau.jit.allow("text") == "text"


def test_dynamic_sizes_may_be_looked_at() -> None:
    def halves(x: Tensor) -> Tensor:
        n = flambeau.jit.dynamic(x.shape[0])
        return x[: n // 2] * n if n > 1 and range(n) else x

    traced = quietly(halves, ones(4))
    assert traced.baked == []
    assert traced(ones(10)).tolist() == [10.0] * 5
    assert flambeau.jit.dynamic(3) == 3


def test_warnings_say_what_to_do() -> None:
    def counted(x: Tensor) -> Tensor:
        return sum(x * i for i in range(x.shape[0]))  # type: ignore[return-value]

    with pytest.warns(TracerWarning) as seen:
        flambeau.trace(counted, ones(2))
    for part in ("flambeau.script", "tensor operators", "flambeau.jit.dynamic", "flambeau.jit.allow"):
        assert part in str(seen[0].message)


def test_rounding_does_not_trip_guards() -> None:
    def contents(x: Tensor) -> Tensor:
        y = (flambeau.tanh(x) * 0.3).exp() + x.softmax(0)
        return x * y.sum().item() + y.mean().tolist() + float(y.numpy()[0])

    x = flambeau.randn(1000)
    with pytest.warns(TracerWarning):
        traced = flambeau.trace(contents, x)
    for _ in range(4):
        traced(x)
    with pytest.raises(GuardError):
        traced(x * 1.01)
    with pytest.warns(TracerWarning):
        traced = flambeau.trace(lambda x: x + len(x.tolist()), ones(1))
    with pytest.raises(GuardError):
        traced(ones(3))


def test_failures_that_a_program_survives_are_told() -> None:
    def tried(x: Tensor) -> Tensor:
        try:
            return x.view(7)
        except RuntimeError:
            return x * 2

    with pytest.warns(TracerWarning, match="the failure of aten::view in the run") as seen:
        traced = flambeau.trace(tried, ones(2, 3))
    assert (seen[0].filename, seen[0].lineno) == (__file__, tried.__code__.co_firstlineno + 2)
    assert [b.what for b in traced.baked] == ["the failure of aten::view"]


def test_tensors_are_themselves_again_after_a_trace() -> None:
    kept: list[Tensor] = []

    def leaks(x: Tensor) -> Tensor:
        kept.extend([x, x + 1])
        assert type(x) is not Tensor
        assert isinstance(x, Tensor)
        return kept[-1] * 2

    quietly(leaks, ones(2), check_trace=False)
    assert all(type(x) is Tensor for x in kept)
    with pytest.raises(ZeroDivisionError):
        flambeau.trace(lambda x: kept.append(x) or 1 / 0, ones(2))
    assert type(kept[-1]) is Tensor


def test_sizes_are_told_apart_by_threads_and_nesting() -> None:
    inner = flambeau.trace(lambda x: x * x.shape[0], ones(3))
    outer = quietly(lambda x: inner(x) + x.shape[0], ones(2))
    assert outer(ones(5)).tolist() == [10.0] * 5
    assert outer.graph.find("prim::CallFunction") is not None


@pytest.mark.parametrize("asked", ["is_floating_point", "is_complex", "is_signed"])
def test_functions_ask_as_methods_do(asked: str) -> None:
    """Only the dtype is asked for: no warning, and a guard where the dtype may be another."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = flambeau.trace(lambda x: x + 1 if getattr(flambeau, asked)(x) else x, flambeau.ones(2))
    assert [b.what for b in traced.baked] == ["the dtype"]
    with pytest.raises(flambeau.jit.GuardError, match="the trace fixed the dtype"):
        traced(flambeau.ones(2, dtype=flambeau.uint8))
