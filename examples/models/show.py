"""A model run three ways, and numbers as pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor, nn

SHADES = " .:-=+*#%@"


def flat(value: Any) -> list[Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [value]


def seconds(run: Callable[[], Any], times: int = 5) -> float:
    """The best time of a few calls."""
    run()
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def beside(model: nn.Module, *inputs: Tensor) -> Any:
    """Run a model in Python, scripted and traced; print how far apart they are and how long they take."""
    model.eval()
    want = model(*inputs)
    count = sum(p.numel() for p in model.parameters())
    print(f"{type(model).__name__}: {count:,} parameters, results {[tuple(t.shape) for t in flat(want)]}")
    for name, run in (
        ("python", model), ("scripted", flambeau.script(model)), ("traced", flambeau.trace(model, inputs)),
    ):  # fmt: skip
        away = max(float((a - b).abs().max()) for a, b in zip(flat(run(*inputs)), flat(want), strict=True))
        print(f"  {name:8} {seconds(lambda run=run: run(*inputs)) * 1e3:8.3f} ms, at most {away:.1e} away")
    return want


def picture(grey: Tensor, width: int = 64) -> str:
    """A matrix as text, from its smallest number (blank) to its largest (@)."""
    step = max(1, -(-grey.size(1) // width))
    small = grey[:: 2 * step, ::step]
    low, high = float(small.min()), float(small.max())
    levels = ((small - low) * ((len(SHADES) - 1) / max(high - low, 1e-12))).round().to(flambeau.int64)
    return "\n".join("".join(SHADES[level] for level in row) for row in levels.tolist())
