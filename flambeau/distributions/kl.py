"""Kullback-Leibler divergences, by rules for pairs of kinds of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

from flambeau.distributions.categorical import Categorical
from flambeau.distributions.continuous import Exponential, Laplace, Normal, Uniform
from flambeau.distributions.discrete import Bernoulli, Geometric, Poisson
from flambeau.distributions.distribution import Distribution, sum_rightmost
from flambeau.distributions.exponential_family import ExponentialFamily, divergence
from flambeau.distributions.gamma import Beta, Dirichlet, Gamma
from flambeau.distributions.independent import Independent
from flambeau.distributions.multivariate_normal import MultivariateNormal, half_log_det, solved
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor

Rule = Callable[[Any, Any], Tensor]
R = TypeVar("R", bound=Rule)
_rules: Final[dict[tuple[type, type], Rule]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[R], R]:
    """Register a function of two distributions as the divergence of their kinds, and of kinds derived from them.

    >>> register_kl.__name__
    'register_kl'
    """
    if not all(isinstance(t, type) and issubclass(t, Distribution) for t in (type_p, type_q)):
        raise TypeError(f"register_kl takes two classes of distributions, but got {type_p!r} and {type_q!r}")

    def register(rule: R) -> R:
        _rules[type_p, type_q] = rule
        return rule

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of `q` from `p`: the mean under `p` of `p.log_prob(x) - q.log_prob(x)`.

    Raises NotImplementedError for pairs without a rule.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for first in type(p).__mro__:
        for second in type(q).__mro__:
            rule = _rules.get((first, second))
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"there is no rule for the divergence of {type(q).__name__} from {type(p).__name__}: estimate it by samples, "
        "`x = p.rsample((n,)); (p.log_prob(x) - q.log_prob(x)).mean(0)`, or register one with register_kl"
    )


@register_kl(Normal, Normal)
def _normals(p: Normal, q: Normal) -> Tensor:
    ratio = F.square(F.div(p.scale, q.scale))
    distance = F.square(F.div(F.sub(p.loc, q.loc), q.scale))
    return F.mul(F.sub(F.sub(F.add(ratio, distance), 1), F.log(ratio)), 0.5)


@register_kl(Laplace, Laplace)
def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = F.div(p.scale, q.scale), F.abs(F.sub(p.loc, q.loc))
    rest = F.add(F.div(distance, q.scale), F.mul(ratio, F.exp(F.neg(F.div(distance, p.scale)))))
    return F.sub(F.sub(rest, F.log(ratio)), 1)


@register_kl(Uniform, Uniform)
def _uniforms(p: Uniform, q: Uniform) -> Tensor:
    result = F.log(F.div(F.sub(q.high, q.low), F.sub(p.high, p.low)))
    outside = F.logical_or(F.gt(q.low, p.low), F.lt(q.high, p.high))
    return F.masked_fill(result, outside, math.inf)


@register_kl(Exponential, Exponential)
def _exponentials(p: Exponential, q: Exponential) -> Tensor:
    ratio = F.div(q.rate, p.rate)
    return F.sub(F.sub(ratio, 1), F.log(ratio))


@register_kl(Gamma, Gamma)
def _gammas(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    by_rates = F.add(F.mul(b, F.log(F.div(p.rate, q.rate))), F.mul(a, F.sub(F.div(q.rate, p.rate), 1)))
    return F.add(F.add(by_rates, F.sub(F.lgamma(b), F.lgamma(a))), F.mul(F.sub(a, b), F.digamma(a)))


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total, other = F.sum(a, [-1]), F.sum(b, [-1])
    head = F.sub(F.lgamma(total), F.lgamma(other))
    parts = F.sum(F.sub(F.lgamma(a), F.lgamma(b)), [-1])
    means = F.sub(F.digamma(a), F.unsqueeze(F.digamma(total), -1))
    return F.add(F.sub(head, parts), F.sum(F.mul(F.sub(a, b), means), [-1]))


@register_kl(Beta, Beta)
def _betas(p: Beta, q: Beta) -> Tensor:
    return _dirichlets(p._both(), q._both())


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    a, b = p.probs, q.probs
    is_one = F.xlogy(a, F.div(a, b))
    is_zero = F.xlogy(F.add(F.neg(a), 1), F.div(F.add(F.neg(a), 1), F.add(F.neg(b), 1)))
    is_one = F.where(F.logical_and(F.eq(b, 0), F.ne(a, 0)), F.full_like(is_one, math.inf), is_one)
    is_one = F.masked_fill(is_one, F.eq(a, 0), 0.0)
    is_zero = F.where(F.logical_and(F.eq(b, 1), F.ne(a, 1)), F.full_like(is_zero, math.inf), is_zero)
    return F.add(is_one, F.masked_fill(is_zero, F.eq(a, 1), 0.0))


@register_kl(Categorical, Categorical)
def _categoricals(p: Categorical, q: Categorical) -> Tensor:
    parts = F.mul(p.probs, F.sub(p.logits, q.logits))
    impossible = F.expand(F.eq(q.probs, 0), [*parts.shape])
    parts = F.masked_fill(parts, impossible, math.inf)
    return F.sum(F.masked_fill(parts, F.expand(F.eq(p.probs, 0), [*parts.shape]), 0.0), [-1])


@register_kl(Geometric, Geometric)
def _geometrics(p: Geometric, q: Geometric) -> Tensor:
    return F.sub(F.sub(F.neg(p.entropy()), F.div(F.log1p(F.neg(q.probs)), p.probs)), q.logits)


@register_kl(Poisson, Poisson)
def _poissons(p: Poisson, q: Poisson) -> Tensor:
    return F.sub(F.mul(p.rate, F.sub(F.log(p.rate), F.log(q.rate))), F.sub(p.rate, q.rate))


@register_kl(MultivariateNormal, MultivariateNormal)
def _vectors(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = p.event_shape[0]
    if q.event_shape[0] != n:
        raise ValueError(f"kl_divergence: vectors of {n} and of {q.event_shape[0]} numbers have no divergence")
    factors = F.linalg_solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    spread = F.sum(F.square(factors), [-2, -1])
    distance = F.sum(F.square(solved(q.scale_tril, F.sub(q.loc, p.loc))), [-1])
    half = F.mul(F.sub(F.add(spread, distance), n), 0.5)
    return F.add(F.sub(half_log_det(q.scale_tril), half_log_det(p.scale_tril)), half)


@register_kl(Independent, Independent)
def _independents(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: both Independents have to take as many axes of their batches")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


_kl_expfamily_expfamily = register_kl(ExponentialFamily, ExponentialFamily)(divergence)
