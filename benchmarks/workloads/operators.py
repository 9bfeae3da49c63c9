"""One operator at a time: eager calls, whole layers, and what is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import operators as ours
from benchmarks.workloads.entries import doubled, normal

CONVOLUTIONS = ((1, 3, 32, 16, 3), (8, 16, 32, 32, 3), (1, 64, 56, 64, 3), (1, 64, 28, 128, 1))
"""Images, channels, height and width, outputs, kernel."""


def _eager(name: str, program: Program, numpy: Program, x: np.ndarray, goal: Goal, *more: np.ndarray) -> Workload:
    return Workload(
        name=f"{name}, eager",
        kind="operators",
        peers={
            "flambeau": partial(peers.flambeau_eager, program, x, *more),
            "numpy": partial(peers.numpy, numpy, x, *more),
            "torch": partial(peers.torch_eager, program, x, *more),
        },
        expected=lambda: numpy(*doubled(x, *more)),
        goal=goal,
    )


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    reach = w.shape[-1] // 2
    around = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (reach, reach), (reach, reach)])
    seen = np.lib.stride_tricks.sliding_window_view(around, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", seen, w.astype(np.float64), optimize=True)


def _layer(name: str, make: Callable[[Any], Program], x: np.ndarray, *weights: np.ndarray, expected: Any) -> Workload:
    return Workload(
        name=name,
        kind="operators",
        peers={
            "flambeau": partial(peers.flambeau_library, make, x, *weights),
            "torch": partial(peers.torch_library, make, x, *weights),
        },
        expected=expected,
        tolerance=1e-3,
    )


def _convolution(module: Any) -> Program:
    return lambda x, w: module.nn.functional.conv2d(x, w, padding=w.shape[-1] // 2)


def _lstm(module: Any) -> Program:
    return lambda x, h, *weights: module.lstm(x, (h, h), list(weights), False, 1, 0.0, False, False, False)[0]


def _gru(module: Any) -> Program:
    return lambda x, h, *weights: module.gru(x, h, list(weights), False, 1, 0.0, False, False, False)[0]


def _gru_in_numpy(x: np.ndarray, h: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray) -> np.ndarray:
    hidden, outputs = h[0], []
    for one in x:
        of_input, of_hidden = np.split(one @ w_ih.T, 3, axis=1), np.split(hidden @ w_hh.T, 3, axis=1)
        reset, update = (1 / (1 + np.exp(-of_input[k] - of_hidden[k])) for k in (0, 1))
        hidden = (1 - update) * np.tanh(of_input[2] + reset * of_hidden[2]) + update * hidden
        outputs.append(hidden)
    return np.stack(outputs)


def _embedding_gradient(module: Any) -> Program:
    def run(table: Any, places: Any, slope: Any) -> Any:
        table = table.detach().requires_grad_()
        return module.autograd.grad([module.nn.functional.embedding(places, table)], [table], [slope])[0]

    return run


def _added_rows(table: np.ndarray, places: np.ndarray, slope: np.ndarray) -> np.ndarray:
    gradient = np.zeros(table.shape)
    np.add.at(gradient, places, slope)
    return gradient


def _lstm_in_numpy(x: np.ndarray, h: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray) -> np.ndarray:
    hidden = memory = h[0]
    outputs = []
    for one in x:
        i, f, g, o = np.split(one @ w_ih.T + hidden @ w_hh.T, 4, axis=1)
        memory = memory / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        hidden = np.tanh(memory) / (1 + np.exp(-o))
        outputs.append(hidden)
    return np.stack(outputs)


def workloads(small: bool) -> Iterator[Workload]:
    """Small operands, where the way to the work takes longer than the work; layers; a loop of the interpreter."""
    x, square = normal(16), normal(64, 64)
    half, even = Goal(times=0.67, against="torch"), Goal(times=1.0, against="torch")
    yield _eager("x + x, 16 floats", ours.twice, ours.twice, x, half)
    yield _eager("x * 2.0, 16 floats", ours.scaled, ours.scaled, x, half)
    yield _eager("x[1:3]", ours.part, ours.part, x, even)
    yield _eager("x.T", ours.turned, ours.turned, square, even)
    yield _eager("x.view(4, 4)", ours.viewed, ours.reshaped, x, even)
    yield _eager("x.reshape(4, 4)", ours.reshaped, ours.reshaped, x, even)
    yield _eager("x.unsqueeze(0)", ours.unsqueezed, lambda x: x[None], x, even)
    yield _eager("x.sum(), 16 floats", ours.added_up, ours.added_up, x, half)
    yield _eager("x.tanh(), 16 floats", ours.tanh, np.tanh, x, half)
    yield _eager("x.softmax(-1), 64x64", ours.softmax, _softmax, square, half)
    yield _eager("x + row, 64x64, row of 64", ours.added, ours.added, square, half, normal(64))
    yield _eager("x + column, 64x64", ours.added, ours.added, square, half, normal(64, 1))
    zeros = np.zeros(16, np.float32)
    yield _eager("x += y, 16 floats", ours.added_in_place, ours.added_in_place, x.copy(), half, zeros)
    yield _eager("ints + floats, 16 of each", ours.added, ours.added, np.arange(16, dtype=np.int32), half, x)
    yield _eager("x[::2] * 2.0", ours.every_other, ours.every_other, x, even)
    yield _eager("x.mean(), 16 floats", ours.average, ours.average, x, half)
    yield _eager("x.max(), 16 floats", ours.largest, ours.largest, x, half)
    yield _eager("x.sum(1), 64x64", ours.sum_of_rows, ours.sum_of_rows, square, half)
    yield _eager("x.sum(0), 64x64", ours.sum_of_columns, ours.sum_of_columns, square, half)
    yield _eager("x.softmax(0), 64x64", ours.softmax_of_columns, partial(_softmax, axis=0), square, half)
    for images, channels, size, outputs, kernel in CONVOLUTIONS[: 1 if small else None]:
        image = normal(images, channels, size, size)
        filters = normal(outputs, channels, kernel, kernel, seed=1)
        name = f"conv2d {images}x{channels}x{size}x{size}, {outputs} of {kernel}x{kernel}"
        yield _layer(name, _convolution, image, filters, expected=partial(_convolved, image, filters))
    steps = 5 if small else 50
    arrays = (normal(steps, 4, 32), normal(1, 4, 64), normal(256, 32, seed=1) / 8, normal(256, 64, seed=2) / 8)
    yield _layer(f"lstm of {steps} steps", _lstm, *arrays, expected=lambda: _lstm_in_numpy(*doubled(*arrays)))
    of_gru = (*arrays[:2], arrays[2][:192], arrays[3][:192])
    yield _layer(f"gru of {steps} steps", _gru, *of_gru, expected=lambda: _gru_in_numpy(*doubled(*of_gru)))
    places = np.random.default_rng(0).integers(0, 1000, 16 if small else 1600)
    table, slope = normal(1000, 64), normal(len(places), 64, seed=1)
    name = f"embedding of {len(places)}, forward and backward"
    reference = partial(_added_rows, table, places, slope)
    yield _layer(name, _embedding_gradient, table, places, slope, expected=reference)
    rounds = 100 if small else 100_000
    yield Workload(
        name=f"integer loop of {rounds} rounds, interpreted",
        kind="operators",
        peers={
            "flambeau": partial(peers.flambeau, ours.remainders, rounds, backend="interpreter"),
            "cpython": partial(peers.numpy, ours.remainders, rounds),
        },
        expected=lambda: ours.remainders(rounds),
        goal=Goal(times=1.0, against="cpython"),
    )
