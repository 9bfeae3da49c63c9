"""Plans that are made behind the calls that they are for, by one thread of the process.

The passes are Python, and hold the interpreter lock that calls in the foreground want: these take some times as long
meanwhile, but none waits until the plan is there. The thread works while there is something to make and goes away
then. It holds a `NoForkLock`: a process that forks waits until nothing is half made. When the interpreter ends, what is
being made is given up. `FLAMBEAU_BACKGROUND=off` has the calls make their plans themselves.

>>> made = []
>>> job = start(lambda: made.append("plan"))
>>> job.wait()
>>> made, job.is_over, job.error
(['plan'], True, None)
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from flambeau.tensor.grad_mode import no_grad
from flambeau.util.locks import Lock, NoForkLock, in_child
from flambeau.util.progress import unseen
from flambeau.util.user_code import PendingWarning, holding_warnings

VARIABLE: Final = "FLAMBEAU_BACKGROUND"
AGAIN: Final = 0.2
"""Seconds after which it is asked once more."""
LONGEST_WAIT: Final = 10.0
"""Seconds for which the interpreter's end waits for the thread to give up: LLVM is not interrupted."""


class _GivenUpError(BaseException):
    """Raised in the thread when the interpreter ends."""


class Job:
    """Something that the thread makes."""

    def __init__(self, make: Callable[[], None]) -> None:
        self._make: Callable[[], None] | None = make
        self._done = threading.Event()
        self.error: BaseException | None = None
        """Why it could not be made."""
        self.warnings: list[PendingWarning] = []
        """What was to be said to the user meanwhile."""
        self.is_lost = False
        """Whether nobody will make it: its thread is that of another process, or the interpreter ends."""

    @property
    def is_over(self) -> bool:
        """Whether the thread is through with it."""
        return self._done.is_set() or self.is_lost

    def wait(self) -> None:
        """Come back when the thread is through with it."""
        if not self.is_lost:
            self._done.wait()

    def run(self) -> None:
        """Make what the job is for, and note an error."""
        make, self._make = self._make, None
        assert make is not None
        try:
            with holding_warnings(self.warnings), unseen(), no_grad():
                make()
        except _GivenUpError:
            self.is_lost = True
        except BaseException as error:  # whoever asks will be told
            self.error = error.with_traceback(None)
        finally:
            self._done.set()


class _Worker:
    def __init__(self) -> None:
        self._lock = Lock()
        self._working = NoForkLock()
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._thread: threading.Thread | None = None
        self._is_ending = False
        in_child(self._forget)

    def submit(self, job: Job) -> None:
        """Have the thread make it. Raises RuntimeError where no thread can be had."""
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="flambeau plans", daemon=True)
                thread.start()
                self._thread = thread
            self._waiting.append(job)

    def _work(self) -> None:
        with contextlib.suppress(_GivenUpError):
            while True:
                with self._lock:
                    if not self._waiting or self._is_ending:
                        self._thread = self._current = None
                        return
                    job = self._current = self._waiting.popleft()
                with self._working:
                    job.run()

    def _forget(self) -> None:
        """In a forked process, which does not have the thread."""
        lost = [*self._waiting, *((self._current,) if self._current is not None else ())]
        for job in lost:
            job.is_lost = not job._done.is_set()
        self._waiting.clear()
        self._thread = self._current = None

    def end(self) -> None:
        """Give up what is being made, and come back when the thread is gone."""
        self._is_ending = True
        thread = self._thread
        if thread is None or thread.ident is None:
            return
        error, until = ctypes.py_object(_GivenUpError), time.monotonic() + LONGEST_WAIT
        while thread.is_alive() and time.monotonic() < until:  # Python drops what is raised while it destroys an object
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), error)
            thread.join(AGAIN)


_worker: Final = _Worker()
atexit.register(_worker.end)


def is_wanted() -> bool:
    """Whether plans are made behind the calls."""
    return os.environ.get(VARIABLE, "").lower() not in ("off", "0", "no", "false")


def start(make: Callable[[], None]) -> Job | None:
    """A job for the thread; None where no thread can be had."""
    job = Job(make)
    try:
        _worker.submit(job)
    except RuntimeError:  # the interpreter ends, or there are as many threads as the system allows
        return None
    return job
