"""Runs a native-heavy program on every path and compares all there is to see, to the last bit.

A call gives results, what it left in its arguments, what it printed, or an error with a message and a line. CPython, on
eager tensors, gives the values and the line of an error; the reference evaluator its message; the interpreter both, with
the places; native code must give what the interpreter gives.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.executor.options import Options
from flambeau.util.errors import ExecutionError, ScriptError
from tests.random_programs.check import PATHS, shrink
from tests.random_programs.model import Program
from tests.random_programs.native.layout import CALLS, Layout, arguments, layout_of
from tests.random_programs.native.wrapping import NAMES, transformed

TURNS = ((0, 0, 0, 0, 2, 1, 0), (2, 2, 2, 2, 3, 2), (1, 1, 1, 1, 2, 0, 1), (3, 3, 3, 3, 2, 3))
"""The sets of arguments, in the order in which a function is called with them, by seed. Some again, when it is warm; no
more than two sets for which other code is made, since making it takes most of the time.
"""
SMOOTH = 1e-9
"""How far floats may differ, relatively, that go through functions without a prescribed last bit."""
UNCOMPILABLE = "cannot be compiled"


@dataclass(frozen=True)
class Outcome:
    """All there is to see of a call."""

    result: Any
    error: Exception | None
    left: tuple[Tensor, ...]
    """The arguments' tensors after the call."""
    printed: str


def python_functions(program: Program, layout: Layout, filename: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The program's function as it is written, and as CPython runs it: at the edges, its arithmetic has 64 bits."""
    source = program.source()
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"flambeau": flambeau, "Tensor": Tensor, "math": math, "__name__": "generated"}
    wrapping = namespace | NAMES
    exec(compile(source, filename, "exec"), namespace)
    if layout.edges:
        exec(transformed(source, filename), wrapping)
    return namespace["main"], (wrapping if layout.edges else namespace)["main"]


def outcome(function: Callable[..., Any], layout: Layout, call: int) -> Outcome:
    """What a call with arguments of its own gives."""
    given = arguments(layout, call)
    tensors = tuple(
        t for value in given for t in (value if isinstance(value, list) else [value]) if isinstance(t, Tensor)
    )
    printed = io.StringIO()
    result, error = None, None
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*given)
        except Exception as raised:
            error = raised
    return Outcome(result, error, tensors, printed.getvalue())


def difference(want: Outcome, got: Outcome) -> str | None:
    """How what two paths show of one call differs, but for the text of errors; None if it does not."""
    if (want.error is None) != (got.error is None):
        return f"expected {_shown(want)}, got {_shown(got)}"
    if want.printed != got.printed:
        return f"expected the printed text {want.printed!r}, got {got.printed!r}"
    for number, (a, b) in enumerate(zip(want.left, got.left, strict=True)):
        found = value_difference(a, b)
        if found is not None:
            return f"tensor {number} of the arguments after the call: {found}"
    if want.error is not None:
        return None
    if not isinstance(got.result, tuple) or len(want.result) != len(got.result):
        return f"expected {want.result!r}, got {got.result!r}"
    for number, (a, b) in enumerate(zip(want.result, got.result, strict=True)):
        found = value_difference(a, b, SMOOTH if number in _smooth(want.result) else 0.0)
        if found is not None:
            return f"result {number}: {found}"
    return None


def _smooth(result: tuple[Any, ...]) -> tuple[int, ...]:
    """Which results may differ in their last bits: by their places in `Generator.result`."""
    return (2, 5) if len(result) > 5 and isinstance(result[3], list) and isinstance(result[5], list) else (2,)


def value_difference(want: Any, got: Any, tolerance: float = 0.0) -> str | None:
    """How two values differ, zeros' signs included; None if they do not."""
    if type(want) is not type(got):
        return f"expected {want!r}, got {got!r}"
    if isinstance(want, Tensor):
        a, b = want.numpy(), got.numpy()
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"expected {a.dtype}{list(a.shape)}, got {b.dtype}{list(b.shape)}"
        return None if _same_bits(a, b) else f"expected\n{a}\ngot\n{b}"
    if isinstance(want, list | tuple):
        if len(want) != len(got):
            return f"expected {want!r}, got {got!r}"
        found = (value_difference(a, b, tolerance) for a, b in zip(want, got, strict=True))
        return next((f"at {i}: {d}" for i, d in enumerate(found) if d is not None), None)
    if isinstance(want, float):
        if want != want and got != got:
            return None
        same = want == got and math.copysign(1.0, want) == math.copysign(1.0, got)
        if same or (tolerance and math.isclose(want, got, rel_tol=tolerance, abs_tol=tolerance)):
            return None
    elif want == got:
        return None
    return f"expected {want!r}, got {got!r}"


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and bool(((np.signbit(a) == np.signbit(b)) | np.isnan(a)).all())


def _shown(one: Outcome) -> str:
    return repr(one.result) if one.error is None else f"{type(one.error).__name__}: {one.error}"


# -- errors -----------------------------------------------------------------------------------------------------------


def line_in_python(error: Exception, filename: str) -> int:
    """The line of the program that CPython was running when it raised."""
    line, entry = 0, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == filename:
            line = entry.tb_lineno
        entry = entry.tb_next
    return line


def places(error: Exception) -> tuple[tuple[str, int, int], ...]:
    """Function, line and column of each frame of a program's error."""
    frames = error.frames if isinstance(error, ExecutionError | ScriptError) else ()
    return tuple((name, *where.file_line_col()[1:]) for name, where in frames if where is not None)


def error_difference(python: Outcome, reference: Outcome, path: Outcome, filename: str) -> str | None:
    """How a path's error differs from CPython's line and the reference evaluator's message; None if it does not."""
    if python.error is None or reference.error is None or path.error is None:
        return None
    message = getattr(path.error, "message", "")
    if getattr(reference.error, "message", str(reference.error)) not in message:
        return f"expected the message {str(reference.error)!r}, got {message!r}"
    line = line_in_python(python.error, filename)
    found = places(path.error)
    if not found or found[-1][1] != line:
        return f"expected line {line} ({python.error!r}), got {found}: {message}"
    return None


def same_error(want: Outcome, got: Outcome) -> str | None:
    """How native code's error differs from the interpreter's, of which it is to be a copy; None if it does not."""
    if want.error is None or got.error is None:
        return None
    if type(want.error) is type(got.error) and str(want.error) == str(got.error):
        return None
    return f"expected {type(want.error).__name__}: {want.error}, got {type(got.error).__name__}: {got.error}"


# -- programs ---------------------------------------------------------------------------------------------------------


def disagreement(
    program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS, given: tuple[int, ...] = ()
) -> str | None:
    """The first call on which two paths do not agree, and how; None if all agree.

    `paths` are the reference evaluator, an interpreter and native code, with their options; `given` are sets of
    arguments, if they are not to be those that belong to the seed.
    """
    layout, filename = layout_of(seed), f"<native {seed}>"
    try:
        try:
            written, python = python_functions(program, layout, filename)
            scripted = flambeau.script(written, backend="reference")
        except Exception as error:
            return f"{UNCOMPILABLE}: {type(error).__name__}: {error}"
        turns = given or TURNS[seed // 2 % len(TURNS)]
        return _first_difference(python, scripted, layout, paths, turns, filename)
    finally:
        linecache.cache.pop(filename, None)


def _first_difference(
    python: Callable[..., Any],
    scripted: Any,
    layout: Layout,
    paths: Mapping[str, Mapping[str, Any]],
    given: tuple[int, ...],
    filename: str,
) -> str | None:
    wanted = {call: (outcome(python, layout, call), outcome(scripted, layout, call)) for call in dict.fromkeys(given)}
    for call, (by_python, by_reference) in wanted.items():
        found = difference(by_python, by_reference)
        if found is not None:
            return f"reference, not CPython, arguments {call}: {found}"
    interpreted: dict[int, Outcome] = {}
    for path, options in paths.items():
        if options["backend"] == "reference":
            continue
        function = scripted.with_options(Options(**{**options, "without": frozenset(options.get("without", ()))}))
        for turn, call in enumerate(given):
            got = outcome(function, layout, call)
            found = difference(wanted[call][0], got) or error_difference(*wanted[call], got, filename)
            if options["backend"] == "interpreter":
                interpreted[call] = got
            elif found is None and call in interpreted:
                found = same_error(interpreted[call], got)
            if found is not None:
                return f"{path}, call {turn} with arguments {call}: {found}"
    return None


def _trouble(found: str) -> str:
    """What sort of finding it is, so that making it smaller does not end at another sort."""
    return next((sort for sort in (UNCOMPILABLE, "process died", "not end in", "not CPython") if sort in found), "")


def report(
    seed: int,
    program: Program,
    found: str,
    *,
    paths: Mapping[str, Mapping[str, Any]] = PATHS,
    disagree: Callable[..., str | None] = disagreement,
) -> str:
    """What to print of a program that disagrees: how, the program made as small as it gets, and its arguments.

    `disagree` is `disagreement`, maybe run in a process of its own.
    """

    def is_bad(candidate: Program) -> bool:
        again = disagree(candidate, seed, paths)
        return again is not None and _trouble(again) == _trouble(found)

    small = shrink(program, is_bad, is_sound=lambda candidate: True)
    layout, again = layout_of(seed), disagree(small, seed, paths) or found
    shown = [f"seed {seed}: {again}", small.source()]
    for call in range(CALLS):
        if UNCOMPILABLE not in again and f"arguments {call}:" in again:
            given = zip(layout.names, arguments(layout, call), strict=True)
            shown += [f"{name.text} = {_described(value)}" for name, value in given]
    return "\n".join(shown)


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value!r}, {value.dtype}, strides {value.stride()}"
    return repr(value)
