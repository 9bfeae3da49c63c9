"""`python -m tests.random_programs.gradients --seeds 0:20000 --state gradients.json`: gradients of random programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.random_programs.longrun import run


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if any program differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs.gradients", description=__doc__)
    parser.add_argument("--seeds", type=_range, default=(0, 1000), metavar="A:B", help="from A up to and without B")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--state", type=Path, help="a file to keep progress in; a run that finds it goes on from there")
    parser.add_argument("--second", action="store_true", help="every program to second order, not every tenth")
    parser.add_argument("--small", type=int, default=20, help="at most so many differences are made small")
    given = parser.parse_args(arguments)
    first, end = given.seeds
    progress = run(
        "second-derivatives" if given.second else "gradients", seed=first, count=end - first, jobs=given.jobs, state=given.state,
        tell=lambda text: print(text, flush=True), limit=given.small,
    )  # fmt: skip
    print(f"{end - first} programs, {len(progress.found)} differ, {progress.seconds:.0f} s")
    return int(bool(progress.found))


def _range(text: str) -> tuple[int, int]:
    first, _, end = text.partition(":")
    if not (first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"expected two seeds as in 0:1000, the second greater, got {text!r}")
    return int(first), int(end)


if __name__ == "__main__":
    sys.exit(main())
