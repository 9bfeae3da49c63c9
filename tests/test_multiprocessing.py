"""Several processes that run one function: their errors come back, and end the others."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

import flambeau
from flambeau import multiprocessing as mp


def add(index: int, x: flambeau.Tensor) -> None:
    x[index] = index + 1.0


def fail(index: int, how: str) -> None:
    if index == 0:
        time.sleep(60)
    if how == "raise":
        raise ValueError(f"no luck in {index}")
    if how == "exit":
        raise SystemExit(3)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_memory(method: str) -> None:
    x = flambeau.zeros(3).share_memory_()
    assert mp.start_processes(add, (x,), nprocs=3, start_method=method) is None
    assert x.tolist() == [1.0, 2.0, 3.0]


FAILURES: dict[str, tuple[type[Exception], str]] = {
    "raise": (mp.ProcessRaisedException, r"Process 1 terminated(.|\n)*ValueError: no luck in 1"),
    "exit": (mp.ProcessExitedException, "process 1 terminated with exit code 3"),
    "kill": (mp.ProcessExitedException, "process 1 terminated with signal SIGKILL"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_failures_end_the_others(how: str) -> None:
    start = time.monotonic()
    context: Any = mp.spawn(fail, (how,), nprocs=2, join=False, start_method="fork")
    error, message = FAILURES[how]
    with pytest.raises(error, match=message) as raised:
        context.join()
    assert time.monotonic() - start < 30
    assert (raised.value.error_index, raised.value.pid) == (1, context.pids()[1])
    assert not any(process.is_alive() for process in context.processes)
    assert context.join()


def test_names_of_pythons_module() -> None:
    assert mp.get_context("fork").Process.__name__ == "ForkProcess"
    assert "Pool" in dir(mp)
    with pytest.raises(ValueError, match="only sharing strategy"):
        mp.set_sharing_strategy("file_system")
    with pytest.raises(AttributeError):
        mp.nothing  # noqa: B018
