"""Divergences between distributions of different kinds, and of the kinds that are made of others."""

from __future__ import annotations

import math

from flambeau.distributions.continuous import Exponential, Laplace, Normal, Uniform
from flambeau.distributions.continuous_bernoulli import ContinuousBernoulli
from flambeau.distributions.counts import Binomial
from flambeau.distributions.discrete import Bernoulli, Poisson
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.extremes import EULER, Gumbel
from flambeau.distributions.gamma import Beta, Gamma
from flambeau.distributions.half_lines import Cauchy, HalfCauchy, HalfNormal
from flambeau.distributions.kl import kl_divergence, register_kl
from flambeau.distributions.low_rank_normal import LowRankMultivariateNormal
from flambeau.distributions.multivariate_normal import MultivariateNormal, half_log_det, solved
from flambeau.distributions.one_hot import OneHotCategorical
from flambeau.distributions.operators import F
from flambeau.distributions.pareto import Pareto
from flambeau.distributions.ratios import InverseGamma
from flambeau.distributions.transformed import TransformedDistribution
from flambeau.tensor.tensor import Tensor

LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


def _never(p: Tensor, q: Tensor) -> Tensor:
    """Infinite, for each of a batch: `p` has values that `q` never has."""
    return F.full_like(p + q, math.inf)


@register_kl(Binomial, Binomial)
def _binomials(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("kl_divergence: of Binomials where the second has more trials there is no rule")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    divergence = p.total_count * each
    return divergence.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Cauchy, Cauchy)
def _cauchys(p: Cauchy, q: Cauchy) -> Tensor:
    away = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return away.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoullis(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    heads = p._log_constant() + (-p.probs).log1p() - q._log_constant() - (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + heads


@register_kl(Gumbel, Gumbel)
def _gumbels(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, away = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - 1 - away + ratio * EULER - EULER + (away + (1 + ratio).lgamma()).exp()


@register_kl(HalfNormal, HalfNormal)
@register_kl(HalfCauchy, HalfCauchy)
def _halves(p: HalfNormal | HalfCauchy, q: HalfNormal | HalfCauchy) -> Tensor:
    return kl_divergence(p._whole(), q._whole())


@register_kl(InverseGamma, InverseGamma)
def _inverse_gammas(p: InverseGamma, q: InverseGamma) -> Tensor:
    return kl_divergence(p._inverses(), q._inverses())


@register_kl(Pareto, Pareto)
def _paretos(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return divergence.masked_fill(p.scale < q.scale, math.inf)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hots(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return kl_divergence(p._values, q._values)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: both have to be made by equal transforms, of values of equal sizes")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_vectors(
    p: LowRankMultivariateNormal | MultivariateNormal, q: LowRankMultivariateNormal | MultivariateNormal
) -> Tensor:
    n = p.event_shape[0]
    if q.event_shape[0] != n:
        raise ValueError(f"kl_divergence: vectors of {n} and of {q.event_shape[0]} numbers have no divergence")
    factor, other = p.scale_tril, q.scale_tril
    spread = F.linalg_solve_triangular(other, factor, upper=False).square().sum([-2, -1])
    distance = solved(other, q.loc - p.loc).square().sum([-1])
    return half_log_det(other) - half_log_det(factor) + (spread + distance - n) * 0.5


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    scale, loc = p.rate * q.scale, q.loc / q.scale
    return scale.log() - 1 + loc.exp() * scale / (scale + 1) - loc + scale.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, rate = q.scale.square(), p.rate
    moments = rate.reciprocal().square() - q.loc / rate + q.loc.square() / 2
    return rate.log() - 1 + q.scale.log() + LOG_ROOT_2_PI + moments / variance


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    scale, loc, a = p.rate * q.scale, q.loc / q.scale, p.concentration
    return (
        (a - 1) * a.digamma() - a.lgamma() - a + scale.log() + a / scale
        + loc.exp() * (1 + scale.reciprocal()).pow(-a) - loc
    )  # fmt: skip


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _any_normal(p: Distribution, q: Normal) -> Tensor:
    return -p.entropy() + _in_normal(q, p.mean, p.variance)


def _in_normal(q: Normal, mean: Tensor, variance: Tensor) -> Tensor:
    """The mean of `-q.log_prob(x)`, of x with this mean and variance."""
    return (variance + (mean - q.loc).square()) / (2 * q.scale.square()) + q.scale.log() + LOG_ROOT_2_PI


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    away, spread = (p.loc - q.loc) / q.scale, (p.scale / q.scale).square() * 0.5
    return away + (spread - away).exp() + (q.scale / p.scale).log() - (0.5 + LOG_ROOT_2_PI)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    away = p.loc - q.loc
    z = away / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.square()).exp() + away * (z / math.sqrt(2)).erf()
    return -p.entropy() + (2 * q.scale).log() + mean / q.scale


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
def _beta_exponential(p: Beta | ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    log_mean = p.concentration1.digamma() - total.digamma()
    head = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + head - (q.concentration - 1) * log_mean + q.rate * p.mean


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _beta_uniform(p: Beta | ContinuousBernoulli, q: Uniform) -> Tensor:
    divergence = -p.entropy() + (q.high - q.low).log()
    return divergence.masked_fill(F.logical_or(q.low > 0, q.high < 1), math.inf)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_constant()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    divergence = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_constant()
    return divergence.masked_fill(F.logical_or(p.low < 0, p.high > 1), math.inf)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    rate = p.scale * q.rate
    divergence = (p.alpha / rate).log() - p.alpha.reciprocal() + p.alpha * rate / (p.alpha - 1) - 1
    return divergence.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    log_mean = p.scale.log() + p.alpha.reciprocal()
    head = q.concentration.lgamma() - q.concentration * q.rate.log()
    divergence = -p.entropy() + head - (q.concentration - 1) * log_mean + q.rate * p.mean
    return divergence.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    divergence = -p.entropy() + _in_normal(q, p.mean, p.variance)
    return divergence.masked_fill(p.alpha <= 2, math.inf)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    log_mean = (F.xlogy(p.high, p.high) - F.xlogy(p.low, p.low) - width) / width
    divergence = (q.alpha + 1) * log_mean - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return divergence.masked_fill(p.low < q.scale, math.inf)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    width = (p.high - p.low) / q.scale
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return (q.scale / (p.high - p.low)).log() + (low + high) * 0.5 - ((-high).exp() - (-low).exp()) / width


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    divergence = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    return divergence.masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    log_mean = (F.xlogy(p.high, p.high) - F.xlogy(p.low, p.low) - width) / width
    head = q.concentration.lgamma() - q.concentration * q.rate.log() - width.log()
    divergence = head + (1 - q.concentration) * log_mean + q.rate * p.mean
    return divergence.masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    def mean_log(low: Tensor, high: Tensor) -> Tensor:
        return (F.xlogy(high, high) - F.xlogy(low, low)) / (high - low) - 1

    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * mean_log(p.low, p.high) + (b - 1) * mean_log(1 - p.high, 1 - p.low)
    divergence = a.lgamma() + b.lgamma() - (a + b).lgamma() - logs - (p.high - p.low).log()
    return divergence.masked_fill(F.logical_or(p.low < 0, p.high > 1), math.inf)


def _first(p: Distribution) -> Tensor:
    """A parameter of a distribution: one number for each of its batch."""
    parameter: Tensor = p.__dict__[next(name for name in p.arg_constraints if name in p.__dict__)]
    return parameter


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    return _never(_first(p), _first(q))


for _wide, _narrow in (
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _kind in _narrow:
        register_kl(_wide, _kind)(_infinite)
