"""`python -m tests.random_programs --family native --count 100000 --jobs 2`: random programs, for hours if need be."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.random_programs.families import FAMILIES, check_seed
from tests.random_programs.longrun import full_report, run


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if any program disagrees."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    kinds = "; ".join(f"{family.name}: {family.doc}" for family in FAMILIES.values())
    parser.add_argument("--family", choices=FAMILIES, default="native", help=kinds)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--state", type=Path, help="a file to keep progress in; a run that finds it goes on from there")
    parser.add_argument("--small", type=int, default=20, help="at most so many disagreements are made small")
    parser.add_argument("--show", action="store_true", help="print the program of --seed and check it, nothing else")
    given = parser.parse_args(arguments)
    family = FAMILIES[given.family]
    if given.show:
        print(family.generate(given.seed).source())
        found = check_seed(family, given.seed)
        print("all paths agree" if found is None else full_report(family, given.seed, found))
        return int(found is not None)

    def tell(text: str) -> None:
        print(text, flush=True)

    progress = run(
        given.family,
        seed=given.seed,
        count=given.count,
        jobs=given.jobs,
        state=given.state,
        tell=tell,
        limit=given.small,
    )
    print(
        f"{given.count} programs of the family {given.family}, {len(progress.found)} differ, {progress.seconds:.0f} s"
    )
    return int(bool(progress.found))


if __name__ == "__main__":
    sys.exit(main())
