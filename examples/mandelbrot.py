"""The Mandelbrot set: once per pixel with a data-dependent `while`, once for all pixels with tensors.

Published answer: the area of the set is 1.50659 (Foerstemann, 2012, by counting pixels).
"""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def escape_time(re: float, im: float, limit: int) -> int:
    """Steps until |z| > 2; `limit` if it never happens."""
    x = 0.0
    y = 0.0
    steps = 0
    while steps < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        steps += 1
    return steps


@flambeau.script
def image(width: int, height: int, limit: int) -> Tensor:
    """Escape times over [-2, 0.5] x [-1.25, 1.25], int64 of (height, width)."""
    re = flambeau.linspace(-2.0, 0.5, width, dtype=flambeau.float64).unsqueeze(0)
    im = flambeau.linspace(-1.25, 1.25, height, dtype=flambeau.float64).unsqueeze(1)
    x = flambeau.zeros([height, width], dtype=flambeau.float64)
    y = flambeau.zeros([height, width], dtype=flambeau.float64)
    steps = flambeau.zeros([height, width], dtype=flambeau.int64)
    for _ in range(limit):
        inside = x * x + y * y <= 4.0
        if not bool(inside.any()):
            break
        steps = steps + inside.to(flambeau.int64)
        next_x = flambeau.where(inside, x * x - y * y + re, x)
        y = flambeau.where(inside, 2.0 * x * y + im, y)
        x = next_x
    return steps


@flambeau.script
def area(width: int, height: int, limit: int) -> float:
    """The area of the points that stay bounded for `limit` steps."""
    bounded = (image(width, height, limit) == limit).to(flambeau.float64)
    return float(bounded.mean()) * 2.5 * 2.5


if __name__ == "__main__":
    shades = " .:-=+*#%@"
    for row in image(72, 24, 50).tolist():
        print("".join(shades[min(int(s) * 9 // 50, 9)] for s in row))
    print(f"area {area(400, 400, 200):.4f}, published 1.5066")
