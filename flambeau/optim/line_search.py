"""The strong Wolfe line search: a step that goes down enough, to where the slope has become small.

Nocedal and Wright, *Numerical Optimization*, algorithms 3.5 and 3.6, with cubic interpolation. A point on the line is
its step, the loss there, the gradient, and the slope along the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor

Evaluate = Callable[[float], tuple[float, Tensor]]


class Point(NamedTuple):
    """A point on the line."""

    step: float
    loss: float
    gradient: Tensor
    slope: float


class Search(NamedTuple):
    """What was found: the step, the loss and the gradient there, and how often the loss was computed."""

    loss: float
    gradient: Tensor
    step: float
    evaluations: int


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is least, within the bounds.

    >>> start, end = (Point(x, x * x - x, None, 2 * x - 1) for x in (0.0, 2.0))
    >>> cubic_minimum(start, end)
    0.5
    """
    low, high = bounds if bounds is not None else (min(a.step, b.step), max(a.step, b.step))
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = bend * bend - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = math.sqrt(square)
    if a.step <= b.step:
        least = b.step - (b.step - a.step) * ((b.slope + root - bend) / (b.slope - a.slope + 2 * root))
    else:
        least = a.step - (a.step - b.step) * ((a.slope + root - bend) / (a.slope - b.slope + 2 * root))
    return min(max(least, low), high)


class StrongWolfe:
    """A search along one direction.

    Args:
        evaluate: the loss and the gradient at a step.
        direction: where it goes.
        start: the point at step 0.
    """

    decrease = 1e-4
    """How much of what the slope promises the loss has to go down."""
    curvature = 0.9
    """How much of the first slope may be left."""
    shortest = 1e-9
    """A bracket that is shorter than this, along the direction, is not looked into."""
    most = 25
    """Iterations, in each of both phases together."""

    def __init__(self, evaluate: Evaluate, direction: Tensor, start: Point) -> None:
        self._evaluate = evaluate
        self._direction = direction
        self._start = start
        self._longest = float(F.max(F.abs(direction)).item())
        self._evaluations = 0

    def run(self, step: float) -> Search:
        """The search, from a first step."""
        bracket, is_done, iterations = self._bracketed(step)
        if not is_done:
            bracket = self._narrowed(bracket, iterations)
        best = min(bracket, key=lambda point: point.loss) if len(bracket) > 1 else bracket[0]
        return Search(best.loss, best.gradient, best.step, self._evaluations)

    def _at(self, step: float) -> Point:
        loss, gradient = self._evaluate(step)
        self._evaluations += 1
        return Point(step, loss, gradient, float(F.dot(gradient, self._direction).item()))

    def _is_too_high(self, point: Point) -> bool:
        return point.loss > self._start.loss + self.decrease * point.step * self._start.slope

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -self.curvature * self._start.slope

    def _bracketed(self, step: float) -> tuple[list[Point], bool, int]:
        """Two points between which there is a good one, or one that is good; and after how many iterations."""
        before, point = self._start, self._at(step)
        for iteration in range(self.most):
            if self._is_too_high(point) or (iteration > 0 and point.loss >= before.loss):
                return [before, point], False, iteration
            if self._is_flat(point):
                return [point], True, iteration
            if point.slope >= 0:
                return [before, point], False, iteration
            bounds = (point.step + 0.01 * (point.step - before.step), point.step * 10)
            before, point = point, self._at(cubic_minimum(before, point, bounds))
        return [self._start, point], False, self.most

    def _narrowed(self, bracket: list[Point], iterations: int) -> list[Point]:
        """The bracket, made smaller until one of its ends is good."""
        is_stuck = False
        low, high = sorted(bracket, key=lambda point: point.loss) if bracket[0].loss > bracket[-1].loss else bracket
        while iterations < self.most:
            first, last = sorted((low.step, high.step))
            if (last - first) * self._longest < self.shortest:
                break
            step, is_stuck = _away_from_ends(cubic_minimum(low, high), first, last, is_stuck)
            point = self._at(step)
            iterations += 1
            if self._is_too_high(point) or point.loss >= low.loss:
                low, high = (low, point) if low.loss <= point.loss else (point, low)
                continue
            if self._is_flat(point):
                return [point]
            if point.slope * (high.step - low.step) >= 0:
                high = low
            low = point
        return [low, high]


def _away_from_ends(step: float, first: float, last: float, is_stuck: bool) -> tuple[float, bool]:
    """A step that is not at an end of the bracket, so that it becomes smaller; whether it came close to one."""
    margin = 0.1 * (last - first)
    if min(last - step, step - first) >= margin:
        return step, False
    if is_stuck or step >= last or step <= first:
        return (last - margin if abs(step - last) < abs(step - first) else first + margin), False
    return step, True
