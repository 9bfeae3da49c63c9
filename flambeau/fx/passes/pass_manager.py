"""Functions of anything, one after the other: those of modules that give a `PassResult` are for `infra.pass_manager`.

>>> PassManager([lambda x: x + 1, lambda x: x * 2])(3)
8
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

from flambeau.fx.passes.infra.pass_manager import Constraint, Pass
from flambeau.fx.passes.infra.pass_manager import (
    this_before_that_pass_constraint as this_before_that_pass_constraint,
)

VIOLATED: Final = (
    "pass schedule constraint violated. Expected {one} before {other} but found {one} at index {i} and {other} at "
    "index {j} in pass list."
)
_logger: Final = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes its argument, as a pass, which gives it.

    Args:
        fn: what changes its first argument.

    >>> inplace_wrapper(lambda listed: listed.append(1))([0])
    [0, 1]
    """

    @wraps(fn)
    def run(value: Any, *args: Any, **kwargs: Any) -> Any:
        fn(value, *args, **kwargs)
        return value

    return run


def log_hook(fn: Callable[..., Any], level: int = logging.INFO) -> Callable[..., Any]:
    """A pass that logs what it gives.

    Args:
        fn: the pass.
        level: of the `logging` module.

    >>> log_hook(lambda x: x + 1)(2)
    3
    """

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        _logger.log(level, "Ran pass %s\n Return value: %s", _name(fn), result)
        return result

    return run


def loop_pass(base_pass: Pass, n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None) -> Pass:
    """A pass that runs another several times.

    Args:
        base_pass: the other.
        n_iter: how often.
        predicate: or as long as this is true of what came last.

    Raises ValueError unless one of them is said, and not both.

    >>> loop_pass(lambda x: x * 2, n_iter=3)(1), loop_pass(lambda x: x * 2, predicate=lambda x: x < 100)(1)
    (8, 128)
    """
    if (n_iter is None) == (predicate is None):
        raise ValueError("Exactly one of `n_iter` or `predicate` must be specified.")

    @wraps(base_pass)
    def run(source: Any) -> Any:
        result, rounds = source, 0
        while rounds < n_iter if n_iter is not None else predicate(result):  # type: ignore[misc]
            result, rounds = base_pass(result), rounds + 1
        return result

    return run


def these_before_those_pass_constraint(these: Any, those: Any) -> Constraint:
    """The constraint that passes made by one function come before those made by another.

    Args:
        these: the function that made passes which come first, as `functools.wraps` remembers it.
        those: the function that made the others.

    >>> double, triple = (lambda x: x * 2), (lambda x: x * 3)
    >>> these_before_those_pass_constraint(double, triple)(loop_pass(triple, 2), loop_pass(double, 2))
    False
    """
    return lambda a, b: not (_unwrapped(a) is those and _unwrapped(b) is these)


class PassManager:
    """Runs functions in order, each on what the one before gave.

    Args:
        passes: the functions.
        constraints: each says of two passes whether the first may come somewhere before the second.
    """

    def __init__(self, passes: Sequence[Pass] | None = None, constraints: Sequence[Constraint] | None = None) -> None:
        self.passes: list[Pass] = list(passes or ())
        self.constraints: list[Constraint] = list(constraints or ())
        self._is_valid = False

    @classmethod
    def build_from_passlist(cls, passes: Sequence[Pass]) -> PassManager:
        """One of functions alone, in their order."""
        return cls(passes)

    def add_pass(self, _pass: Pass) -> None:
        """One more, behind the others."""
        self.passes.append(_pass)
        self._is_valid = False

    def add_constraint(self, constraint: Constraint) -> None:
        """One more constraint."""
        self.constraints.append(constraint)
        self._is_valid = False

    def remove_pass(self, _passes: Sequence[str]) -> None:
        """Take functions with these names out."""
        self.passes = [one for one in self.passes if _name(one) not in _passes]
        self._is_valid = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Put a function in the place of another with its name."""
        self.passes = [_replacement if _name(one) == _name(_target) else one for one in self.passes]
        self._is_valid = False

    def validate(self) -> None:
        """Raise RuntimeError where passes do not come as constraints want them."""
        for j, other in enumerate(self.passes):
            for i, one in enumerate(self.passes[:j]):
                if not all(allows(one, other) for allows in self.constraints):
                    raise RuntimeError(VIOLATED.format(one=_name(other), other=_name(one), i=j, j=i))
        self._is_valid = True

    def __call__(self, source: Any) -> Any:
        """What the last of them gives."""
        if not self._is_valid:
            self.validate()
        for one in self.passes:
            source = one(source)
        return source


def _name(one: Any) -> str:
    return str(getattr(one, "__name__", type(one).__name__))


def _unwrapped(one: Any) -> Any:
    return getattr(one, "__wrapped__", one)
