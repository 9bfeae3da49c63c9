"""Distributions of whole numbers: Bernoulli, geometric, Poisson."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.operators import F, broadcast
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


def one_of(name: str, probs: Any, logits: Any) -> bool:
    """Whether `probs` is given, not `logits`. Raises ValueError for both and for neither.

    >>> one_of("Bernoulli", 0.5, None)
    True
    """
    if (probs is None) == (logits is None):
        raise ValueError(f"Either `probs` or `logits` must be specified, but not both: {name}(logits=model(x))")
    return probs is not None


def inner(probs: Tensor) -> Tensor:
    """Probabilities kept off 0 and 1, of which there is a logarithm.

    >>> import flambeau
    >>> bool((inner(flambeau.tensor([0.0, 1.0])).log() < 0).all())
    True
    """
    eps = 1.1920928955078125e-07 if probs.element_size() < 8 else 2.220446049250313e-16
    return F.clamp(probs, min=eps, max=1 - eps)


SMALLEST: Final = 1.17549435e-38
"""The smallest normal float32, whose logarithm is finite."""


class WithOdds(Distribution):
    """Of probabilities `probs`, or of `logits`, the logarithms of their odds.

    >>> issubclass(Bernoulli, WithOdds)
    True
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip

    probs: Tensor
    logits: Tensor

    def __init__(
        self, probs: Number | None = None, logits: Number | None = None, validate_args: bool | None = None
    ) -> None:
        if one_of(type(self).__name__, probs, logits):
            assert probs is not None
            (self.__dict__["probs"],) = broadcast_all(probs)
        else:
            assert logits is not None
            (self.__dict__["logits"],) = broadcast_all(logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    @property
    def _given(self) -> Tensor:
        parameter: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return parameter

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return F.sigmoid(self.__dict__["logits"])
        if name == "logits" and "probs" in self.__dict__:
            return F.logit(inner(self.__dict__["probs"]))
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")


class Bernoulli(WithOdds, ExponentialFamily):
    """1 with a probability, otherwise 0.

    Args:
        probs: the probability of 1.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    Raises ValueError for probabilities that are none, and unless one of both is given.

    >>> import flambeau
    >>> Bernoulli(0.25).log_prob(flambeau.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_enumerate_support: ClassVar[bool] = True

    @property
    def support(self) -> Constraint:
        """0 and 1."""
        return constraints.boolean

    @property
    def mean(self) -> Tensor:
        """`probs`."""
        probs: Tensor = self.probs
        return probs

    @property
    def mode(self) -> Tensor:
        """The more likely value; nan where both are as likely."""
        more = F.to(F.ge(self.mean, 0.5), self.mean.dtype)
        return F.where(F.eq(self.mean, 0.5), F.full_like(more, math.nan), more)

    @property
    def variance(self) -> Tensor:
        """`probs * (1 - probs)`."""
        return F.mul(self.mean, F.add(F.neg(self.mean), 1))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            return F.bernoulli(F.contiguous(F.expand(self.mean, [*self._extended_shape(sample_shape)])))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        logits, value = broadcast(self.logits, value)
        return F.neg(F.binary_cross_entropy_with_logits(logits, F.to(value, logits.dtype), None, None, 0))

    def entropy(self) -> Tensor:
        """In nats."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, None, None, 0)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.softplus(natural_params[0])

    @property
    def _mean_carrier_measure(self) -> float:
        return 0.0

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1, along a new first axis."""
        parameter = self._given
        values = F.arange(2, dtype=parameter.dtype, device=parameter.device)
        values = F.view(values, [2] + [1] * len(self.batch_shape))
        return F.expand(values, [2, *self.batch_shape]) if expand else values


class Geometric(WithOdds):
    """How often something fails before it first succeeds.

    Args:
        probs: the probability of success, above 0.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    @property
    def support(self) -> Constraint:
        """0, 1, 2 and so on."""
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        """`1 / probs - 1`."""
        return F.sub(F.reciprocal(self.probs), 1)

    @property
    def mode(self) -> Tensor:
        """0."""
        return F.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """`(1 / probs - 1) / probs`."""
        return F.div(self.mean, self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            probs = self.probs
            u = F.rand([*self._extended_shape(sample_shape)], dtype=probs.dtype, device=probs.device).clamp(SMALLEST)
            return F.floor(F.div(F.log(u), F.log1p(F.neg(probs))))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        probs = self.probs
        return F.add(F.special_xlog1py(value, F.neg(probs)), F.log(probs))

    def entropy(self) -> Tensor:
        """In nats."""
        probs = self.probs
        return F.div(F.binary_cross_entropy_with_logits(self.logits, probs, None, None, 0), probs)


class Poisson(ExponentialFamily):
    """How often something happens that happens at a `rate`.

    Raises ValueError for a rate below 0.

    >>> import flambeau
    >>> Poisson(2.0).log_prob(flambeau.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.nonnegative}

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """0, 1, 2 and so on."""
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        """The rate."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The rate, rounded down."""
        return F.floor(self.rate)

    @property
    def variance(self) -> Tensor:
        """The rate."""
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            return F.poisson(F.contiguous(F.expand(self.rate, [*self._extended_shape(sample_shape)])))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        rate, value = broadcast(self.rate, value)
        return F.sub(F.sub(F.xlogy(value, rate), rate), F.lgamma(F.add(F.to(value, rate.dtype), 1)))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (F.log(self.rate),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.exp(natural_params[0])
