"""For all tests: compiled code is kept in a directory of its own, which goes away, and Ctrl-C interrupts."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

_directory = tempfile.mkdtemp(prefix="flambeau-tests-")
atexit.register(shutil.rmtree, _directory, ignore_errors=True)
os.environ["FLAMBEAU_CACHE_DIR"] = _directory
os.environ.pop("FLAMBEAU_CACHE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
