"""What the benchmarks of CUDA devices have in common: their options, a look for a device, the file of their rows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flambeau.cuda import library


def parser_of(document: str | None, seconds: float) -> argparse.ArgumentParser:
    """A parser with the options of all of them; `seconds` is how long they take if nothing else is said."""
    parser = argparse.ArgumentParser(description=(document or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="write the rows there, as JSON")
    parser.add_argument("--seconds", type=float, default=seconds, help="begin no row after so many seconds")
    return parser


def is_measurable() -> bool:
    """Whether there is a device; says why not."""
    reason = library.unavailable()
    if reason is not None:
        print(f"nothing to measure: {reason}")
    return reason is None


def write(path: Path | None, rows: Sequence[Any], **figures: float) -> None:
    """Write the rows, with the device that they are of and figures of it, if a path is given."""
    if path is not None:
        device = library.cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
        result = {"device": device, **figures, "rows": rows}
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
