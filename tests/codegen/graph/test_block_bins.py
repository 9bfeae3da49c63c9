"""Blocks that calls drop and take again: results keep theirs, concurrent and failing calls do not mix them up."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.graph.entry.entry_stub import _objects_code
from flambeau.codegen.layouts import BIN, BIN_BYTES, BIN_COUNT, BLOCK, CONTEXT, SMALLEST_BIN_BITS

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")


@flambeau.script
def stacked(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    kept: list[Tensor] = []
    y = x
    for i in range(n):
        y = y * 0.5 + float(i)
        kept.append(y)
    total = flambeau.zeros_like(x)
    while len(kept) > 0:
        total = total + kept.pop()
    return y, total


def expected(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    y, total = x, np.zeros_like(x)
    steps = []
    for i in range(n):
        y = (y * np.float32(0.5) + np.float32(i)).astype(np.float32)
        steps.append(y)
    for step in reversed(steps):
        total = total + step
    return y, total


@flambeau.script
def failing(x: Tensor, n: int) -> Tensor:
    kept: list[Tensor] = []
    y = x
    for i in range(n):
        y = y * 0.5 + float(i)
        kept.append(y)
    return kept[n + 1]


def test_c17_results_keep_their_memory_while_later_calls_take_blocks_again() -> None:
    results = []
    for size in (1, 3, 16, 17, 60, 700, 5000, 20000):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        for n in (1, 2, 40):
            results.append((stacked(flambeau.from_numpy(x), n), expected(x, n)))
    for got, want in results:
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6, atol=1e-6)


def test_c17_calls_of_several_threads_do_not_share_blocks() -> None:
    wrong: list[str] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal(40).astype(np.float32)
        want = expected(x, 3000)
        for _ in range(15):
            got = stacked(flambeau.from_numpy(x), 3000)  # so long that it gives the GIL up
            if not all(np.allclose(a.numpy(), b, rtol=1e-5) for a, b in zip(got, want, strict=True)):
                wrong.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_c17_a_call_that_fails_leaves_bins_in_order() -> None:
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    for _ in range(5):
        with pytest.raises(IndexError):
            failing(flambeau.from_numpy(x), 50)
        got, want = stacked(flambeau.from_numpy(x), 50), expected(x, 50)
        np.testing.assert_allclose(got[1].numpy(), want[1], rtol=1e-6)


def test_c17_bins_are_bounded() -> None:
    x = flambeau.zeros(16)
    for _ in range(3):
        stacked(x, 20_000)
    code = _objects_code()
    assert code is not None
    context = (ctypes.c_int64 * 64)()
    start = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.addresses["start_bins"])
    end = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.addresses["end_bins"])
    address = ctypes.addressof(context)
    start(address)
    bins = CONTEXT.read(address, "bins")
    try:
        held = 0
        for number in range(BIN_COUNT):
            size = (number % 4 + 5) << (number // 4 + SMALLEST_BIN_BITS - 2)
            at = bins + number * BIN.words * 8
            block, count = BIN.read(at, "first"), 0
            while block:
                assert BLOCK.read(block, "bin") == at
                block, count = BLOCK.read(block, "next"), count + 1
            assert count * size <= BIN_BYTES
            assert BIN.read(at, "room") == BIN_BYTES // size - count
            held += count
        assert held > 1000  # calls of loops left some for the next
    finally:
        end(address)


LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def test_large_blocks_are_of_large_pages() -> None:
    import resource

    x = flambeau.ones(3_000_000)
    stacked(x, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    y, total = stacked(x, 1)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert (y[-1].item(), total[-1].item()) == (0.5, 0.5)
    has_large_pages = LARGE_PAGES.exists() and "[never]" not in LARGE_PAGES.read_text()
    assert not has_large_pages or faults < 3 * x.numel() * 4 // 4096 // 2, "a fault for each small page"
