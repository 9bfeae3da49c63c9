"""Pictures of what was trained, under docs/assets: with matplotlib, `pip install 'flambeau[viz]'`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "assets" / "training"
INK = "#37474f"


def draw(name: str, paint: Callable[[Any], None]) -> Path | None:
    """Save what `paint` puts on matplotlib's axes as NAME.svg; None, and a word about it, without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("  (pip install 'flambeau[viz]' draws it)")
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "flambeau"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    paint(axes)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(f"  {path.relative_to(ROOT)}")
    return path


def curve(name: str, values: Sequence[float], label: str) -> Path | None:
    """Values by step, on a logarithmic scale."""

    def paint(axes: Any) -> None:
        axes.semilogy(values, color=INK, linewidth=1)
        axes.set_xlabel("step")
        axes.set_ylabel(label)

    return draw(name, paint)
