"""Divergences between kinds of distributions, transforms and constraints beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import distributions as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.distributions")

KINDS: dict[str, tuple[Any, ...]] = {
    "Bernoulli": (0.3,), "Beta": (1.5, 2.5), "ContinuousBernoulli": (0.3,), "Exponential": (1.5,), "Gamma": (2.5, 1.5),
    "Gumbel": (0.3, 1.5), "Laplace": (0.3, 1.5), "Normal": (0.3, 1.5), "Pareto": (0.5, 2.5), "Poisson": (1.5,),
    "Uniform": (0.6, 0.9),
}  # fmt: skip
PAIRS = [
    (p, q) for p in KINDS for q in KINDS
    if p != q and any(  # what PyTorch has a rule for, inherited ones left out
        (getattr(theirs, p), getattr(theirs, q)) == pair for pair in theirs.kl._KL_REGISTRY
    )
]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences_of_kinds_are_pytorchs(p: str, q: str) -> None:
    a, b = (getattr(theirs, n)(*[torch.tensor(x, dtype=torch.float64) for x in KINDS[n]]) for n in (p, q))
    try:
        expected = float(theirs.kl_divergence(a, b))
    except NotImplementedError:
        return  # a rule that says that there is none
    c, d = (getattr(ours, n)(*[flambeau.tensor(x, dtype=flambeau.float64) for x in KINDS[n]]) for n in (p, q))
    assert float(ours.kl_divergence(c, d)) == pytest.approx(expected, rel=1e-6)


def test_binomials_of_equal_counts_have_a_divergence() -> None:
    a, b = (ours.Binomial(5, flambeau.tensor(p)) for p in (0.3, 0.6))
    expected = theirs.kl_divergence(theirs.Binomial(5, torch.tensor(0.3)), theirs.Binomial(5, torch.tensor(0.6)))
    assert float(ours.kl_divergence(a, b)) == pytest.approx(float(expected), rel=1e-5)


VECTOR, MATRIX = [0.5, -1.0, 0.25], [[0.5, -1.0], [0.25, 2.0]]
TRANSFORMS: dict[str, tuple[str, Any]] = {
    "exp": ("ExpTransform()", VECTOR), "sigmoid": ("SigmoidTransform()", VECTOR), "tanh": ("TanhTransform()", VECTOR),
    "softplus": ("SoftplusTransform()", VECTOR), "power": ("PowerTransform(tensor(2.0))", [0.5, 2.0]),
    "affine": ("AffineTransform(1.0, -2.0)", VECTOR), "vectors": ("AffineTransform(1.0, 2.0, event_dim=1)", VECTOR),
    "sticks": ("StickBreakingTransform()", VECTOR), "correlations": ("CorrCholeskyTransform()", VECTOR),
    "softmax": ("SoftmaxTransform()", VECTOR), "lower": ("LowerCholeskyTransform()", MATRIX),
    "definite": ("PositiveDefiniteTransform()", MATRIX), "abs": ("AbsTransform()", VECTOR),
    "several": ("ComposeTransform([AffineTransform(0.5, 2.0), ExpTransform()])", VECTOR),
    "parts": ("ComposeTransform([ExpTransform(), AffineTransform(0.5, 2.0, event_dim=1)])", MATRIX),
    "independent": ("IndependentTransform(ExpTransform(), 1)", VECTOR),
    "reshape": ("ReshapeTransform((2, 2), (4,))", MATRIX), "inverse": ("ExpTransform().inv", [0.5, 2.0]),
    "cat": ("CatTransform([ExpTransform(), identity_transform], dim=-1, lengths=[1, 2])", VECTOR),
    "stack": ("StackTransform([ExpTransform(), TanhTransform()], dim=-1)", MATRIX),
    "cdf": ("CumulativeDistributionTransform(Normal(tensor(0.5), tensor(2.0)))", VECTOR),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_pytorchs(name: str) -> None:
    text, value = TRANSFORMS[name]
    one = eval(text, {**vars(ours), "tensor": flambeau.tensor})
    other = eval(text, {**vars(theirs), **vars(theirs.transforms), "tensor": torch.tensor})
    x, x_ = flambeau.tensor(value, dtype=flambeau.float64), torch.tensor(value, dtype=torch.float64)
    y, y_ = one(x), other(x_)
    np.testing.assert_allclose(np.asarray(y), y_.numpy(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(one.inv(y)), other.inv(y_).numpy(), rtol=1e-6)
    assert tuple(one.forward_shape(x.shape)) == tuple(other.forward_shape(x_.shape)) == tuple(y_.shape)
    assert one.bijective == other.bijective
    try:
        expected = other.log_abs_det_jacobian(x_, y_)
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match="no log_abs_det_jacobian"):
            one.log_abs_det_jacobian(x, y)
        return
    np.testing.assert_allclose(np.asarray(one.log_abs_det_jacobian(x, y)), expected.numpy(), rtol=1e-6)


CONSTRAINTS = [
    "positive", "nonnegative", "unit_interval", "real", "greater_than(2.0)", "less_than(2.0)", "interval(-1.0, 3.0)",
    "half_open_interval(0.0, 1.0)", "greater_than_eq(1.0)", "simplex", "independent(positive, 1)", "corr_cholesky",
    "stack([positive, real, unit_interval], -1)", "cat([positive, real], -1, [1, 2])", "real_vector",
]  # fmt: skip


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_numbers_become_values_of_a_constraint_as_in_pytorch(text: str) -> None:
    x, x_ = flambeau.tensor(VECTOR), torch.tensor(VECTOR)
    one, other = eval(text, vars(ours.constraints).copy()), eval(text, vars(theirs.constraints).copy())
    for asked in ("biject_to", "transform_to"):
        y, y_ = getattr(ours, asked)(one)(x), getattr(theirs, asked)(other)(x_)
        np.testing.assert_allclose(np.asarray(y), y_.numpy(), rtol=1e-4, atol=1e-6)
        assert bool(one.check(y).all())
    assert (one.event_dim, one.is_discrete) == (other.event_dim, other.is_discrete)


def test_a_transformed_distribution_is_pytorchs() -> None:
    text = "TransformedDistribution(Normal(tensor([0.0, 1.0]), 1.0), [AffineTransform(1.0, -2.0), TanhTransform()])"
    one = eval(text, {**vars(ours), "tensor": flambeau.tensor})
    other = eval(text, {**vars(theirs), **vars(theirs.transforms), "tensor": torch.tensor})
    value = [0.3, -0.9]
    for asked in ("log_prob", "cdf"):
        found, expected = getattr(one, asked)(flambeau.tensor(value)), getattr(other, asked)(torch.tensor(value))
        np.testing.assert_allclose(np.asarray(found), expected.numpy(), rtol=1e-5)
    assert one.rsample((3,)).shape == (3, 2)
    assert one.expand((4, 2)).sample().shape == (4, 2)
    vectors = ours.TransformedDistribution(ours.Normal(flambeau.zeros(3), 1.0), ours.StickBreakingTransform())
    assert (vectors.batch_shape, vectors.event_shape) == ((), (4,))
    with pytest.raises(ValueError, match="values of 1 axes or more, but got a distribution of shape"):
        ours.TransformedDistribution(ours.Normal(0.0, 1.0), ours.StickBreakingTransform())
    with pytest.raises(ValueError, match="takes a Transform or a list of them, but got 3"):
        ours.TransformedDistribution(ours.Normal(0.0, 1.0), [3])  # type: ignore[list-item]


def test_a_mixture_is_pytorchs() -> None:
    weights, locs = [0.25, 0.75], [[-1.0, 2.0], [0.0, 1.0], [3.0, 3.5]]
    one = ours.MixtureSameFamily(
        ours.Categorical(flambeau.tensor([weights] * 3)), ours.Normal(flambeau.tensor(locs), 1.0)
    )
    other = theirs.MixtureSameFamily(
        theirs.Categorical(torch.tensor([weights] * 3)), theirs.Normal(torch.tensor(locs), 1.0)
    )
    for asked in ("log_prob", "cdf"):
        expected = getattr(other, asked)(torch.tensor(0.5)).numpy()
        np.testing.assert_allclose(np.asarray(getattr(one, asked)(flambeau.tensor(0.5))), expected, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(one.mean), other.mean.numpy(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(one.variance), other.variance.numpy(), rtol=1e-6)
    assert one.sample((5,)).shape == (5, 3)
    with pytest.raises(ValueError, match="there are 2 components"):
        ours.MixtureSameFamily(ours.Categorical(flambeau.ones(2)), ours.Normal(flambeau.zeros(3), 1.0))


def test_counts_of_several_values_are_pytorchs() -> None:
    one = ours.Multinomial(4, flambeau.tensor([0.2, 0.3, 0.5]))
    other = theirs.Multinomial(4, torch.tensor([0.2, 0.3, 0.5]))
    counts = [1.0, 0.0, 3.0]
    assert float(one.log_prob(flambeau.tensor(counts))) == pytest.approx(
        float(other.log_prob(torch.tensor(counts))), rel=1e-5
    )
    assert float(one.entropy()) == pytest.approx(float(other.entropy()), rel=1e-5)
    assert float(one.sample((7,)).sum()) == 28.0
    with pytest.raises(NotImplementedError, match="one for the whole batch, but got a Tensor"):
        ours.Multinomial(flambeau.tensor([1, 2]), flambeau.ones(2))  # type: ignore[arg-type]


def test_samples_that_are_relaxed_have_gradients() -> None:
    weights = flambeau.tensor([0.2, 0.8], requires_grad=True)
    for kind in (ours.RelaxedOneHotCategorical(0.5, weights), ours.OneHotCategoricalStraightThrough(weights)):
        weights.grad = None
        (kind.rsample((3,)) * flambeau.tensor([1.0, 2.0])).sum().backward()
        assert weights.grad is not None
        assert bool((weights.grad != 0).any())


def test_a_constraint_without_a_transform_says_how_to_give_it_one() -> None:
    class Even(ours.constraints.Constraint):
        pass

    with pytest.raises(NotImplementedError, match="Even: register one"):
        ours.biject_to(Even())
    with pytest.raises(TypeError, match="takes a constraint or a class of constraints, but got 3"):
        ours.biject_to.register(3, lambda constraint: ours.ExpTransform())
    ours.biject_to.register(Even, lambda constraint: ours.ExpTransform())
    assert ours.biject_to(Even()) == ours.ExpTransform()


def test_binomial_numbers() -> None:
    flambeau.manual_seed(0)
    drawn = flambeau.binomial(flambeau.full((1000,), 10.0), flambeau.full((1000,), 0.25))
    assert drawn.dtype == flambeau.float32
    assert float(drawn.mean()) == pytest.approx(2.5, abs=0.2)
