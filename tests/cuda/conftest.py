"""A pretended device for tests, or a real one where there is one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from flambeau.cuda import allocator, capturing, library


@pytest.fixture
def pretended_cuda() -> Iterator[Any]:
    """What stands for CuPy, without a device; fails if memory was used or freed that is not allocated."""
    if library.is_real():
        pytest.skip("there is a card: a pretended one beside it would share what is kept of kernels and memory")
    from tests.cuda.pretended.arena import SIZE, arena
    from tests.cuda.pretended.engine import engine
    from tests.cuda.pretended.library import cupy

    arena.mistakes.clear()
    engine.launches.clear()
    engine.use(0)
    with library.use(cupy):
        yield cupy
        gc.collect()
        gc.freeze()  # what is left is looked at once, not after each of some thousand tests
        for queue in list(engine.queues.values()):
            queue.run()
        engine.deferred = False
        capturing.underway.clear()
        allocator.change(None)
        for found in allocator.in_use():
            found.limit, found.fraction, found.records_all_lines = None, 1.0, False
            found.free_unused()
    for region in arena.regions:
        region.total = SIZE
    assert not arena.mistakes


@pytest.fixture
def cuda(request: pytest.FixtureRequest) -> Any:
    """CuPy on a card where there is one, else what stands for it."""
    return library.cupy() if library.is_real() else request.getfixturevalue("pretended_cuda")


@pytest.fixture
def fresh_allocators(monkeypatch: pytest.MonkeyPatch, cuda: Any) -> Iterator[None]:
    """Allocators that have given out nothing: what earlier tests left is in others."""
    for found in allocator.in_use():
        found.free_unused()
    monkeypatch.setattr(allocator._state, "of_devices", {})
    yield
    gc.collect()
    for found in allocator.in_use():
        found.free_unused()
