"""Convolutions with an activation behind them are one group, beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

ACTIVATIONS = [
    ("silu", ""), ("hardswish", ""), ("gelu", ""), ("gelu", ", approximate='tanh'"), ("hardsigmoid", ""),
    ("sigmoid", ""), ("tanh", ""), ("elu", ", 0.5"), ("leaky_relu", ", 0.1"), ("mish", ""), ("softplus", ""),
    ("selu", ""), ("celu", ", 2.0"),
]  # fmt: skip
CHANNELS = 19


def functions(name: str, keyword: str) -> Any:
    return flambeau.jit.CompilationUnit(f"""
def plain(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.nn.functional.{name}(flambeau.conv2d(x, w, b, [1, 1], [1, 1]){keyword})

def added(x: Tensor, w: Tensor, b: Tensor, r: Tensor) -> Tensor:
    return flambeau.nn.functional.{name}(flambeau.conv2d(x, w, b, [1, 1], [1, 1]) + r{keyword})

def single(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.nn.functional.{name}(flambeau.conv2d(x, w, b, [2, 1], [1, 1], [1, 1], {CHANNELS}){keyword})
""")


CASES = [
    *((*activation, "float32") for activation in ACTIVATIONS),
    *((*ACTIVATIONS[k], "float64") for k in (2, 6, 8)),  # the same way through: one with erf, with exp, with a choice
]


@pytest.mark.parametrize(("name", "keyword", "dtype"), CASES)
def test_activations_are_fused(name: str, keyword: str, dtype: str) -> None:
    unit = functions(name, keyword)
    x, w, b, alone = (
        numbers(k, *n, dtype=dtype) * 3 for k, n in
        enumerate([(2, CHANNELS, 9, 8), (7, CHANNELS, 3, 3), (CHANNELS,), (CHANNELS, 1, 3, 3)])
    )  # fmt: skip
    r = numbers(5, 2, 7, 9, 8, dtype=dtype)
    x[1, 3, 4, 4], x[0, 0, 0, 0] = np.nan, np.inf
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    torch_functions = {"torch": torch, "F": torch.nn.functional}
    act = eval(f"lambda y: F.{name}(y{keyword})", torch_functions)
    xs, ws, bs, alones, rs = (torch.tensor(a).double() for a in (x, w, b, alone, r))
    sums = torch.conv2d(xs, ws, bs[:7], 1, 1)
    singles = torch.conv2d(xs, alones, bs, [2, 1], 1, 1, CHANNELS)
    error = 2e-4 if dtype == "float32" else 1e-10
    for seen in (x, last):
        given = [flambeau.from_numpy(a) for a in (seen, w, b[:7], r)]
        found = called(unit.plain, *given[:3]), called(unit.added, *given)
        found += (called(unit.single, given[0], flambeau.from_numpy(alone), flambeau.from_numpy(b)),)
        for mine, theirs in zip(found, (act(sums), act(sums + rs), act(singles)), strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=error, atol=error)
    for one in unit.plain.explain(measure=False).compilations:
        assert [k.operators for k in one.kernels] == [("conv2d", name)]


@flambeau.script
def in_place(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nn.functional.silu(flambeau.conv2d(x, w, None, [1, 1], [1, 1]), inplace=True)


def test_activations_in_place_are_fused() -> None:
    x, w = numbers(0, 1, 3, 6, 6), numbers(1, 4, 3, 3, 3)
    found = called(in_place, flambeau.from_numpy(x), flambeau.from_numpy(w)).numpy()
    expected = torch.nn.functional.silu(torch.conv2d(torch.tensor(x), torch.tensor(w), padding=1)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    for one in in_place.explain(measure=False).compilations:
        assert [len(k.operators) for k in one.kernels] == [2]
