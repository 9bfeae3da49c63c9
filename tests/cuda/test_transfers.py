"""Pinned memory: batches of loaders, copies that nobody waits for; where archives are loaded to."""

from __future__ import annotations

import gc
import io
from collections import namedtuple
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.cuda import pinned
from flambeau.util.errors import ArchiveError
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.data.pinning import pinned as pin

Pair = namedtuple("Pair", "left right")


class Own:
    """A batch that says itself how it is pinned."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def pin_memory(self) -> Own:
        return Own(self.tensor.pin_memory())


@pytest.mark.usefixtures("cuda")
def test_loaders_pin_their_batches() -> None:
    data = flambeau.arange(12.0).reshape(6, 2)
    for (batch,) in DataLoader(TensorDataset(data), batch_size=3, pin_memory=True):
        assert batch.is_pinned()
        assert batch.to("cuda", non_blocking=True).cpu().tolist() == batch.tolist()
    assert not next(iter(DataLoader(TensorDataset(data), batch_size=3)))[0].is_pinned()


@pytest.mark.usefixtures("cuda")
def test_containers_stay_what_they_are() -> None:
    x = flambeau.ones(2)
    rows: list[Any] = [Pair(x, [x, "text"]), {"x": (x, 3)}, Own(x), x.to("cuda")]
    pair, mapping, own, there = map(pin, rows)
    assert isinstance(pair, Pair)
    assert pair.left.is_pinned()
    assert pair.right[0].is_pinned()
    assert pair.right[1] == "text"
    assert mapping["x"][0].is_pinned()
    assert own.tensor.is_pinned()
    assert there.is_cuda


def test_without_a_device_batches_stay() -> None:
    if flambeau.cuda.is_available():
        pytest.skip("there is a device")
    (batch,) = next(iter(DataLoader(TensorDataset(flambeau.ones(2, 2)), batch_size=2, pin_memory=True)))
    assert not batch.is_pinned()


def test_functions_that_name_a_device_run_where_there_is_none() -> None:
    if flambeau.cuda.is_available():
        pytest.skip("there is a device")

    @flambeau.script
    def moved(x: flambeau.Tensor, on_card: bool):  # type: ignore[no-untyped-def]
        if on_card:
            x = x.to("cuda")
        return x * 2, flambeau.device("cuda", index=1)

    y, device = moved(flambeau.ones(2), False)
    assert (y.tolist(), str(device)) == ([2.0, 2.0], "cuda:1")
    with pytest.raises(RuntimeError, match="no tensor can be put on device 'cuda' here"):
        moved(flambeau.ones(2), True)


def test_what_is_copied_from_is_kept_until_then(pretended_cuda: Any) -> None:
    from tests.cuda.pretended import runtime
    from tests.cuda.pretended.engine import engine

    source = flambeau.arange(1000.0).pin_memory()
    address = source.data_ptr()
    engine.deferred = True
    there = source.to("cuda", non_blocking=True)
    del source
    gc.collect()
    assert runtime.is_pinned(address), "the copy has not been made yet"
    flambeau.cuda.synchronize()
    assert there.sum().item() == 499500
    flambeau.ones(1).pin_memory().to("cuda", non_blocking=True)
    gc.collect()
    assert not runtime.is_pinned(address), "given back when the next one comes"
    engine.deferred = False
    flambeau.cuda.synchronize()
    pinned._copied.clear()


@pytest.mark.usefixtures("cuda")
def test_archives_are_loaded_where_a_function_says() -> None:
    file = io.BytesIO()
    flambeau.jit.save(flambeau.script(nn.Linear(3, 2)), file)

    def loaded(place: Any) -> Any:
        file.seek(0)
        return flambeau.jit.load(file, map_location=place)

    seen: list[str] = []
    assert loaded(lambda storage, location: seen.append(location) or storage.cuda()).weight.is_cuda
    assert set(seen) == {"cpu"}
    assert loaded(lambda storage, location: storage.to("cuda:0").cpu()).weight.device.type == "cpu"
    assert loaded(lambda storage, location: None).weight.device.type == "cpu"
    last = flambeau.cuda.device_count() - 1
    assert loaded(lambda storage, location: storage.cuda(last)).weight.device.index == last
    with pytest.raises(ArchiveError, match=r"map_location gave 3 for a storage on 'cpu': return the storage moved"):
        loaded(lambda storage, location: 3)
