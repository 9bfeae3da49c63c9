"""The programs on the page about classes run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "classes.md"


def test_programs_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) > 1
    program = tmp_path / "page.py"
    program.write_text("\n\n".join(["import flambeau", *blocks]), encoding="utf-8")
    names = runpy.run_path(str(program))
    assert names["run"](names["c"], 1).n == 5
