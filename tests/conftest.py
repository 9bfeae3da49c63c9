"""For all tests: compiled code is kept in a directory of its own, in memory where it fits, which goes away, and Ctrl-C
interrupts.

All workers of a run share that directory: none compiles what another has. Processes that tests start end quickly, by
`startup/sitecustomize.py`.

Calls make their plans themselves, so that it is known which call has one; `executor/test_background.py` is about the
others.

The tests themselves, some million objects, and what earlier files of tests left (plans, graphs, declarations), are kept
out of sight of the garbage collector, which some tests ask often.
With `FLAMBEAU_CPU`, which chooses what code is made for, tests run at a level that this machine has, or are skipped.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile

import pytest

import flambeau.jit  # noqa: F401  (the compiler, which programs import when they first need it)
from flambeau.codegen.llvm.effort import OPT
from flambeau.codegen.llvm.engine import available, leave_glue
from flambeau.codegen.llvm.host import VARIABLE, ProcessorError, processor_of
from flambeau.codegen.llvm.processor import LEVELS
from tests.processes import STARTUP

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit what is set here
    _memory = "/dev/shm"
    _has_memory = os.path.isdir(_memory) and shutil.disk_usage(_memory).free > 1 << 30
    _directory = tempfile.mkdtemp(prefix="flambeau-tests-", dir=_memory if _has_memory else None)
    atexit.register(shutil.rmtree, _directory, ignore_errors=True)
    os.environ["FLAMBEAU_CACHE_DIR"] = _directory
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, os.environ.get("PYTHONPATH")]))
os.environ.pop("FLAMBEAU_CACHE", None)
os.environ["FLAMBEAU_BACKGROUND"] = "off"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # of what tests make, most is freed by counts of references
    level = os.environ.get(VARIABLE)
    if not level or not available():
        return
    try:
        processor_of(level)
    except ProcessorError as error:
        if level not in LEVELS:
            raise
        for item in items:
            item.add_marker(pytest.mark.skip(reason=str(error)))


@pytest.fixture
def all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose code runs longer than it is compiled: LLVM does all it can for it, as for users."""
    monkeypatch.delenv(OPT, raising=False)


def pytest_sessionfinish() -> None:
    """Leave code that every process needs as quickly compiled as it is: the directory has no later readers."""
    leave_glue()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()
