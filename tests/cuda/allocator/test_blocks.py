"""Blocks are given out again in the order of streams, split and merged, and go back to the device last."""

from __future__ import annotations

import gc
import re
import threading
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.cuda import allocator, memory
from flambeau.cuda.allocator.shortage import in_units
from flambeau.cuda.allocator.sizes import rounded, segment_size
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.engine import engine

MB = 1 << 20
pytestmark = pytest.mark.usefixtures("fresh_allocators")


def segments(device: int = 0) -> list[tuple[int, list[tuple[int, str]]]]:
    return [
        (s["total_size"], [(b["size"], b["state"]) for b in s["blocks"]]) for s in memory.memory_snapshot(device)
    ]  # fmt: skip


def test_small_ones_share_a_segment(pretended_cuda: Any) -> None:
    memory.empty_cache()
    before = arena.regions[0].allocated
    a, b = allocator.allocate(1, 0), allocator.allocate(513, 0)
    assert b.address == a.address + 512
    assert segments() == [
        (2 * MB, [(512, "active_allocated"), (1024, "active_allocated"), (2 * MB - 1536, "inactive")])
    ]
    first = a.address
    del a
    assert segments()[0][1][0] == (512, "inactive")
    again = allocator.allocate(200, 0)
    assert again.address == first
    del again, b
    assert segments() == [(2 * MB, [(2 * MB, "inactive")])]
    memory.empty_cache()
    assert segments() == []
    assert arena.regions[0].allocated == before


@pytest.mark.parametrize(("asked", "segment"), [(MB, 2), (MB + 1, 20), (9 * MB, 20), (10 * MB, 10), (21 * MB - 5, 22)])
def test_sizes_of_segments(asked: int, segment: int) -> None:
    assert segment_size(rounded(asked)) == segment * MB


def test_neighbours_become_one(pretended_cuda: Any) -> None:
    memory.empty_cache()
    blocks = [allocator.allocate(4 * MB, 0) for _ in range(5)]
    start = blocks[0].address
    assert [b.address - start for b in blocks] == [k * 4 * MB for k in range(5)]
    blocks[1] = blocks[3] = None  # type: ignore[call-overload]
    assert [s for _, s in segments()[0][1]] == ["active_allocated", "inactive"] * 2 + ["active_allocated"]
    blocks[2] = None  # type: ignore[call-overload]
    assert [size // MB for size, _ in segments()[0][1]] == [4, 12, 4]
    assert allocator.allocate(12 * MB, 0).address == start + 4 * MB


def test_the_smallest_that_fits_is_taken(pretended_cuda: Any) -> None:
    memory.empty_cache()
    large, small = allocator.allocate(40 * MB, 0), allocator.allocate(12 * MB, 0)
    places = large.address, small.address
    del large, small
    assert allocator.allocate(11 * MB, 0).address == places[1]
    assert allocator.allocate(39 * MB, 0).address == places[0]


def test_streams_do_not_share(pretended_cuda: Any) -> None:
    memory.empty_cache()
    a = allocator.allocate(2 * MB, 0)
    place = a.address
    del a
    with flambeau.cuda.stream(flambeau.cuda.Stream()):
        b = allocator.allocate(2 * MB, 0)
        assert b.address != place
    assert allocator.allocate(2 * MB, 0).address == place


def test_what_another_stream_uses_is_kept(pretended_cuda: Any) -> None:
    side = flambeau.cuda.Stream()
    with engine.later(advances=False):
        x = flambeau.ones(40, device="cuda")
        with flambeau.cuda.stream(side):
            y = x * 2
        place = x.data_ptr()
        x.record_stream(side)
        before = memory.memory_allocated()
        del x
        assert memory.memory_allocated() == before - 512
        z = flambeau.zeros(40, device="cuda")
        assert z.data_ptr() != place
        assert memory.memory_stats()["active.all.current"] == memory.memory_stats()["allocation.all.current"] + 1
        side.synchronize()
        assert y.tolist() == [2] * 40
        z = None
        allocator.of_device(0).settle()
        again = [flambeau.zeros(40, device="cuda") for _ in range(3)]
        assert place in [t.data_ptr() for t in again]
    with pytest.raises(ValueError, match="is no memory that flambeau gave out"):
        allocator.used_by(1234, 0, 0)


def test_without_record_stream_it_is_overwritten(pretended_cuda: Any) -> None:
    side = flambeau.cuda.Stream()
    with engine.later():
        x = flambeau.ones(40, device="cuda")
        with flambeau.cuda.stream(side):
            y = x * 2
        del x
        z = flambeau.zeros(40, device="cuda")
        side.synchronize()
        assert y.tolist() == [0] * 40
        assert z.tolist() == [0] * 40


def test_cached_memory_is_given_back_before_an_error(pretended_cuda: Any) -> None:
    memory.empty_cache()
    arena.regions[0].total = arena.regions[0].allocated + 64 * MB
    retries, held = memory.memory_stats()["num_alloc_retries"], memory.memory_reserved()
    for _ in range(3):
        allocator.allocate(40 * MB, 0)
    assert memory.memory_reserved() == held + 40 * MB
    allocator.allocate(50 * MB, 0)
    assert memory.memory_reserved() == held + 50 * MB
    assert memory.memory_stats()["num_alloc_retries"] == retries + 1


def test_cycles_are_collected_before_an_error(pretended_cuda: Any) -> None:
    memory.empty_cache()
    arena.regions[0].total = arena.regions[0].allocated + 64 * MB
    gc.disable()
    try:
        cycle: list[Any] = [allocator.allocate(40 * MB, 0)]
        cycle.append(cycle)
        del cycle
        assert allocator.allocate(50 * MB, 0).nbytes == 50 * MB
    finally:
        gc.enable()


def test_the_error_says_who_holds_what(pretended_cuda: Any) -> None:
    memory.empty_cache()
    arena.regions[0].total = arena.regions[0].allocated + 64 * MB
    kept = [flambeau.empty(3 * MB, device="cuda") for _ in range(3)]
    small = flambeau.empty(10, device="cuda")
    with pytest.raises(flambeau.cuda.OutOfMemoryError) as raised:
        flambeau.empty(100 * MB, dtype=flambeau.uint8, device="cuda")
    text, total = str(raised.value), in_units(arena.regions[0].total)
    text = re.sub(r"Other processes and libraries have .*\n", "", text)
    assert text.startswith(
        f"CUDA out of memory: 100.0 MiB asked for on cuda:0, which has 26.0 MiB free of {total}. Tensors and "
        "temporaries hold 36.0 MiB; 2.0 MiB are cached, in pieces that do not fit.\n"
        "Most is held by what was made here:\n"
    )
    assert f"  36.0 MiB in 3 blocks: {__file__}:" in text
    assert " in <listcomp>" in text or " in test_the_error" in text
    assert "  512 bytes in 1 block: small allocations, whose lines are recorded after record_memory_history()" in text
    assert text.endswith("flambeau.cuda.memory.page(path) shows all blocks.")
    assert isinstance(raised.value, RuntimeError)
    assert isinstance(raised.value, MemoryError)
    assert memory.memory_stats()["num_ooms"] >= 1
    del kept, small


def test_a_part_of_the_device(pretended_cuda: Any) -> None:
    memory.empty_cache()
    memory.set_per_process_memory_fraction(0.1)
    assert memory.get_per_process_memory_fraction() == 0.1
    with pytest.raises(flambeau.cuda.OutOfMemoryError, match=r"allows this process 51.2 MiB"):
        allocator.allocate(60 * MB, 0)
    memory.set_per_process_memory_fraction(1.0)
    allocator.allocate(60 * MB, 0)
    with pytest.raises(ValueError, match=r"from 0 to 1, got 1.5"):
        memory.set_per_process_memory_fraction(1.5)


def test_devices_have_their_own(pretended_cuda: Any) -> None:
    before = memory.memory_allocated(1), memory.memory_allocated(0)
    x = flambeau.ones(3, device="cuda:1")
    assert (memory.memory_allocated("cuda:1"), memory.memory_allocated(0)) == (before[0] + 512, before[1])
    assert arena.device_of(x.data_ptr()) == 1


def test_nothing_grows(pretended_cuda: Any) -> None:
    memory.empty_cache()
    before = memory.memory_reserved(), memory.memory_allocated()
    sizes = np.random.default_rng(0).integers(1, 3 * MB, 64)
    held: list[Any] = []

    def step(number: int) -> None:
        held.append(allocator.allocate(int(sizes[number % 64]), 0))
        if len(held) > 6:
            held.pop(number % 6)

    for number in range(1000):
        step(number)
    reserved = memory.memory_reserved()
    for number in range(10_000):
        step(number)
    assert memory.memory_reserved() <= reserved
    held.clear()
    memory.empty_cache()
    assert (memory.memory_reserved(), memory.memory_allocated()) == before


def test_threads(pretended_cuda: Any) -> None:
    before = memory.memory_allocated()
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            sizes = np.random.default_rng(seed).integers(1, 2 * MB, 300)
            held: dict[int, Any] = {}
            for number, size in enumerate(sizes):
                block = held[number] = allocator.allocate(int(size), 0)
                place = arena.view(block.address, 8)
                place[:] = seed
                held.pop(number - 4, None)
                assert all((arena.view(b.address, 8) == seed).all() for b in held.values())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert memory.memory_allocated() == before


def test_a_finaliser_may_ask(pretended_cuda: Any) -> None:
    found = allocator.of_device(0)
    with found._lock:
        block = found.allocate(1000, 0)
    assert block.nbytes == 1000
    reserved = memory.memory_reserved()
    del block
    memory.empty_cache()
    assert memory.memory_reserved() < reserved
