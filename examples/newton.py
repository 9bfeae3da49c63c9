"""Newton's method with a data-dependent `while`: square roots of a tensor, and a root of a polynomial."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def square_root(a: Tensor, tolerance: float = 1e-12) -> tuple[Tensor, int]:
    """sqrt(a) for positive a by Heron's rule, and the number of steps."""
    x = flambeau.where(a > 1.0, a, flambeau.ones_like(a))
    steps = 0
    change = 1.0
    while change > tolerance and steps < 100:
        following = 0.5 * (x + a / x)
        change = float((following - x).abs().max())
        x = following
        steps += 1
    return x, steps


@flambeau.script
def root(coefficients: list[float], x: float, tolerance: float = 1e-14) -> float:
    """A root of the polynomial near x; coefficients from the highest power down. Raises when it does not settle.

    Newton's own example (1669): x^3 - 2x - 5 has the root 2.0945514815423265.
    """
    for _ in range(100):
        value = 0.0
        slope = 0.0
        for c in coefficients:
            slope = slope * x + value
            value = value * x + c
        assert slope != 0.0, "the tangent is flat"
        step = value / slope
        x -= step
        if abs(step) <= tolerance * max(1.0, abs(x)):
            return x
    raise RuntimeError(f"no root near {x}")


if __name__ == "__main__":
    print(root([1.0, 0.0, -2.0, -5.0], 2.0))
    print(square_root(flambeau.tensor([2.0, 3.0, 1e6], dtype=flambeau.float64)))
