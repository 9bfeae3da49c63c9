"""Random use keeps what must hold: blocks do not overlap, chunks fill their segments, figures are sums."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import flambeau
from flambeau.cuda import CUDAGraph, allocator, capturing, memory
from flambeau.cuda.allocator.chunks import Segment
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.engine import engine

MB = 1 << 20
pytestmark = pytest.mark.usefixtures("fresh_allocators")


def check(held: list[Any]) -> None:
    """What must hold of the allocator of the first device, for blocks that somebody has."""
    found = allocator.of_device(0)
    spans = sorted((b.address, b.address + b.chunk.size) for b in held)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    for segment, chunks in found.snapshot():
        check_segment(segment, chunks)
    blocks = [b for s in memory.memory_snapshot() for b in s["blocks"]]
    in_use = {b["address"]: b for b in blocks if b["state"] == "active_allocated"}
    assert all(in_use[b.address]["requested_size"] == b.nbytes for b in held)
    stats = memory.memory_stats()
    assert stats["allocated_bytes.all.current"] == sum(b["size"] for b in in_use.values())
    assert stats["active_bytes.all.current"] == sum(b["size"] for b in blocks if b["state"] != "inactive")
    assert stats["reserved_bytes.all.current"] == sum(s["total_size"] for s in memory.memory_snapshot())
    for kind in ("allocated_bytes", "reserved_bytes", "allocation", "segment"):
        small, large = stats[f"{kind}.small_pool.current"], stats[f"{kind}.large_pool.current"]
        assert stats[f"{kind}.all.current"] == small + large


def check_segment(segment: Segment, chunks: list[Any]) -> None:
    assert chunks[0].address == segment.address
    assert sum(c.size for c in chunks) == segment.size
    for one, other in itertools.pairwise(chunks):
        assert one.address + one.size == other.address
        assert (one.after, other.before) == (other, one)
        assert not (one.is_free and other.is_free)
    free = {c.address for c in chunks if c.is_free}
    listed = {c.address for _, _, c in segment.pool.list_for(segment.stream, segment.is_small).items}
    assert free == listed & {c.address for c in chunks}


@pytest.mark.parametrize("seed", range(6))
def test_what_must_hold(pretended_cuda: Any, seed: int) -> None:
    chance = random.Random(seed)
    memory.empty_cache()
    arena.regions[0].total = arena.regions[0].allocated + 200 * MB
    streams = [flambeau.cuda.default_stream(), flambeau.cuda.Stream(), flambeau.cuda.Stream()]
    held: list[Any] = []
    graphs: list[CUDAGraph] = []

    def ask() -> None:
        size = chance.choice([chance.randrange(1, 2000), chance.randrange(1, 3 * MB), chance.randrange(1, 30 * MB)])
        with flambeau.cuda.stream(chance.choice(streams)):
            try:
                held.append(allocator.allocate(size, 0))
            except flambeau.cuda.OutOfMemoryError:
                del held[: len(held) // 2]

    def drop() -> None:
        if held:
            held.pop(chance.randrange(len(held)))

    def lend() -> None:
        if held:
            allocator.used_by(chance.choice(held).address, 0, chance.choice(streams).cuda_stream)

    def capture() -> None:
        graphs.append(CUDAGraph())
        with flambeau.cuda.stream(streams[1]):
            graphs[-1].capture_begin(graphs[0].pool() if len(graphs) > 1 and chance.random() < 0.5 else None)
            for _ in range(5):
                chance.choice([ask, drop])()
            capture_underway = capturing.underway[-1]
            assert capture_underway.device == 0
        with flambeau.cuda.stream(streams[1]):
            graphs[-1].capture_end()

    ways = [ask] * 8 + [drop] * 6 + [lend] * 2 + [memory.empty_cache, flambeau.cuda.synchronize]
    ways.append(lambda: graphs and graphs.pop().reset())
    with engine.later(advances=False):
        for step in range(400):
            chance.choice(ways)()
            if step % 50 == 20:
                capture()
            if step % 20 == 0:
                check(held)
    held.clear()
    graphs.clear()
    memory.empty_cache()
    check(held)
