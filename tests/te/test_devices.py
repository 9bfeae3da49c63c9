"""Nests bound to blocks and threads: what each thread does, simulated with every access looked at, and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import te
from flambeau.te import LoopNest, ScheduleError

n = te.var("n")
A = te.placeholder("A", (n, 6))
X = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)


def doubled() -> LoopNest:
    alpha = te.var("alpha", "float32")
    nest = LoopNest(te.compute("D", (n, 6), lambda i, k: A[i, k] * alpha))
    outer, inner = nest.split(nest.fuse("i", "k"), 32)
    nest.bind(outer, "block")
    nest.bind(inner, "thread")
    return nest


def softmax() -> LoopNest:
    M = te.reduce("M", n, "max", lambda i, k: A[i, k], over=6)
    E = te.compute("E", (n, 6), lambda i, k: te.exp(A[i, k] - M[i]))
    T = te.reduce("T", n, "sum", lambda i, k: E[i, k], over=6)
    nest = LoopNest(te.compute("Y", (n, 6), lambda i, j: E[i, j] / T[i]))
    row, column = nest.loops("Y")
    nest.compute_at("T", row)
    e_column = nest.compute_at("E", row)[1]
    nest.compute_at("M", row)
    nest.simplify()
    nest.bind(row, "block")
    nest.bind(column, "thread")
    nest.bind(e_column, "thread")
    return nest


def expected() -> np.ndarray:
    e = np.exp(X - X.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_elements() -> None:
    code = doubled().codegen("cuda")
    np.testing.assert_array_equal(code.simulate(X, 2.0), X * 2)
    assert "mapped nest_0 threads 32 {" in code.mapped
    assert ".visible .entry flambeau_nest_0(" in code.ptx("sm_80")


def test_rows_keep_what_is_shared_in_the_memory_of_a_block() -> None:
    code = softmax().codegen("cuda")
    assert "shared E.shared: float32[1, 6]" in code.mapped
    np.testing.assert_allclose(code.simulate(X), expected(), rtol=1e-6)
    assert code.simulate(X[:0]).shape == (0, 6)


def test_a_sum_of_everything_is_put_together_by_one_thread() -> None:
    nest = LoopNest(te.reduce("S", (), "sum", lambda i, k: A[i, k], over=(n, 6)))
    outer, _ = nest.split("i", parts=32)
    nest.rfactor(outer)
    nest.bind(outer, "thread")
    code = nest.codegen("cuda")
    assert code.mapped.count("mapped nest_") == 3
    np.testing.assert_allclose(code.simulate(X), X.sum(), rtol=1e-5)


def test_memory_of_a_thread_is_registers() -> None:
    nest = LoopNest(te.reduce("S", (n, 6), "sum", lambda i, j, k: A[i, k] * A[i, j], over=6))
    i, j, _ = nest.loops("S")
    outer, inner = nest.split(j, 2)
    kept = nest.cache("S", outer)
    nest.bind(i, "block")
    nest.bind(outer, "thread")
    with pytest.raises(ScheduleError, match="memory of one thread, which is its registers: unroll the loops"):
        nest.codegen("cuda")
    for loop in (inner, *kept.written_back):
        nest.unroll(loop)
    np.testing.assert_allclose(nest.codegen("cuda").simulate(X), X * X.sum(1, keepdims=True), rtol=1e-5)


def test_accesses_that_are_looked_at() -> None:
    B = te.placeholder("B", 8)
    at = te.placeholder("at", n, "int64")
    nest = LoopNest(te.compute("P", n, lambda i: B[at[i]] + te.where(i > 0, B[0], 7 // at[i])))
    nest.bind("i", "block")
    code = nest.codegen("cuda")
    b = np.arange(8, dtype=np.float32)
    assert code.simulate(b, np.array([3, 0])).tolist() == [5.0, 0.0]
    with pytest.raises(IndexError):
        code.simulate(b, np.array([3, 8]))
    with pytest.raises(ZeroDivisionError):
        code.simulate(b, np.array([0, 1]))


@pytest.mark.parametrize(
    ("message", "bind"),
    [
        ("nothing in i is bound to blocks or threads of a device: write nest.bind(loop, 'block')", lambda s: None),
        ("k lies in i: reorder the loop that is bound to blocks outside it", lambda s: s.bind("k", "block")),
        ("i is parallel, which is for threads of the processor: bind it to blocks",
         lambda s: (s.parallel("i"), s.bind("k", "thread"))),
        ("k lies in i, which is block already: fuse them, or mark one",
         lambda s: (s.bind("i", "block"), s.bind("k", "block"))),
    ],
)  # fmt: skip
def test_what_has_no_form_on_a_device(message: str, bind: Any) -> None:
    nest = LoopNest(te.compute("D", (n, 6), lambda i, k: A[i, k] * 2))

    def act() -> None:
        bind(nest)
        nest.codegen("cuda")

    with pytest.raises(ScheduleError) as error:
        act()
    assert message in str(error.value)


def test_halves_are_refused() -> None:
    half = te.placeholder("H", 8, "float16")
    nest = LoopNest(te.compute("D", 8, lambda i: half[i]))
    nest.bind("i", "thread")
    with pytest.raises(ScheduleError, match="H has dtype float16, which kernels do not store: give it float32"):
        nest.codegen("cuda")


def test_launches(cuda: Any) -> None:
    x = cuda.asarray(X)
    code = softmax().codegen("cuda")
    np.testing.assert_allclose(cuda.asnumpy(code(x)), expected(), rtol=1e-5)
    np.testing.assert_allclose(code(X), expected(), rtol=1e-5)
    tensor = flambeau.tensor(X.tolist(), device="cuda")
    result = code(tensor)
    assert result.device.type == "cuda"
    np.testing.assert_allclose(result.cpu().numpy(), expected(), rtol=1e-5)
    twice = doubled().codegen("cuda")
    np.testing.assert_allclose(cuda.asnumpy(twice(x.T.copy().T, 2.0)), X * 2)
    with pytest.raises(TypeError, match="A has dtype float32, got float64"):
        code(cuda.asarray(X.astype(np.float64)))

