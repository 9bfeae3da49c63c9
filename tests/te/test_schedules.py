"""Each step of a schedule: the nest that comes of it, and that it gives what the plain nest gives."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import te
from flambeau.te import LoopNest, ScheduleError
from tests.te.running import agrees

DATA = np.random.default_rng(0)
X = DATA.standard_normal((5, 6)).astype(np.float32)
Y = DATA.standard_normal((6, 7)).astype(np.float32)
n, m = te.var("n"), te.var("m")
A, B = te.placeholder("A", (n, 6)), te.placeholder("B", (6, m))


def product() -> LoopNest:
    return LoopNest(te.reduce("C", (n, m), "sum", lambda i, j, k: A[i, k] * B[k, j], over=6))


def body(nest: LoopNest) -> str:
    """The text without memory."""
    return "".join(f"{line}\n" for line in str(nest).splitlines() if not line.startswith(("in ", "out ", "local ")))


def test_split_with_a_condition_and_with_a_loop_over_the_rest() -> None:
    nest = product()
    nest.split("i", 4)
    _, _, tail = nest.split_with_tail("j", 4)
    assert tail is not None
    assert tail.name == "j_tail"
    assert body(nest) == (
        "for i_outer in range((n + 3) // 4):\n"
        "    for i_inner in range(4):\n"
        "        if i_outer * 4 + i_inner < n:\n"
        "            for j_outer in range(m // 4):\n"
        "                for j_inner in range(4):\n"
        "                    C[i_outer * 4 + i_inner, j_outer * 4 + j_inner] = 0.0\n"
        "                    for k in range(6):\n"
        "                        C[i_outer * 4 + i_inner, j_outer * 4 + j_inner] += "
        "A[i_outer * 4 + i_inner, k] * B[k, j_outer * 4 + j_inner]\n"
        "            for j_tail in range(m // 4 * 4, m):\n"
        "                C[i_outer * 4 + i_inner, j_tail] = 0.0\n"
        "                for k_1 in range(6):\n"
        "                    C[i_outer * 4 + i_inner, j_tail] += A[i_outer * 4 + i_inner, k_1] * B[k_1, j_tail]\n"
    )
    agrees(nest, X @ Y, X, Y)


def test_split_from_outside_and_where_nothing_is_left_over() -> None:
    nest = product()
    outer, inner = nest.split("i", parts=3)
    assert (str(outer.extent), str(inner.extent)) == ("3", "(n + 2) // 3")
    outer, inner, rest = nest.split_with_tail("k", 3)
    assert (str(outer.extent), str(inner.extent), rest) == ("2", "3", None)
    nest.split("k_outer", 2, tail="never")
    agrees(nest, X @ Y, X, Y)


def test_reorder_gives_the_start_of_a_reduction_loops_of_its_own() -> None:
    nest = product()
    nest.reorder("k", "j", "i")
    assert body(nest) == (
        "for i_1 in range(n):\n"
        "    for j_1 in range(m):\n"
        "        C[i_1, j_1] = 0.0\n"
        "for k in range(6):\n"
        "    for j in range(m):\n"
        "        for i in range(n):\n"
        "            C[i, j] += A[i, k] * B[k, j]\n"
    )
    agrees(nest, X @ Y, X, Y)


def test_conditions_go_as_far_outside_as_they_can() -> None:
    nest = product()
    io, jo, ii, ji = nest.tile("i", "j", 4, 4)
    nest.reorder(io, jo, "k", ii, ji)
    assert "                if i_outer * 4 + i_inner < n:\n                    for j_inner in range(4):" in str(nest)
    agrees(nest, X @ Y, X, Y)


def test_fuse_and_flatten() -> None:
    doubled = te.compute("D", (n, 6), lambda i, k: A[i, k] * 2)
    nest = LoopNest(doubled)
    fused = nest.fuse("i", "k")
    assert body(nest) == (
        "for i_k in range(n * 6):\n"
        "    D[i_k // 6, i_k % 6] = A[i_k // 6, i_k % 6] * 2.0\n"
    )  # fmt: skip
    outer, inner = nest.split(fused, 4)
    nest.vectorize(inner)
    nest.parallel(outer)
    agrees(nest, X * 2, X)
    cube = te.placeholder("Q", (2, 3, n))
    nest = LoopNest(te.compute("E", (2, 3, n), lambda i, j, k: cube[i, j, k] + 1))
    assert str(nest.flatten("i", "j", "k").extent) == "n * 6"
    q = DATA.standard_normal((2, 3, 5)).astype(np.float32)
    agrees(nest, q + 1, q)


def test_slices() -> None:
    nest = product()
    head, rest = nest.slice_head("i", 2)
    assert [str(e) for e in (head.start, head.stop, rest.start, rest.stop)] == ["0", "min(2, n)", "min(2, n)", "n"]
    nest.slice_tail("k", 1)
    agrees(nest, X @ Y, X, Y)


def test_vectors_write_through_masks_and_fold_across_lanes() -> None:
    nest = product()
    _, lanes = nest.split("j", 4)
    nest.reorder("k", lanes)
    nest.vectorize(lanes)
    nest.unroll("k")
    agrees(nest, X @ Y, X, Y)
    sums = LoopNest(te.reduce("S", n, "max", lambda i, k: A[i, k], over=6))
    _, lanes = sums.split("k", 4)
    sums.vectorize(lanes)
    agrees(sums, X.max(1), X)


@pytest.mark.parametrize("threads", [1, 3])
def test_parallel_loops(threads: int) -> None:
    nest = product()
    nest.parallel("i")
    code = nest.codegen("llvm", num_threads=threads)
    np.testing.assert_allclose(code(X, Y), X @ Y, rtol=1e-5)
    assert code(X[:0], Y).shape == (0, 7)


def test_compute_at_shrinks_what_is_computed_to_what_is_read() -> None:
    C = te.compute("C", n, lambda i: te.exp(A[i, 0]))
    D = te.compute("D", n, lambda i: te.where(i > 0, C[i - 1], 0) + te.where(i < n - 1, C[i + 1], 0))
    nest = LoopNest(D)
    outer, _ = nest.split("i_1", 4)
    [loop] = nest.compute_at(C, outer)
    assert str(loop.extent) == "6"
    assert "if (i_1_outer * 4 + i - 1 >= 0) & (i_1_outer * 4 + i - 1 < n):" in str(nest), nest
    e = np.exp(X[:, 0])
    agrees(nest, np.pad(e, 1)[:-2] + np.pad(e, 1)[2:], X)


def test_compute_inline() -> None:
    C = te.compute("C", (n, 6), lambda i, k: A[i, k] + 1)
    nest = LoopNest(te.reduce("S", n, "prod", lambda i, k: C[i, k], over=6))
    nest.compute_inline(C)
    assert "local" not in str(nest)
    assert "S[i_1] *= A[i_1, k_1] + 1.0" in str(nest)
    agrees(nest, (X + 1).prod(1), X)


def test_what_is_inlined_stays_so_in_what_is_placed_later() -> None:
    C = te.compute("C", n, lambda i: A[i, 0] + 1)
    D = te.compute("D", n, lambda i: C[i] * 2)
    E = te.compute("E", n, lambda i: D[i] - 3)
    for place in (lambda s: s.compute_inline(D), lambda s: s.compute_at(D, s.loops(E)[0])):
        nest = LoopNest(E)
        nest.compute_inline(C)
        place(nest)
        assert "C[" not in str(nest)
        agrees(nest, (X[:, 0] + 1) * 2 - 3, X)


def test_cache_fills_and_writes_back_what_a_loop_touches() -> None:
    nest = product()
    io, jo, ii, ji = nest.tile("i", "j", 2, 4)
    nest.reorder(io, jo, "k", ii, ji)
    kept = nest.cache("C", jo)
    assert [str(s) for s in kept.buffer.shape] == ["2", "4"]
    assert (len(kept.filled), len(kept.written_back)) == (0, 2), "what a tile starts from is stored in it"
    read = nest.cache("B", jo, "B_tile")
    assert (len(read.filled), len(read.written_back), [str(s) for s in read.buffer.shape]) == (2, 0, ["6", "4"])
    nest.vectorize(ji)
    nest.unroll(ii)
    agrees(nest, X @ Y, X, Y)


def test_rfactor_makes_a_reduction_parallel_and_a_vector() -> None:
    nest = LoopNest(te.reduce("S", (), "sum", lambda i, k: A[i, k], over=(n, 6)))
    outer, inner = nest.split("i", parts=2)
    last = nest.rfactor(outer)
    nest.parallel(outer)
    nest.unroll(last)
    agrees(nest, X.sum(dtype=np.float32), X)
    nest = LoopNest(te.reduce("S", n, "sum", lambda i, k: A[i, k], over=6))
    outer, inner = nest.split("k", 2)
    nest.reorder(inner, outer)
    nest.rfactor(inner)
    nest.vectorize(inner)
    agrees(nest, X.sum(1), X)


def test_simplify_leaves_out_what_never_happens() -> None:
    nest = LoopNest(te.compute("D", 8, lambda i: i * 2))
    nest.split(nest.split("i", 4)[1], 4)
    nest.simplify()
    assert body(nest) == (
        "for i_outer in range(2):\n"
        "    for i_inner_inner in range(4):\n"
        "        D[i_outer * 4 + i_inner_inner] = i_outer * 8 + i_inner_inner * 2\n"
    )
    agrees(nest, np.arange(8) * 2)


def test_choices_go_where_slices_decide_them() -> None:
    nest = LoopNest(te.compute("D", 8, lambda i: te.where((i > 0) & (i < 7), i - 1, 0)))
    nest.slice_tail(nest.slice_head("i", 1)[1], 1)
    nest.simplify()
    assert body(nest) == (
        "D[0] = 0\n"
        "for i_body_body in range(1, 7):\n"
        "    D[i_body_body] = i_body_body - 1\n"
        "D[7] = 0\n"
    )  # fmt: skip
    agrees(nest, np.array([0, 0, 1, 2, 3, 4, 5, 0]))


def test_caches_of_parts_are_filled_and_stay_with_one_thread() -> None:
    C = te.compute("C", 16, lambda i: i * 3)
    nest = LoopNest(C)
    outer, inner = nest.split("i", 8)
    nest.split(inner, 3)
    kept = nest.cache(C, outer)
    assert (str(kept.buffer.shape[0]), len(kept.filled)) == ("9", 1), "the ninth element is the next tile's"
    agrees(nest, np.arange(16) * 3)
    with pytest.raises(ScheduleError, match="writes back elements of C that other iterations compute"):
        nest.parallel(outer)
    nest = LoopNest(C)
    outer, inner = nest.split("i", 8)
    nest.split(inner, 3)
    nest.parallel(outer)
    with pytest.raises(ScheduleError, match="is no whole part of it, and i_outer is parallel"):
        nest.cache(C, "i_inner_outer")


def test_history_shows_the_nest_after_each_step() -> None:
    nest = product()
    nest.split("i", 2)
    nest.vectorize("i_inner")
    assert [s.call for s in nest.steps] == ["LoopNest", "split(i, 2)", "vectorize(i_inner)"]
    assert nest.history().startswith("# LoopNest\nin A: float32[n, 6]\n")
    assert nest.steps[-1].text == str(nest)


def test_several_results_and_results_that_calls_give() -> None:
    C = te.compute("C", n, lambda i: A[i, 0] + 1)
    D = te.compute("D", n, lambda i: C[i] * 2)
    nest = LoopNest([C, D])
    c, d = nest.codegen("llvm")(X)
    np.testing.assert_allclose((c, d), (X[:, 0] + 1, 2 * (X[:, 0] + 1)), rtol=1e-6)
    out = np.zeros(5, np.float32)
    code = nest.codegen("llvm", [D, A])
    _, same = code(out, X)
    assert same is out
    assert [a.name for a in code.args] == ["D", "A"]
    np.testing.assert_allclose(out, d)
    given = code(flambeau.from_numpy(out), flambeau.from_numpy(X))
    assert all(isinstance(t, flambeau.Tensor) for t in given)


def test_the_code_can_be_read() -> None:
    code = product().codegen("llvm")
    assert "define internal void @flambeau_nest_body(" in code.llvm_ir
    assert "flambeau_nest" in code.optimised_ir
    assert "ret" in code.asm
    assert str(code) == code.text == str(product())
