"""Speed, as ratios against peers measured in one run: `python -m benchmarks --help`."""

import os

os.environ.setdefault("FLAMBEAU_BACKGROUND", "off")
"""Steady calls are timed: which call is answered by the plan is to be known. `longest_calls` says for itself."""
