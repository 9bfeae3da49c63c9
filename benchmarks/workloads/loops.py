"""Loops over numbers and elements, Numba's home."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Cost, Goal, Workload
from benchmarks.programs import loops as ours
from benchmarks.programs import numba_loops, numpy_loops, torch_loops
from benchmarks.workloads.entries import entries

TORCH_JIT = frozenset({"mandelbrot", "nbody", "collatz", "crc16"})
"""Those whose loops torch.jit gets through in seconds."""
ROUNDED = "it rounds numbers to float32 on their way into a tensor"


def workloads(small: bool) -> Iterator[Workload]:
    """A dozen programs that everybody writes as loops."""
    yield from _numbers(small)
    yield from _tables(small)
    yield from _grids(small)
    yield from _matrices(small)
    yield _fft(16 if small else 4096)


def _row(
    name: str,
    title: str,
    *arguments: Any,
    expected: Callable[[], Any],
    cost: Cost,
    strays: float = 0.0,
    jax_fixed: tuple[int, ...] = (),
) -> Workload:
    """A row whose goal is Numba's speed; each peer's form has the program's name."""
    numpy, torch = getattr(numpy_loops, name, None), getattr(torch_loops, name, None)
    left_out = {"torch.compile": "it would unroll the loops"}
    if torch is None and name not in TORCH_JIT:
        left_out["torch.jit"] = ROUNDED if name == "fft" else "element by element it would take minutes"
    numba, parallel = getattr(numba_loops, name), name in numba_loops.PARALLEL
    found = entries(
        getattr(ours, name), *arguments, numpy=numpy, numba=numba, parallel=parallel, torch=torch,
        torch_eager=torch is not None, torch_jit="torch.jit" not in left_out, torch_compile=False, jax=name,
        jax_wide=True, jax_fixed=jax_fixed, fastmath=True,
    )  # fmt: skip
    if parallel:
        found["flambeau/parallel"] = partial(peers.flambeau_arrays, numba, *arguments, fastmath=True)
    return Workload(
        name=title,
        kind="loops",
        peers=found,
        expected=expected,
        tolerance=1e-8,
        strays=strays,
        cost=cost,
        goal=Goal(against="numba"),
        left_out=left_out,
    )


def _numbers(small: bool) -> Iterator[Workload]:
    width, height, limit = (12, 8, 20) if small else (400, 300, 200)
    iterations = 64 * int(numpy_loops.mandelbrot(width // 4, height // 4, limit).sum()) // 4
    yield _row(
        "mandelbrot", f"mandelbrot {width}x{height}x{limit}", width, height, limit,
        expected=lambda: numpy_loops.mandelbrot(width, height, limit), strays=2e-3, jax_fixed=(0, 1, 2),
        cost=Cost(written=8 * width * height, flops=9 * iterations, wide=True),
    )  # fmt: skip
    steps = 10 if small else 1000
    p, v, mass = _planets()
    yield _row(
        "nbody", f"n-body 5x{steps}", p, v, mass, steps, 1e-3,
        expected=lambda: numpy_loops.nbody(p, v, mass, steps, 1e-3),
        cost=Cost(flops=steps * (10 * 30 + 30), wide=True),
    )  # fmt: skip
    top = 50 if small else 30_000
    yield _row(
        "collatz", f"Collatz {top}", top, expected=lambda: numpy_loops.collatz(top), jax_fixed=(0,),
        cost=Cost(flops=4 * 107 * top, wide=True),
    )  # fmt: skip


def _planets() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sun and four planets on circles."""
    radius = np.array([0.0, 0.7, 1.1, 1.9, 3.2])
    angle = np.arange(5.0)
    p = np.stack((radius * np.cos(angle), radius * np.sin(angle), 0.01 * angle), 1)
    speed = 1.0 / np.sqrt(np.maximum(radius, 0.5)) * (radius > 0)
    v = np.stack((-speed * np.sin(angle), speed * np.cos(angle), 0 * angle), 1)
    return p, v, np.array([1.0, 1e-4, 3e-4, 1e-3, 5e-4])


def _tables(small: bool) -> Iterator[Workload]:
    random = np.random.default_rng(7)
    n = 20 if small else 1500
    a, b = random.integers(0, 4, n), random.integers(0, 4, n)
    yield _row(
        "levenshtein", f"Levenshtein {n}x{n}", a, b, expected=lambda: numpy_loops.levenshtein(a, b),
        cost=Cost(read=a.nbytes + b.nbytes, flops=5 * n * n, wide=True),
    )  # fmt: skip
    n = 8 if small else 300
    graph = random.integers(1, 1000, (n, n)).astype(np.int32)
    yield _row(
        "floyd_warshall", f"Floyd-Warshall {n}, int32", graph,
        expected=lambda: numpy_loops.floyd_warshall(graph),
        cost=Cost(read=graph.nbytes, written=graph.nbytes, flops=2 * n**3),
    )  # fmt: skip
    data = random.integers(0, 256, 9 if small else 100_000).astype(np.uint8)
    yield _row(
        "crc16", f"CRC-16 of {data.size} bytes", data, expected=lambda: binascii.crc_hqx(data.tobytes(), 0xFFFF),
        cost=Cost(read=data.nbytes, flops=8 * 5 * data.size, wide=True),
    )  # fmt: skip
    limit = 100 if small else 1_000_000
    yield _row(
        "sieve", f"sieve to {limit}", limit, expected=lambda: numpy_loops.sieve(limit), jax_fixed=(0,),
        cost=Cost(written=limit, flops=3 * limit, wide=True),
    )  # fmt: skip


def _grids(small: bool) -> Iterator[Workload]:
    n, slow, fast = (8, 2, 2) if small else (400, 10, 50)
    grid = np.random.default_rng(8).standard_normal((n, n))
    moved = grid.nbytes
    yield _row(
        "seidel2d", f"seidel-2d {n}, {slow} sweeps", grid, slow, expected=lambda: numpy_loops.seidel2d(grid, slow),
        cost=Cost(flops=12 * slow * n * n, read=moved, written=moved, wide=True),
    )  # fmt: skip
    yield _row(
        "jacobi2d", f"jacobi-2d {n}, {fast} sweeps", grid, fast, expected=lambda: numpy_loops.jacobi2d(grid, fast),
        cost=Cost(flops=2 * 5 * fast * n * n, read=moved, written=moved, wide=True),
    )  # fmt: skip


def _matrices(small: bool) -> Iterator[Workload]:
    n = 8 if small else 250
    half = np.random.default_rng(9).standard_normal((n, n))
    matrix = half @ half.T + n * np.eye(n)
    moved = matrix.nbytes
    yield _row(
        "cholesky", f"Cholesky {n}", matrix, expected=lambda: np.linalg.cholesky(matrix),
        cost=Cost(flops=n**3 // 3, read=moved, written=moved, wide=True),
    )  # fmt: skip
    yield _row(
        "lu", f"LU {n}", matrix, expected=lambda: numpy_loops.lu(matrix),
        cost=Cost(flops=2 * n**3 // 3, read=moved, written=moved, wide=True),
    )  # fmt: skip


def _fft(n: int) -> Workload:
    re, im = np.random.default_rng(10).standard_normal((2, n))

    def expected() -> tuple[np.ndarray, np.ndarray]:
        found = np.fft.fft(re + 1j * im)
        return found.real, found.imag

    return _row(
        "fft", f"FFT {n}", re, im, expected=expected,
        cost=Cost(read=2 * re.nbytes, written=2 * re.nbytes, flops=5 * n * (n.bit_length() - 1), wide=True),
    )  # fmt: skip
