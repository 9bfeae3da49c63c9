"""Probability distributions with PyTorch's names and meaning, over the operators of the package.

>>> import flambeau
>>> from flambeau.distributions import Categorical, Normal, kl_divergence
>>> d = Normal(flambeau.tensor([0.0, 1.0]), 1.0)
>>> d.sample((3,)).shape, d.log_prob(flambeau.zeros(2))
(flambeau.Size([3, 2]), tensor([-0.9189, -1.4189]))
>>> kl_divergence(d, Normal(0.0, 1.0))
tensor([0.0000, 0.5000])
"""

from flambeau.distributions import constraints, kl_of_kinds, transforms, utils
from flambeau.distributions.categorical import Categorical
from flambeau.distributions.constraint_registry import biject_to, transform_to
from flambeau.distributions.continuous import Exponential, Laplace, LogNormal, Normal, Uniform
from flambeau.distributions.continuous_bernoulli import ContinuousBernoulli
from flambeau.distributions.counts import Binomial, Multinomial, NegativeBinomial
from flambeau.distributions.discrete import Bernoulli, Geometric, Poisson
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.extremes import Gumbel, Weibull
from flambeau.distributions.gamma import Beta, Chi2, Dirichlet, Gamma, StudentT
from flambeau.distributions.half_lines import Cauchy, HalfCauchy, HalfNormal
from flambeau.distributions.independent import Independent
from flambeau.distributions.kl import kl_divergence, register_kl
from flambeau.distributions.kumaraswamy import Kumaraswamy
from flambeau.distributions.logistic_normal import LogisticNormal
from flambeau.distributions.low_rank_normal import LowRankMultivariateNormal
from flambeau.distributions.matrices import LKJCholesky, Wishart
from flambeau.distributions.mixture import MixtureSameFamily
from flambeau.distributions.multivariate_normal import MultivariateNormal
from flambeau.distributions.one_hot import OneHotCategorical, OneHotCategoricalStraightThrough
from flambeau.distributions.pareto import GeneralizedPareto, Pareto
from flambeau.distributions.ratios import FisherSnedecor, InverseGamma
from flambeau.distributions.relaxed import (
    ExpRelaxedCategorical,
    LogitRelaxedBernoulli,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from flambeau.distributions.transformed import TransformedDistribution
from flambeau.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from flambeau.distributions.von_mises import VonMises
from flambeau.util.import_paths import provide as _provide

__getattr__ = _provide(
    __name__,
    {
        "bernoulli": "Bernoulli",
        "beta": "Beta",
        "binomial": "Binomial",
        "cauchy": "Cauchy",
        "chi2": "Chi2",
        "dirichlet": "Dirichlet",
        "exp_family": "ExponentialFamily",
        "exponential": "Exponential",
        "fishersnedecor": "FisherSnedecor",
        "generalized_pareto": "GeneralizedPareto",
        "geometric": "Geometric",
        "gumbel": "Gumbel",
        "half_cauchy": "HalfCauchy",
        "half_normal": "HalfNormal",
        "inverse_gamma": "InverseGamma",
        "laplace": "Laplace",
        "lkj_cholesky": "LKJCholesky",
        "log_normal": "LogNormal",
        "lowrank_multivariate_normal": "LowRankMultivariateNormal",
        "mixture_same_family": "MixtureSameFamily",
        "multinomial": "Multinomial",
        "negative_binomial": "NegativeBinomial",
        "normal": "Normal",
        "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
        "poisson": "Poisson",
        "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
        "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
        "studentT": "StudentT",
        "transformed_distribution": "TransformedDistribution",
        "uniform": "Uniform",
        "weibull": "Weibull",
        "wishart": "Wishart",
    },
)
"""Each kind under the path of a file of its own, which PyTorch's programs import it from."""

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpRelaxedCategorical", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform",
    "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LogitRelaxedBernoulli",
    "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT",
    "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "constraints", "identity_transform", "kl_divergence", "register_kl", "transform_to", "transforms", "utils",
]  # fmt: skip
