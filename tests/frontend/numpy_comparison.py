"""Programs beside NumPy on arrays of many dtypes: values, dtypes, sizes, and what is raised."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import flambeau

DTYPES = (np.float64, np.int64, np.uint8, np.bool_, np.float32, np.complex128)
TOLERANCES = {np.dtype(np.float16): 2e-3, np.dtype(np.float32): 2e-5, np.dtype(np.complex64): 2e-5}


def drawn(dtype: Any, shape: Sequence[int], seed: int) -> np.ndarray:
    """Small numbers of a dtype, with zeros among whole ones."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return rng.integers(0, 2 if dtype is np.bool_ else 9, shape).astype(dtype)
    values = np.round(rng.normal(size=shape) * 4, 1)
    return (values + 1j * np.round(rng.normal(size=shape), 1) if dtype is np.complex128 else values).astype(dtype)


def flat(value: Any) -> list[Any]:
    """The items of nested tuples and lists."""
    return [inner for item in value for inner in flat(item)] if isinstance(value, tuple | list) else [value]


def attempt(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a call gives, or the error that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except Exception as error:
            return error


def check_same(ours: Any, theirs: Any, note: str) -> None:
    """Both are one in values, dtypes and sizes, or both refuse."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(theirs, Exception), (note, ours)
        assert isinstance(ours, type(theirs) | flambeau.jit.CompileError), (note, ours, theirs)
        return
    for one, other in zip(flat(ours), flat(theirs), strict=True):
        wanted = np.asarray(other)
        if isinstance(other, np.ndarray) and wanted.ndim:
            assert one.dtype == wanted.dtype, note
        assert np.shape(one) == wanted.shape, note
        tolerance = TOLERANCES.get(wanted.dtype, 1e-11)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=note)


def check_program(program: Callable[..., Any], shapes: Sequence[Sequence[int]], dtypes: Sequence[Any] = DTYPES) -> None:
    """A program gives what NumPy gives, natively and interpreted, with other values and sizes too."""
    for backend in ("native", "interpreter"):
        scripted = flambeau.script(program, backend=backend)
        for dtype in dtypes:
            for seed, more in enumerate((0, 0, 2)):
                arguments = [drawn(dtype, (shape[0] + more, *shape[1:]), seed) for shape in shapes]
                theirs = [a.copy() for a in arguments]
                wanted, found = attempt(program, theirs), attempt(scripted, arguments)
                note = f"{program.__name__} of {np.dtype(dtype).name}, {backend}"
                check_same(found, wanted, note)
                for one, other in zip(arguments, theirs, strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=note)
