"""Python's `multiprocessing`, and `spawn`, which runs a function in several processes and tells of their errors.

>>> from flambeau import multiprocessing as mp
>>> import multiprocessing
>>> mp.Queue.__func__ is multiprocessing.Queue.__func__, mp.get_sharing_strategy()
(True, 'file_descriptor')

Tensors whose memory is shared (`x.share_memory_()`, `module.share_memory()`) go to other processes as that memory,
others as copies.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, Final

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip
STRATEGY: Final = "file_descriptor"
NO_STRATEGY: Final = "memory is shared by file descriptors: the only sharing strategy is 'file_descriptor', not {got!r}"
RAISED: Final = "\n\n-- Process {index} terminated with the following error:\n{text}"
SIGNALLED: Final = "process {index} terminated with signal {name}"
EXITED: Final = "process {index} terminated with exit code {code}"


def __getattr__(name: str) -> Any:
    return getattr(_multiprocessing, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_multiprocessing)})


def get_sharing_strategy() -> str:
    """How memory gets to other processes.

    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return STRATEGY


def get_all_sharing_strategies() -> set[str]:
    """All ways in which memory may get to other processes: one.

    >>> get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {STRATEGY}


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory gets to other processes. Raises ValueError for another one than 'file_descriptor'.

    >>> set_sharing_strategy("file_descriptor")
    """
    if new_strategy != STRATEGY:
        raise ValueError(NO_STRATEGY.format(got=new_strategy))


class ProcessException(Exception):  # noqa: N818  (PyTorch's name)
    """What became of one of several processes.

    >>> ProcessException("stopped", 1, 4711).error_index
    1
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        """The number of the process."""
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an error, whose traceback is the message.

    >>> isinstance(ProcessRaisedException("traceback", 0, 4711), ProcessException)
    True
    """


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code other than 0.

    >>> ProcessExitedException("process 0 terminated with exit code 3", 0, 4711, 3).exit_code
    3
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], index: int, args: Sequence[Any], errors: Any) -> None:
    """What a process runs."""
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one has got it too
    except BaseException as error:
        if not isinstance(error, SystemExit):
            errors.send_bytes(pickle.dumps(traceback.format_exc()))
            raise SystemExit(1) from None
        raise


class ProcessContext:
    """Processes that run, and `join`, which waits for them.

    >>> ProcessContext([], []).join()
    True
    """

    def __init__(self, processes: Sequence[Any], errors: Sequence[Any]) -> None:
        self.processes = list(processes)
        self._errors = list(errors)
        self._running = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process or more has ended, or the time is over; whether all have.

        Args:
            timeout: how many seconds at most; no end if None.
            grace_period: how many seconds the others get to end by themselves where one failed.

        Raises ProcessRaisedException or ProcessExitedException for the first that failed; the others are ended before.
        """
        if not self._running:
            return True
        failed = None
        for sentinel in wait(list(self._running), timeout=timeout):
            index = self._running.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self._running
        self._end_others(grace_period)
        raise self._error(failed)

    def _end_others(self, grace_period: float | None) -> None:
        others = [p for p in self.processes if p.is_alive()]
        for process in others if grace_period is not None else ():
            process.join(grace_period)
        for process in others:
            if process.is_alive():
                process.terminate()
            process.join()
        self._running.clear()

    def _error(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        pid, code = process.pid, process.exitcode
        with suppress(EOFError):  # which is all that comes of a process that sent nothing
            text = pickle.loads(errors.recv_bytes())
            return ProcessRaisedException(RAISED.format(index=index, text=text), index, pid)
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            return ProcessExitedException(SIGNALLED.format(index=index, name=name), index, pid, code, name)
        return ProcessExitedException(EXITED.format(index=index, code=code), index, pid, code)


def start_processes(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in processes, index from 0 to `nprocs`.

    Args:
        fn: a function that the start method can send: one of a module, for "spawn".
        args: what it is given beside the index.
        nprocs: how many processes.
        join: wait for all; else what waits for them is returned.
        daemon: end them with this process.
        start_method: "spawn", "fork" or "forkserver".

    Raises ProcessRaisedException, or ProcessExitedException, if one fails; the others are ended.

    >>> start_processes(print, nprocs=0)
    """
    context: Any = _multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, sending), daemon=daemon)
        process.start()
        sending.close()
        processes.append(process)
        errors.append(receiving)
    running = ProcessContext(processes, errors)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes`, under its older name.

    >>> spawn(print, nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
