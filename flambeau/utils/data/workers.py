"""The worker processes of a loader, as the process that waits for them sees them."""

from __future__ import annotations

import contextlib
import multiprocessing
import weakref
from collections.abc import Sequence
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from flambeau.utils.data import parcels
from flambeau.utils.data.worker import Order, work

PATIENCE = 2.0
"""Seconds that a worker has to end by itself."""


class Workers:
    """Some processes, each with a connection for what it is told and one for what it gives."""

    def __init__(self, order: Order, seed: int, context: BaseContext | None) -> None:
        context = context or multiprocessing.get_context()
        self._processes: list[BaseProcess] = []
        self._tasks: list[connection.Connection] = []
        self._results: list[connection.Connection] = []
        self._finalizer = weakref.finalize(self, _end, self._processes, self._tasks, self._results)
        for number in range(order.count):
            commands, tasks = context.Pipe(duplex=False)
            results, sender = context.Pipe(duplex=True)  # file descriptors go along sockets only
            process = context.Process(  # type: ignore[attr-defined]  # every context has one
                target=work, args=(order, number, seed, commands, sender), daemon=True, name=f"flambeau-worker-{number}"
            )
            process.start()
            commands.close()
            sender.close()
            self._processes.append(process)
            self._tasks.append(tasks)
            self._results.append(results)

    def __len__(self) -> int:
        return len(self._processes)

    def tell(self, number: int, message: Any) -> None:
        """Send a message to a worker. Raises RuntimeError if it is gone."""
        try:
            self._tasks[number].send(message)
        except OSError:
            self._refuse_gone([number])

    def receive(self, numbers: Sequence[int], timeout: float) -> tuple[int, Any]:
        """The next result of one of some workers, and whose it is. Raises RuntimeError if one is gone, or late."""
        waiting = {self._results[n]: n for n in numbers}
        ready = connection.wait(list(waiting), timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout:g} seconds")
        number = min(waiting[one] for one in ready)  # type: ignore[index]  # the connections that were waited for
        try:
            return number, parcels.receive(self._results[number])
        except (EOFError, ConnectionResetError):
            self._refuse_gone([number])
            raise

    def _refuse_gone(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._processes[number].join(PATIENCE)
        gone = [str(p.pid) for p in self._processes if not p.is_alive()]
        raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(gone)}) exited unexpectedly")

    def end(self) -> None:
        """End all workers, and wait until they are gone."""
        self._finalizer()


def _end(
    processes: list[BaseProcess], tasks: list[connection.Connection], results: list[connection.Connection]
) -> None:
    for one in tasks:
        with contextlib.suppress(OSError):
            one.send(None)
        one.close()
    for one in results:
        one.close()  # a worker that is sender notices
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.terminate()
            process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
