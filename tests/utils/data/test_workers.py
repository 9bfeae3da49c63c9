"""Batches from worker processes: in order, through shared memory, with errors that tell, and nothing left behind."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks processes")


class Items(Dataset[Any]):
    """Eight items, made by a function of their number."""

    def __init__(self, make: Any, count: int = 8) -> None:
        self.make, self.count = make, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


class Numbers(IterableDataset[int]):
    def __iter__(self) -> Any:
        info = get_worker_info()
        return iter(range(7) if info is None else range(info.id, 7, info.num_workers))


def slow_first(index: int) -> int:
    time.sleep(0.2 if index == 0 else 0.0)
    return index


def fails(index: int) -> int:
    if index == 3:
        raise KeyError("no item three")
    return index


def dies(index: int) -> int:
    os._exit(3)


def children() -> list[Any]:
    return multiprocessing.active_children()


def test_the_same_batches_in_the_same_order() -> None:
    tensors = TensorDataset(flambeau.rand(50, 300), flambeau.arange(50))
    here, there = (list(DataLoader(tensors, 8, num_workers=n)) for n in (0, 2))
    for (x, y), (a, b) in zip(here, there, strict=True):
        assert flambeau.equal(x, a)
        assert flambeau.equal(y, b)
        a.add_(1)  # their memory is ours
    assert not children()


def test_the_first_is_waited_for_unless_told() -> None:
    assert [b.item() for b in DataLoader(Items(slow_first), num_workers=2)] == list(range(8))
    order = [b.item() for b in DataLoader(Items(slow_first), num_workers=2, in_order=False)]
    assert sorted(order) == list(range(8))
    assert order[0] != 0


def test_iterable_data_sets_are_shared_out_by_themselves() -> None:
    batches = [b.tolist() for b in DataLoader(Numbers(), 2, num_workers=2)]
    assert sorted(n for batch in batches for n in batch) == list(range(7))
    assert len(batches) == 4


def test_errors_come_with_their_traceback() -> None:
    with pytest.raises(KeyError, match=r"(?s)Caught KeyError in DataLoader worker process \d.*in fails.*no item three"):
        list(DataLoader(Items(fails), num_workers=2))
    assert not children()
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0.*not with me"):
        list(DataLoader(Items(int), num_workers=1, worker_init_fn=refuse))
    with pytest.raises(AttributeError, match=r"(?s)Caught AttributeError.*(pickle|lambda)"):
        list(DataLoader(Items(int), num_workers=1, collate_fn=lambda batch: lambda: batch))


def refuse(number: int) -> None:
    raise ValueError("not with me")


def test_a_worker_that_ends_or_is_late() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(DataLoader(Items(dies), num_workers=1))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(DataLoader(Items(lambda i: time.sleep(30)), num_workers=1, timeout=0.2))
    assert not children()


def tell(index: int) -> tuple[int, int, float, float, float]:
    info = get_worker_info()
    assert info is not None
    return info.id, info.seed - info.id, random.random(), float(np.random.random()), flambeau.rand(1).item()


def test_workers_know_themselves_and_draw_other_numbers() -> None:
    loader = DataLoader(Items(tell), None, num_workers=2, generator=flambeau.Generator().manual_seed(1))
    rows = list(loader)
    assert [row[0] for row in rows[:4]] == [0, 1, 0, 1]
    assert len({row[1] for row in rows}) == 1
    assert len({row[2] for row in rows}) == len({row[3] for row in rows}) == len({row[4] for row in rows}) == 8
    again = DataLoader(Items(tell), None, num_workers=2, generator=flambeau.Generator().manual_seed(1))
    assert list(again) == rows
    assert get_worker_info() is None


def test_persistent_workers_stay() -> None:
    loader = DataLoader(Items(lambda i: os.getpid()), None, num_workers=2, persistent_workers=True, prefetch_factor=3)
    first, second = set(loader), set(loader)
    assert first == second
    assert len(first) == 2
    one = iter(loader)
    next(one)
    del one  # with batches on their way: other workers next time
    assert len(set(loader)) == 2
    del loader
    assert not children()


def test_stopping_early_leaves_no_process() -> None:
    batches = iter(DataLoader(Items(int), num_workers=2))
    next(batches)
    assert len(children()) == 2
    del batches
    assert not children()


PROGRAM = """
import os, sys, time
from flambeau.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, index):
        time.sleep(0.05)
        return os.getpid()
for pid in DataLoader(Slow(), None, num_workers=2):
    print(pid, flush=True)
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_leaves_no_process(stop: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        workers = {int(run.stdout.readline()) for _ in range(4)}
        run.send_signal(stop)
        run.communicate(timeout=30)
    assert len(workers) == 2
    end = time.monotonic() + 10
    while any(is_running(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in workers)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
