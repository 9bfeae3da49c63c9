"""Calls of many sizes in turn: launches are of patterns, and native code completes them for the sizes of a call."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import runtime
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.size_classes import class_of

RNG = np.random.default_rng(15)


def softmax(x: Tensor) -> Tensor:
    return flambeau.softmax(x, -1)


def log_softmax(x: Tensor) -> Tensor:
    return flambeau.log_softmax(x, -1)


def total(x: Tensor) -> Tensor:
    return x.sum()


def columns(x: Tensor) -> Tensor:
    return x.mean(0)


def running(x: Tensor) -> Tensor:
    return x.cumsum(-1)


def places(x: Tensor) -> Tensor:
    return x.argmax(1)


def strided(x: Tensor) -> Tensor:
    return x[:, ::2] * 2.0 + x[:, :1]


def turned(x: Tensor) -> Tensor:
    return x.t() * 2.0 + 1.0


def product(x: Tensor) -> Tensor:
    return x @ x[:5].t()


def stack_of_products(x: Tensor) -> Tensor:
    return flambeau.bmm(x[None].expand(3, -1, -1), x.t()[None].expand(3, -1, -1))


def vector_times_matrix(x: Tensor) -> Tensor:
    return x[:, 0] @ x


def matrix_times_vector(x: Tensor) -> Tensor:
    return flambeau.relu(x @ x[0] + 1.0)


def dot(x: Tensor) -> Tensor:
    return flambeau.dot(x[:, 0], x[:, -1])


PROGRAMS: tuple[Callable[[Tensor], Tensor], ...] = (
    softmax, log_softmax, total, columns, running, places, strided, turned, product, stack_of_products,
    vector_times_matrix, matrix_times_vector, dot,
)  # fmt: skip


def _shapes() -> Iterator[tuple[int, int]]:
    for n in range(5, 60):
        yield n, 70 - n
    for n in (63, 64, 65, 100, 127, 128, 129, 255, 300):
        yield from ((n, 7), (6, n), (n, n))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_c15_every_size_gives_what_the_interpreter_gives(program: Callable[..., Any], dtype: type) -> None:
    native, plain = flambeau.script(program), flambeau.script(program, backend="interpreter")
    for shape in _shapes():
        x = flambeau.from_numpy(RNG.standard_normal(shape).astype(dtype))
        found, expected = native(x), plain(x)
        assert (found.shape, found.stride()) == (expected.shape, expected.stride())
        tolerance = 2e-4 if dtype is np.float32 else 1e-11
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance * shape[0])


@pytest.mark.parametrize("program", PROGRAMS)
def test_c15_sizes_in_iteration_make_no_plans_once_their_classes_are_known(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = flambeau.script(program)
    lengths = [int(n) for n in RNG.permutation(np.arange(20, 220))]
    given = [flambeau.from_numpy(RNG.standard_normal((n, 12)).astype(np.float32)) for n in lengths]
    for _ in range(3):
        for x in given:
            script(x)

    def refuse(*args: Any, **named: Any) -> Any:
        raise AssertionError("a launch is made for another size")

    monkeypatch.setattr(runtime, "launch_by", refuse)
    monkeypatch.setattr(runtime.CompiledKernel, "call_and_keep", refuse)
    for n in lengths:
        script(flambeau.from_numpy(RNG.standard_normal((n, 12)).astype(np.float32)))


def test_c15_what_a_kernel_keeps_is_bounded_by_classes() -> None:
    def patterns() -> dict[InlineCache, int]:
        return {cache: cache._patterns for cache in gc.get_objects() if type(cache) is InlineCache}

    before = patterns()
    script = flambeau.script(softmax)
    for n in range(2, 400):
        script(flambeau.from_numpy(RNG.standard_normal((3, n)).astype(np.float32)))
    grown = [count - before.get(inline_cache, 0) for inline_cache, count in patterns().items()]
    assert max(grown) < 200


def test_c15_classes_of_sizes() -> None:
    assert [class_of(n) for n in (0, 1, 2, 3, 4, 7, 8, 1000)] == [
        (0, 0), (1, 1), (2, 3), (2, 3), (4, 7), (4, 7), (8, 15), (512, 1023),
    ]  # fmt: skip
    assert [class_of(n, 8) for n in (7, 8, 9, 15, 16)] == [(7, 7), (8, 8), (9, 15), (9, 15), (16, 31)]


@pytest.mark.parametrize("order", [1, -1])
def test_c15_the_same_call_gives_the_same_bits_whatever_came_before(order: int) -> None:
    shapes = [(n, 33) for n in (5, 6, 7, 40, 41, 60, 200, 211)][::order]
    data = {shape: np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32) for shape in shapes}
    for program in (softmax, total, columns, product, matrix_times_vector):
        used, fresh = flambeau.script(program), {}
        for shape in shapes:
            fresh[shape] = flambeau.script(program)(flambeau.from_numpy(data[shape])).numpy().tobytes()
        for _ in range(3):
            for shape in shapes:
                assert used(flambeau.from_numpy(data[shape])).numpy().tobytes() == fresh[shape]
