"""What the machine can do: memory bandwidth and arithmetic, measured with the benchmarks as a ceiling for them."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import numpy as np


def _best(action: Any, rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, float]:
    """GB/s of reading (sum) and copying beyond and within the caches, GFLOP/s of a float32 product."""
    found: dict[str, float] = {}
    for name, count in (("L2", 1 << 16), ("L3", 1 << 20), ("memory", 1 << 25)):
        a = np.ones(count, np.float32)
        b = np.empty_like(a)
        repeats = max(1, (1 << 25) // count)

        def copy(a: np.ndarray = a, b: np.ndarray = b, repeats: int = repeats) -> None:
            for _ in range(repeats):
                np.copyto(b, a)

        found[f"copy GB/s, {name}"] = 2 * a.nbytes * repeats / _best(copy) / 1e9
    m = np.ones((1024, 1024), np.float32)
    found["float32 product GFLOP/s"] = 2 * 1024**3 / _best(lambda: m @ m) / 1e9
    return found


def environment(threads: int) -> dict[str, Any]:
    """The machine, the versions, and the settings that change speed."""
    import importlib.metadata as metadata

    versions = {}
    for name in ("flambeau", "numpy", "llvmlite", "numba", "numexpr", "torch", "jax"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "versions": versions,
        "openblas": {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS")},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
