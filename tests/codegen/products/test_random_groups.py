"""Random products with random work behind them: native code and the interpreter agree."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import backend
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir import parse_ir
from flambeau.tensor.tensor import wrap
from tests.codegen.products.product_groups import TYPES, laid_out

PLAIN = ["relu", "tanh", "sigmoid", "neg", "abs", "sin"]
OF_TWO = ["add", "sub", "mul", "maximum"]


def random_program(r: np.random.Generator, dtype: str) -> tuple[str, list[str]]:
    """The text of a graph of two factors and some of a row, a column and a matrix; the names of its parameters."""
    lines = ["  %1 : int = prim::Constant[value=1]()", "  %v0 : Tensor = aten::mm(%x, %w)"]
    count = int(r.integers(1, 9))
    for k in range(count):
        mine = f"%v{int(r.integers(max(0, k - 1), k + 1))}"
        if r.random() < 0.5:
            lines.append(f"  %v{k + 1} : Tensor = aten::{r.choice(PLAIN)}({mine})")
            continue
        other = str(r.choice(["%row", "%column", "%whole", f"%v{int(r.integers(0, k + 1))}"]))
        op = str(r.choice(OF_TWO))
        step = ", %1" if op in ("add", "sub") else ""
        lines.append(f"  %v{k + 1} : Tensor = aten::{op}({mine}, {other}{step})")
    results = sorted({count, int(r.integers(0, count + 1))})
    body = "\n".join(lines)
    used = [name for name in ("x", "w", "row", "column", "whole") if f"%{name}" in body]
    ranks = {"row": "*", "column": "*, 1"}
    head = ", ".join(f"%{name} : {TYPES[dtype]}({ranks.get(name, '*, *')})" for name in used)
    return f"graph({head}):\n{body}\n  return ({', '.join(f'%v{k}' for k in results)})\n", used


@pytest.mark.parametrize("seed", range(30))
def test_random_groups(seed: int) -> None:
    r = np.random.default_rng(seed)
    dtype = str(r.choice(["float32", "float64"]))
    text, used = random_program(r, dtype)
    graph = parse_ir(text)
    m, n, k = (int(r.choice([2, 3, 7, 8, 16, 19, 33, 50, 130])) for _ in range(3))
    shapes = {"x": (m, k), "w": (k, n), "row": (n,), "column": (m, 1), "whole": (m, n)}
    layouts = ["plain", "transposed", "strided", "reversed"]
    # Numbers below one: products of them stay small, and so do errors that functions magnify.
    arrays = [
        laid_out((r.uniform(-1, 1, shapes[name]) / k**0.5).astype(dtype), str(r.choice(layouts)), r) for name in used
    ]
    got = backend.compile_graph(graph)(*arrays)
    want = run(compile_graph(graph, "random"), [wrap(a) for a in arrays])
    for one, other in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        assert one.shape == (m, n)
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5, err_msg=text)
