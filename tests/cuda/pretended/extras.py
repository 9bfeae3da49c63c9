"""CuPy's `cupyx`: what its linear algebra does with matrices that it cannot factor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

_local = threading.local()


def geterr() -> dict[str, Any]:
    return {"divide": None, "over": None, "under": None, "invalid": None, "linalg": getattr(_local, "linalg", "ignore")}


@contextmanager
def errstate(*, linalg: str | None = None, **others: Any) -> Iterator[None]:
    """Within the block, this thread's linear algebra raises (`linalg="raise"`), or gives what it has (`"ignore"`)."""
    before = geterr()["linalg"]
    _local.linalg = before if linalg is None else linalg
    try:
        yield
    finally:
        _local.linalg = before


def factoring(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function as CuPy has it: without an error, and without a result, for what it cannot factor."""

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            is_of_elements = any(word in str(error) for word in ("Singular", "positive definite", "converge"))
            if geterr()["linalg"] == "raise" or not is_of_elements:
                raise
            result = function(np.broadcast_to(np.eye(args[0].shape[-1], dtype=args[0].dtype), args[0].shape), *args[1:])
            result.fill(np.nan)
            return result

    called.__name__ = function.__name__
    return called


cupyx = SimpleNamespace(errstate=errstate, geterr=geterr)
