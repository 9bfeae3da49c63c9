"""Where parameters and values of distributions may lie: each constraint says of every value whether it is met.

>>> import flambeau
>>> interval(0, 1).check(flambeau.tensor([0.5, 2.0]))
tensor([ True, False])
"""

from flambeau.distributions.constraints.families import (
    MixtureSameFamilyConstraint,
    cat,
    greater_than,
    greater_than_eq,
    half_open_interval,
    independent,
    integer_interval,
    interval,
    less_than,
    multinomial,
    stack,
)
from flambeau.distributions.constraints.named import (
    Constraint,
    boolean,
    corr_cholesky,
    dependent,
    dependent_property,
    is_dependent,
    lower_cholesky,
    lower_triangular,
    nonnegative,
    nonnegative_integer,
    one_hot,
    positive,
    positive_definite,
    positive_integer,
    positive_semidefinite,
    real,
    real_vector,
    simplex,
    square,
    symmetric,
    unit_interval,
)

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
