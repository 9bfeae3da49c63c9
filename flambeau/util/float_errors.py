"""Floating point errors of NumPy, which kernels let pass: infinities and nan are values like others.

NumPy's `errstate` makes a new state each time that a block is entered, which takes several times as long as a small
kernel. What lets everything pass is one state, made once.

>>> import numpy
>>> with ignored():
...     (numpy.float32(1) / numpy.zeros(1, numpy.float32)).tolist()
[inf]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy

P = ParamSpec("P")
R = TypeVar("R")


def _begun() -> dict[str, str]:
    return numpy.seterr(all="ignore")  # type: ignore[return-value]  # a dictionary of these names


def _over(before: dict[str, str]) -> None:
    numpy.seterr(**before)  # type: ignore[arg-type]


begin: Callable[[], Any] = _begun
"""From now on, nothing is said of floating point errors in this thread; what `end` needs to undo that."""
end: Callable[[Any], object] = _over
"""As it was before."""
try:  # the state itself, for which NumPy has no public name
    from numpy._core._ufunc_config import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]
except ImportError:
    pass
else:
    begin = partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    end = _extobj_contextvar.reset


class ignored:  # noqa: N801  # reads as a function
    """A block within which nothing is said of floating point errors, in this thread; for one `with` at a time.

    >>> with ignored():
    ...     numpy.log(numpy.zeros(1)).tolist()
    [-inf]
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = begin()

    def __exit__(self, *_: object) -> None:
        end(self._before)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function as one that runs within such a block."""

        @wraps(function)
        def within(*args: P.args, **kwargs: P.kwargs) -> R:
            before = begin()
            try:
                return function(*args, **kwargs)
            finally:
                end(before)

        return within


def errstate(**kwargs: Any) -> Any:
    """`numpy.errstate`, by one state for all blocks where everything is ignored.

    >>> with errstate(all="ignore"):
    ...     numpy.log(numpy.zeros(1)).tolist()
    [-inf]
    """
    return ignored() if kwargs == _ALL else numpy.errstate(**kwargs)


_ALL: Final = {"all": "ignore"}
