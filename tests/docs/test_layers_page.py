"""The page about layers names all of them, and all models."""

from __future__ import annotations

import re
from pathlib import Path

from flambeau import nn

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")


def test_every_layer_is_named_and_there() -> None:
    listed = set(re.findall(r"`([A-Z]\w+)`", PAGE.split("## In programs")[0]))
    assert listed == {name for name in nn.__all__ if name[0].isupper()}


def test_every_model_is_named() -> None:
    files = {p.stem for p in (ROOT / "examples" / "models").glob("*.py")} - {"__init__", "show"}
    assert set(re.findall(r"`(\w+)`", PAGE.split("| file | model |")[1])) >= files
