"""Operators that plans write as others: the same answers as eager calls, natively, and the operator where gradients are
asked for.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def triangles(x: flambeau.Tensor, d: int) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
    return flambeau.triu(x, d), flambeau.tril(x, 1), x.triu()


@pytest.mark.parametrize(
    "x",
    [
        np.arange(12.0).reshape(3, 4), np.full((3, 5), -np.inf, np.float32), np.full((2, 3, 3), np.nan),
        np.arange(24).reshape(2, 4, 3) + 1, np.ones((3, 3), np.bool_), np.zeros((0, 3)),
        np.arange(12, dtype=np.float32).reshape(4, 3).T,
    ],
)  # fmt: skip
def test_triangles_are_those_of_numpy(x: Any) -> None:
    tensor = flambeau.from_numpy(x)
    for d in (-9, -1, 0, 1, 7):
        for _ in range(4):
            found = triangles(tensor, d)
        for one, wanted in zip(found, (np.triu(x, d), np.tril(x, 1), np.triu(x)), strict=True):
            np.testing.assert_array_equal(one.numpy(), wanted)
            assert one.numpy().dtype == x.dtype
        assert found[0].stride() == tensor.triu(d).stride()
    assert triangles.explain(measure=False).is_native, str(triangles.explain(measure=False))


def test_triangles_of_a_vector_are_refused_in_the_operators_words() -> None:
    with pytest.raises(RuntimeError, match="triu: input tensor must have at least 2 dimensions"):
        triangles(flambeau.ones(3), 0)


def layer(norm_first: bool, gelu: bool) -> Any:
    names = [f"w{k}" for k in range(12)]
    head = f"def f(x: Tensor, {', '.join(f'{n}: Tensor' for n in names)}) -> Tensor:\n"
    call = f"x, 8, 2, {', '.join(names[:4])}, {gelu}, {norm_first}, 1e-5, {', '.join(names[4:])}, None, None"
    body = f"    return flambeau.ops.aten._transformer_encoder_layer_fwd({call})\n"
    return flambeau.jit.CompilationUnit(head + body).f


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_encoders_are_their_parts(norm_first: bool) -> None:
    rng = np.random.default_rng(1)
    shapes = [(24, 8), (24,), (8, 8), (8,), (8,), (8,), (8,), (8,), (12, 8), (12,), (8, 12), (8,)]
    weights = [flambeau.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]
    x = flambeau.from_numpy(rng.standard_normal((2, 5, 8)).astype(np.float32))
    function = layer(norm_first, norm_first)
    for _ in range(4):
        found = function(x, *weights)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))
    operator = flambeau.ops.aten._transformer_encoder_layer_fwd
    arguments = (x, 8, 2, *weights[:4], norm_first, norm_first, 1e-5, *weights[4:], None, None)
    np.testing.assert_allclose(found.numpy(), operator(*arguments).numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError):
        function(x[:, :, :6], *weights)


def test_gradients_go_through_the_operator() -> None:
    x = flambeau.ones(3, 3, requires_grad=True)
    for _ in range(4):
        x.grad = None
        triangles(x, 1)[0].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.triu(np.ones((3, 3)), 1))


@flambeau.script
def shared(w: flambeau.Tensor, i: flambeau.Tensor, j: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.embedding(w, i) + flambeau.embedding(w, j)


def test_a_table_of_two_lookups_is_native() -> None:
    w, i, j = np.arange(35.0).reshape(7, 5), np.array([[1, 2], [0, 6]]), np.array([[3, 3], [5, 1]])
    for _ in range(4):
        found = shared(*map(flambeau.from_numpy, (w, i, j)))
    np.testing.assert_array_equal(found.numpy(), w[i] + w[j])
    assert shared.explain(measure=False).is_native
    with pytest.raises(IndexError, match="index out of range in self"):
        shared(*map(flambeau.from_numpy, (w, i, j + 5)))


LINE, CUBE = np.arange(4.0), np.arange(-12.0, 12.0).reshape(2, 3, 4)
ONE_CHANNEL = np.array([[[0.5, -2.0, np.nan, -np.inf]]])
MASK = np.arange(24).reshape(2, 3, 4) % 5 == 0
EXPANDED = {
    "one weight": ("prelu(a, b)", CUBE, np.array([0.5])),
    "a weight without axes": ("prelu(a, b)", CUBE, np.array(0.25)),
    "a weight for each channel": ("prelu(a, b)", CUBE, np.array([0.5, -1.0, np.inf])),
    "a weight for the only channel": ("prelu(a, b)", ONE_CHANNEL, np.array([-0.5])),
    "a weight of a vector": ("prelu(a, b)", LINE - 2, np.array([2.0])),
    "halves": ("nn.functional.glu(a) + b", CUBE, np.array(1.0)),
    "halves of another axis": ("nn.functional.glu(a, 0) + b", CUBE, np.array(1.0)),
    "halves of nothing": ("nn.functional.glu(a, 1) + b", np.zeros((2, 0, 3)), np.array(1.0)),
    "an outer product": ("outer(a, b)", LINE, np.arange(3.0)),
    "one of nothing": ("outer(a, b)", LINE, np.zeros(0)),
    "a part": ("narrow(a, 1, 1, 2) + b", CUBE, np.array(1.0)),
    "a part up to the end": ("narrow(a, -1, 4, 0) + b", CUBE, np.array(1.0)),
    "elements of all": ("take(a, b)", CUBE, np.array([[0, -1], [23, 5]])),
    "what a mask shows": ("masked_select(a, b)", CUBE, MASK),
    "what a short mask shows": ("masked_select(a, b)", CUBE, MASK[0, :1]),
    "what a mask of one shows": ("masked_select(a, b)", CUBE, np.array(True)),
    "one shown by a long mask": ("masked_select(a, b)", np.array([2.5]), MASK),
    "a layer's norm": ("native_layer_norm(a, [4], None, None, 1e-5)[0] + b", CUBE, np.array(1.0)),
    "its means": ("native_layer_norm(a, [3, 4], b, b, 1e-5)[1]", CUBE, CUBE[0]),
    "its deviations": ("native_layer_norm(a, [4], None, b, 0.25)[2]", CUBE, LINE),
    "a grid": ("stack(flambeau.meshgrid([a, b], indexing='ij'))", LINE, np.arange(3.0)),
    "a turned grid": ("stack(flambeau.meshgrid([a, b], indexing='xy'))", LINE, np.arange(3.0)),
    "a grid of numbers": ("stack(flambeau.meshgrid([a, b], indexing='ij'))", LINE, np.array(2.0)),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_operators_are_their_parts(name: str) -> None:
    call, a, b = EXPANDED[name]
    function = flambeau.jit.CompilationUnit(f"def f(a: Tensor, b: Tensor) -> Tensor:\n    return flambeau.{call}\n").f
    x, y = flambeau.from_numpy(a.copy()), flambeau.from_numpy(b.copy())
    wanted = eval(f"flambeau.{call}", {"flambeau": flambeau, "a": x, "b": y})
    for _ in range(5):
        found = function(x, y)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    assert found.stride() == wanted.stride()
    assert found.dtype == wanted.dtype
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


REFUSED = {
    "prelu(a, b)": ((2, 3), (2,), "Found parameter numbers = 2 and channel size = 3"),
    "nn.functional.glu(a) + b": ((2, 3), (3,), "dimension -1 is size 3"),
    "nn.functional.glu(a, 0) + b": ((1, 3), (3,), "dimension 0 is size 1"),
    "narrow(a, 1, 2, 2) + b": ((2, 3), (2,), "start (2) + length (2) exceeds dimension size (3)"),
    "masked_select(a, b > 0)": ((2, 3), (2,), "must match the size"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_operators_refuse_is_refused_in_their_words(call: str) -> None:
    """By plans that were made for sizes that fit, and by those that were not."""
    function = flambeau.jit.CompilationUnit(f"def f(a: Tensor, b: Tensor) -> Tensor:\n    return flambeau.{call}\n").f
    first, second, words = REFUSED[call]
    fitting = {"prelu(a, b)": (5, 2), "masked_select(a, b > 0)": (3, 2)}.get(call, (4, 4))
    for _ in range(4):
        function(flambeau.ones(*fitting), flambeau.ones(2) if fitting[1] == 2 else flambeau.ones(1))
    for _ in range(4):
        with pytest.raises(RuntimeError, match=re.escape(words)):
            function(flambeau.ones(*first), flambeau.ones(*second))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_layer_s_norm_refuses_other_sizes_whatever_is_asked_of_it(part: int) -> None:
    call = f"flambeau.native_layer_norm(a, [3], None, b, 0.1)[{part}]"
    function = flambeau.jit.CompilationUnit(f"def f(a: Tensor, b: Tensor) -> Tensor:\n    return {call}\n").f
    for _ in range(4):
        function(flambeau.ones(2, 3), flambeau.ones(3))
    for sizes in ((2, 4), (2, 3)):
        with pytest.raises(RuntimeError) as wanted:
            flambeau.native_layer_norm(flambeau.ones(*sizes), [3], None, flambeau.ones(4), 0.1)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=re.escape(str(wanted.value).splitlines()[0])):
                function(flambeau.ones(*sizes), flambeau.ones(4))


def test_gradients_go_through_the_operator_itself() -> None:
    function = flambeau.jit.CompilationUnit("def f(a: Tensor) -> Tensor:\n    return flambeau.nn.functional.glu(a)\n").f
    for _ in range(4):
        x = flambeau.ones(2, 4, requires_grad=True)
        function(x).sum().backward()
        assert x.grad is not None
        assert x.grad.shape == (2, 4)


def test_types_that_are_known_late_are_looked_for() -> None:
    source = (
        "def f(n: int) -> Tensor:\n    y, x = flambeau.meshgrid(flambeau.arange(n), flambeau.arange(n + 1))\n"
        "    return flambeau.stack([y, x])\n"
    )
    function = flambeau.jit.CompilationUnit(source).f
    for _ in range(4):
        found = function(3)
    np.testing.assert_array_equal(found.numpy(), np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij")))
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


def attention(need_weights: str, is_average: str) -> Any:
    head = "def f(q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, n: bool, m: bool):\n"
    call = f"q, k, v, 8, 2, a, b, c, d, None, {need_weights}, {is_average}, None"
    return flambeau.jit.CompilationUnit(f"{head}    return flambeau.ops.aten._native_multi_head_attention({call})\n").f


@pytest.mark.parametrize(
    ("need_weights", "is_average"), [("False", "True"), ("True", "True"), ("True", "False"), ("n", "m"), ("True", "m")]
)
def test_layers_of_attention_are_their_parts(need_weights: str, is_average: str) -> None:
    """Native too where only the run says of what rank the weights are, and whether there are any."""
    rng = np.random.default_rng(2)
    shapes = [(2, 5, 8), (2, 3, 8), (2, 3, 8), (24, 8), (24,), (8, 8), (8,)]
    arguments = [flambeau.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]
    function, operator = attention(need_weights, is_average), flambeau.ops.aten._native_multi_head_attention
    for n, m in ((True, True), (True, False), (False, True), (True, True)):
        said = eval(need_weights, {"n": n}), eval(is_average, {"m": m})
        for _ in range(3):
            found = function(*arguments, n, m)
        wanted = operator(*arguments[:3], 8, 2, *arguments[3:], None, *said, None)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


@pytest.mark.parametrize(
    "sizes",
    [
        [(2, 5, 6), (2, 3, 8), (2, 3, 8), (24, 8), (24,), (8, 8), (8,)],
        [(2, 5, 8), (2, 3, 8), (3, 3, 8), (24, 8), (24,), (8, 8), (8,)],
        [(2, 5, 8), (2, 3, 8), (2, 3, 8), (4, 8), (4,), (8, 8), (8,)],
    ],
)
def test_layers_of_attention_refuse_what_the_operator_refuses(sizes: list[tuple[int, ...]]) -> None:
    function = attention("True", "True")
    fitting = [(2, 5, 8), (2, 3, 8), (2, 3, 8), (24, 8), (24,), (8, 8), (8,)]
    for _ in range(4):
        function(*[flambeau.ones(*s) for s in fitting], True, True)
    given = [flambeau.ones(*s) for s in sizes]
    with pytest.raises((RuntimeError, ValueError)) as expected:
        flambeau.ops.aten._native_multi_head_attention(*given[:3], 8, 2, *given[3:], None, True, True, None)
    for _ in range(3):
        with pytest.raises(ValueError if isinstance(expected.value, ValueError) else RuntimeError) as found:
            function(*given, True, True)
        assert str(expected.value).splitlines()[0] in str(found.value)


@flambeau.script
def solved(right: flambeau.Tensor, factor: flambeau.Tensor, upper: bool) -> flambeau.Tensor:
    return flambeau.cholesky_solve(right, factor, True) if upper else flambeau.cholesky_solve(right, factor)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 4, 4), (2, 1, 1), (0, 0)])
def test_solutions_by_cholesky_factors(sizes: tuple[int, ...]) -> None:
    draws = np.random.default_rng(0)
    root = draws.normal(size=sizes)
    matrix, right = root @ root.swapaxes(-1, -2) + np.eye(sizes[-1]) * 3, draws.normal(size=(*sizes[:-1], 2))
    lower = np.linalg.cholesky(matrix)
    for upper in (False, True):
        arguments = flambeau.tensor(right), flambeau.tensor(lower).mT if upper else flambeau.tensor(lower)
        for _ in range(4):
            found = solved(*arguments, upper)
        np.testing.assert_allclose(found.numpy(), np.linalg.solve(matrix, right), rtol=1e-9)
        assert found.stride() == flambeau.cholesky_solve(*arguments, upper).stride()
    assert solved.explain().is_native


def test_factors_that_do_not_go_with_right_sides_are_refused_in_the_operator_s_words() -> None:
    for sizes, factor in (((3, 2), (4, 4)), ((4, 2), (4, 3)), ((4,), (4, 4))):
        arguments = flambeau.zeros(*sizes), flambeau.zeros(*factor)
        with pytest.raises((RuntimeError, ValueError)) as wanted:
            flambeau.cholesky_solve(*arguments)
        with pytest.raises((RuntimeError, ValueError), match=re.escape(str(wanted.value))):
            solved(*arguments, False)
