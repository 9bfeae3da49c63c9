"""Batching rules of users for operators of libraries; blocks that pass over the key; what functionalizes them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import fx
from flambeau.func import grad, vmap
from flambeau.library import Library, exclude_keys, include_keys, register_vmap

X = flambeau.arange(6.0).reshape(3, 2)


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("test_batches", "DEF")
    library.define("total(Tensor x, float by) -> Tensor")
    library.define("ends(Tensor x) -> (Tensor, Tensor)")
    library.define("bump_(Tensor(a!) x, int n) -> ()")
    library.impl("total", lambda x, by: flambeau.from_numpy(np.asarray(x.numpy().sum() * by)), "CPU")
    library.impl("ends", lambda x: (x[0].clone(), x[-1].clone()), "CPU")
    library.impl("bump_", lambda x, n: (np.add(x.numpy(), n, out=x.numpy()), None)[1], "CPU")
    yield library
    library._destroy()


def total(row: Any) -> Any:
    return flambeau.ops.test_batches.total(row, 2.0)


def test_a_rule_runs_on_the_whole_batch(lib: Library) -> None:
    seen = []

    @register_vmap("test_batches::total", lib=lib)
    def rule(info: Any, in_dims: Any, x: Any, by: float) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims))
        return x.sum(1) * by, 0

    assert vmap(total, randomness="same")(X).tolist() == [2.0, 10.0, 18.0]
    assert seen == [(3, "same", (0, None))]
    assert vmap(total, in_dims=1)(X).tolist() == [12.0, 18.0]
    assert grad(lambda x: vmap(total)(x).sum())(X).tolist() == [[2.0, 2.0]] * 3
    lib.impl("ends", lambda info, dims, x: ((x.t()[0], flambeau.tensor(7.0)), (0, None)), "Batched")
    first, last = vmap(flambeau.ops.test_batches.ends)(X)
    assert (first.tolist(), last.tolist()) == ([0.0, 2.0, 4.0], [7.0, 7.0, 7.0])


def test_blocks_pass_over_the_key(lib: Library) -> None:
    calls = []
    lib.impl("total", lambda info, dims, x, by: (calls.append(by) or x.sum(1) * by, 0), "Batched")
    with exclude_keys("Batched"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vmap(lambda row: total(row) + row.sin().sum() * 0)(X).tolist() == [2.0, 10.0, 18.0]
        assert calls == []
        with include_keys("Batched"):
            assert vmap(total)(X).tolist() == [2.0, 10.0, 18.0]
    assert calls == [2.0]


def test_a_rule_gives_results_and_axes(lib: Library) -> None:
    lib.impl("total", lambda info, dims, x, by: x.sum(1) * by, "Batched")
    with pytest.raises(RuntimeError, match=r"rule of test_batches::total should return \(result, out_dims\)"):
        vmap(total)(X)


def bumped(x: Any) -> Any:
    y = x * 2
    flambeau.ops.test_batches.bump_(y[0], 3)
    return y + total(x)


def test_functionalize_takes_kernels_for_its_key(lib: Library) -> None:
    with pytest.raises(NotImplementedError, match="test_batches::bump_ writes what it is given"):
        fx.functionalized(bumped)(X)
    lib.impl("bump_", lambda x, n: x + n, "Functionalize")
    lib.impl("total", lambda x, by: x.sum() * by, "Functionalize")
    graph = fx.functionalized(bumped)(X)
    assert "bump_" not in graph.code
    assert "total" not in graph.code
    assert fx.functionalize(bumped)(X).tolist() == bumped(X).tolist()


def test_a_kernel_for_functionalize_gives_all_that_is_written(lib: Library) -> None:
    lib.impl("bump_", lambda x, n: (x, x), "Functionalize")
    with pytest.raises(RuntimeError, match="should return a tensor for each of the 1 that the operator writes, got 2"):
        fx.functionalized(bumped)(X)
