"""A worker process: fetches what it is told to, until it is told to stop or nobody is left to tell it."""

from __future__ import annotations

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import connection, parent_process
from typing import Any, Final

import numpy as np

from flambeau.tensor.random import manual_seed
from flambeau.util import thread_count
from flambeau.util.record import dataclass
from flambeau.utils.data import parcels

END_OF_DATA: Final = "end of data"
"""In the place of a batch: an iterable data set has no more."""


@dataclass(slots=True)
class WorkerInfo:
    """What a worker process knows of itself.

    >>> from flambeau.utils.data import get_worker_info
    >>> get_worker_info() is None  # this is no worker
    True
    """

    id: int
    """Its number, from 0."""
    num_workers: int
    """How many there are."""
    seed: int
    """What its random numbers were seeded with."""
    dataset: Any
    """Its copy of the data set."""


_info: list[WorkerInfo | None] = [None]


def get_worker_info() -> WorkerInfo | None:
    """What this process knows of itself, if it is a worker of a `DataLoader`; else None.

    >>> get_worker_info() is None
    True
    """
    return _info[0]


@dataclass(slots=True)
class WorkerError:
    """An exception in a worker, as it is told to the process that waits."""

    kind: type[BaseException]
    text: str

    def reraise(self) -> None:
        """Raise one of its class, whose message has the traceback of the worker."""
        if self.kind is KeyError:
            raise KeyError(_Verbatim(self.text))
        try:
            error = self.kind(self.text)
        except Exception:
            raise RuntimeError(self.text) from None
        raise error


class _Verbatim(str):
    """A text that `KeyError` prints as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def caught(error: BaseException, number: int) -> WorkerError:
    """An exception, with its traceback, for the process that waits."""
    trace = "".join(traceback.format_exception(error))
    text = f"Caught {type(error).__name__} in DataLoader worker process {number}.\nOriginal {trace}"
    return WorkerError(type(error), text)


class Fetcher:
    """Gives batches: of a data set by numbers, or of one that gives its items in its own order."""

    def __init__(self, dataset: Any, is_iterable: bool, batches: bool, collate: Callable[[Any], Any], drop_last: bool):
        self._dataset = dataset
        self._items: Iterator[Any] | None = iter(dataset) if is_iterable else None
        self._batches = batches
        self._collate = collate
        self._drop_last = drop_last

    def __call__(self, numbers: Any) -> Any:
        """A batch. Raises StopIteration if there is none."""
        if self._items is not None:
            return self._collate(self._next(len(numbers)) if self._batches else next(self._items))
        if not self._batches:
            return self._collate(self._dataset[numbers])
        several = getattr(self._dataset, "__getitems__", None)
        return self._collate(several(numbers) if several else [self._dataset[number] for number in numbers])

    def _next(self, count: int) -> list[Any]:
        assert self._items is not None
        batch = [item for _, item in zip(range(count), self._items, strict=False)]
        if not batch or (self._drop_last and len(batch) < count):
            raise StopIteration
        return batch


@dataclass(slots=True)
class Order:
    """What all workers of a loader are told."""

    dataset: Any
    is_iterable: bool
    batches: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], None] | None
    count: int


def work(order: Order, number: int, seed: int, tasks: connection.Connection, results: connection.Connection) -> None:
    """Run a worker. Messages: ("fetch", task, numbers), ("restart", seed) or None, the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits; it then ends this one
    parent = parent_process()
    assert parent is not None
    thread_count.put(1)
    fetcher: Fetcher | None = None
    failure = _begin(order, number, seed)
    while True:
        if tasks not in connection.wait([tasks, parent.sentinel]):
            return
        try:
            message = tasks.recv()
        except (EOFError, OSError):
            return
        if message is None:
            return
        if message[0] == "restart":
            _seed(number, message[1])
            fetcher = None
            continue
        _, task, numbers = message
        result: Any = failure
        if failure is None:
            try:
                if fetcher is None:
                    fetcher = Fetcher(order.dataset, order.is_iterable, order.batches, order.collate, order.drop_last)
                result = fetcher(numbers)
            except StopIteration:
                result = END_OF_DATA if order.is_iterable else caught(RuntimeError("StopIteration"), number)
            except Exception as error:
                result = caught(error, number)
        if not _sent(results, (task, result), number, parent.pid or os.getppid()):
            return


def _begin(order: Order, number: int, seed: int) -> WorkerError | None:
    _seed(number, seed)
    _info[0] = WorkerInfo(number, order.count, seed + number, order.dataset)
    try:
        if order.init is not None:
            order.init(number)
    except Exception as error:
        return caught(error, number)
    return None


def _seed(number: int, seed: int) -> None:
    """Have each worker draw other numbers."""
    random.seed(seed + number)
    manual_seed(seed + number)
    np.random.seed(np.random.SeedSequence([seed, number]).generate_state(4))
    if _info[0] is not None:
        _info[0].seed = seed + number


def _sent(results: connection.Connection, message: Any, number: int, receiver: int) -> bool:
    """Send a result, or that it cannot be sent; whether somebody is there."""
    try:
        parcels.send(results, message, receiver)
    except (BrokenPipeError, ConnectionResetError):
        return False
    except Exception as error:
        parcels.send(results, (message[0], caught(error, number)), receiver)
    return True
