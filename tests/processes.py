"""Environments of processes that tests start."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTUP = str(ROOT / "tests" / "startup")


def as_users_have(**more: str) -> dict[str, str]:
    """An environment in which processes end as those of users do: `startup/sitecustomize.py` has others end at once."""
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p not in ("", STARTUP)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *paths]), **more}
