"""Otsu's threshold and Sobel edges on a picture file.

Otsu (1979), "A threshold selection method from gray-level histograms": the level that maximises the variance between
the two classes. Sobel and Feldman (1968): a 3 x 3 gradient. The picture is `still_life.pgm`, a rendered scene with
noise, 160 x 120.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import flambeau
from flambeau import Tensor

PICTURE = Path(__file__).with_name("still_life.pgm")


def load(path: Path = PICTURE) -> Tensor:
    """A binary PGM file (8 bits) as float64 in [0, 1] of (height, width)."""
    magic, size, depth, pixels = path.read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    assert magic == b"P5"
    return flambeau.from_numpy(np.frombuffer(pixels, np.uint8).reshape(height, width) / float(depth))


@flambeau.script
def otsu(grey: Tensor, levels: int = 256) -> tuple[int, float]:
    """The best threshold level and the variance between the classes there; a pixel of that level or below is dark."""
    index = (grey * float(levels - 1)).round().to(flambeau.int64).flatten()
    histogram = flambeau.bincount(index, minlength=levels).to(flambeau.float64) / float(index.numel())
    total = 0.0
    for level in range(levels):
        total += float(level) * float(histogram[level])
    weight = 0.0
    mean = 0.0
    best = 0
    best_variance = -1.0
    for level in range(levels):
        share = float(histogram[level])
        weight += share
        mean += float(level) * share
        if weight <= 0.0 or weight >= 1.0:
            continue
        between = (total * weight - mean) ** 2 / (weight * (1.0 - weight))
        if between > best_variance:
            best, best_variance = level, between
    return best, best_variance


@flambeau.script
def sobel(grey: Tensor) -> Tensor:
    """The length of the gradient at each inner pixel: (h, w) to (h - 2, w - 2)."""
    top, middle, bottom = grey[:-2], grey[1:-1], grey[2:]
    rows = top + 2.0 * middle + bottom
    columns = grey[:, :-2] + 2.0 * grey[:, 1:-1] + grey[:, 2:]
    across = rows[:, 2:] - rows[:, :-2]
    down = columns[2:] - columns[:-2]
    return flambeau.sqrt(across * across + down * down)


if __name__ == "__main__":
    picture = load()
    level, variance = otsu(picture)
    edges = sobel(picture)
    print(f"threshold {level}, between-class variance {variance:.1f}, strongest edge {float(edges.max()):.3f}")
