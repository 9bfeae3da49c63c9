"""Loop nests of `flambeau.te`, as they are scheduled by hand."""

from __future__ import annotations

from typing import Any

from flambeau import te


def product(size: int) -> Any:
    """A product of square matrices in tiles that stay in registers."""
    A, B = te.placeholder("A", (size, size)), te.placeholder("B", (size, size))
    C = te.reduce("C", (size, size), "sum", lambda i, j, k: A[i, k] * B[k, j], over=size)
    nest = te.LoopNest(C)
    _, columns, i, j = nest.tile("i", "j", min(8, size), min(32, size), tail="loop")
    kept = nest.cache(C, columns)
    outer, lanes = nest.split(j, min(16, size))
    nest.reorder("k", i, outer, lanes)
    rows, row = kept.written_back
    for loop in nest.loops():
        if loop.name.startswith("j_inner_inner"):
            nest.vectorize(loop)
        elif loop.name.startswith(("i_inner", "j_inner_outer")) or loop is rows:
            nest.unroll(loop)
    last, lanes = nest.split(row, min(16, size))
    nest.vectorize(lanes)
    nest.unroll(last)
    return nest.codegen("llvm")


def chain() -> Any:
    """`tanh(x * a + b)` of any length, in vectors."""
    n = te.var("n")
    x, a, b = (te.placeholder(name, n) for name in ("x", "a", "b"))
    nest = te.LoopNest(te.compute("y", n, lambda i: te.tanh(x[i] * a[i] + b[i])))
    pieces, piece = nest.split("i", 4096)
    _, lanes = nest.split(piece, 16)
    nest.vectorize(lanes)
    nest.parallel(pieces)
    return nest.codegen("llvm")
