"""Exponential families: densities `exp(t(x) . theta - A(theta)) * h(x)`, whose entropies and divergences follow from A.

>>> import flambeau
>>> from flambeau.distributions import Normal, kl_divergence
>>> p, q = Normal(0.0, 1.0), Normal(1.0, 2.0)
>>> flambeau.testing.assert_close(ExponentialFamily.entropy(p), p.entropy())
>>> flambeau.testing.assert_close(divergence(p, q), kl_divergence(p, q))
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.autograd.backward import grad
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.operators import F
from flambeau.tensor.grad_mode import enable_grad
from flambeau.tensor.tensor import Tensor

OTHER_KIND = (
    "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences. Of "
    "{p} and {q}, estimate it by samples, `x = p.rsample((n,)); (p.log_prob(x) - q.log_prob(x)).mean(0)`, or register "
    "a rule with register_kl"
)


class ExponentialFamily(Distribution):
    """A distribution that says its natural parameters and the logarithm of what its density is divided by.

    A class derived from it has `_natural_params`, a tuple of tensors of sizes `batch_shape + ...`, and
    `_log_normalizer(*natural_params)`, of sizes `batch_shape`, which can be differentiated; for its entropy also
    `_mean_carrier_measure`, the mean of `log(h(x))`.

    >>> from flambeau.distributions import Gamma
    >>> issubclass(Gamma, ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._missing("any natural parameters")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._missing("a logarithm of its normaliser")

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        raise self._missing("a mean carrier measure")

    def entropy(self) -> Tensor:
        """In nats, by the derivative of the logarithm of the normaliser."""
        carrier = self._mean_carrier_measure
        parameters, total, means = _with_means(self, self._natural_params)
        return total - carrier - _products(self, parameters, means)


def divergence(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The divergence of `q` from `p`, of one kind, as a Bregman divergence of the logarithm of the normaliser.

    Raises NotImplementedError for two kinds.

    >>> from flambeau.distributions import Exponential
    >>> divergence(Exponential(1.0), Exponential(1.0))
    tensor(0.)
    """
    if type(p) is not type(q):
        raise NotImplementedError(OTHER_KIND.format(p=type(p).__name__, q=type(q).__name__))
    parameters, total, means = _with_means(p, p._natural_params)
    others = q._natural_params
    apart = [F.sub(theirs, mine) for mine, theirs in zip(parameters, others, strict=True)]
    return q._log_normalizer(*others) - total - _products(p, apart, means)


def _with_means(
    kind: ExponentialFamily, natural: Sequence[Tensor]
) -> tuple[Sequence[Tensor], Tensor, Sequence[Tensor | None]]:
    """Natural parameters, the logarithm of the normaliser there, and its derivatives: the means of the statistics."""
    with enable_grad():
        asking = [p if p.requires_grad else p.detach().requires_grad_() for p in natural]
        total = kind._log_normalizer(*asking)
        is_asked = any(p.requires_grad for p in natural)
        means = grad(total.sum(), asking, create_graph=is_asked)
        return natural, total if is_asked else total.detach(), means


def _products(kind: Distribution, first: Sequence[Tensor], second: Sequence[Tensor | None]) -> Tensor:
    """Products of parameters and means, summed up for each distribution of the batch."""
    batch = list(kind.batch_shape)
    products = [F.mul(a, b) for a, b in zip(first, second, strict=True) if b is not None]
    sums = [F.sum(F.reshape(p, [*batch, -1]), [-1]) for p in products]
    result = sums[0]
    for one in sums[1:]:
        result = F.add(result, one)
    return result
