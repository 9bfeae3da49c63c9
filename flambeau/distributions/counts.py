"""Distributions of counts: successes in trials, failures before successes, how often each of several values comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.categorical import Categorical
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.discrete import WithOdds, one_of
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.operators import F
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


class _OfTrials(WithOdds):
    """Counts of trials, `total_count` of them, that succeed with probability `probs`."""

    total_count: Tensor

    def __init__(
        self, total_count: Number, probs: Number | None = None, logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name = "probs" if one_of(type(self).__name__, probs, logits) else "logits"
        probs_or_logits: Any = probs if probs is not None else logits
        count, parameter = broadcast_all(total_count, probs_or_logits)
        self.total_count, self.__dict__[name] = count.type_as(parameter), parameter
        Distribution.__init__(self, parameter.shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the probabilities."""
        return self._given.shape


class Binomial(_OfTrials):
    """How many of `total_count` trials succeed, each with probability `probs`.

    Args:
        total_count: how many trials there are, 0 or more.
        probs: the probability of success.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    Raises ValueError for probabilities that are none, and unless one of both is given.

    >>> import flambeau
    >>> Binomial(2, 0.5).log_prob(flambeau.tensor(1.0)).exp()
    tensor(0.5000)
    """

    has_enumerate_support: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.nonnegative_integer, **WithOdds.arg_constraints,
    }  # fmt: skip

    def __init__(
        self, total_count: Number = 1, probs: Number | None = None, logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        """From 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """`total_count * probs`."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The most likely count."""
        return F.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        """`total_count * probs * (1 - probs)`."""
        return self.mean * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            shape = [*self._extended_shape(sample_shape)]
            return F.binomial(self.total_count.expand(shape).contiguous(), self.probs.expand(shape).contiguous())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * F.softplus(logits)

    def entropy(self) -> Tensor:
        """In nats, of equal counts. Raises NotImplementedError for others."""
        total = int(self.total_count.max().item())
        if int(self.total_count.min().item()) != total:
            raise NotImplementedError("Binomial: the entropy needs one total_count for the whole batch")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to `total_count`, along a new first axis. Raises NotImplementedError for counts that differ."""
        total = int(self.total_count.max().item())
        if int(self.total_count.min().item()) != total:
            raise NotImplementedError("Binomial: values are enumerated of one total_count for the whole batch")
        values = F.arange(1 + total, dtype=self._given.dtype, device=self._given.device)
        values = values.view([1 + total] + [1] * len(self.batch_shape))
        return values.expand([1 + total, *self.batch_shape]) if expand else values


class NegativeBinomial(_OfTrials):
    """How often trials succeed, each with probability `probs`, before `total_count` of them fail.

    Args:
        total_count: how many failures end it, 0 or more.
        probs: the probability of success, below 1.
        logits: in its place, the logarithm of its odds.
        validate_args: see `Distribution`.

    >>> NegativeBinomial(3.0, 0.5).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip

    @property
    def support(self) -> Constraint:
        """0, 1, 2 and so on."""
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        """`total_count` times the odds."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The most likely count."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The mean over the probability of failure."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients: how often something happens at a rate that has a gamma distribution."""
        with no_grad():
            shape = [*self._extended_shape(sample_shape)]
            rate = F._standard_gamma(self.total_count.expand(shape).contiguous()) * self.logits.exp()
            return F.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        ways = ways.masked_fill(n + value == 0, 0.0)
        return ways - n * F.softplus(logits) - value * F.softplus(-logits)


class Multinomial(Distribution):
    """How often each of n values comes in `total_count` draws.

    Args:
        total_count: how many draws, one number for the whole batch.
        probs: (..., n), weights that are 0 or more; their shares are the probabilities.
        logits: in their place, logarithms of weights.
        validate_args: see `Distribution`.

    Raises ValueError for weights below 0, and unless one of both is given; NotImplementedError for several counts.

    >>> import flambeau
    >>> Multinomial(2, flambeau.tensor([1.0, 3.0])).mean
    tensor([0.5000, 1.5000])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count is an int, one for the whole batch, but got a {type(total_count).__name__}"
            )
        one_of(type(self).__name__, probs, logits)
        self.total_count, self._draw = total_count, Categorical(probs, logits, validate_args=validate_args)
        super().__init__(self._draw.batch_shape, self._draw.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Multinomial:
        """The same distribution, repeated for a larger batch."""
        wide = self._draw.expand(batch_shape)
        name = "probs" if "probs" in wide.__dict__ else "logits"
        return type(self)(self.total_count, **{name: getattr(wide, name)}, validate_args=self._validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the values."""
        probs: Tensor = self._draw.probs
        return probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        logits: Tensor = self._draw.logits
        return logits

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the weights."""
        return self._draw.param_shape

    @property
    def support(self) -> Constraint:
        """Counts that add up to at most `total_count`."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """`total_count * probs`."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """`total_count * probs * (1 - probs)`."""
        return self.mean * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            drawn = self._draw.sample((self.total_count, *sample_shape))
            return F.one_hot(drawn, self.event_shape[0]).sum([0]).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        logits, value = F.broadcast_tensors([self.logits, value])
        logits = logits.masked_fill(F.logical_and(value == 0, logits == -float("inf")), 0.0)
        ways = (value.sum([-1]) + 1).lgamma() - (value + 1).lgamma().sum([-1])
        return ways + (logits * value).sum([-1])

    def entropy(self) -> Tensor:
        """In nats."""
        n = F.full([], float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        each = Binomial(n, self.probs, validate_args=False)
        counts = each.enumerate_support(False)
        spread = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._draw.entropy() - (n + 1).lgamma() + spread
