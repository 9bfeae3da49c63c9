"""`DataLoader`: goes through a data set in batches, which this process makes or others do meanwhile."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from types import GenericAlias
from typing import Any, Final

from flambeau.tensor.random import Generator
from flambeau.utils.data.collating import default_collate, default_convert
from flambeau.utils.data.datasets import IterableDataset
from flambeau.utils.data.pinning import pinned
from flambeau.utils.data.samplers import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from flambeau.utils.data.worker import END_OF_DATA, Fetcher, Order, WorkerError
from flambeau.utils.data.workers import Workers

FIXED: Final = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)  # fmt: skip


class _Endless:
    """The numbers of a data set that has none: it gives its items in its own order."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """The batches of a data set.

    Args:
        dataset: has items by number (`Dataset`, or any sequence), or gives them in its order (`IterableDataset`).
        batch_size: items of a batch; None for single items.
        shuffle: take them in a random order, another one each time.
        sampler: gives the numbers in an order of its own.
        batch_sampler: gives lists of numbers.
        num_workers: processes that make batches; 0 for this one.
        collate_fn: makes a batch of a list of items.
        pin_memory: batches lie in memory that devices copy from while the host goes on, if there is a device.
        pin_memory_device: accepted; that memory is the same for all devices.
        drop_last: leave the last batch out if it is shorter.
        timeout: seconds to wait for a batch of the workers; 0 for any time.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how processes are started.
        generator: draws orders and the seeds of workers.
        prefetch_factor: batches that each worker makes ahead; 2.
        persistent_workers: keep the processes from one time to the next.
        in_order: give batches in order; else as they come.

    Exceptions of workers are raised here, with the worker's traceback. Raises ValueError for settings that contradict
    each other, RuntimeError for a worker that is late or ended.

    >>> [batch.tolist() for batch in DataLoader([1, 2, 3], batch_size=2)]
    [[1, 2], [3]]
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[list[Any]] | None = None, num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
        timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None, generator: Generator | None = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:  # fmt: skip
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._kept: Workers | None = None
        self._is_ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED and self.__dict__.get("_is_ready"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _default_sampler(self, shuffle: bool) -> Iterable[Any]:
        if self._is_iterable:
            return _Endless()
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)

    @property
    def _numbers(self) -> Iterable[Any]:
        """The numbers of each batch, or of each item."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        order = Order(
            self.dataset, self._is_iterable, self.batch_sampler is not None, self.collate_fn, self.drop_last,
            self.worker_init_fn, self.num_workers,
        )  # fmt: skip
        seed = drawn_seed(self.generator)
        if self.num_workers == 0:
            return _BatchesHere(self, self._here(order))
        if not self.persistent_workers:
            return _Batches(self, Workers(order, seed, self.multiprocessing_context), ends=True)
        if self._kept is None:
            self._kept = Workers(order, seed, self.multiprocessing_context)
        else:
            for number in range(len(self._kept)):
                self._kept.tell(number, ("restart", seed))
        return _Batches(self, self._kept, ends=False)

    def _here(self, order: Order) -> Iterator[Any]:
        fetcher = Fetcher(order.dataset, order.is_iterable, order.batches, order.collate, order.drop_last)
        for numbers in self._numbers:
            try:
                batch = fetcher(numbers)
            except StopIteration:
                return
            yield pinned(batch) if self.pin_memory else batch

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self._numbers)  # type: ignore[arg-type]  # those that have one
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class _BatchesHere:
    """The batches that this process makes."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        self._loader, self._batches = loader, batches

    def __iter__(self) -> _BatchesHere:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __len__(self) -> int:
        return len(self._loader)


class _Batches:
    """One time through the batches that workers make."""

    def __init__(self, loader: DataLoader, workers: Workers, *, ends: bool) -> None:
        self._loader = loader
        self._workers = workers
        self._ends = ends
        """Whether the workers are for this time alone."""
        self._numbers = iter(loader._numbers)
        self._sent = 0
        """How many batches were asked for."""
        self._next_given = 0
        """The number of the batch that comes next."""
        self._owners: dict[int, int] = {}
        """Of each batch that is on its way, which worker makes it."""
        self._arrived: dict[int, Any] = {}
        self._active = list(range(len(workers)))
        """The workers that have data left."""
        self._next_worker = 0
        for _ in range((loader.prefetch_factor or 1) * len(workers)):
            self._ask()

    def __iter__(self) -> _Batches:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def _ask(self) -> None:
        """Have the next worker in turn make the next batch."""
        if not self._active:
            return
        try:
            numbers = next(self._numbers)
        except StopIteration:
            return
        worker = self._active[self._next_worker % len(self._active)]
        self._next_worker += 1
        self._workers.tell(worker, ("fetch", self._sent, numbers))
        self._owners[self._sent] = worker
        self._sent += 1

    def __next__(self) -> Any:
        try:
            batch = self._wait()
        except BaseException:  # Ctrl-C too: no process is left behind
            self._stop()
            raise
        if isinstance(batch, WorkerError):
            self._stop()
            batch.reraise()
        return pinned(batch) if self._loader.pin_memory else batch

    def _wait(self) -> Any:
        while True:
            task = self._ready()
            if task is not None:
                batch = self._arrived.pop(task)
                self._next_given = max(self._next_given, task + 1)
                if isinstance(batch, str) and batch is END_OF_DATA:
                    continue
                return batch
            if not self._owners:
                raise StopIteration
            waited_for = sorted({self._owners[t] for t in self._owners})
            worker, (number, result) = self._workers.receive(waited_for, self._loader.timeout)
            del self._owners[number]
            if isinstance(result, str) and result == END_OF_DATA and self._loader._is_iterable:
                result = END_OF_DATA
                if worker in self._active:
                    self._active.remove(worker)
            self._arrived[number] = result
            self._ask()

    def _ready(self) -> int | None:
        """The batch whose turn it is, if it is there."""
        if not self._arrived:
            return None
        first = min(self._arrived)
        return first if not self._loader.in_order or not any(task < first for task in self._owners) else None

    def _stop(self) -> None:
        if self._ends:
            self._workers.end()
            return
        if self._owners or self._arrived:  # what is on its way belongs to no later time
            self._workers.end()
            self._loader._kept = None

    def __del__(self) -> None:
        if "_workers" in self.__dict__ and (self._ends or self._owners):
            self._stop()


def _context(context: str | BaseContext | None, workers: int) -> BaseContext | None:
    if context is not None and workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={workers}"
        )
    if isinstance(context, str):
        if context not in multiprocessing.get_all_start_methods():
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{multiprocessing.get_all_start_methods()!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    return context


def _check_workers(count: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if count < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    text = "DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
    for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(text.format(name=name, value=value))


def _check_batches(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
