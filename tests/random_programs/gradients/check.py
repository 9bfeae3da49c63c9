"""Gradients of a program, from the tape, from compiled functions, and from finite differences of its values."""

from __future__ import annotations

import linecache
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad
from flambeau.codegen.llvm import compiler
from flambeau.jit.gradients import gradient_function
from tests.random_programs.check import compile_source, shrink
from tests.random_programs.gradients.generate import is_about_numbers
from tests.random_programs.model import Program

STEP = 1e-6
TOLERANCE = 2e-5
SECOND = 10
"""Every so many seeds the gradient is differentiated once more."""
RARE = 4
"""Every so many seeds sizes may be 1, and native code is made with all of LLVM's passes: most of the time goes there."""
AGAIN = 3
"""Every so many seeds there is a second call."""
LOST = "makes a number of a tensor and computes a tensor of it"
CHANGED = "modified by an inplace operation"
PATHS: Mapping[str, dict[str, Any]] = {"native": {}, "interpreter": {"backend": "interpreter"}}
Point = tuple[tuple[np.ndarray[Any, Any], ...], tuple[Any, ...]]
"""The tensors to differentiate with regard to, and the other arguments."""


def paths_for(seed: int) -> Mapping[str, dict[str, Any]]:
    """Compiled functions; every fifth seed interpreted as well."""
    return PATHS if seed % 5 == 0 else {"native": {}}


def points(seed: int) -> list[Point]:
    """A point; for every `AGAIN`-th seed another, of other sizes: the second call meets a plan that exists, or, with sizes
    of 1, needs another.
    """
    draw = np.random.default_rng(seed)
    least = 1 if seed % RARE == 0 else 2
    sizes = [(int(draw.integers(least, 6)), int(draw.integers(least, 6))), (3, 2)]
    return [
        ((draw.normal(size=(a, b)), draw.normal(size=b), draw.normal(size=a)), (int(draw.integers(0, 4)), bool(a % 2)))
        for a, b in (sizes if seed % AGAIN == 0 else sizes[:1])
    ]


def called(function: Callable[..., Any], arrays: Any, rest: tuple[Any, ...]) -> float:
    """The sum, without gradients."""
    return float(function(*(flambeau.from_numpy(np.array(a)) for a in arrays), *rest))


def by_differences(function: Callable[..., Any], point: Point, directions: Any) -> float:
    """The derivative in a direction, by central differences."""
    arrays, rest = point
    ahead, behind = (
        called(function, [a + sign * STEP * d for a, d in zip(arrays, directions, strict=True)], rest)
        for sign in (1, -1)
    )
    return (ahead - behind) / (2 * STEP)


def gradients(
    function: Callable[..., Any], point: Point, *, creates: bool = False
) -> tuple[list[Tensor], list[Tensor | None]]:
    """The tensors, and the gradients of the sum in regard to them; None of those that took no part."""
    arrays, rest = point
    leaves = [flambeau.from_numpy(np.array(a)).requires_grad_() for a in arrays]
    total = function(*leaves, *rest)
    return leaves, gradients_of(total, leaves, creates=creates)


def gradients_of(total: Tensor, leaves: list[Tensor], *, creates: bool = False) -> list[Tensor | None]:
    """The gradients of a sum; None where it does not depend on a tensor."""
    found: Any = grad(total, leaves, create_graph=creates, allow_unused=True)
    return list(found)


def along(tensors: Sequence[Tensor | None], directions: Any) -> float:
    """The sum of products with directions."""
    pairs = [(t, d) for t, d in zip(tensors, directions, strict=True) if t is not None]
    return math.fsum(float((t.detach().numpy() * d).sum()) for t, d in pairs)


def second_along(function: Callable[..., Any], point: Point, one: Any, other: Any) -> float:
    """The second derivative in two directions: the gradient along one, differentiated along the other."""
    leaves, first = gradients(function, point, creates=True)
    along_one = sum((g * flambeau.from_numpy(d)).sum() for g, d in zip(first, one, strict=True) if g is not None)
    if not isinstance(along_one, Tensor) or not along_one.requires_grad:
        return 0.0
    return along(gradients_of(along_one, leaves), other)


def is_smooth(function: Callable[..., Any], point: Point, directions: Any) -> bool:
    """Whether the point is no corner, nor near one or a jump: differences to both sides, near and far, agree."""
    arrays, rest = point
    middle = called(function, arrays, rest)
    slopes = [
        (called(function, [a + step * d for a, d in zip(arrays, directions, strict=True)], rest) - middle) / step
        for step in (20 * STEP, -20 * STEP, STEP, -STEP)
    ]
    return max(slopes) - min(slopes) <= 1e-2 * (1 + abs(slopes[0]))


def differs(got: float, want: float, tolerance: float = TOLERANCE) -> bool:
    """Whether two derivatives are not the same."""
    return not abs(got - want) <= tolerance * (1 + abs(want))


class Check:
    """One program at its points."""

    def __init__(self, program: Program, seed: int, filename: str, second: int = SECOND) -> None:
        self.seed = seed
        self.is_twice = seed % second == 0
        """Whether the gradient is differentiated once more."""
        self.source = "import math\n" + program.source()
        self.function = compile_source(self.source, filename)["main"]
        self.cuts = is_about_numbers(seed)
        """Whether Python on eager tensors loses what flows through numbers."""
        self.derivative = gradient_function(flambeau.script(self.function), (0, 1, 2))
        """The gradient as a function that is compiled by itself."""

    def disagreement(self, paths: Mapping[str, Mapping[str, Any]]) -> str | None:
        """The first path whose derivative is not that of finite differences, with both."""
        runs = {} if self.cuts else {"tape": self.function}
        for path, options in paths.items():
            runs[path] = flambeau.script(self.function, **options)
        draw = np.random.default_rng(self.seed + 1)
        for number, point in enumerate(points(self.seed)):
            one, other = ([draw.normal(size=a.shape) for a in point[0]] for _ in range(2))
            if math.isfinite(called(self.function, *point)) and is_smooth(self.function, point, one):
                problem = self.first_order(runs, point, one)
                if problem is None and self.is_twice:
                    problem = self.second_order(runs, point, one, other)
                if problem is not None:
                    return f"point {number}, {problem}"
        return None

    def first_order(self, runs: Mapping[str, Callable[..., Any]], point: Point, one: Any) -> str | None:
        """Which run has another derivative than finite differences."""
        want = by_differences(self.function, point, one)
        took_part: list[bool] | None = None
        for path, run in runs.items():
            try:
                found = gradients(run, point)[1]
            except RuntimeError as error:
                if self.cuts and LOST in str(error):
                    continue
                if CHANGED not in str(error):
                    raise
                if self.is_refused_by_torch(point) is False:
                    return f"{path}: {error}, and PyTorch has a gradient"
                continue
            if differs(got := along(found, one), want):
                return f"{path}: the derivative is {got!r}, by differences {want!r}"
            present = [g is not None for g in found]
            took_part = present if took_part is None else took_part
            if present != took_part and not self.cuts:
                return f"{path}: {present} took part, on the tape {took_part}"
        return self.by_function(point, one, want) if self.cuts else None

    def by_function(self, point: Point, one: Any, want: float) -> str | None:
        """Whether the gradient as a function of its own is another."""
        arrays, rest = point
        try:
            got = along(list(self.derivative(*map(flambeau.from_numpy, map(np.array, arrays)), *rest)), one)
        except RuntimeError as error:
            if LOST in str(error) or (CHANGED in str(error) and self.is_refused_by_torch(point) is not False):
                return None
            raise
        return f"gradient function: the derivative is {got!r}, by differences {want!r}" if differs(got, want) else None

    def is_refused_by_torch(self, point: Point) -> bool | None:
        """Whether PyTorch refuses to go back through what was changed; None where it refuses something else, or is not
        installed."""
        try:
            import torch
        except ImportError:
            return None
        function = compile_source(self.source.replace("flambeau", "torch"), f"<torch {self.seed}>")
        function.update(torch=torch, Tensor=torch.Tensor)
        arrays, rest = point
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                total = function["main"](*(torch.tensor(a, requires_grad=True) for a in arrays), *rest)
            total.backward()
        except RuntimeError as error:
            return True if CHANGED in str(error) else None
        return False

    def second_order(self, runs: Mapping[str, Callable[..., Any]], point: Point, one: Any, other: Any) -> str | None:
        """Which run has another second derivative than finite differences of first ones: of those on the tape, and where
        that loses numbers, of those of the first run."""
        arrays, rest = point
        plain = next(iter(runs.values())) if self.cuts else self.function
        try:
            slopes = [
                along(gradients(plain, (tuple(a + sign * STEP * d for a, d in zip(arrays, other, strict=True)), rest))[1], one)
                for sign in (1, -1)
            ]
            want = (slopes[0] - slopes[1]) / (2 * STEP)
            for path, run in runs.items():
                if differs(got := second_along(run, point, one, other), want, 1e-4):
                    return f"{path}: the second derivative is {got!r}, by differences {want!r}"
        except RuntimeError as error:
            if CHANGED not in str(error) and not (self.cuts and LOST in str(error)):
                raise
        return None


@contextmanager
def without_passes() -> Iterator[None]:
    """Within the block, LLVM makes machine code of what it is given as it stands."""
    before = compiler.ALL_PASSES_UP_TO, compiler.SOME_PASSES_UP_TO
    compiler.ALL_PASSES_UP_TO = compiler.SOME_PASSES_UP_TO = 0
    try:
        yield
    finally:
        compiler.ALL_PASSES_UP_TO, compiler.SOME_PASSES_UP_TO = before


def disagreement(
    program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS, second: int = SECOND
) -> str | None:
    """The first path whose derivative is not that of finite differences, with both; None if all agree.

    Every `second` seeds the gradient is differentiated once more.
    """
    filename = f"<generated {seed}>"
    try:
        with nullcontext() if seed % RARE == 0 else without_passes():
            return Check(program, seed, filename, second).disagreement(paths)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        linecache.cache.pop(filename, None)


def second_disagreement(program: Program, seed: int, paths: Mapping[str, Mapping[str, Any]] = PATHS) -> str | None:
    """`disagreement` to second order, whatever the seed."""
    return disagreement(program, seed, paths, second=1)


def report(
    seed: int, program: Program, found: str, *, disagree: Callable[..., str | None] = disagreement, **how: Any
) -> str:
    """What to print of a program that disagrees, made small, as long as it disagrees in the same way."""
    kind = _kind(found)
    small = shrink(
        program, lambda candidate: _kind(disagree(candidate, seed, **how)) == kind,
        is_sound=lambda c: _is_sound(c, seed),
    )  # fmt: skip
    return f"seed {seed}: {disagree(small, seed, **how) or found}\n\n{small.source()}"


def _kind(found: str | None) -> str | None:
    """Of a disagreement the class of the error, or that it is about values; None where there is none."""
    head = None if found is None else found.partition(":")[0]
    return head if head is None or head.endswith("Error") else "values"


def _is_sound(program: Program, seed: int) -> bool:
    """Whether CPython gives a number."""
    try:
        function = compile_source("import math\n" + program.source(), "<shrinking>")["main"]
        return all(math.isfinite(called(function, *point)) for point in points(seed))
    except Exception:
        return False
