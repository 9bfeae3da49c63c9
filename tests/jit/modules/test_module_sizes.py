"""Large modules: what scripting does grows as the number of modules does. Work is counted, not timed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.no_collection import no_collection


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return flambeau.relu(self.layer(x))


class Flat(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Different(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Sequential(nn.Linear(4, 4, bias=i % 2 == 0), *[nn.ReLU()] * (i % 7)) for i in range(count))
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Nested(nn.Module):
    """Each level is of a class of its own: it has other things in it."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.inner = Nested(count - 1) if count > 1 else None
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        if self.inner is not None:
            x = self.inner(x)
        return x


def work(run: Callable[[], Any]) -> int:
    """How many Python functions a call calls."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.collect()  # what others left over must not end meanwhile
    with no_collection():
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(None)
    return count


@pytest.mark.parametrize(("make", "sizes"), [(Flat, (30, 90)), (Different, (30, 90)), (Nested, (10, 30))])
def test_scripting_is_linear(make: Any, sizes: tuple[int, int]) -> None:
    small, large = (make(size) for size in sizes)
    flambeau.script(make(3))
    counts = [work(lambda module=module: flambeau.script(module)) for module in (small, large)]
    assert counts[1] < 3.4 * counts[0], counts


class Normed(nn.Module):
    """Layers whose plan has branches, loops and writes in training."""

    def __init__(self, count: int) -> None:
        super().__init__()
        layers = [m for _ in range(count) for m in (nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU(), nn.Dropout(0.1))]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@pytest.mark.parametrize(("make", "sizes"), [(Flat, (12, 36)), (Normed, (4, 12))])
def test_first_calls_are_linear(make: Any, sizes: tuple[int, int]) -> None:
    x = flambeau.ones(3, 2 if make is Normed else 4)
    make_and_call = [flambeau.script(make(size)) for size in (2, *sizes)]
    make_and_call[0](x)
    counts = [work(lambda scripted=scripted: [scripted(x) for _ in range(4)]) for scripted in make_and_call[1:]]
    assert counts[1] < 3.5 * counts[0], counts


def test_equal_layers_share_a_kernel() -> None:
    scripted = flambeau.script(Flat(5).eval())
    with flambeau.no_grad():
        scripted(flambeau.ones(2, 4))
    (plan,) = scripted.forward._executor.plans
    assert len(plan.kernels) == 5
    assert len({id(one) for kernel in plan.kernels for one in kernel.kernels}) == 1


def test_tracing_is_linear() -> None:
    x = flambeau.ones(2, 4)
    flambeau.trace(Flat(2), x)
    models = [Flat(size) for size in (12, 36)]
    counts = [work(lambda model=model: flambeau.trace(model, x, check_trace=False)) for model in models]
    assert counts[1] < 3.5 * counts[0], counts


def test_a_thousand_modules() -> None:
    model = Flat(500)
    scripted = flambeau.script(model, backend="interpreter")
    assert len(list(scripted.modules())) == 1002
    x = flambeau.ones(2, 4)
    assert flambeau.allclose(scripted(x), model(x))
    assert len({m.script_object.type.definition.name for m in scripted.modules()}) == 4


def test_state_of_many_modules_is_loaded_in_linear_time() -> None:
    counts = []
    for size in (60, 180):
        model = Flat(size)
        state = model.state_dict()
        counts.append(work(lambda model=model, state=state: model.load_state_dict(state)))
    assert counts[1] < 3.4 * counts[0], counts
