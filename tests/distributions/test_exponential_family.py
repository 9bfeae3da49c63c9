"""Entropies and divergences by natural parameters are those that each kind has in closed form."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import distributions as d
from flambeau.distributions.exponential_family import divergence
from flambeau.testing import assert_close

a, b = flambeau.tensor([0.3, 2.5], dtype=flambeau.float64), flambeau.tensor([1.5, 0.7], dtype=flambeau.float64)
MATRIX = flambeau.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=flambeau.float64)
PAIRS = [
    (d.Normal(a, b), d.Normal(b, a)),
    (d.Exponential(a), d.Exponential(b)),
    (d.Gamma(a, b), d.Gamma(b, a)),
    (d.Chi2(a), d.Chi2(b)),
    (d.Beta(a, b), d.Beta(b, a)),
    (d.Dirichlet(a), d.Dirichlet(b)),
    (d.Bernoulli(logits=a), d.Bernoulli(logits=b)),
    (d.ContinuousBernoulli(logits=a), d.ContinuousBernoulli(logits=-b)),
    (d.Poisson(a), d.Poisson(b)),
    (d.Wishart(flambeau.tensor(3.0, dtype=flambeau.float64), MATRIX), d.Wishart(flambeau.tensor(4.0).double(), MATRIX)),
]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_closed_forms(p: d.ExponentialFamily, q: d.ExponentialFamily) -> None:
    assert_close(divergence(p, q), d.kl_divergence(p, q))
    if not isinstance(p, d.Poisson | d.Wishart):
        assert_close(d.ExponentialFamily.entropy(p), p.entropy())


def test_gradients_flow() -> None:
    rate = flambeau.tensor([0.5], requires_grad=True)
    (ours,) = flambeau.autograd.grad(d.ExponentialFamily.entropy(d.Exponential(rate)).sum(), rate)
    (theirs,) = flambeau.autograd.grad(d.Exponential(rate).entropy().sum(), rate)
    assert_close(ours, theirs)


def test_without() -> None:
    with pytest.raises(NotImplementedError, match="different exponential families"):
        d.kl_divergence(d.Poisson(1.0), d.Exponential(1.0))
    with pytest.raises(NotImplementedError, match="no mean carrier measure in closed form"):
        d.Poisson(1.0).entropy()
    with pytest.raises(NotImplementedError, match="no natural parameters"):
        divergence(d.ExponentialFamily(), d.ExponentialFamily())
