"""The largest singular value of an infinite matrix, cut to n x n: spectral-norm of the Computer Language Benchmarks
Game.

Published answer: 1.274219991 for n = 100. Here the matrix is a tensor and the power method a loop over matrix products.
"""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def matrix(n: int) -> Tensor:
    """A[i, j] = 1 / ((i + j)(i + j + 1) / 2 + i + 1), float64."""
    i = flambeau.arange(n, dtype=flambeau.float64).unsqueeze(1)
    j = flambeau.arange(n, dtype=flambeau.float64).unsqueeze(0)
    return 1.0 / ((i + j) * (i + j + 1.0) * 0.5 + i + 1.0)


@flambeau.script
def spectral_norm(n: int) -> float:
    """Ten rounds of the power method on A^T A."""
    a = matrix(n)
    u = flambeau.ones([n], dtype=flambeau.float64)
    v = u
    for _ in range(10):
        v = flambeau.mv(a.t(), flambeau.mv(a, u))
        u = flambeau.mv(a.t(), flambeau.mv(a, v))
    return float(flambeau.sqrt((u * v).sum() / (v * v).sum()))


if __name__ == "__main__":
    print(f"{spectral_norm(100):.9f}")
