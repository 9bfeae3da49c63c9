"""Locks in forked processes, work that forks wait for, and blocks that several threads share."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from flambeau.util import locks
from flambeau.util.locks import Lock, WhileAnyIsInside, no_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(work: Callable[[], bool]) -> bool:
    """What `work` answers in a forked process, which has ten seconds."""
    pid = os.fork()
    if pid == 0:
        threading.Timer(10.0, os._exit, (7,)).start()
        os._exit(0 if work() else 1)
    return os.waitpid(pid, 0)[1] == 0


def _takes(lock: Lock) -> bool:
    with lock:
        return lock.is_held()


class _Late:
    """A lock that is taken just before a signal's handler raises."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.release, self._is_owned = self._lock.release, self._lock._is_owned  # type: ignore[attr-defined]

    def acquire(self) -> None:
        self._lock.acquire()
        raise TimeoutError("time is over")


@pytest.mark.parametrize("forks_wait", [False, True])
def test_c11_a_handler_that_raises_while_a_lock_is_taken_leaves_it_free(forks_wait: bool) -> None:
    lock = Lock(forks_wait=forks_wait)
    inner = lock._lock = _Late()
    with pytest.raises(TimeoutError), lock:
        pass
    assert not lock.is_held()
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(inner._lock.acquire(timeout=5)))
    thread.start()
    thread.join()
    assert taken == [True]
    assert threading.get_ident() not in locks._inside


def test_a_lock_is_taken_again_by_the_thread_that_holds_it() -> None:
    lock = Lock()
    with lock:
        with lock:
            pass
        assert lock.is_held()
    assert not lock.is_held()


def test_c10_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock = Lock()
    held, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            enough.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_child(lambda: _takes(lock))
    assert not lock.is_held()
    enough.set()
    thread.join()
    assert _takes(lock)


def test_c10_what_the_forking_thread_holds_it_holds_in_the_child() -> None:
    lock = Lock()
    with lock:
        assert in_child(lambda: lock.is_held() and _takes(lock))
    assert in_child(lambda: not lock.is_held() and _takes(lock))


def test_c10_forks_wait_for_work_that_nobody_could_go_on_with() -> None:
    half, done = threading.Event(), []

    def work() -> None:
        with no_fork(), no_fork():
            half.set()
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    half.wait()
    assert in_child(lambda: done == [1])
    thread.join()
    with no_fork():
        assert in_child(lambda: True), "who forks within a block of its own waits for nobody"


def test_c10_threads_that_are_no_more_have_left() -> None:
    calls: list[str] = []
    block = WhileAnyIsInside(lambda: calls.append("begin"), lambda: calls.append("end"))
    entered, enough = threading.Event(), threading.Event()

    def stay() -> None:
        with block():
            entered.set()
            enough.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    assert in_child(lambda: calls == ["begin", "end"])
    with block():
        assert in_child(lambda: calls == ["begin"])
    assert calls == ["begin"]
    enough.set()
    thread.join()
    assert calls == ["begin", "end"]
