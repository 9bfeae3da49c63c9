"""What all distributions have in common: shapes, checks of parameters and values, and what follows from the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from flambeau.distributions.constraints import Constraint, is_dependent
from flambeau.distributions.constraints.array_checks import are_met
from flambeau.distributions.operators import F, broadcast
from flambeau.schema.dtype import DType
from flambeau.tensor.create import tensor
from flambeau.tensor.defaults import get_default_dtype
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor

Number = Tensor | float
D = TypeVar("D", bound="Distribution")


def broadcast_all(*values: Number) -> list[Tensor]:
    """Tensors and numbers as tensors of one shape; numbers get the dtype of the first tensor of floats.

    Raises ValueError for what is neither.

    >>> import flambeau
    >>> broadcast_all(flambeau.zeros(2), 1.0)[1]
    tensor([1., 1.])
    """
    for value in values:
        if not isinstance(value, Tensor | int | float):
            raise ValueError(
                "Input arguments must all be instances of Number or Tensor, but a parameter is a "
                f"{type(value).__name__}"
            )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype: DType = get_default_dtype() if first is None or not first.is_floating_point() else first.dtype
    device = None if first is None else first.device
    tensors = [v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device) for v in values]
    if not is_tracing() and all(v.shape == tensors[0].shape for v in tensors):
        return tensors
    return broadcast(*tensors)


def _said(value: Tensor) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


class Distribution:
    """A distribution, or a batch of independent ones: `batch_shape` of them, of values with sizes `event_shape`.

    Args:
        batch_shape: the sizes of the batch.
        event_shape: the sizes of one value; `()` for numbers.
        validate_args: whether parameters and values are checked; None for what `set_default_validate_args` said.

    >>> from flambeau.distributions import Normal
    >>> one = Normal(0.0, 1.0)
    >>> isinstance(one, Distribution), one.batch_shape, one.event_shape
    (True, flambeau.Size([]), flambeau.Size([]))
    """

    has_rsample: ClassVar[bool] = False
    """Whether gradients go through samples to the parameters."""
    has_enumerate_support: ClassVar[bool] = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _is_validating: ClassVar[bool] = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether new distributions check their parameters and values, unless they are told otherwise."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, but got {value!r}")
        Distribution._is_validating = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate_args = Distribution._is_validating if validate_args is None else validate_args
        for name, constraint in self.arg_constraints.items() if self._validate_args else ():
            value = self.__dict__.get(name)  # a parameter that is computed from another is not looked at
            if is_dependent(constraint):
                continue
            if isinstance(value, Tensor) and not are_met(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({_said(value)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                    + (f"\n{constraint.advice}" if constraint.advice else "")
                )

    # -- shapes -------------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The sizes of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The sizes of one value."""
        return self._event_shape

    def expand(self: D, batch_shape: Sequence[int], _instance: D | None = None) -> D:
        """The same distribution, repeated for a larger batch."""
        expanded = self._get_checked_instance(type(self), _instance)
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                own = value.shape[len(self.batch_shape) :]
                expanded.__dict__[name] = F.expand(value, [*batch_shape, *own])
        self._expand_into(expanded, batch_shape)
        Distribution.__init__(expanded, batch_shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    def _get_checked_instance(self: D, cls: type, _instance: D | None = None) -> D:
        """What `expand` of a class of users fills in: a distribution of their class that is not initialised yet."""
        if _instance is None and type(self) is not cls and "__init__" in type(self).__dict__:
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own: it has to say how it is expanded, `def expand`"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        """What else the expanded one has, for kinds that have more than parameters."""

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    # -- what kinds of distributions say ------------------------------------------------------------------------------

    @property
    def support(self) -> Constraint:
        """Where its values lie."""
        raise self._missing("a support")

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        raise self._missing("a mean")

    @property
    def mode(self) -> Tensor:
        """The most likely value of each distribution."""
        raise self._missing("a mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise self._missing("a variance")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples through which gradients go to the parameters; raises NotImplementedError where there are none."""
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample: its samples have no gradient. Take `x = d.sample()` and the "
            "gradient of `d.log_prob(x) * reward` in place of it"
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or probability, of values."""
        raise self._missing("a density")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        raise self._missing("a cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The values up to which these probabilities lie."""
        raise self._missing("an icdf")

    def entropy(self) -> Tensor:
        """The entropy of each distribution, in nats."""
        raise self._missing("an entropy")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a distribution that has finitely many, along a new first axis."""
        raise self._missing("an enumeration of its values")

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what.partition(' ')[2]} in closed form here")

    # -- what follows -------------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples of sizes `sample_shape + batch_shape + event_shape`, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`."""
        return self.sample((n,))

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution."""
        return F.sqrt(self.variance)

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return F.exp(self.entropy())

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError for values that cannot come from the distribution."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor, but got a {type(value).__name__}: write "
                f"flambeau.tensor({value!r})"
            )
        wanted, shape = self._extended_shape(), value.shape
        events = len(self._event_shape)
        if events and tuple(shape[len(shape) - events :]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {tuple(shape)} vs {tuple(self._event_shape)}."
            )
        for a, b in zip(reversed(shape), reversed(wanted), strict=False):
            if 1 not in (a, b) and a != b:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {tuple(shape)} vs {tuple(wanted)}. Its "
                    "last axes are those of the batch and of one value"
                )
        support = self.support
        if not are_met(support, value):
            raise ValueError(
                f"Expected value argument ({_said(value)}) to be within the support ({support!r}) of the distribution "
                f"{self!r}, but found invalid values:\n{value}\n`validate_args=False` leaves this check out"
            )

    def __repr__(self) -> str:
        parameters = {n: self.__dict__[n] for n in self.arg_constraints if isinstance(self.__dict__.get(n), Tensor)}
        parts = [f"{n}: {v if v.numel() == 1 else v.shape}" for n, v in parameters.items()]
        return f"{type(self).__name__}({', '.join(parts)})"


def number_of(sizes: Sequence[int]) -> int:
    """How many elements there are of these sizes.

    >>> number_of([2, 3])
    6
    """
    return math.prod(sizes)


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last `count` axes.

    >>> import flambeau
    >>> sum_rightmost(flambeau.ones(2, 3), 1)
    tensor([3., 3.])
    """
    return value if count == 0 else F.sum(F.reshape(value, [*value.shape[: value.dim() - count], -1]), [-1])
