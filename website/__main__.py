"""`python -m website`: the site in `build/site`; fails for a warning of MkDocs and for a link that leads nowhere."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from website.build import build
from website.stage import ROOT


def main(arguments: list[str] | None = None) -> int:
    """Build the site; 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(prog="website", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build", help="where `docs` and `site` are made")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    problems = build(options.folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{options.folder / 'site' / 'index.html'}, in {time.perf_counter() - start:.0f} s")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
