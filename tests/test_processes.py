"""Processes that tests start end at once, and those whose ends are tested as users' processes do."""

from __future__ import annotations

import subprocess
import sys

from tests.processes import as_users_have

PROGRAM = """
import atexit, gc
before = gc.get_freeze_count()  # Python 3.12 begins with some
atexit._run_exitfuncs()
print(gc.get_freeze_count() > before)
"""


def test_ends() -> None:
    for environment, wanted in ((None, "True"), (as_users_have(), "False")):
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == wanted, done.stderr
