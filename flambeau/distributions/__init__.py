"""Probability distributions with PyTorch's names and meaning, over the operators of the package.

>>> import flambeau
>>> from flambeau.distributions import Categorical, Normal, kl_divergence
>>> d = Normal(flambeau.tensor([0.0, 1.0]), 1.0)
>>> d.sample((3,)).shape, d.log_prob(flambeau.zeros(2))
(flambeau.Size([3, 2]), tensor([-0.9189, -1.4189]))
>>> kl_divergence(d, Normal(0.0, 1.0))
tensor([0.0000, 0.5000])
"""

from flambeau.distributions import constraints
from flambeau.distributions.continuous import Exponential, Laplace, LogNormal, Normal, Uniform
from flambeau.distributions.discrete import Bernoulli, Categorical, Geometric, Poisson
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.gamma import Beta, Chi2, Dirichlet, Gamma, StudentT
from flambeau.distributions.independent import Independent
from flambeau.distributions.kl import kl_divergence, register_kl
from flambeau.distributions.multivariate_normal import MultivariateNormal

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma", "Geometric",
    "Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "Poisson", "StudentT", "Uniform",
    "constraints", "kl_divergence", "register_kl",
]  # fmt: skip
