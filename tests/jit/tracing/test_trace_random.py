"""Random Python functions, traced: a later call gives what Python gives, or raises; it never goes wrong silently."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

Step = Callable[[Tensor, Tensor], Tensor]


def written(x: Tensor, y: Tensor) -> Tensor:
    z = x.clone()
    z[0] = y.flatten()[0]
    z[..., : z.shape[-1] // 2] *= 2
    return z


def through_views(x: Tensor, y: Tensor) -> Tensor:
    z = x * 1
    row = z.t() if z.dim() == 2 else z
    row[0].add_(1)
    row += y.sum()
    return z


def branch(x: Tensor, y: Tensor) -> Tensor:
    return x + 1 if y.sum() > 1 else x - 1


def counted(x: Tensor, y: Tensor) -> Tensor:
    for i in range(min(x.shape[0], 3)):
        x = x + i
    return x


def rows(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.stack([row * 2 for row in x]) if x.dim() else x


def ranks(x: Tensor, y: Tensor) -> Tensor:
    if x.dim() == 1:
        return x.unsqueeze(0)
    return x.reshape(-1) if x.dim() > 2 else x


def dtypes(x: Tensor, y: Tensor) -> Tensor:
    return x * 2 if x.dtype == flambeau.float64 else x.to(y.dtype) + 1


def contents(x: Tensor, y: Tensor) -> Tensor:
    return x + max(y.flatten().tolist())


def kinds(x: Tensor, y: Tensor) -> Tensor:
    return x / 2 if x.is_floating_point() else x // 2


def layout(x: Tensor, y: Tensor) -> Tensor:
    return x.t() if x.dim() == 2 and not x.is_contiguous() else x + 0


def nested(x: Tensor, y: Tensor) -> Tensor:
    parts = {"a": x, "b": [y, x * 2]}
    return parts["b"][1] + parts["b"][0].sum()  # type: ignore[no-any-return]


@flambeau.script
def looped(x: Tensor, n: int) -> Tensor:
    while bool(x.sum() < n):
        x = x * 2 + 1
    return x


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(flambeau.full((1,), 1.5))
        self.register_buffer("calls", flambeau.zeros(1))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.calls += 1
        return x * self.scale + self.calls + y.mean()


SIMPLE: tuple[Step, ...] = (
    lambda x, y: x * 2 + y.sum(),
    lambda x, y: x.reshape(x.shape[0], -1) if x.dim() else x,
    lambda x, y: x[: x.shape[0] - 1] if x.dim() and x.shape[0] > 1 else x,
    lambda x, y: x.reshape(x.numel()),
    lambda x, y: x * x.shape[-1] + len(x.shape),
    lambda x, y: x.transpose(0, -1),
    lambda x, y: flambeau.cat([x, x], 0),
    lambda x, y: x + flambeau.arange(x.shape[-1], dtype=x.dtype),
    lambda x, y: flambeau.tanh(x) if x.is_floating_point() else x,
    lambda x, y: x + looped(y.float().abs() + 1, 20).mean(),
    lambda x, y: x[x.shape[0] // 2],
    lambda x, y: x.expand(2, *x.shape),
    lambda x, y: x.to(flambeau.float64),
    lambda x, y: (x > 0).to(x.dtype),
)
STEPS: tuple[Step, ...] = (
    *SIMPLE, written, through_views, branch, counted, rows, ranks, dtypes, contents, kinds, layout, nested,
)  # fmt: skip


class Program(nn.Module):
    """Some steps one after another, some of them in submodules."""

    def __init__(self, steps: list[Step], layers: list[bool]) -> None:
        super().__init__()
        self.steps = steps
        self.layers = nn.ModuleList([Layer() if has_layer else nn.Identity() for has_layer in layers])

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        first = x
        for step, layer in zip(self.steps, self.layers, strict=True):
            x = step(x, y)
            if isinstance(layer, Layer):
                x = layer(x, y.float())
        return x, first


def inputs(dice: np.random.Generator) -> tuple[Tensor, Tensor]:
    sizes = [(2, 3), (2, 3), (4, 3), (2, 3, 4), (5,), (1, 3), (3, 2)][dice.integers(7)]
    x = dice.standard_normal(sizes).astype([np.float32, np.float32, np.float64][dice.integers(3)])
    x = (x * 3).astype(np.int64) if dice.random() < 0.15 else x
    y = dice.standard_normal((2, 2)).astype(np.float32) + dice.integers(2)
    first = flambeau.tensor(x)
    return (first.t() if first.dim() == 2 and dice.random() < 0.2 else first), flambeau.tensor(y)


def outcome(run: Any, given: tuple[Tensor, ...]) -> Any:
    """The results and the inputs afterwards, or the error."""
    own = [g.detach() * 1 if g.is_contiguous() else g for g in given]
    try:
        results = run(*own)
    except Exception as error:  # whatever Python raises for these inputs
        return error
    return [r.detach() for r in (*results, *own)]


@pytest.mark.parametrize("seed", range(60))
def test_traces_are_right_or_say_so(seed: int) -> None:
    dice = random.Random(seed)
    steps = [dice.choice(STEPS if dice.random() < 0.6 else SIMPLE) for _ in range(dice.choice((1, 2, 3, 4)))]
    program = Program(steps, [dice.random() < 0.3 for _ in steps])
    numbers = np.random.default_rng(seed)
    example = inputs(numbers)
    if isinstance(outcome(deepcopy(program), example), Exception):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = flambeau.trace(program, example)
        if seed % 3 == 0:
            traced = flambeau.jit.freeze(flambeau.trace(program.eval(), example))
    assert float(sum(layer.calls.sum() for layer in program.layers if isinstance(layer, Layer))) == 0.0
    names = [getattr(s, "__name__", "") for s in steps]
    for given in (example, *(inputs(numbers) for _ in range(6))):
        twin = deepcopy(program)
        want, got = outcome(twin, given), outcome(deepcopy(traced), given)
        if isinstance(got, Exception):
            assert given is not example, f"{names}: {got}"
            assert isinstance(got, flambeau.jit.GuardError | RuntimeError | IndexError), f"{names}: {got}"
            continue
        assert not isinstance(want, Exception), f"{names}: Python raises {want}, the trace gives {got}"
        for a, b in zip(want, got, strict=True):
            message = f"{names} on {given[0].shape} {given[0].dtype}\n{traced.graph}"
            assert a.dtype == b.dtype, message
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-4, atol=1e-5, err_msg=message)
