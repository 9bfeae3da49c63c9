"""Helpers of users' own distributions."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.distributions import Categorical, Distribution, utils


@pytest.mark.parametrize("size", [1, 2, 4])
def test_triangles(size: int) -> None:
    matrix = flambeau.arange(float(size * size)).reshape(size, size) + 1
    for diag in range(1 - size, size):
        vector = utils.tril_matrix_to_vec(matrix.expand(2, size, size), diag)
        assert flambeau.equal(vector[0], matrix[matrix.tril(diag) > 0])
        back = utils.vec_to_tril_matrix(vector, diag)
        assert flambeau.equal(back[1, :size, :size], matrix.tril(diag))
    with pytest.raises(ValueError, match="cannot be expressed as a lower triangle"):
        utils.vec_to_tril_matrix(flambeau.ones(5))
    with pytest.raises(ValueError, match=r"diag \(9\) provided is outside"):
        utils.tril_matrix_to_vec(matrix, 9)


def test_probabilities_and_logits() -> None:
    probs = flambeau.tensor([0.0, 0.25, 0.75, 1.0], dtype=flambeau.float64)
    logits = utils.probs_to_logits(probs, is_binary=True)
    assert logits.isfinite().all()
    assert flambeau.allclose(utils.logits_to_probs(logits, is_binary=True), probs)
    assert flambeau.allclose(utils.logits_to_probs(utils.probs_to_logits(probs / 2)), probs / 2)
    assert flambeau.allclose(Categorical(probs / 2).logits[1:3], utils.probs_to_logits(probs / 2)[1:3])
    half = utils.clamp_probs(flambeau.tensor([0.0, 1.0]).half())
    assert (half > 0).all()
    assert (half < 1).all()


def test_attributes_that_are_computed_once() -> None:
    calls = []

    class Scaled(Distribution):
        def __init__(self, scale: flambeau.Tensor) -> None:
            self.scale = scale

        @utils.lazy_property
        def double(self) -> flambeau.Tensor:
            """Twice the scale."""
            calls.append(1)
            return self.scale * 2

    scaled = Scaled(flambeau.ones(1, requires_grad=True))
    with flambeau.no_grad():
        first = scaled.double
    assert first.requires_grad
    assert scaled.double is first
    assert calls == [1]
    assert Scaled.double.__doc__ == "Twice the scale."
