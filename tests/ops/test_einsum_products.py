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
