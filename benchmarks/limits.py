"""What the machine can do: bandwidth of each level of memory and arithmetic, and how near to it a row comes."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Cost

CACHES = {"L2": (2, 1 << 20), "L3": (3, 32 << 20)}
"""Level, and its size in bytes where the system does not tell."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level of memory with all threads at work."""

    name: str
    capacity: float
    """Bytes; what is larger belongs to the next level."""
    copy: float
    """GB/s, bytes read and written together."""
    read: float
    """GB/s of reading alone."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What was measured of the machine."""

    levels: list[Level]
    float32: float
    """GFLOP/s of a float32 matrix product."""
    float64: float
    """The same in float64."""

    def microseconds(self, cost: Cost) -> tuple[float, str]:
        """The least time in which the cost can be paid, and what limits it: a level of memory, or arithmetic."""
        moved = cost.read + cost.written
        level = next(x for x in self.levels if moved <= x.capacity)
        copied = 2 * min(cost.read, cost.written)
        memory = copied / level.copy / 1e3 + (cost.read - copied // 2) / level.read / 1e3
        memory += (cost.written - copied // 2) / level.copy / 1e3
        arithmetic = cost.flops / (self.float64 if cost.wide else self.float32) / 1e3
        return (memory, level.name) if memory >= arithmetic else (arithmetic, "arithmetic")

    def best(self, other: Limits) -> Limits:
        """The better of two measurements, figure by figure: others may have used the machine during one."""
        pairs = zip(self.levels, other.levels, strict=True)
        levels = [replace(a, copy=max(a.copy, b.copy), read=max(a.read, b.read)) for a, b in pairs]
        return Limits(
            levels=levels, float32=max(self.float32, other.float32), float64=max(self.float64, other.float64)
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(found: dict[str, Any]) -> Limits:
        """From JSON."""
        return Limits(**{**found, "levels": [Level(**x) for x in found["levels"]]})

    def __str__(self) -> str:
        levels = "; ".join(f"{x.name} copies {x.copy:.0f} and reads {x.read:.0f} GB/s" for x in self.levels)
        return f"{levels}; products {self.float32:.0f} GFLOP/s in float32, {self.float64:.0f} in float64"


def _best(action: Callable[[], object], rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def _cache(level: int, otherwise: int) -> int:
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if int((index / "level").read_text()) == level:
                return int((index / "size").read_text().strip().removesuffix("K")) << 10
        except (OSError, ValueError):
            continue
    return otherwise


def _bandwidth(count: int, total: int, threads: int) -> tuple[float, float]:
    """GB/s of copying and of reading `count` floats per thread, over and over."""
    arrays = [(np.ones(count, np.float32), np.empty(count, np.float32)) for _ in range(threads)]
    repeats = max(1, total // count)

    def copy(pair: tuple[np.ndarray, np.ndarray]) -> None:
        for _ in range(repeats):
            np.copyto(pair[1], pair[0])

    def read(pair: tuple[np.ndarray, np.ndarray]) -> None:
        for _ in range(repeats):
            np.dot(pair[0], pair[0])

    size = 4 * count * repeats * threads / 1e9
    with ThreadPoolExecutor(threads) as pool:
        copying = 2 * size / _best(lambda: list(pool.map(copy, arrays)))
        return copying, size / _best(lambda: list(pool.map(read, arrays)))


def measure(threads: int = 1) -> Limits:
    """Measure, in about a second. Two threads have two second-level caches; copies so small are timed in one alone."""
    levels = []
    for name, (number, otherwise) in CACHES.items():
        capacity = _cache(number, otherwise)
        alone = number == 2
        copy, read = _bandwidth(capacity // 4 // 4, 1 << 24, 1 if alone else threads)
        factor = threads if alone else 1
        levels.append(Level(name=name, capacity=capacity * factor, copy=copy * factor, read=read * factor))
    copy, read = _bandwidth(1 << 25, 1 << 25, threads)
    levels.append(Level(name="memory", capacity=float("inf"), copy=copy, read=read))
    found = {}
    for dtype in ("float32", "float64"):
        m = np.ones((1024, 1024), dtype)
        found[dtype] = 2 * 1024**3 / _best(lambda m=m: m @ m) / 1e9  # type: ignore[misc]
    return Limits(levels=levels, **found)


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
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "versions": versions,
        "openblas": {k: v for k, v in os.environ.items() if k in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
