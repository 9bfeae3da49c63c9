"""Fields on grids, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import numpy as np

from benchmarks.programs.numba_users.examples import example, random


@example(lambda n: (random(3).rand(9, n, n) + 1.0, 5), 20, small=4)
def lattice_boltzmann(f, steps):
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    w = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])
    q, ny, nx = f.shape
    f = f.copy()
    g = np.empty_like(f)
    for _ in range(steps):
        for y in range(ny):
            for x in range(nx):
                rho = 0.0
                ux = 0.0
                uy = 0.0
                for k in range(9):
                    rho += f[k, y, x]
                    ux += f[k, y, x] * cx[k]
                    uy += f[k, y, x] * cy[k]
                ux /= rho
                uy /= rho
                uu = 1.5 * (ux * ux + uy * uy)
                for k in range(9):
                    cu = 3.0 * (cx[k] * ux + cy[k] * uy)
                    feq = w[k] * rho * (1.0 + cu + 0.5 * cu * cu - uu)
                    g[k, (y + cy[k]) % ny, (x + cx[k]) % nx] = f[k, y, x] - 0.6 * (f[k, y, x] - feq)
        f, g = g, f
    return f


@example(lambda n: (random(52).rand(n, n, n), 4), 16, small=5)
def heat3d(u, steps):
    n, m, l = u.shape
    u = u.copy()
    v = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, l - 1):
                    v[i, j, k] = u[i, j, k] + 0.1 * (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1] - 6 * u[i, j, k])
        u, v = v, u
    return u
