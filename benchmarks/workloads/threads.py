"""Two Python threads that call at the same time, against one that makes all the calls; every library has one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks import peers
from benchmarks.harness import Call, Cost, Goal, Workload
from benchmarks.programs import loops, numba_arrays, numba_loops, numpy_arrays, pointwise, rows
from benchmarks.workloads.entries import Peers, doubled, normal


def workloads(small: bool) -> Iterator[Workload]:
    """Something pointwise, something by rows, and a loop."""
    x = normal(1_000 if small else 100_000)
    yield _row(
        f"GELU (tanh) of {x.size}, at once", 2 if small else 200, expected=partial(numpy_arrays.gelu, *doubled(x)),
        flambeau=partial(peers.flambeau, pointwise.gelu, x),
        numpy=partial(peers.numpy, numpy_arrays.gelu, x),
        numba=partial(peers.numba, numpy_arrays.gelu, x, nogil=True),
        torch=partial(peers.torch_eager, pointwise.gelu, x),
        jax=partial(peers.jax, "gelu", x),
    )  # fmt: skip
    x = normal(8 if small else 256, 1024)
    yield _row(
        f"softmax {x.shape[0]}x1024, at once", 2 if small else 100, expected=partial(numpy_arrays.softmax, *doubled(x)),
        flambeau=partial(peers.flambeau, rows.softmax, x),
        numpy=partial(peers.numpy, numpy_arrays.softmax, x),
        numba=partial(peers.numba, numba_arrays.softmax, x, nogil=True),
        torch=partial(peers.torch_eager, rows.softmax, x),
        jax=partial(peers.jax, "softmax", x),
    )  # fmt: skip
    top = 50 if small else 3_000
    yield _row(
        f"Collatz {top}, at once", 2 if small else 100, expected=partial(numba_loops.collatz, top),
        flambeau=partial(peers.flambeau, loops.collatz, top),
        numba=partial(peers.numba, numba_loops.collatz, top, nogil=True),
        torch_jit=partial(peers.torch_jit, loops.collatz, top),
    )  # fmt: skip


def _row(title: str, many: int, *, expected: Callable[[], Any], **factories: Callable[[], Call]) -> Workload:
    both: Peers = {}
    for peer, factory in factories.items():
        name = peer.replace("_", ".")
        both[name] = partial(_at_once, factory, many)
        both[f"{name} alone"] = partial(_in_iteration, factory, many)
    return Workload(
        name=title,
        kind="threads",
        peers=both,
        expected=lambda: (expected(),) * 2,
        tolerance=1e-3,
        cost=Cost(),
        goal=Goal(times=1.8, against="flambeau alone"),
    )


def _repeat(call: Call, many: int) -> Any:
    answer = None
    for _ in range(many):
        answer = call()
    return answer


def _at_once(factory: Callable[[], Call], many: int) -> Call:
    """`many` calls in each of two threads."""
    call = factory()
    call()
    pool = ThreadPoolExecutor(2)

    def run() -> tuple[Any, ...]:
        return tuple(f.result() for f in [pool.submit(_repeat, call, many) for _ in range(2)])

    return Call(run, (), many=2 * many)


def _in_iteration(factory: Callable[[], Call], many: int) -> Call:
    """As many calls in one thread."""
    call = factory()
    return Call(lambda: (_repeat(call, 2 * many),) * 2, (), many=2 * many)
