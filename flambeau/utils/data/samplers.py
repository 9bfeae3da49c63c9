"""Samplers: in which order the items of a data set are taken, and which make a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Final, Generic, TypeVar

import numpy as np

from flambeau.ops.families.composite import F
from flambeau.schema.dtype import int64
from flambeau.tensor.create import as_tensor
from flambeau.tensor.random import Generator

T = TypeVar("T", covariant=True)


def _positive(name: str, value: Any) -> int:
    """A count. Raises ValueError for what is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
    return value


class Sampler(Generic[T]):
    """The order of items: derive from it and define `__iter__`, which gives numbers, and `__len__`.

    >>> class Backwards(Sampler):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def __iter__(self):
    ...         return iter(range(self.size - 1, -1, -1))
    ...     def __len__(self):
    ...         return self.size
    >>> import flambeau
    >>> from flambeau.utils.data import DataLoader
    >>> [batch.item() for batch in DataLoader([1, 2, 3], sampler=Backwards(3))]
    [3, 2, 1]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """All items in order.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Items by chance.

    Args:
        data_source: what has a length.
        replacement: whether an item may come more than once.
        num_samples: how many there are; as many as items by default.
        generator: draws them.

    Raises ValueError if there are none to draw.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.data_source = data_source
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many items are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, wanted = len(self.data_source), self.num_samples
        generator = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        if self.replacement:
            for start in range(0, wanted, DRAWN_TOGETHER):
                yield from F.randint(count, [min(DRAWN_TOGETHER, wanted - start)], generator=generator).tolist()
            return
        rounds = (F.randperm(count, generator=generator).tolist() for _ in itertools.count())
        yield from itertools.islice(itertools.chain.from_iterable(rounds), wanted)

    def __len__(self) -> int:
        return self.num_samples


DRAWN_TOGETHER: Final = 32
"""So many places are drawn at once, so that a sampler that is left early does not draw them all."""


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed for another generator."""
    return int(F.empty([], dtype=int64).random_(generator=generator).item())


class SubsetRandomSampler(Sampler[int]):
    """Some items, in a random order.

    >>> sorted(SubsetRandomSampler([5, 3]))
    [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for number in F.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[number]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Items drawn with a probability each.

    Args:
        weights: of each item, in any unit.
        num_samples: how many are drawn.
        replacement: whether an item may come more than once.
        generator: draws them.

    Raises ValueError for settings that are none.

    >>> list(WeightedRandomSampler([0.0, 1.0], num_samples=2))
    [1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        _positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(np.asarray(weights, np.float64))
        if self.weights.dim() != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = F.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """What another sampler gives, in lists.

    Args:
        sampler: gives numbers.
        batch_size: how many a list has.
        drop_last: leave the last list out if it has fewer.

    Raises ValueError for settings that are none.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # those that have one
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The share of one of several processes: every `num_replicas`-th item, from `rank` on.

    All shares are equally long: items of the beginning come twice, or with `drop_last` those of the end not at all.

    Args:
        dataset: has a length.
        num_replicas: how many processes there are.
        rank: which of them this is, from 0 on.
        shuffle: whether each epoch has an order of its own, which `set_epoch` chooses.
        seed: the same number in all processes.
        drop_last: see above.

    Raises ValueError for a rank that no process has.

    >>> list(DistributedSampler("abcde", num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            raise ValueError("DistributedSampler: flambeau knows of no other processes: give num_replicas= and rank=")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else -(-size // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch this is, so that its order is another one than those of the others."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = F.randperm(len(order), generator=generator).tolist()
        if not self.drop_last and order:
            order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
