"""Figures of a device's memory, as numbers, as a table and as a page."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.cuda import library, memory
from flambeau.cuda.allocator import cupy_allocator

MB = 1 << 20
pytestmark = pytest.mark.usefixtures("fresh_allocators")


def test_peaks(cuda: Any) -> None:
    memory.empty_cache()
    memory.reset_peak_memory_stats()
    before = memory.memory_allocated()
    x = flambeau.empty(4 * MB, dtype=flambeau.uint8, device="cuda")
    assert memory.memory_allocated() == before + 4 * MB
    del x
    assert memory.memory_allocated() == before
    assert memory.max_memory_allocated() == before + 4 * MB
    assert memory.max_memory_reserved() == memory.memory_reserved()
    memory.empty_cache()
    assert memory.memory_reserved() <= memory.max_memory_reserved() - 20 * MB
    memory.reset_peak_memory_stats()
    assert memory.max_memory_allocated() == before


def test_all_figures(pretended_cuda: Any) -> None:
    memory.empty_cache()
    memory.reset_accumulated_memory_stats()
    memory.reset_peak_memory_stats()
    first = memory.memory_stats()
    blocks = [flambeau.empty(n, dtype=flambeau.uint8, device="cuda") for n in (1, 513, 3 * MB)]
    del blocks[1]
    stats = memory.memory_stats()
    change = {k: v - first[k] for k, v in stats.items() if v != first[k]}
    assert change == {
        "active.all.allocated": 3, "active.all.current": 2, "active.all.freed": 1, "active.all.peak": 3,
        "active_bytes.all.allocated": 3 * MB + 1536, "active_bytes.all.current": 3 * MB + 512,
        "active_bytes.all.freed": 1024, "active_bytes.all.peak": 3 * MB + 1536,
        "allocated_bytes.all.allocated": 3 * MB + 1536, "allocated_bytes.all.current": 3 * MB + 512,
        "allocated_bytes.all.freed": 1024, "allocated_bytes.all.peak": 3 * MB + 1536,
        "allocated_bytes.large_pool.allocated": 3 * MB, "allocated_bytes.large_pool.current": 3 * MB,
        "allocated_bytes.large_pool.peak": 3 * MB, "allocated_bytes.small_pool.allocated": 1536,
        "allocated_bytes.small_pool.current": 512, "allocated_bytes.small_pool.freed": 1024,
        "allocated_bytes.small_pool.peak": 1536, "allocation.all.allocated": 3, "allocation.all.current": 2,
        "allocation.all.freed": 1, "allocation.all.peak": 3, "allocation.large_pool.allocated": 1,
        "allocation.large_pool.current": 1, "allocation.large_pool.peak": 1, "allocation.small_pool.allocated": 2,
        "allocation.small_pool.current": 1, "allocation.small_pool.freed": 1, "allocation.small_pool.peak": 2,
        "inactive_split.all.current": 2, "inactive_split_bytes.all.current": 19 * MB - 512,
        "num_device_alloc": 2, "requested_bytes.all.allocated": 3 * MB + 514, "requested_bytes.all.current": 3 * MB + 1,
        "requested_bytes.all.freed": 513, "requested_bytes.all.peak": 3 * MB + 514,
        "requested_bytes.large_pool.allocated": 3 * MB, "requested_bytes.large_pool.current": 3 * MB,
        "requested_bytes.large_pool.peak": 3 * MB, "requested_bytes.small_pool.allocated": 514,
        "requested_bytes.small_pool.current": 1, "requested_bytes.small_pool.freed": 513,
        "requested_bytes.small_pool.peak": 514, "reserved_bytes.all.allocated": 22 * MB,
        "reserved_bytes.all.current": 22 * MB, "reserved_bytes.all.peak": 22 * MB,
        "reserved_bytes.large_pool.allocated": 20 * MB, "reserved_bytes.large_pool.current": 20 * MB,
        "reserved_bytes.large_pool.peak": 20 * MB, "reserved_bytes.small_pool.allocated": 2 * MB,
        "reserved_bytes.small_pool.current": 2 * MB, "reserved_bytes.small_pool.peak": 2 * MB,
        "segment.all.allocated": 2, "segment.all.current": 2, "segment.all.peak": 2, "segment.large_pool.allocated": 1,
        "segment.large_pool.current": 1, "segment.large_pool.peak": 1, "segment.small_pool.allocated": 1,
        "segment.small_pool.current": 1, "segment.small_pool.peak": 1,
    }  # fmt: skip


def test_lines_of_the_program(cuda: Any) -> None:
    line = test_lines_of_the_program.__code__.co_firstlineno + 2
    large = flambeau.empty(3 * MB, device="cuda") * 2
    small = flambeau.empty(3, device="cuda")

    def described(x: Any) -> dict[str, Any]:
        return next(b for s in memory.memory_snapshot() for b in s["blocks"] if b["address"] == x.data_ptr())

    (frame,) = described(large)["frames"]
    assert frame == {"filename": __file__, "line": line, "name": "test_lines_of_the_program"}
    assert described(small)["frames"] == []
    memory.record_memory_history()
    small = flambeau.exp(small)
    memory.record_memory_history(False)
    (frame,) = described(small)["frames"]
    assert (frame["filename"], frame["name"]) == (__file__, "test_lines_of_the_program")
    assert described(small)["requested_size"] == 12


def test_a_table_and_a_page(cuda: Any, tmp_path: Path) -> None:
    kept = flambeau.empty(3 * MB, device="cuda")
    table = memory.memory_summary()
    assert table.startswith("memory of cuda:0\n")
    assert "held by tensors and temporaries" in table
    assert f"12.0 MiB in 1 block: {__file__}:" in table
    path = tmp_path / "memory.html"
    memory.page(path)
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert f"{__file__}:" in text
    assert "12.0 MiB at 0x" in text
    assert "<script" not in text
    del kept


def test_temporaries_of_cupy_have_the_same_memory(cuda: Any) -> None:
    before = memory.memory_allocated()
    with cuda.cuda.using_allocator(cupy_allocator):
        a = cuda.zeros(1000)
        assert memory.memory_allocated() == before + 8192
    b = a + 1
    assert memory.memory_allocated() == before + 8192
    del a
    assert memory.memory_allocated() == before
    assert b.get().sum() == 1000


def _in_child(answers: Any) -> None:
    try:
        flambeau.ones(2, device="cuda")
        answers.put("no error")
    except RuntimeError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_forked_processes_are_refused(pretended_cuda: Any) -> None:
    flambeau.ones(2, device="cuda")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=_in_child, args=(answers,))
    process.start()
    text = answers.get()
    process.join()
    assert text == library.FORKED
    assert "multiprocessing.get_context('spawn')" in text
    assert flambeau.ones(2, device="cuda").tolist() == [1, 1]
