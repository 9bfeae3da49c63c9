"""Runs a program on arrays with NumPy and compiled, for arrays of several sizes and dtypes, and compares."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import flambeau
from flambeau.util.errors import CompileError
from tests.random_programs.check import shrink
from tests.random_programs.model import Program

TOLERANCE = {"float32": 3e-4, "float64": 1e-9}
PATHS: Mapping[str, dict[str, Any]] = {"native": {}, "interpreter": {"backend": "interpreter"}}
SIZES = ((4, 3), (1, 1), (5, 2), (3, 7))
FLOATS, INTS = (np.float64, np.float64, np.float32), (np.int64, np.int64, np.int32, np.int16, np.uint8)
REFUSED = (
    "an array and the same array backwards are one memory",
    "the dtype of this array is not known here",
    "one of Python on one way and one of NumPy on another",
    "NumPy: Python integer -2 out of bounds for uint8",
)
"""Words of errors that say what programs may not do."""
CALLS = 3
"""Each call is made so often: plans are made by and by."""


def paths_for(seed: int) -> Mapping[str, dict[str, Any]]:
    """Native code; every third seed interpreted as well."""
    return PATHS if seed % 3 == 0 else {"native": {}}


def arguments(seed: int, call: int) -> dict[str, Any]:
    """Arrays for a call: small numbers, some of them equal, some of them lying apart."""
    draw = np.random.default_rng([seed, call])
    n, m = SIZES[(seed + call) % len(SIZES)]
    floats, ints = FLOATS[(seed + call) % 3], INTS[(seed // 3 + call) % 5]

    def of(*sizes: int) -> Any:
        numbers = np.round(draw.normal(size=sizes) * 3, int(draw.integers(0, 3))).astype(floats)
        return np.asfortranarray(numbers) if draw.random() < 0.3 else numbers

    return {
        "x": of(n, m), "y": of(n, m), "v": of(m), "w": of(2 * n)[::2] if draw.random() < 0.3 else of(n),
        "q": np.abs(draw.integers(-6, 7, (n, m))).astype(ints) if ints is np.uint8 else draw.integers(-6, 7, (n, m)).astype(ints), "idx": draw.integers(0, n, n), "c": float(draw.choice([0.25, -1.5, 1.0])),
        "k": int(draw.integers(0, 6)),
    }  # fmt: skip


def compiled(program: Program, filename: str) -> Callable[..., Any]:
    """The program's function as Python, with source that inspection finds."""
    source = program.source().replace(" -> tuple:", ":")
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace["main"]  # type: ignore[no-any-return]


def outcome(function: Callable[..., Any], passed: Mapping[str, Any]) -> Any:
    """What a call gives, and what it left in its arrays; or what it raised."""
    own = {name: value.copy(order="K") if isinstance(value, np.ndarray) else value for name, value in passed.items()}
    try:
        results = function(**own)
    except Exception as error:
        return error
    return [*results, *[a for a in own.values() if isinstance(a, np.ndarray)]]


def _kind_of(number: Any) -> str:
    """Floats, ints, bools: numbers are those of Python."""
    return "i" if number.dtype.kind == "u" else number.dtype.kind


def difference(want: Any, got: Any) -> str | None:
    """How two outcomes differ; None if they do not."""
    if isinstance(got, CompileError) and any(words in str(got) for words in REFUSED):
        return None
    if isinstance(want, Exception) or isinstance(got, Exception):
        if isinstance(want, Exception) and isinstance(got, Exception):
            return None if isinstance(got, type(want)) else f"expected {want!r}, got {type(got).__mro__} {got}"
        return (
            f"expected {want!r}, got {type(got).__name__}: {got}"
            if isinstance(got, Exception)
            else f"expected {want!r}, got {got!r}"
        )
    if len(want) != len(got):
        return f"expected {len(want)} results, got {len(got)}"
    for number, (a, b) in enumerate(zip(want, got, strict=True)):
        one, other = np.asarray(a), np.asarray(b)
        are_alike = one.dtype == other.dtype if one.ndim else _kind_of(one) == _kind_of(other)
        if one.shape != other.shape or not are_alike:
            return f"result {number}: expected {one.dtype}{one.shape}, got {other.dtype}{other.shape}"
        tolerance = TOLERANCE.get(one.dtype.name, 0.0)
        size = float(np.nanmax(np.abs(one), initial=1.0, where=np.isfinite(one))) if one.dtype.kind == "f" else 1.0
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance * size, equal_nan=True):
            return f"result {number}: expected\n{one!r}\ngot\n{other!r}"
    return None


def disagreement(program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS) -> str | None:
    """The first call on which a path and NumPy do not agree, and how; None if all agree."""
    filename = f"<arrays {seed}>"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            python = compiled(program, filename)
            for path, options in paths.items():
                function = flambeau.script(python, **options)
                for call in range(3):
                    passed = arguments(seed, call)
                    want = outcome(python, passed)
                    for _ in range(CALLS):
                        problem = difference(want, outcome(function, passed))
                        if problem is not None:
                            return f"{path}, call {call}: {problem}"
    except Exception as error:
        return f"cannot be compiled: {type(error).__name__}: {error}"
    finally:
        linecache.cache.pop(filename, None)
    return None


def report(
    seed: int, program: Program, found: str, *, disagree: Callable[..., str | None] = disagreement, **how: Any
) -> str:
    """What to print of a program that disagrees, made small, as long as it disagrees in the same way."""
    kind = _kind(found)
    small = shrink(
        program,
        lambda candidate: _kind(disagree(candidate, seed, **how)) == kind,
        is_sound=lambda candidate: _is_sound(candidate, seed),
    )
    return f"seed {seed}: {disagree(small, seed, **how) or found}\n\n{small.source()}"


def _is_sound(program: Program, seed: int) -> bool:
    """Whether NumPy gives something."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            python = compiled(program, "<shrinking>")
            return not any(isinstance(outcome(python, arguments(seed, call)), Exception) for call in range(3))
    except Exception:
        return False
    finally:
        linecache.cache.pop("<shrinking>", None)


def _kind(found: str | None) -> str | None:
    """Of a disagreement what is wrong, without where and with which numbers."""
    if found is None:
        return None
    for word in ("CompileError", "expected [", "dtype", "Error", "results"):
        if word in found:
            return word
    return "values"
