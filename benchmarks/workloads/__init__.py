"""The rows of the table, by kind: what each computes, on what, how each peer does it, and what it should reach."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Workload
from benchmarks.workloads import (
    array_loops,
    array_programs,
    broadcasting,
    calls,
    elements,
    everyday,
    generation,
    gradients,
    images,
    jax_programs,
    lists_and_texts,
    loop_gradients,
    loops,
    loops_with_tensors,
    matrix_slices,
    nests,
    numba_programs,
    operators,
    places,
    pointwise,
    products,
    rows,
    tasks,
    threads,
    training,
    transforms,
    words,
)  # fmt: skip

KINDS = {
    "calls": calls, "pointwise": pointwise, "rows": rows, "places": places, "broadcasting": broadcasting,
    "products": products, "loops": loops, "elements": elements, "everyday": everyday,
    "lists and texts": lists_and_texts,
    "array loops": array_loops, "array programs": array_programs, "words": words,
    "numba programs": numba_programs, "jax programs": jax_programs,
    "loops with tensors": loops_with_tensors,
    "operators": operators, "tasks": tasks, "matrix slices": matrix_slices, "threads": threads, "gradients": gradients,
    "loop gradients": loop_gradients, "training": training, "transforms": transforms,
    "images": images, "nests": nests, "generation": generation,
}  # fmt: skip


def workloads(*, small: bool = False) -> Iterator[Workload]:
    """All of them, by kind; `small` ones compute the same on little data, for tests."""
    for module in KINDS.values():
        yield from module.workloads(small)
