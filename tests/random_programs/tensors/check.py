"""Runs a program of whole tensors on every path, and with PyTorch where that is installed, and compares.

CPython on eager tensors says what is right: results, what is left in the arguments, and the text of errors.
"""

from __future__ import annotations

import importlib
import linecache
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.executor.options import Options
from tests.random_programs.check import PATHS, paths_for, shrink
from tests.random_programs.model import Program
from tests.random_programs.tensors.layout import SETS, TURNS, Layout
from tests.random_programs.tensors.together import together

TOLERANCE = {"float32": 1e-3, "float64": 1e-8}
Array = np.ndarray[Any, Any]
SAME_WORDS = (
    (re.compile(r".*?index (-?\d+) (?:is )?out of (?:range|bounds).*"), r"index \1 out of range"),
    (re.compile(r".*(?:ZeroDivisionError|by zero|by 0).*"), "division by zero"),
)
"""What the several ways to an element say in words of their own."""
SORTS = ("cannot be compiled", "PyTorch", "refused", "died", "stuck", "at once", "forked")
"""Words that a disagreement keeps while its program is made smaller."""
OUTSIDE = ("out of bounds for dimension", " out of range")
"""Words of the errors of an index outside."""
THREADED = 16
"""Every so many programs, one runs on several threads at once and in children forked meanwhile."""


@dataclass(frozen=True)
class Outcome:
    """What a call gives."""

    results: list[Array]
    left: dict[str, Array]
    """The tensors of the arguments after the call."""
    error: str
    """The last line of what it raised; empty where it did not."""


def native_paths_for(seed: int) -> Mapping[str, Mapping[str, Any]]:
    """All paths with every fourth seed, native code alone with the others: it is what the programs are for."""
    paths = paths_for(seed)
    return paths if seed % 4 == 0 else {name: o for name, o in paths.items() if o["backend"] == "native"}


def _words(error: Exception) -> str:
    """What an error says, without where."""
    text = getattr(error, "message", "") or str(error)
    last = text.strip().splitlines()[-1] if text.strip() else ""
    for pattern, same in SAME_WORDS:
        last = pattern.sub(same, last)
    return last.removeprefix("RuntimeError: ").removeprefix("IndexError: ") or type(error).__name__


def outcome(function: Callable[..., Any], layout: Layout, call: int, to_tensor: Callable[[Array], Any]) -> Outcome:
    """What a call with arguments of its own gives."""
    given = {name: to_tensor(a) if isinstance(a, np.ndarray) else a for name, a in layout.arguments(call).items()}
    results: Any = ()
    error = ""
    try:
        results = function(**given)
    except RuntimeWarning:
        raise
    except Exception as raised:
        error = _words(raised) or "error"
    left = {name: np.array(t.numpy()) for name, t in given.items() if hasattr(t, "numpy")}
    return Outcome([np.array(r.numpy()) for r in results], left, error)


def difference(want: Outcome, got: Outcome, *, words: bool = True) -> str | None:
    """How two outcomes differ; None if they do not."""
    if bool(want.error) != bool(got.error):
        return f"expected {want.error or want.results!r}, got {got.error or got.results!r}"
    if want.error and words and want.error not in got.error:
        return f"expected the error {want.error!r}, got {got.error!r}"
    pairs = [(f"result {k}", a, b) for k, (a, b) in enumerate(zip(want.results, got.results, strict=True))]
    pairs += [] if want.error else [(f"{name} after the call", a, got.left[name]) for name, a in want.left.items()]
    for what, a, b in pairs:
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{what}: expected {a.dtype}{list(a.shape)}, got {b.dtype}{list(b.shape)}"
        tolerance = TOLERANCE.get(a.dtype.name, 0.0)
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"{what}: expected\n{a}\ngot\n{b}"
    return None


def compile_source(source: str, filename: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The program's function, with source that inspection finds."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = dict(names)
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    function: Callable[..., Any] = namespace["main"]
    return function


def disagreement(program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS) -> str | None:
    """The first call on which two paths do not agree, and how; None if all agree."""
    layout, filename, source = Layout(seed), f"<tensors {seed}>", program.source()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # What LLVM refuses is a mistake of ours, though the interpreter steps in.
            warnings.filterwarnings("error", message="native code for", category=RuntimeWarning)
            python = compile_source(source, filename, {"flambeau": flambeau, "Tensor": Tensor})
            wanted = [outcome(python, layout, call, flambeau.from_numpy) for call in range(SETS)]
            found = _peer_difference(source, filename, layout, wanted)
            if found is not None:
                return found
            try:
                scripted = flambeau.script(python, backend="reference")
            except Exception as error:
                return f"cannot be compiled: {type(error).__name__}: {error}"
            found = _first_difference(scripted, layout, paths, wanted, TURNS[seed % len(TURNS)])
            return _difference_together(python, layout, wanted) if found is None and seed % THREADED == 5 else found
    finally:
        linecache.cache.pop(filename, None)


def _first_difference(
    scripted: Any, layout: Layout, paths: Mapping[str, Mapping[str, Any]], wanted: list[Outcome], turns: tuple[int, ...]
) -> str | None:
    for path, options in paths.items():
        plain = {**options, "without": frozenset(options.get("without", ()))}
        function = scripted.with_options(Options(**plain))
        for turn, call in enumerate(turns if options["backend"] == "native" else range(SETS)):
            try:
                found = difference(wanted[call], outcome(function, layout, call, flambeau.from_numpy))
            except RuntimeWarning as warning:
                found = f"native code is refused: {warning}"
            if found is not None:
                return f"{path}, call {turn} with arguments {call}: {found}"
    return None


def _difference_together(python: Callable[..., Any], layout: Layout, wanted: list[Outcome]) -> str | None:
    """What differs where threads and forked children call one native function, which nobody has called before."""
    function = flambeau.script(python, backend="native")

    def check(call: int) -> str | None:
        return difference(wanted[call], outcome(function, layout, call, flambeau.from_numpy))

    return together(check, SETS)


def _peer_difference(source: str, filename: str, layout: Layout, wanted: list[Outcome]) -> str | None:
    """How eager tensors differ from PyTorch's, where that is installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    function = compile_source(source, filename, {"flambeau": torch, "Tensor": torch.Tensor})
    for call, want in enumerate(wanted):
        if any(words in want.error for words in OUTSIDE) and 0 in layout.sizes[call].values():
            continue  # PyTorch does not look at indexes where nothing is read; docs/from-pytorch.md
        found = difference(outcome(function, layout, call, lambda a: torch.from_numpy(a.copy(order="K"))), want, words=False)
        if found is not None:
            return f"eager tensors, not PyTorch's, arguments {call}: {found}"
    return None


def _is_sound(program: Program, layout: Layout) -> bool:
    """Whether all that a program uses is still defined."""
    try:
        function = compile_source(program.source(), "<smaller>", {"flambeau": flambeau, "Tensor": Tensor})
        error = outcome(function, layout, 0, flambeau.from_numpy).error
    except SyntaxError:
        return False
    return " is not defined" not in error and "cannot access local variable" not in error


def report(
    seed: int,
    program: Program,
    found: str,
    *,
    paths: Mapping[str, Mapping[str, Any]] = PATHS,
    disagree: Callable[..., str | None] = disagreement,
) -> str:
    """What to print of a program that disagrees: how, and the program made as small as it gets."""

    def sort(text: str) -> str:
        return next((s for s in SORTS if s in text), "")

    def same(smaller: Program) -> bool:
        again = disagree(smaller, seed, paths)
        return again is not None and sort(again) == sort(found)

    small = shrink(program, same, is_sound=lambda candidate: _is_sound(candidate, Layout(seed)))
    sizes = "; ".join(str(sizes) for sizes in Layout(seed).sizes)
    return "\n".join([f"seed {seed}: {disagree(small, seed, paths) or found}", small.source(), sizes, str(Layout(seed).tensors)])
