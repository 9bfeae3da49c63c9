"""What cannot be done is refused with what was expected, what was given, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import te
from flambeau.te import LoopNest, ScheduleError

n = te.var("n")
A, B = te.placeholder("A", (n, 6)), te.placeholder("B", 8)
I = te.placeholder("I", 8, "int32")  # noqa: E741


def product() -> LoopNest:
    return LoopNest(te.reduce("C", (n, n), "sum", lambda i, j, k: A[i, k] * A[j, k], over=6))


def chain() -> LoopNest:
    C = te.compute("C", 8, lambda i: B[i] + 1)
    return LoopNest(te.compute("D", 8, lambda j: C[j] * 2))


DEFINITIONS: list[tuple[str, Callable[[], object]]] = [
    ("A has 2 dimensions, got 1 indices: A[i, j]", lambda: te.compute("X", n, lambda i: A[i])),
    ("index 0 of B has dtype float32; indices are integers: write te.cast(x, 'int64')", lambda: B[B[0]]),
    ("X reads B[i + 1] at index 8 of dimension 0, whose size is 8; write te.where(condition, B[i + 1], other)",
     lambda: te.compute("X", 8, lambda i: B[i + 1])),
    ("X reads B[i - 1] at index -1 of dimension 0", lambda: te.compute("X", 8, lambda i: B[i - 1])),
    ("X reads A[i + 1, 0] at index n of dimension 0, whose size is n",
     lambda: te.compute("X", n, lambda i: A[i + 1, 0])),
    ("the body of X takes 1 indices, and there are 2 sizes", lambda: te.compute("X", (2, 3), lambda i: i)),
    ("no reduction is called 'mean'; write one of sum, prod",
     lambda: te.reduce("X", (), "mean", lambda k: B[k], over=8)),
    ("X reduces nothing: give the sizes of what is reduced", lambda: te.reduce("X", 8, "sum", lambda i: B[i], over=())),
    ("X: any is not defined for float32; write te.cast(x, dtype)",
     lambda: te.reduce("X", (), "any", lambda k: B[k], 8)),
    ("loop nests do not compute in dtype 'complex64'; write one of float32",
     lambda: te.placeholder("X", 3, "complex64")),
    ("bfloat16 is for placeholders and results, and is computed in float32", lambda: te.cast(1, "bfloat16")),
    ("'a-b' names nothing in a loop nest", lambda: te.placeholder("a-b", 3)),
    ("size 0 of X has dtype float32; sizes are ints, or variables made by te.var('n')",
     lambda: te.placeholder("X", 1.5)),
    ("size 0 of X is -2; sizes are zero or more", lambda: te.placeholder("X", -2)),
    ("bitand is not defined for float32; write te.cast(x, dtype)", lambda: B[0] & 1),
    ("te.where takes a bool first, got int64", lambda: te.where(n, 1, 2)),
    ("so 'if', 'and', 'or' and 'not' cannot ask it; write te.where(condition, a, b)", lambda: 1 if n > 0 else 2),
    ("expected an expression or a number, got Tensor: index tensors, as A[i, j]", lambda: n + A),
    ("B is a placeholder, which calls give: a nest computes te.compute and te.reduce", lambda: LoopNest(B)),
    ("a loop nest computes something: give a tensor, or several", lambda: LoopNest([])),
    ("two tensors of the nest are called B; give each a name of its own",
     lambda: LoopNest(te.compute("B", 8, lambda i: B[i]))),
]  # fmt: skip

SCHEDULES: list[tuple[str, Callable[[], LoopNest], Callable[[LoopNest], object]]] = [
    ("x names no loop of the nest; its loops are i, j, k", product, lambda s: s.split("x", 2)),
    ("i is a loop of another nest, or one that a step before replaced; its loops are i, j, k",
     product, lambda s: s.split(product().loop("i"), 2)),
    ("X is not computed in this nest; it computes C", product, lambda s: s.loops("X")),
    ("split(i) takes either factor, the iterations of the inner loop, or parts", product, lambda s: s.split("i")),
    ("factor is a whole number from 1 on, got 0", product, lambda s: s.split("i", 0)),
    ("parts is a whole number from 1 on, got 2.0", product, lambda s: s.split("i", parts=2.0)),
    ("tail='drop' is not known; write 'mask', 'loop' or 'never'", product, lambda s: s.split("i", 2, tail="drop")),
    ("i has n iterations, which 4 is not known to divide; write tail='mask' or tail='loop'",
     product, lambda s: s.split("i", 4, tail="never")),
    ("k has 6 iterations, which 4 is not known to divide", product, lambda s: s.split("k", 4, tail="never")),
    ("tail='loop' goes with factor; with parts, write tail='mask'",
     product, lambda s: s.split("i", parts=2, tail="loop")),
    ("k is not all that i holds: fuse takes a loop and the one directly inside it",
     product, lambda s: s.fuse("i", "k")),
    ("flatten takes two loops or more, outermost first", product, lambda s: s.flatten("i")),
    ("i does not lie in j: tile takes the outer of two loops first", product, lambda s: s.tile("j", "i", 2, 2)),
    ("n iterations, which 2 is not known to divide", product, lambda s: s.tile("i", "j", 2, 2, tail="never")),
    ("k is not all that j holds", product, lambda s: s.flatten("i", "j", "k")),
    ("k goes along a reduction and the other does not: one loop cannot do both", lambda: LoopNest(
        te.reduce("S", 8, "sum", lambda i, k: B[k], 8)), lambda s: (s.reorder("k", "i"), s.fuse("k", "i"))),
    ("reorder takes two loops or more, each once", product, lambda s: s.reorder("i", "i")),
    ("j and i do not lie in one another: reorder takes loops of one nest of loops",
     chain, lambda s: s.reorder("i", "j")),
    ("the range of k_inner is 0 to min(4, 6 - k_outer * 4), which depends on k_outer: it cannot go outside that loop",
     product, lambda s: _ragged(s)),
    ("C lives in one iteration of j_outer: loops inside cannot go outside it; reorder them before compute_at and cache",
     chain, lambda s: _crossing(s)),
    ("i has n iterations, which calls decide: vectorize takes a loop of fixed length; split it first",
     product, lambda s: s.vectorize("i")),
    ("k has 6 iterations: vectors have 1, 2, 4, 8, ... lanes", product, lambda s: s.vectorize("k")),
    ("i_inner has 512 iterations, and vectorize takes up to 256: split it first",
     product, lambda s: s.vectorize(s.split("i", 512)[1])),
    ("i has n iterations, which calls decide: unroll takes a loop of fixed length", product, lambda s: s.unroll("i")),
    ("j with the unrolled loops around and inside it would be written out 1600 times, and unroll takes up to 1024",
     lambda: LoopNest(te.compute("X", (40, 40), lambda i, j: i + j)), lambda s: (s.unroll("i"), s.unroll("j"))),
    ("k is a reduction axis: its iterations all change C, so it cannot be parallel; use rfactor('k')",
     product, lambda s: s.parallel("k")),
    ("j lies in i, which is parallel already: fuse them, or mark one",
     product, lambda s: (s.parallel("i"), s.parallel("j"))),
    ("i is marked as parallel: split it first", product, lambda s: (s.parallel("i"), s.split("i", 2))),
    ("C is a result of the nest, which others read: only temporaries can be computed in a loop",
     product, lambda s: s.compute_at("C", "i")),
    ("i is a loop of C itself: compute_at takes a loop in which C is read", chain, lambda s: s.compute_at("C", "i")),
    ("nothing in j reads C; it is read in k", lambda: _three(), lambda s: s.compute_at("C", "j")),
    ("C is read outside j too: compute_at takes a loop around all that reads it, which j and k have in common",
     lambda: _shared(), lambda s: s.compute_at("C", "j")),
    ("C is computed in the loops of D: place D first, then C",
     lambda: _stages(), lambda s: (s.compute_at("C", "j"), s.compute_at("D", "k"))),
    ("C has no loops any more: a step before put its expression where it is read",
     chain, lambda s: (s.compute_inline("C"), s.loops("C"))),
    ("m lies in j, which is a vector: memory there would be one for all its lanes",
     lambda: _rows(), lambda s: (s.vectorize("j"), s.cache("R", "m"))),
    ("R is a reduction, whose value is no expression: compute_at puts it into a loop",
     lambda: _rows(), lambda s: s.compute_inline("R")),
    ("H is rounded to float16 in memory, which its expression is not: give it float32",
     lambda: _half(), lambda s: s.compute_inline("H")),
    ("an index of C is looked at while the nest runs, which its expression would not be",
     lambda: _looked_at(), lambda s: s.compute_inline("C")),
    ("i lies in k and reduces nothing: reorder it out of k first",
     lambda: _rows(), lambda s: (s.reorder("k", "i"), s.rfactor("k"))),
    ("the range of j depends on i: such loops are no rectangle to fuse",
     lambda: _triangle(), lambda s: s.fuse("i", "j")),
    ("the range of j depends on i, so lanes would end at different places",
     lambda: _triangle(), lambda s: s.vectorize("i")),
    ("i is a vector already, and k lies in one nest with it: one of them",
     lambda: _rows(), lambda s: (s.vectorize("i"), s.vectorize("k"))),
    ("m is parallel, and lies in j: a vector cannot start threads",
     lambda: _rows(), lambda s: (s.parallel("m"), s.vectorize("j"))),
    ("R_k is allocated in each iteration of i: vectorize a loop inside, or compute R_k further outside",
     lambda: _rows(), lambda s: (s.rfactor("k"), s.vectorize("i"))),
    ("i_inner has 2048 iterations, and bind takes up to 1024: split it first",
     product, lambda s: s.bind(s.split("i", 2048)[1], "thread")),
    ("a loop nest computes tensors of te.compute and te.reduce, got int", chain, lambda s: LoopNest([3])),
    ("C has its place already, by a step before", chain, lambda s: (s.compute_at("C", "j"), s.compute_inline("C"))),
    ("nothing in i reads or writes D, so there is nothing to cache", chain, lambda s: s.cache("D", "i")),
    ("rfactor takes a loop along which one tensor is reduced, which i is not: k", product, lambda s: s.rfactor("i")),
    ("k_outer is a reduction loop too, outside k_inner: reorder k_inner out of it",
     product, lambda s: s.rfactor(s.split("k", 2)[1])),
    ("bind takes 'block' or 'thread', got 'grid'", product, lambda s: s.bind("i", "grid")),
    ("no backend is called 'c'; write one of 'llvm'", product, lambda s: s.codegen("c")),
    ("args lacks A, which the nest needs", product, lambda s: s.codegen("llvm", [])),
    ("B is neither read nor given by the nest: args takes A, C", product, lambda s: s.codegen("llvm", [A, B])),
    ("i is bound to blocks of a device: codegen('cuda') runs that, or parallel",
     product, lambda s: (s.bind("i", "block"), s.codegen("llvm"))),
]  # fmt: skip


def _ragged(nest: LoopNest) -> None:
    outer, inner = nest.split("k", 4)
    inner.stop = te.minimum(4, 6 - outer.var * 4)
    nest.reorder(inner, outer)


def _crossing(nest: LoopNest) -> None:
    outer, inner = nest.split("j", 4)
    nest.compute_at("C", outer)
    nest.reorder(inner, outer)


def _shared() -> LoopNest:
    C = te.compute("C", 8, lambda i: B[i] + 1)
    return LoopNest([te.compute("D", 8, lambda j: C[j]), te.compute("E", 8, lambda k: C[k])])


def _stages() -> LoopNest:
    C = te.compute("C", 8, lambda i: B[i] + 1)
    D = te.compute("D", 8, lambda j: C[j] + 1)
    return LoopNest(te.compute("E", 8, lambda k: D[k]))


def _rows() -> LoopNest:
    R = te.reduce("R", 8, "sum", lambda i, k: B[k] + i, over=8)
    return LoopNest(te.compute("Y", (8, 8), lambda j, m: R[m]))


def _half() -> LoopNest:
    H = te.compute("H", 8, lambda i: B[i], "float16")
    return LoopNest(te.compute("Y", 8, lambda j: H[j]))


def _looked_at() -> LoopNest:
    C = te.compute("C", 8, lambda i: B[i])
    return LoopNest(te.compute("Y", 8, lambda j: C[te.cast(I[j], "int64")]))


def _triangle() -> LoopNest:
    nest = LoopNest(te.compute("Y", (8, 8), lambda i, j: i + j))
    nest.loop("j").stop = nest.loop("i").var + 1
    return nest


def _three() -> LoopNest:
    C = te.compute("C", 8, lambda i: B[i] + 1)
    D = te.compute("D", 8, lambda j: B[j] * 2)
    return LoopNest(te.compute("E", 8, lambda k: C[k] + D[k]))


@pytest.mark.parametrize(("message", "define"), DEFINITIONS, ids=[m[:40] for m, _ in DEFINITIONS])
def test_definitions(message: str, define: Callable[[], object]) -> None:
    with pytest.raises(ScheduleError) as error:
        define()
    assert message in str(error.value)


@pytest.mark.parametrize(("message", "make", "act"), SCHEDULES, ids=[m[:40] for m, _, _ in SCHEDULES])
def test_schedules(message: str, make: Callable[[], LoopNest], act: Callable[[LoopNest], object]) -> None:
    nest = make()
    with pytest.raises(ScheduleError) as error:
        act(nest)
    assert message in str(error.value)


def test_reorder_says_what_cannot_be_taken_apart() -> None:
    S = te.reduce("S", 8, "sum", lambda i, k: B[k], over=8)
    T = te.compute("T", (8, 8), lambda i, j: S[i] + B[j])
    nest = LoopNest(T)
    nest.cache("S", "i_1")
    with pytest.raises(ScheduleError, match="S_local lives in one iteration of i_1"):
        nest.reorder("j", "i_1")


CALLS: list[tuple[type[Exception], str, Callable[[], tuple[object, ...]]]] = [
    (TypeError, "expected 1 arguments (A), got 2", lambda: (np.ones((2, 6), np.float32), 1)),
    (TypeError, "A has dtype float32, got float64: convert it, as x.astype('float32')", lambda: (np.ones((2, 6)),)),
    (ValueError, "A has 2 dimensions, (n, 6); got an array of shape (12,)", lambda: (np.ones(12, np.float32),)),
    (ValueError, "A has shape (n, 6) with n = 2, which is (2, 6); got (2, 5)", lambda: (np.ones((2, 5), np.float32),)),
]


@pytest.mark.parametrize("backend", ["llvm", "interp"])
@pytest.mark.parametrize(("kind", "message", "given"), CALLS, ids=[m[:30] for _, m, _ in CALLS])
def test_calls(kind: type[Exception], message: str, given: Callable[[], tuple[object, ...]], backend: str) -> None:
    with pytest.raises(kind) as error:
        product().codegen(backend)(*given())
    assert message in str(error.value)


def test_calls_that_write() -> None:
    nest = product()
    code = nest.codegen("llvm", [A, nest.outputs[0]])
    a, c = np.ones((6, 6), np.float32), np.zeros((6, 12), np.float32)
    with pytest.raises(ValueError, match=r"C and A share memory: give the result an array of its own"):
        code(a, a)
    with pytest.raises(ValueError, match=r"C is written, and the array does not lie row by row in memory"):
        code(a, c[:, ::2])
    with pytest.raises(TypeError, match=r"C is written: expected an array or a tensor of float32, got list"):
        code(a, [[0.0] * 6] * 6)


@pytest.mark.parametrize("backend", ["llvm", "interp"])
def test_numbers_and_places_that_do_not_fit(backend: str) -> None:
    alpha = te.var("alpha", "int32")
    code = LoopNest(te.compute("X", 8, lambda i: B[te.cast(I[i], "int64") + alpha])).codegen(backend)
    b, i = np.arange(8, dtype=np.float32), np.zeros(8, np.int32)
    assert code(b, i, 3).tolist() == [3.0] * 8
    with pytest.raises(TypeError, match="alpha is a number of dtype int32, got float"):
        code(b, i, 0.5)
    with pytest.raises(IndexError, match=r"B\[int64\(I\[i\]\) \+ int64\(alpha\)\]: an index is out of range"):
        code(b, i, 8)
    quotient = LoopNest(te.compute("Q", 8, lambda i: 7 // I[i])).codegen(backend)
    assert quotient(i + 2).tolist() == [3] * 8
    with pytest.raises(ZeroDivisionError):
        quotient(i)


def test_the_house_says_so_too() -> None:
    assert issubclass(ScheduleError, ValueError)
    assert flambeau.te is te
