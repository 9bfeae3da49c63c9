"""Data sets: by number, or one after the other; parts of them, and several as one."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from flambeau.ops.families.composite import F
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """What has an item for each number: derive from it and define `__getitem__`, and `__len__` for most uses.

    >>> class Squares(Dataset):
    ...     def __len__(self): return 3
    ...     def __getitem__(self, index): return index * index
    >>> (Squares() + Squares())[4]
    1
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """What gives items one after the other: derive from it and define `__iter__`.

    Each worker process goes through a copy: `get_worker_info` says which part is whose.

    >>> class Numbers(IterableDataset):
    ...     def __iter__(self): return iter(range(3))
    >>> list(Numbers() + Numbers())
    [0, 1, 2, 0, 1, 2]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]  # these have no numbers
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors with the same number of rows; an item is a row of each.

    >>> import flambeau
    >>> TensorDataset(flambeau.arange(3), flambeau.arange(3) * 10)[1]
    (tensor(1), tensor(10))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Data sets of one length; an item is a tuple of an item of each, or a dict if they are given by name.

    Raises ValueError for none, and for different lengths.

    >>> StackDataset(a=[1, 2], b=[3, 4])[1]
    {'a': 2, 'b': 4}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output"
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Data sets one behind the other. Raises AssertionError for none, and for those without numbers.

    >>> joined = ConcatDataset([[1, 2], [3]])
    >>> len(joined), joined[2], joined[-3]
    (3, 3, 1)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[number][index - (self.cumulative_sizes[number - 1] if number else 0)]


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one after the other. Raises AssertionError, when it comes to it, for another one.

    >>> class Numbers(IterableDataset):
    ...     def __iter__(self): return iter(range(2))
    >>> list(ChainDataset([Numbers(), Numbers()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        sizes: list[Any] = list(self.datasets)
        return sum([len(dataset) for dataset in sizes])


class Subset(Dataset[T]):
    """Some items of a data set, by their numbers.

    >>> Subset("abcd", [3, 1])[0]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]  # type: ignore[no-any-return]
        return self.dataset[self.indices[index]]  # type: ignore[no-any-return]

    def __getitems__(self, indices: list[int]) -> list[T]:
        """Several items at once, as loaders ask for them."""
        numbers = [self.indices[i] for i in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return several(numbers) if several is not None else [self.dataset[number] for number in numbers]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """A data set in parts, each item in one of them by chance.

    Args:
        dataset: what has items by number.
        lengths: how many items each part has; or their shares, which sum to 1.
        generator: draws them.

    Raises ValueError if the lengths do not sum to that of the data set.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    counts = _counts(len(dataset), lengths)
    if sum(counts) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = F.randperm(sum(counts), generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]


def _counts(total: int, lengths: Sequence[float]) -> list[int]:
    """How many items parts have. What shares leave over goes to the first ones."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(length) for length in lengths] if all(length == int(length) for length in lengths) else [-1]
    if any(share < 0 or share > 1 for share in lengths):
        raise ValueError("shares of random_split must be between 0 and 1")
    counts = [math.floor(total * share) for share in lengths]
    for number in range(total - sum(counts)):
        counts[number % len(counts)] += 1
    for number, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return counts
