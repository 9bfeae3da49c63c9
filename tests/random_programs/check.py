"""Runs a program on every path and says where the answers differ; shrinks a program that does."""

from __future__ import annotations

import linecache
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Optional

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.executor.options import LLVM
from flambeau.passes import order
from tests.random_programs.model import Program

PATHS: Mapping[str, dict[str, Any]] = {
    "reference": {"backend": "reference"},
    "interpreter": {"backend": "interpreter"},
    "native": {"backend": "native"},
}
RELATIVE = {"float32": 2e-4, "float64": 1e-9}


def arguments(seed: int) -> tuple[Any, ...]:
    """Arguments for `generate`'s parameters; two dtypes, strided and plain tensors."""
    draw = np.random.default_rng(seed)
    dtype = (np.float32, np.float64)[seed % 2]
    x = draw.integers(-4, 5, (2, 3)).astype(dtype)
    if seed % 3 == 0:
        x = np.asfortranarray(x)
    y = draw.integers(-4, 5, 6).astype(dtype)[::2]
    z = draw.uniform(-1.0, 1.0, (2, 3)).astype(dtype)
    ints = [int(i) for i in draw.integers(-20, 20, draw.integers(1, 5))]
    return (*(flambeau.from_numpy(a) for a in (x, y, z)), int(draw.integers(0, 6)), 0.75, bool(seed % 5 > 1), ints)


def copy(value: Any) -> Any:
    """Arguments of their own for each run, with the same strides."""
    if isinstance(value, Tensor):
        array = value.numpy()
        fresh = np.lib.stride_tricks.as_strided(np.zeros(64, array.dtype), array.shape, array.strides)
        fresh[...] = array
        return flambeau.from_numpy(fresh)
    return list(value) if isinstance(value, list) else value


def compile_source(source: str, filename: str) -> dict[str, Any]:
    """The functions of a program as Python, with source that inspection finds."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    # Dataclasses look up the module they are defined in.
    module = sys.modules.setdefault("generated", ModuleType("generated"))
    namespace: dict[str, Any] = {
        "flambeau": flambeau, "Tensor": Tensor, "Optional": Optional, "__name__": module.__name__,
    }  # fmt: skip
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace


def outcome(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """What a call gives: its results and what it left in the tensors it was given; or that it raised."""
    own = [copy(g) for g in given]
    try:
        result = function(*own)
    except Exception as error:
        return error
    return result, [t for t in own if isinstance(t, Tensor)]


def difference(want: Any, got: Any) -> str | None:
    """How two outcomes differ; None if they do not."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        if isinstance(want, Exception) and isinstance(got, Exception):
            return None
        return f"expected {_shown(want)}, got {_shown(got)}"
    if isinstance(want, Tensor):
        return _tensor_difference(want, got)
    if isinstance(want, tuple | list):
        if type(want) is not type(got) or len(want) != len(got):
            return f"expected {want!r}, got {got!r}"
        found = (difference(a, b) for a, b in zip(want, got, strict=True))
        return next((f"at {i}: {d}" for i, d in enumerate(found) if d is not None), None)
    if isinstance(want, float) and isinstance(got, float) and math.isclose(want, got, rel_tol=1e-6, abs_tol=1e-9):
        return None
    return None if type(want) is type(got) and want == got else f"expected {want!r}, got {got!r}"


def _tensor_difference(want: Tensor, got: Any) -> str | None:
    if not isinstance(got, Tensor):
        return f"expected a tensor, got {got!r}"
    a, b = want.numpy(), got.numpy()
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"expected {a.dtype}{list(a.shape)}, got {b.dtype}{list(b.shape)}"
    tolerance = RELATIVE.get(a.dtype.name, 0.0)
    same = (
        np.array_equal(a, b) if tolerance == 0.0 else np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    )
    return None if same else f"expected\n{a}\ngot\n{b}"


def _shown(outcome_: Any) -> str:
    return f"{type(outcome_).__name__}: {outcome_}" if isinstance(outcome_, Exception) else repr(outcome_)


def paths_for(seed: int) -> dict[str, Mapping[str, Any]]:
    """The paths to try with this seed: always reference, interpreter and native; over the seeds, each pass left out of
    either, and passes that verify. LLVM optimises whole graphs in every fourth."""
    turn, names = seed // 4, order.names()
    name = names[turn % len(names)]
    more: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    match seed % 4:
        case 0:
            more = {}, {"without": (name, LLVM)}
        case 1:
            more = {"without": (name,), "verify": True}, {}
        case 2:
            more = {}, {"verify": True, "without": (LLVM,)}
        case 3:
            more = {}, {"without": (LLVM,)}
    chosen = {**PATHS, "interpreter": PATHS["interpreter"] | more[0], "native": PATHS["native"] | more[1]}
    return {" ".join((path, *map(str, options.items()))): options for path, options in chosen.items()}


def fewer_paths_for(seed: int) -> dict[str, Mapping[str, Any]]:
    """Reference, and one of interpreter and native in turns: for long programs, most of whose time goes into passes."""
    left_out = ("interpreter", "native")[seed // 2 % 2]
    return {name: options for name, options in paths_for(seed).items() if not name.startswith(left_out)}


def disagreement(
    program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS, given: Sequence[int] = (0, 0)
) -> str | None:
    """The first path whose outcome is not CPython's on eager tensors, with the difference; None if all agree.

    Each path is called once for each of `given`, with the arguments of `seed` plus that number; every call has its own
    copies.
    """
    filename = f"<generated {seed}>"
    try:
        function = compile_source(program.source(), filename)["main"]
        calls = [(number, arguments(seed + number)) for number in given]
        wanted = {number: outcome(function, values) for number, values in calls}
        for path, options in paths.items():
            try:
                scripted = flambeau.script(function, **options)
            except Exception as error:
                return f"{path}: cannot be compiled: {type(error).__name__}: {error}"
            for call, (number, values) in enumerate(calls):
                found = difference(wanted[number], outcome(scripted, values))
                if found is not None:
                    return f"{path}, call {call}: {found}"
        return None
    finally:
        linecache.cache.pop(filename, None)


def report(
    seed: int, program: Program, found: str, *, disagree: Callable[..., str | None] = disagreement, **how: Any
) -> str:
    """What to print of a program that disagrees: the seed, the program made as small as it gets, and how it differs.

    `disagree` is `disagreement`, maybe run in a process of its own.
    """
    small = shrink(program, lambda candidate: disagree(candidate, seed, **how) is not None)
    return f"seed {seed}: {disagree(small, seed, **how) or found}\n\n{small.source()}"


def shrink(
    program: Program,
    is_bad: Callable[[Program], bool],
    limit: int = 400,
    is_sound: Callable[[Program], bool] | None = None,
) -> Program:
    """A smaller program that is still bad: statements are taken away as long as it stays so.

    `is_sound` tells whether a candidate means something; without it, whether it runs in CPython.
    """
    is_sound = is_sound or _is_sound
    tried = 0
    improved = True
    while improved and tried < limit:
        improved = False
        for candidate in program.smaller():
            tried += 1
            if is_sound(candidate) and is_bad(candidate):
                program, improved = candidate, True
                break
            if tried >= limit:
                break
    return program


def _is_sound(program: Program) -> bool:
    """Whether the program still runs in CPython; taking away a definition may break it."""
    try:
        namespace = compile_source(program.source(), "<shrinking>")
        result = namespace["main"](*(copy(a) for a in arguments(0)))
    except Exception:
        return False
    return isinstance(result, tuple)
