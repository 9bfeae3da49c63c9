"""Distributions beside PyTorch's: densities, moments, divergences, shapes, gradients, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import distributions as ours
from flambeau.ops.derivatives.gamma_sample_formulas import derivative_by_shape
from flambeau.ops.derivatives.operators import OPERATORS

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.distributions")

CASES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "Normal": (([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]), [0.3, 2.0, -1.0]),
    "LogNormal": (([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]), [0.3, 2.0, 1.0]),
    "Uniform": (([0.0, 1.0], [2.0, 3.0]), [0.5, 2.9]),
    "Exponential": (([0.5, 2.0],), [0.3, 4.0]),
    "Laplace": (([0.0, 1.0], [1.0, 2.0]), [0.3, -4.0]),
    "Gamma": (([0.5, 2.0, 30.0], [1.0, 3.0, 2.0]), [0.3, 1.0, 14.0]),
    "Chi2": (([3.0, 1.0],), [0.3, 1.0]),
    "Beta": (([0.5, 2.0, 3.0], [1.0, 3.0, 3.0]), [0.3, 0.1, 0.9]),
    "Dirichlet": (([[1.0, 2.0, 3.0], [0.5, 0.25, 2.5]],), [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
    "StudentT": (([3.0, 1.5], [0.0, 1.0], [1.0, 2.0]), [0.3, -2.0]),
    "Bernoulli": (([0.1, 0.5, 0.9],), [0.0, 1.0, 1.0]),
    "Geometric": (([0.1, 0.5, 0.9],), [0.0, 4.0, 2.0]),
    "Poisson": (([0.1, 5.0, 9.0],), [0.0, 4.0, 12.0]),
    "Categorical": (([[0.1, 0.5, 0.4], [0.2, 0.2, 6.0]],), [0, 2]),
    "Cauchy": (([0.0, 1.0], [1.0, 2.0]), [0.3, -4.0]),
    "HalfNormal": (([1.0, 2.0],), [0.3, 4.0]),
    "HalfCauchy": (([1.0, 2.0],), [0.3, 4.0]),
    "Gumbel": (([0.0, 1.0], [1.0, 2.0]), [0.3, -4.0]),
    "Weibull": (([1.0, 2.0], [0.5, 3.0]), [0.3, 4.0]),
    "Pareto": (([1.0, 2.0], [0.5, 3.0]), [1.3, 4.0]),
    "GeneralizedPareto": (([1.0, 2.0, 0.0], [0.5, 3.0, 1.0], [0.2, -0.3, 0.0]), [1.3, 4.0, 2.0]),
    "Kumaraswamy": (([1.5, 2.0], [0.5, 3.0]), [0.3, 0.9]),
    "InverseGamma": (([0.5, 3.0], [1.0, 2.0]), [0.3, 4.0]),
    "FisherSnedecor": (([1.0, 3.0], [2.0, 7.0]), [0.3, 4.0]),
    "ContinuousBernoulli": (([0.1, 0.5, 0.50001, 0.9],), [0.3, 0.9, 0.1, 0.2]),
    "VonMises": (([0.0, 1.0], [1.0, 20.0]), [0.3, 0.9]),
    "Binomial": (([4, 4], [0.25, 0.9]), [0.0, 3.0]),
    "NegativeBinomial": (([4, 2], [0.25, 0.9]), [0.0, 3.0]),
    "OneHotCategorical": (([[0.1, 0.5, 0.4], [0.2, 0.2, 6.0]],), [[0, 1, 0], [0, 0, 1]]),
    "LogisticNormal": (([0.0, 1.0], [1.0, 0.5]), [0.2, 0.3, 0.5]),
    "LowRankMultivariateNormal": (([1.0, 2.0], [[2.0], [0.5]], [1.0, 0.5]), [[0.3, 1.0], [2.0, 2.0]]),
    "LKJCholesky": ((3, [0.5, 2.0]), [[[1, 0, 0], [0.6, 0.8, 0], [0.6, 0, 0.8]]] * 2),
    "Wishart": (([4.0, 7.0], [[2.0, 0.5], [0.5, 1.0]]), [[[1.0, 0.1], [0.1, 2.0]]] * 2),
    "RelaxedBernoulli": (([0.5, 2.0], [0.1, 0.7]), [0.2, 0.9]),
    "RelaxedOneHotCategorical": ((0.5, [0.1, 0.5, 0.4]), [0.2, 0.3, 0.5]),
    "MultivariateNormal": (([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]), [[0.3, 1.0], [2.0, 2.0]]),
}
NOT_COMPARED = {
    ("Weibull", "mode"): "PyTorch's is no number of the support for powers below 1",
    ("Kumaraswamy", "mode"): "PyTorch's is nan where there is one",
}
APPROXIMATE = {"VonMises": 1e-5, "GeneralizedPareto": 1e-5}
"""Where PyTorch computes polynomials in place of Bessel functions, or float32 constants."""
SINGLE = {"GeneralizedPareto": np.float32}
"""What PyTorch refuses in float64, which it compares with a float32."""
NO_MEAN = {"Categorical", "StudentT", "LogNormal", "Cauchy", "HalfCauchy", "Pareto", "InverseGamma", "FisherSnedecor"}
"""Without a mean, or with one that few samples do not come near."""
NO_MOMENTS = {"LogisticNormal", "LKJCholesky", "RelaxedBernoulli", "RelaxedOneHotCategorical", "VonMises"}
ASKED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "log_prob": lambda d, value, _: d.log_prob(value), "cdf": lambda d, value, _: d.cdf(value),
    "icdf": lambda d, _, chance: d.icdf(chance), "entropy": lambda d, *_: d.entropy(), "mean": lambda d, *_: d.mean,
    "mode": lambda d, *_: d.mode, "variance": lambda d, *_: d.variance, "stddev": lambda d, *_: d.stddev,
    "enumerate_support": lambda d, *_: d.enumerate_support(),
}  # fmt: skip


def both(name: str, parameters: Any) -> tuple[Any, Any]:
    arrays = [np.array(p, dtype=SINGLE.get(name)) for p in parameters]
    if name == "LKJCholesky":
        return ours.LKJCholesky(3, flambeau.tensor(arrays[1])), theirs.LKJCholesky(3, torch.tensor(arrays[1]))
    return getattr(ours, name)(*map(flambeau.tensor, arrays)), getattr(theirs, name)(*map(torch.tensor, arrays))


@pytest.mark.parametrize("name", CASES)
def test_answers_are_pytorchs(name: str) -> None:
    parameters, value = CASES[name]
    one, other = both(name, parameters)
    single = SINGLE.get(name)
    values, chances = np.array(value, dtype=single), np.full(len(value), 0.2, dtype=single)
    for asked, ask in ASKED.items():
        if (name, asked) in NOT_COMPARED:
            continue
        try:
            expected = ask(other, torch.tensor(values), torch.tensor(chances)).numpy()
        except NotImplementedError:
            with pytest.raises(NotImplementedError, match=r"has no .* in closed form here|rises or falls"):
                ask(one, flambeau.tensor(values), flambeau.tensor(chances))
            continue
        found = ask(one, flambeau.tensor(values), flambeau.tensor(chances))
        np.testing.assert_allclose(
            np.asarray(found), expected, rtol=APPROXIMATE.get(name, 1e-6), atol=1e-9, err_msg=f"{name}.{asked}"
        )
        assert tuple(found.shape) == expected.shape


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_shapes_and_means(name: str) -> None:
    flambeau.manual_seed(0)
    torch.manual_seed(0)
    parameters, _ = CASES[name]
    one, other = both(name, parameters)
    assert tuple(one.batch_shape) == tuple(other.batch_shape)
    assert tuple(one.event_shape) == tuple(other.event_shape)
    samples = one.sample((3000,))
    assert tuple(samples.shape[1:]) == tuple(other._extended_shape())
    wide = one.expand((4, *one.batch_shape))
    assert tuple(wide.sample((2,)).shape) == tuple(other.expand((4, *other.batch_shape))._extended_shape((2,)))
    one.log_prob(samples)  # all lie in the support
    if name in NO_MEAN | NO_MOMENTS:
        return
    error = np.asarray(one.stddev) / math.sqrt(3000)
    np.testing.assert_array_less(np.abs(np.asarray(samples).mean(0) - np.asarray(one.mean)), 5 * error)


@pytest.mark.parametrize("name", ["Weibull", "Pareto", "Kumaraswamy", "VonMises", "LKJCholesky"])
def test_equal_seeds_draw_pytorchs_samples(name: str) -> None:
    one, other = both(name, CASES[name][0])
    flambeau.manual_seed(3)
    torch.manual_seed(3)
    drawn, expected = one.sample((5,)), other.sample((5,))
    np.testing.assert_allclose(np.asarray(drawn), expected.numpy(), rtol=1e-5, atol=1e-6)


NO_RULE = {
    "StudentT", "LogNormal", "Weibull", "GeneralizedPareto", "Kumaraswamy", "FisherSnedecor", "VonMises",
    "NegativeBinomial", "LKJCholesky", "Wishart", "RelaxedBernoulli", "RelaxedOneHotCategorical", "Binomial",
}  # fmt: skip
"""Kinds whose divergence has no rule; Binomial's wants equal counts, and is among the pairs below."""


@pytest.mark.parametrize("name", [n for n in CASES if n not in NO_RULE])
def test_divergences_are_pytorchs(name: str) -> None:
    parameters, _ = CASES[name]
    moved = [np.array(p) if np.ndim(p) == 2 else np.array(p) * 0.9 + 0.01 for p in parameters]
    (p, p_), (q, q_) = both(name, parameters), both(name, moved)
    expected = theirs.kl_divergence(p_, q_).numpy()
    np.testing.assert_allclose(np.asarray(ours.kl_divergence(p, q)), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_vectors_are_given_by_any_matrix(name: str) -> None:
    matrix = np.linalg.cholesky(np.array([[2.0, 0.5], [0.5, 1.0]]))
    matrix = matrix if name == "scale_tril" else matrix @ matrix.T
    one = ours.MultivariateNormal(flambeau.zeros(2, dtype=flambeau.float64), **{name: flambeau.tensor(matrix)})
    other = theirs.MultivariateNormal(torch.zeros(2, dtype=torch.float64), **{name: torch.tensor(matrix)})
    value = np.array([0.5, -1.0])
    np.testing.assert_allclose(float(one.log_prob(flambeau.tensor(value))), float(other.log_prob(torch.tensor(value))))
    for asked in ("covariance_matrix", "precision_matrix", "scale_tril"):
        np.testing.assert_allclose(np.asarray(getattr(one, asked)), getattr(other, asked).numpy(), rtol=1e-10)


def test_gradients_of_gamma_samples_by_shape() -> None:
    shapes = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0])
    for factor in (0.3, 1.0, 2.0):
        expected = torch._standard_gamma_grad(torch.tensor(shapes), torch.tensor(shapes * factor)).numpy()
        found = np.asarray(derivative_by_shape(OPERATORS, flambeau.tensor(shapes), flambeau.tensor(shapes * factor)))
        np.testing.assert_allclose(found, expected, rtol=1e-3)  # PyTorch's is an approximation
    ends = derivative_by_shape(OPERATORS, flambeau.tensor([1e3, 1e3, 1e-2]), flambeau.tensor([10.0, 5e3, 1e-30]))
    assert np.isfinite(np.asarray(ends)).all()


def test_gradients_go_through_samples_and_log_probabilities() -> None:
    flambeau.manual_seed(1)
    loc = flambeau.tensor([2.0, -1.0], requires_grad=True)
    ours.Independent(ours.Normal(loc, 1.0), 1).rsample((4000,)).square().sum(-1).mean().backward()
    assert loc.grad is not None
    np.testing.assert_allclose(np.asarray(loc.grad), [4.0, -2.0], atol=0.1)
    shape = flambeau.tensor(2.0, requires_grad=True)
    ours.Beta(shape, 2.0).rsample((4000,)).mean().backward()
    assert shape.grad is not None
    assert float(shape.grad) == pytest.approx(0.125, abs=0.01)  # a / (a + b), by a
    logits = flambeau.zeros(3, requires_grad=True)
    ours.Categorical(logits=logits).log_prob(flambeau.tensor([0, 0])).sum().backward()
    assert logits.grad is not None
    np.testing.assert_allclose(np.asarray(logits.grad), [4 / 3, -2 / 3, -2 / 3], rtol=1e-5)


def test_values_that_are_wrong_are_refused_with_what_is_right() -> None:
    normal = ours.Normal(flambeau.zeros(3), 1.0)
    weights = flambeau.tensor([0.5, 0.5])
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: ours.Normal(0.0, -1.0), ValueError, r"(?s)scale \(Tensor of shape \(\)\) .*constraint positive.*soft"),
        (lambda: ours.Normal("a", 1.0), ValueError, "but a parameter is a str"),  # type: ignore[arg-type]
        (lambda: ours.Bernoulli(), ValueError, r"Either `probs` or `logits` must be.*Bernoulli\(logits=model\(x\)\)"),
        (lambda: ours.Bernoulli(2.0), ValueError, "(?s)probs .* constraint unit_interval, but.*sigmoid"),
        (lambda: ours.Categorical(flambeau.tensor([0.1, -1.0])), ValueError, "weights that are 0 or more"),
        (lambda: ours.Categorical(flambeau.tensor(0.5)), ValueError, "has one axis or more"),
        (lambda: ours.Uniform(2.0, 1.0), ValueError, "low has to lie below high"),
        (lambda: ours.MultivariateNormal(flambeau.zeros(2)), ValueError, "give one of .*but got none of them"),
        (lambda: ours.MultivariateNormal(flambeau.zeros(2), -flambeau.eye(2)), ValueError, "positive_definite"),
        (lambda: normal.log_prob(1.0), ValueError, r"must be a Tensor.*flambeau\.tensor\(1\.0\)"),  # type: ignore[arg-type]
        (lambda: normal.log_prob(flambeau.zeros(2)), ValueError, r"not broadcastable with .*: \(2,\) vs \(3,\)"),
        (lambda: ours.Bernoulli(0.3).log_prob(flambeau.tensor(0.5)), ValueError, r"the support \(boolean\)"),
        (lambda: ours.Categorical(weights).log_prob(flambeau.tensor(5)), ValueError, "upper_bound=1"),
        (lambda: ours.Categorical(weights).rsample(), NotImplementedError, "its samples have no gradient"),
        (lambda: ours.Independent(normal, 2), ValueError, "the batch of Normal has 1"),
        (lambda: ours.kl_divergence(normal, ours.Bernoulli(0.5)), NotImplementedError, "estimate it by samples"),
    ]
    for mistake, kind, text in mistakes:
        with pytest.raises(kind, match=text):
            mistake()
    assert bool(ours.Bernoulli(0.3, validate_args=False).log_prob(flambeau.tensor(0.5)).isfinite())


def test_a_traced_program_may_use_a_distribution() -> None:
    def density(x: flambeau.Tensor) -> flambeau.Tensor:
        return ours.Normal(x.mean(), x.std(), validate_args=False).log_prob(x).sum()

    x = flambeau.arange(5.0)
    traced = flambeau.trace(density, (x,))
    assert float(traced(x * 2)) == pytest.approx(float(density(x * 2)), rel=1e-5)


@pytest.mark.parametrize("tail", [-0.3, 0.0, 0.2])
def test_tails_have_the_density_that_their_distribution_function_has(tail: float) -> None:
    one = ours.GeneralizedPareto(*(flambeau.tensor(x, dtype=flambeau.float64) for x in (1.0, 2.0, tail)))
    value = flambeau.tensor([1.5, 3.0], dtype=flambeau.float64, requires_grad=True)
    one.cdf(value).sum().backward()
    assert value.grad is not None
    np.testing.assert_allclose(np.asarray(one.log_prob(value.detach()).exp()), np.asarray(value.grad), rtol=1e-10)
