"""Whether all values of a tensor meet a constraint. Of plain tensors NumPy says so at once, since distributions ask it
of their parameters when they are made, and of each value whose probability is taken.

>>> import flambeau
>>> from flambeau.distributions.constraints import positive
>>> are_met(positive, flambeau.tensor([1.0, 2.0])), are_met(positive, flambeau.tensor([1.0, 0.0]))
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.distributions.constraints import families, named
from flambeau.distributions.constraints.named import Constraint
from flambeau.distributions.operators import F
from flambeau.ops.families.reduce import total
from flambeau.tensor.array_library import np
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor
from flambeau.util.float_errors import begin, end

Array = np.ndarray[Any, Any]
_FLOATS: Final = "fd"
_INTEGERS: Final = "?bhilqBHILQ"


def are_met(constraint: Constraint, value: Tensor) -> bool:
    """Whether all values of a tensor lie in the constraint's set.

    Raises what the constraint's `check` raises.
    """
    array = plain_array(value)
    if array is not None:
        before = begin()
        try:
            answer = _by_numpy(constraint, array)
        finally:
            end(before)
        if answer is not None:
            return answer
    return bool(F.all(constraint.check(value.detach())))


def plain_array(value: Tensor) -> Array | None:
    """The array of a tensor in the host's memory, of floats or whole numbers, which has elements; None for all else,
    and where somebody watches operators."""
    if (type(value) is not Tensor and type(value) not in PLAIN) or thread.handlers or thread.observer is not None:
        return None
    array: Array = value._array
    return array if array.size and array.dtype.char in _FLOATS + _INTEGERS else None


def _by_numpy(constraint: Constraint, array: Array) -> bool | None:
    """None for a constraint that nothing is known of here."""
    check = _CHECKS.get(constraint) if type(constraint) is named.Named else _KINDS.get(type(constraint))
    return None if check is None else check(constraint, array)


def _least(array: Array) -> Any:
    """Nan if there is one."""
    return np.minimum.reduce(array, axis=None)


def _most(array: Array) -> Any:
    return np.maximum.reduce(array, axis=None)


def _are_numbers(constraint: Any, array: Array) -> bool | None:
    if array.ndim < constraint.event_dim:
        return None
    return array.dtype.char not in _FLOATS or bool((array == array).all())


def _are_whole(array: Array) -> bool:
    return array.dtype.char not in _FLOATS or bool((array == np.floor(array)).all())


def _is_simplex(constraint: Any, array: Array) -> bool | None:
    if not array.ndim or array.dtype.char not in _FLOATS:
        return None
    if not _least(array) >= 0:
        return False
    sums = total(array, (array.ndim - 1,), False, array.dtype)
    return bool((np.abs(sums - 1.0) < (1e-6 if array.itemsize >= 8 else 1e-5)).all())


def _bounds(constraint: Any, array: Array, *names: str) -> list[Any] | None:
    """Bounds that are numbers, of whole numbers whole ones too; else None."""
    kinds = (int, float) if array.dtype.char in _FLOATS else (int,)
    bounds = [getattr(constraint, name) for name in names]
    return bounds if all(type(bound) in kinds for bound in bounds) else None


def _lie_within(constraint: Any, array: Array) -> bool | None:
    bounds = _bounds(constraint, array, "lower_bound", "upper_bound")
    return None if bounds is None else bool(_least(array) >= bounds[0] and _most(array) <= bounds[1])


def _lie_below(constraint: Any, array: Array) -> bool | None:
    bounds = _bounds(constraint, array, "lower_bound", "upper_bound")
    return None if bounds is None else bool(_least(array) >= bounds[0] and _most(array) < bounds[1])


def _are_whole_within(constraint: Any, array: Array) -> bool | None:
    lie_within = _lie_within(constraint, array)
    return _are_whole(array) if lie_within else lie_within


def _are_greater(constraint: Any, array: Array) -> bool | None:
    bounds = _bounds(constraint, array, "lower_bound")
    return None if bounds is None else bool(_least(array) > bounds[0])


def _are_as_great(constraint: Any, array: Array) -> bool | None:
    bounds = _bounds(constraint, array, "lower_bound")
    return None if bounds is None else bool(_least(array) >= bounds[0])


def _are_less(constraint: Any, array: Array) -> bool | None:
    bounds = _bounds(constraint, array, "upper_bound")
    return None if bounds is None else bool(_most(array) < bounds[0])


def _are_met_by_parts(constraint: Any, array: Array) -> bool | None:
    return None if array.ndim < constraint.event_dim else _by_numpy(constraint.base_constraint, array)


_Check = Callable[[Any, Array], "bool | None"]
_KINDS: Final[dict[type, _Check]] = {
    families.interval: _lie_within,
    families.half_open_interval: _lie_below,
    families.integer_interval: _are_whole_within,
    families.greater_than: _are_greater,
    families.greater_than_eq: _are_as_great,
    families.less_than: _are_less,
    families.independent: _are_met_by_parts,
}
"""By class: classes that derive from these have checks of their own."""
_CHECKS: Final[dict[Constraint, _Check]] = {
    named.real: _are_numbers,
    named.real_vector: _are_numbers,
    named.simplex: _is_simplex,
    named.positive: lambda _, array: bool(_least(array) > 0),
    named.nonnegative: lambda _, array: bool(_least(array) >= 0),
    named.unit_interval: lambda _, array: bool(_least(array) >= 0 and _most(array) <= 1),
    named.boolean: lambda _, array: bool(((array == 0) | (array == 1)).all()),
    named.nonnegative_integer: lambda _, array: bool(_least(array) >= 0) and _are_whole(array),
    named.positive_integer: lambda _, array: bool(_least(array) > 0) and _are_whole(array),
}
