"""Einstein sums of two operands that are products of stacks of matrices, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops.einsum import _as_product, _multiplied

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 1}


@pytest.mark.parametrize("seed", range(40))
def test_random_sums(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for dtype in (np.float32, np.float64):
        terms = ["".join(draw.permutation(list(SIZES))[: draw.integers(1, 5)]) for _ in range(2)]
        letters = sorted(set("".join(terms)))
        result = "".join(draw.permutation(letters)[: draw.integers(0, len(letters) + 1)])
        equation = ",".join(terms) + ("->" + result if seed % 4 else "")
        arrays: list[Any] = [draw.normal(size=[SIZES[c] for c in term]).astype(dtype) for term in terms]
        if seed % 3 == 0:
            arrays[0] = np.asfortranarray(arrays[0])
        wanted = np.einsum(equation, *arrays)
        got = flambeau.einsum(equation, *map(flambeau.from_numpy, arrays)).numpy()
        assert (got.shape, got.dtype) == (wanted.shape, dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "is_product"),
    [
        ("bhtd,bhsd->bhts", True), ("ij,jk", True), ("i,i->", True), ("ij,kj->ki", True), ("i,j->ij", False),
        ("ii,ij->j", False), ("ij,jk->i", False), ("...ij,jk->...ik", False), ("bij,bij->bi", True),
    ],
)  # fmt: skip
def test_which_sums_are_products(equation: str, is_product: bool) -> None:
    ranks = tuple([len(term) for term in equation.partition("->")[0].split(",")])
    assert (_as_product(equation, ranks) is not None) == is_product


def test_sizes_that_broadcast_or_do_not_fit_are_left_to_others() -> None:
    one, three = np.ones((2, 1)), np.ones((3, 4))
    assert _multiplied("ij,jk->ik", [one, three]) is None
    assert flambeau.einsum("ij,jk->ik", flambeau.ones(2, 1), flambeau.ones(3, 4)).tolist() == [[3.0] * 4] * 2
    with pytest.raises(RuntimeError, match="subscript j has size 4 for operand 1 which does not broadcast"):
        flambeau.einsum("ij,jk->ik", flambeau.ones(2, 3), flambeau.ones(4, 5))
    assert flambeau.einsum("ij,jk->ik", flambeau.ones(2, 0), flambeau.ones(0, 3)).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("equation", ["bij,bkj->bik", "ij,jk->ki", "ij,j->i", "i,i->"])
def test_their_gradients(equation: str) -> None:
    draw = np.random.default_rng(1)
    operands = [
        flambeau.from_numpy(draw.normal(size=[3 + "bijk".index(c) for c in term])).requires_grad_()
        for term in equation.partition("->")[0].split(",")
    ]
    assert flambeau.autograd.gradcheck(lambda x, y: flambeau.einsum(equation, x, y), tuple(operands))
    assert flambeau.autograd.gradgradcheck(lambda x, y: flambeau.einsum(equation, x, y), tuple(operands))


GATES = [
    ("ab,ibj->iaj", (2, 2), (4, 2, 8)), ("ab,ib->ia", (2, 2), (16, 2)), ("ibj,ab->iaj", (4, 2, 8), (2, 2)),
    ("abcd,icdj->iabj", (2, 2, 2, 2), (4, 2, 2, 8)), ("ab,ijbkl->ijakl", (3, 2), (2, 3, 2, 4, 5)),
    ("ba,ibj->iaj", (2, 2), (4, 2, 8)), ("ab,ibj->aij", (2, 2), (4, 2, 8)), ("ab,bj->aj", (2, 2), (2, 8)),
    ("ab,ibj->iaj", (20, 20), (2, 20, 3)), ("ab,ibj->iaj", (2, 2), (0, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(("equation", "left", "right"), GATES)
def test_small_matrices_are_applied_where_tensors_lie(
    equation: str, left: tuple[int, ...], right: tuple[int, ...], dtype: type
) -> None:
    draw = np.random.default_rng(0)
    parts = [draw.normal(size=(2, *s)) for s in (left, right)]
    arrays: list[Any] = [(p[0] + 1j * p[1] if dtype is np.complex128 else p[0]) for p in parts]
    source = f"def f(x: Tensor, y: Tensor) -> Tensor:\n    return flambeau.einsum({equation!r}, x, y)\n"
    f = flambeau.CompilationUnit(source).f
    for _ in range(3):
        result = f(*map(flambeau.from_numpy, arrays))
    assert result.is_contiguous()
    np.testing.assert_allclose(result.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)
    assert f.explain().is_native


def test_a_gate_of_known_sizes_is_not_copied_around() -> None:
    source = """
def f(angle: Tensor, state: Tensor) -> Tensor:
    c, s = angle.cos(), angle.sin()
    gate = flambeau.stack([flambeau.stack([c, -s]), flambeau.stack([s, c])])
    return flambeau.einsum("ab,ibj->iaj", gate, state.reshape(-1, 2, 4)).reshape(-1)
"""
    f = flambeau.CompilationUnit(source).f
    angle, state = flambeau.tensor(0.3), flambeau.randn(64)
    f(angle, state)
    operators = {n.op for n in f.graph_for(angle, state).nodes()}
    assert not operators & {"aten::einsum", "aten::permute", "aten::clone"}
