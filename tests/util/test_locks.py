"""Locks in forked processes, work that forks wait for, and blocks that several threads share."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from flambeau.util.locks import Lock, NoForkLock, WhileAnyIsInside

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
        return lock.is_owned()


class _Late(NoForkLock):
    """A lock that is taken just before a signal's handler raises."""

    def acquire(self) -> bool:
        super().acquire()
        raise TimeoutError("time is over")


def test_c11_a_handler_that_raises_while_a_lock_is_taken_leaves_it_as_it_was() -> None:
    lock = _Late()
    with pytest.raises(TimeoutError), lock:
        pass
    assert not lock.is_owned()
    NoForkLock.acquire(lock)
    with pytest.raises(TimeoutError), lock:
        pass
    assert lock.is_owned()
    lock.release()
    assert not lock.is_owned()


def test_a_lock_is_taken_again_by_the_thread_that_holds_it() -> None:
    lock = Lock()
    with lock:
        with lock:
            pass
        assert lock.is_owned()
    assert not lock.is_owned()


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
    assert not lock.is_owned()
    enough.set()
    thread.join()
    assert _takes(lock)


def test_c10_what_the_forking_thread_holds_it_holds_in_the_child() -> None:
    lock = Lock()
    with lock:
        assert in_child(lambda: lock.is_owned() and _takes(lock))
    assert in_child(lambda: not lock.is_owned() and _takes(lock))


def test_c10_forks_wait_for_work_that_nobody_could_go_on_with() -> None:
    lock, half, done = NoForkLock(), threading.Event(), []

    def work() -> None:
        with lock, lock:
            half.set()
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    half.wait()
    assert in_child(lambda: done == [1])
    thread.join()
    assert _takes(lock), "the fork has given it back"
    assert in_child(lambda: _takes(lock))
    with NoForkLock():
        assert in_child(lambda: _takes(lock)), "who forks while it holds one waits for nobody"


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
