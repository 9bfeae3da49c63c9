"""One of several values, each with its probability, and vectors with a number for each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.constraints.array_checks import plain_array
from flambeau.distributions.discrete import inner, one_of
from flambeau.distributions.distribution import Distribution, number_of
from flambeau.distributions.operators import F, broadcast
from flambeau.schema.dtype import int64
from flambeau.tensor.array_library import np
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.float_errors import ignored

WEIGHTS: dict[str, Constraint] = {"probs": constraints.simplex, "logits": constraints.real_vector}
"""What the probabilities of several values, or their logarithms, must be."""


def _has_negative(weights: Tensor) -> bool:
    array = plain_array(weights)
    if array is None:
        return bool(F.any(F.lt(weights.detach(), 0)))
    with ignored():
        return bool(np.fmin.reduce(array, axis=None) < 0)


class Categorical(Distribution):
    """One of several values, 0, 1, 2 and so on, each with its probability.

    Args:
        probs: (..., n), weights that are 0 or more; their shares are the probabilities.
        logits: in their place, logarithms of weights.
        validate_args: see `Distribution`.

    Raises ValueError for weights below 0 or without axes, and unless one of both is given.

    >>> import flambeau
    >>> d = Categorical(flambeau.tensor([1.0, 3.0]))
    >>> d.log_prob(flambeau.tensor(1)).exp()
    tensor(0.7500)
    >>> d.sample((3,)).shape
    flambeau.Size([3])
    """

    has_enumerate_support: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = WEIGHTS

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name = type(self).__name__
        is_probs = one_of(name, probs, logits)
        weights = probs if is_probs else logits
        assert weights is not None
        if weights.dim() < 1:
            which = "probs" if is_probs else "logits"
            raise ValueError(f"{name}: `{which}` has one axis or more, the last for the values")
        if is_probs:
            if _has_negative(weights):
                raise ValueError(f"{name}: probs are weights that are 0 or more, but got {weights}")
            self.__dict__["probs"] = F.div(weights, F.sum(weights, [-1], True))
        else:
            self.__dict__["logits"] = F.sub(weights, F.logsumexp(weights, [-1], True))
        super().__init__(weights.shape[:-1], validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return F.softmax(self.__dict__["logits"], -1)
        if name == "logits" and "probs" in self.__dict__:
            return F.log(inner(self.__dict__["probs"]))
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the weights."""
        return self._given.shape

    @property
    def _given(self) -> Tensor:
        parameter: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return parameter

    @property
    def support(self) -> Constraint:
        """From 0 to n - 1."""
        return constraints.integer_interval(0, self._given.shape[-1] - 1)

    @property
    def mean(self) -> Tensor:
        """Values are names of things, which have no mean: nan."""
        return F.full([*self.batch_shape], math.nan, dtype=self._given.dtype, device=self._given.device)

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        return F.argmax(self._given, -1)

    @property
    def variance(self) -> Tensor:
        """Nan, as the mean."""
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, without gradients."""
        with no_grad():
            probs, count = self.probs, number_of(sample_shape)
            sizes = [*self._extended_shape(sample_shape)]
            if not count:
                return F.zeros(sizes, dtype=int64)
            rows = probs if probs.dim() == 2 else F.reshape(probs, [-1, probs.shape[-1]])
            drawn = F.multinomial(rows, count, True)
            if count > 1:
                drawn = F.contiguous(F.transpose(drawn, 0, 1))
            return F.reshape(drawn, sizes)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        index = F.unsqueeze(F.to(value, int64), -1)
        logits = self.logits
        if not is_tracing() and index.shape[:-1] == logits.shape[:-1]:
            return F.squeeze(F.gather(logits, -1, index), -1)
        sizes = broadcast(index, F.select(logits, -1, 0).unsqueeze(-1))[0].shape[:-1]
        spread = F.expand(logits, [*sizes, logits.shape[-1]])
        return F.squeeze(F.gather(spread, -1, F.expand(index, [*sizes, 1])), -1)

    def entropy(self) -> Tensor:
        """In nats."""
        floor = -3.4028234663852886e38 if self._given.element_size() < 8 else -1.7976931348623157e308
        return F.neg(F.sum(F.mul(F.clamp(self.logits, min=floor), self.probs), [-1]))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to n - 1, along a new first axis."""
        count = self._given.shape[-1]
        values = F.view(F.arange(count, device=self._given.device), [count] + [1] * len(self.batch_shape))
        return F.expand(values, [count, *self.batch_shape]) if expand else values

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Categorical:
        """The same distribution, repeated for a larger batch."""
        spread = F.expand(self._given, [*batch_shape, self._given.shape[-1]])
        name = "probs" if "probs" in self.__dict__ else "logits"
        return type(self)(**{name: spread}, validate_args=self._validate_args)


class CategoricalVectors(Distribution):
    """Vectors with a number for each of the values of a `Categorical`.

    >>> from flambeau.distributions import OneHotCategorical
    >>> issubclass(OneHotCategorical, CategoricalVectors)
    True
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = WEIGHTS

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._values = Categorical(probs, logits, validate_args=validate_args)
        super().__init__(self._values.batch_shape, self._values.param_shape[-1:], validate_args=validate_args)

    def _further_parameters(self) -> dict[str, Any]:
        """What else the constructor is given, by name."""
        return {}

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution, repeated for a larger batch."""
        wide = self._values.expand(batch_shape)
        name = "probs" if "probs" in wide.__dict__ else "logits"
        weights = {name: getattr(wide, name)}
        return type(self)(**self._further_parameters(), **weights, validate_args=self._validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the values."""
        probs: Tensor = self._values.probs
        return probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        logits: Tensor = self._values.logits
        return logits

    @property
    def param_shape(self) -> Sequence[int]:
        """The sizes of the weights."""
        return self._values.param_shape
