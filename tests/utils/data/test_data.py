"""Data sets, samplers, batches: as PyTorch has them."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.utils import data

PAIRS = data.TensorDataset(flambeau.arange(7), flambeau.arange(7.0) * 2)


class Squares(data.Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index * index


class Numbers(data.IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(5))


Point = collections.namedtuple("Point", "x y")


def test_batches_of_a_data_set() -> None:
    batches = list(data.DataLoader(PAIRS, batch_size=3))
    assert [x.tolist() for x, _ in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(data.DataLoader(PAIRS, batch_size=3, drop_last=True)) == 2
    assert [x.tolist() for x, _ in data.DataLoader(PAIRS, batch_size=3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]
    assert [x.item() for x, _ in data.DataLoader(PAIRS, batch_size=None)] == list(range(7))
    assert [x.tolist() for x, _ in data.DataLoader(PAIRS, batch_sampler=[[6, 0], [1]])] == [[6, 0], [1]]
    assert [b.tolist() for b in data.DataLoader(Numbers(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Numbers(), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(data.DataLoader(Squares(), batch_size=4, collate_fn=sum)) == [14, 126, 145]


@pytest.mark.parametrize("workers", [0, 1])
def test_iterators_have_the_length_of_their_loader(workers: int) -> None:
    batches = iter(data.DataLoader([1, 2, 3], 2, num_workers=workers))
    assert (len(batches), [b.tolist() for b in batches]) == (2, [[1, 2], [3]])


def test_shuffled_orders_differ_and_come_again_with_the_seed() -> None:
    def order(seed: int) -> list[list[int]]:
        loader = data.DataLoader(Squares(), 1, shuffle=True, generator=flambeau.Generator().manual_seed(seed))
        return [[b.item() for b in loader] for _ in range(2)]

    first, again = order(3), order(3)
    assert first == again
    assert first[0] != first[1]
    assert sorted(first[0]) == [n * n for n in range(10)]


def test_samplers() -> None:
    assert len(set(data.RandomSampler(Squares(), replacement=True, num_samples=50))) <= 10
    assert sorted(data.RandomSampler(Squares(), num_samples=20)) == sorted([*range(10)] * 2)
    drawn = list(data.WeightedRandomSampler([1.0, 3.0, 0.0], 4000))
    assert drawn.count(2) == 0
    assert drawn.count(1) / 4000 == pytest.approx(0.75, abs=0.05)
    assert sorted(data.WeightedRandomSampler([1.0, 3.0], 2, replacement=False)) == [0, 1]


def test_parts_and_sums_of_data_sets() -> None:
    first, second = data.random_split(Squares(), [7, 3])
    assert sorted([first[i] for i in range(7)] + [second[i] for i in range(3)]) == [n * n for n in range(10)]
    assert [len(p) for p in data.random_split(Squares(), [0.5, 0.26, 0.24])] == [6, 2, 2]
    both = Squares() + Squares()
    assert (len(both), both[12], both[-1]) == (20, 4, 81)
    assert data.Subset(Squares(), [3, 4])[1] == 16
    assert [x.tolist() for x in data.DataLoader(data.Subset(Squares(), [3, 4]), 2)] == [[9, 16]]
    assert data.StackDataset(Squares(), list("abcdefghij"))[2] == (4, "c")


def test_items_of_every_kind() -> None:
    batch = data.default_collate([{"a": (1, 2.0), "b": "x", "c": Point(1, [True])}] * 2)
    assert batch["a"][0].tolist() == [1, 1]
    assert batch["a"][1].dtype is flambeau.float64
    assert batch["b"] == ["x", "x"]
    assert isinstance(batch["c"], Point)
    assert batch["c"].y[0].dtype is flambeau.bool
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype is flambeau.float32
    assert data.default_convert([np.ones(1), "a"])[1] == "a"


REFUSED = [
    "DataLoader(d, num_workers=-1)", "DataLoader(d, timeout=-1)", "DataLoader(d, prefetch_factor=2)",
    "DataLoader(d, num_workers=1, prefetch_factor=-1)", "DataLoader(d, persistent_workers=True)",
    "DataLoader(d, multiprocessing_context='fork')",
    "DataLoader(i, shuffle=True)", "DataLoader(i, sampler=[1])", "DataLoader(i, batch_sampler=[1])",
    "DataLoader(d, shuffle=True, sampler=[1])", "DataLoader(d, batch_sampler=[[1]], batch_size=3)",
    "DataLoader(d, batch_size=None, drop_last=True)", "DataLoader(d, batch_size=0)", "DataLoader(d, batch_size=1.5)",
    "DataLoader(d, drop_last=3)", "RandomSampler(d, num_samples=0)", "RandomSampler(d, replacement=3)",
    "RandomSampler([])", "WeightedRandomSampler([1.0], 0)", "WeightedRandomSampler([1.0], 1, 3)",
    "WeightedRandomSampler([[1.0]], 1)", "BatchSampler([1], 0, False)", "BatchSampler([1], 2, 3)",
    "random_split(d, [1, 2])", "random_split(d, [0.5, 0.6])", "ConcatDataset([])", "ConcatDataset([d, i])",
    "ConcatDataset([d])[-9]", "StackDataset()", "StackDataset(d, [1])", "next(iter(ChainDataset([d])))",
    "default_collate([[1, 2], [3]])", "default_collate([one, two])", "default_collate([None, None])",
    "Dataset()[0]", "len(DataLoader(i))", "setattr(DataLoader(d), 'batch_size', 3)", "TensorDataset(one, two)",
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_refusals_have_the_class_and_text_that_users_know(call: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    from torch.utils import data as theirs

    errors = []
    for library, room in ((flambeau, data), (torch, theirs)):

        class Endless(room.IterableDataset):  # type: ignore[name-defined, misc]
            def __iter__(self) -> Any:
                return iter(range(3))

        scope = {name: getattr(room, name) for name in data.__all__ if hasattr(room, name)}
        scope |= {"d": room.TensorDataset(library.arange(4)), "i": Endless()}
        with pytest.raises(Exception) as raised:  # noqa: PT011  (which one is what is compared)
            eval(call, scope | {"one": library.ones(2), "two": library.ones(3)})
        errors.append((type(raised.value).__name__, str(raised.value)))
    assert errors[0] == errors[1]


def test_shares_of_processes_are_as_long_as_pytorchs() -> None:
    samplers = pytest.importorskip("torch.utils.data")
    for size, replicas, drop_last in ((5, 2, False), (5, 2, True), (1, 3, False), (6, 3, False)):
        for rank in range(replicas):
            options: dict[str, Any] = {"num_replicas": replicas, "rank": rank, "shuffle": False, "drop_last": drop_last}
            ours = data.DistributedSampler(range(size), **options)
            theirs = samplers.DistributedSampler(range(size), **options)
            assert (list(ours), len(ours)) == (list(theirs), len(theirs))
    shuffled = [data.DistributedSampler(range(6), 2, rank) for rank in range(2)]
    assert sorted([*shuffled[0], *shuffled[1]]) == list(range(6))
    first = list(shuffled[0])
    shuffled[0].set_epoch(1)
    assert first != list(shuffled[0])
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        data.DistributedSampler(range(6), 2, 2)
    with pytest.raises(ValueError, match="give num_replicas= and rank="):
        data.DistributedSampler(range(6))


def test_loaders_are_written_with_what_they_give() -> None:
    loader: data.DataLoader[int] = data.DataLoader([1, 2])
    assert str(data.DataLoader[int]).endswith("DataLoader[int]")
    assert [int(batch) for batch in loader] == [1, 2]
