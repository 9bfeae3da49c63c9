"""Training: gradients of whole arrays, and steps that end with other weights, compiled as one function.

PyTorch takes its step as people write it there: leaves, a loss, `autograd.grad`, an update. torch.compile gets the loss
(its way back is compiled with it), and, as a variant, the whole step over `torch.func`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Goal, Workload
from benchmarks.peers import Program, rebound
from benchmarks.programs import training as ours
from benchmarks.workloads.entries import doubled, normal


def workloads(small: bool) -> Iterator[Workload]:
    """Gradients of large arrays; then steps of perceptrons, a small convolutional network, a transformer's block."""
    for batch, width, goal in ((3, 16, 3.0),) if small else ((128, 512, 1.0), (8, 64, 3.0)):
        yield _perceptrons(batch, width, goal)
    x, y = normal(100 if small else 1_000_000), normal(100 if small else 1_000_000, seed=1)
    yield _row("gradient of a chain of 20 operators", ours.chain_loss, ours.chain_gradient, (x, y), (0,), 2.0)
    height, width = (8, 16) if small else (4096, 1024)
    labels = np.random.default_rng(3).integers(0, width, height)
    logits = normal(height, width)
    shape = f"{height}x{width}"
    yield _row(
        f"gradient of cross entropy {shape}",
        ours.cross_entropy_loss,
        ours.cross_entropy_gradient,
        (logits, labels),
        (0,),
        2.0,
    )
    arrays = (logits, normal(width, seed=1), normal(width, seed=2), normal(height, width, seed=4))
    yield _row(
        f"gradient of layer norm {shape}",
        ours.layer_norm_loss,
        ours.layer_norm_gradient,
        arrays,
        (0, 1, 2),
        2.0,
        tolerance=1e-2,
    )
    for kind in ("LSTM", "GRU"):
        yield _recurrent(kind, *((3, 2, 4) if small else (100, 64, 128)))
    yield _reading(*((1, 2, 4) if small else (4, 8, 56)))
    yield _adam(*((2, 3) if small else (100, 10_000)))
    yield _convolutions(2 if small else 32)
    yield _block(*((2, 4, 8) if small else (8, 64, 128)))


def _row(
    name: str, loss: Program, program: Program, arrays: tuple[np.ndarray, ...], sources: tuple[int, ...],
    times: float | None, tolerance: float = 1e-3,
) -> Workload:  # fmt: skip
    """A gradient with its value, or a step: whatever `program` gives."""
    steps = program.__name__.endswith("_step")
    return Workload(
        name=name,
        kind="training",
        peers={
            "flambeau": partial(peers.flambeau, program, *arrays),
            "torch": partial(peers.torch_library, _on_the_tape(loss, sources, steps, False), *arrays),
            "torch.compile": partial(peers.torch_library, _on_the_tape(loss, sources, steps, True), *arrays),
            "torch.compile/library": partial(peers.torch_library, _as_one(loss, sources, steps), *arrays),
            "jax": partial(peers.jax, program.__name__, *arrays),
        },
        expected=lambda: _reference(program, arrays),
        tolerance=tolerance,
        strays=1e-5,
        goal=Goal(times=times),
    )


def _reference(program: Program, arrays: tuple[np.ndarray, ...]) -> Any:
    """What the program gives on float64, an operator at a time, on the tape."""
    return peers.flambeau_eager(program, *doubled(*arrays))()


def _on_the_tape(
    loss: Program, sources: tuple[int, ...], steps: bool, compiles: bool
) -> Callable[[Any], Program]:  # fmt: skip
    def make(torch: Any) -> Program:
        bound: Any = rebound(loss, flambeau=torch, Tensor=torch.Tensor)
        if compiles:
            torch._dynamo.reset()
            bound = torch.compile(bound)

        def run(*arguments: Any) -> Any:
            leaves = [a.detach().requires_grad_() if n in sources else a for n, a in enumerate(arguments)]
            value = bound(*leaves)
            weights = [leaves[n] for n in sources]
            gradients = torch.autograd.grad(value, weights)
            with torch.no_grad():
                return _results(value.detach(), weights, gradients, steps)

        return run

    return make


def _as_one(loss: Program, sources: tuple[int, ...], steps: bool) -> Callable[[Any], Program]:
    def make(torch: Any) -> Program:
        torch._dynamo.reset()
        both = torch.func.grad_and_value(rebound(loss, flambeau=torch, Tensor=torch.Tensor), sources)

        def run(*arguments: Any) -> Any:
            gradients, value = both(*arguments)
            return _results(value, [arguments[n] for n in sources], gradients, steps)

        return torch.compile(run)  # type: ignore[no-any-return]

    return make


def _results(value: Any, weights: Any, gradients: Any, steps: bool) -> Any:
    if not steps:
        return value, tuple(gradients)
    return value, *(w - g * 0.01 for w, g in zip(weights, gradients, strict=True))


def _perceptrons(batch: int, width: int, times: float) -> Workload:
    scale = np.float32(width**-0.5)
    arrays = (
        normal(batch, width), normal(batch, width, seed=1), normal(width, width, seed=2) * scale, normal(width, seed=3),
        normal(width, width, seed=4) * scale, normal(width, seed=5), normal(width, width, seed=6) * scale,
        normal(width, seed=7),
    )  # fmt: skip
    return _row(f"step of an MLP {batch}x{width}", ours.mlp_loss, ours.mlp_step, arrays, tuple(range(2, 8)), times)


def _convolutions(batch: int) -> Workload:
    arrays = (
        normal(batch, 3, 32, 32), np.random.default_rng(1).integers(0, 10, batch),
        normal(16, 3, 3, 3, seed=2) * np.float32(0.2), normal(16, seed=3),
        normal(32, 16, 3, 3, seed=4) * np.float32(0.1), normal(32, seed=5),
        normal(10, 32 * 64, seed=6) * np.float32(0.02), normal(10, seed=7),
    )  # fmt: skip
    return _row(f"step of a small CNN, batch {batch}", ours.cnn_loss, ours.cnn_step, arrays, tuple(range(2, 8)), None)


def _block(batch: int, time: int, width: int) -> Workload:
    scale = np.float32(width**-0.5)
    arrays = (
        normal(batch, time, width), normal(batch, time, width, seed=1), normal(width, seed=2), normal(width, seed=3),
        normal(width, 3 * width, seed=4) * scale, normal(width, width, seed=5) * scale, normal(width, seed=6),
        normal(width, seed=7), normal(width, 4 * width, seed=8) * scale, normal(4 * width, seed=9),
        normal(4 * width, width, seed=10) * scale, normal(width, seed=11),
    )  # fmt: skip
    name = f"step of a transformer block {batch}x{time}x{width}"
    return _row(name, ours.block_loss, ours.block_step, arrays, tuple(range(2, 12)), None)


def _layer(module: Any, kind: str, xs: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    layer = getattr(module.nn, kind)(w_ih.shape[1], w_hh.shape[1])
    with module.no_grad():
        for name, value in (("weight_ih_l0", w_ih), ("weight_hh_l0", w_hh), ("bias_ih_l0", b_ih), ("bias_hh_l0", b_hh)):
            getattr(layer, name).copy_(value)
    return layer.to(xs.dtype)


def _gradients_of_a_layer(kind: str) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        layers: dict[int, Any] = {}

        def run(xs: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, slope: Any) -> Any:
            if not layers:
                layers[0] = _layer(module, kind, xs, w_ih, w_hh, b_ih, b_hh)
            xs = xs.detach().requires_grad_()
            outputs, _ = layers[0](xs)
            return module.autograd.grad((outputs * slope).sum(), [xs, *layers[0].parameters()])

        return run

    return make


def _recurrent(kind: str, time: int, batch: int, size: int) -> Workload:
    scale, gates = np.float32(size**-0.5), {"LSTM": 4, "GRU": 3}[kind] * size
    arrays = (
        normal(time, batch, size), normal(gates, size, seed=1) * scale, normal(gates, size, seed=2) * scale,
        normal(gates, seed=3), normal(gates, seed=4), normal(time, batch, size, seed=5),
    )  # fmt: skip
    make = _gradients_of_a_layer(kind)
    others = {"jax": partial(peers.jax, "lstm_gradient", *arrays)} if kind == "LSTM" else {}
    return Workload(
        name=f"{kind} {time}x{batch}x{size} forward and backward",
        kind="training",
        peers={
            "flambeau": partial(peers.flambeau_library, make, *arrays),
            "torch": partial(peers.torch_library, make, *arrays),
            **others,
        },
        expected=lambda: peers.flambeau_library(make, *doubled(*arrays))(),
        tolerance=1e-2,
        goal=Goal(times=1.2, against="torch"),
        left_out={"torch.compile": "its steps would be unrolled"},
    )


def _gradients_of_reading(module: Any) -> Program:
    def run(image: Any, grid: Any, slope: Any) -> Any:
        image, grid = image.detach().requires_grad_(), grid.detach().requires_grad_()
        result = module.nn.functional.grid_sample(image, grid, align_corners=False)
        return module.autograd.grad([result], [image, grid], [slope])

    return run


def _reading(count: int, channels: int, size: int) -> Workload:
    grid = np.random.default_rng(1).uniform(-1, 1, (count, size, size, 2)).astype(np.float32)
    arrays = (normal(count, channels, size, size), grid, normal(count, channels, size, size, seed=2))
    return Workload(
        name=f"grid_sample {count}x{channels}x{size}x{size} forward and backward",
        kind="training",
        peers={
            "flambeau": partial(peers.flambeau_library, _gradients_of_reading, *arrays),
            "torch": partial(peers.torch_library, _gradients_of_reading, *arrays),
        },
        expected=lambda: peers.flambeau_library(_gradients_of_reading, *doubled(*arrays))(),
        tolerance=1e-2,
    )


def _adam_of(count: int) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        kept: list[Any] = []

        def run(first: Any, slope: Any) -> Any:
            if not kept:
                weights = [first.clone().requires_grad_() for _ in range(count)]
                for weight in weights:
                    weight.grad = slope.clone()
                kept.extend((weights, module.optim.Adam(weights, foreach=True)))
            kept[1].step()
            return kept[0][0]

        return run

    return make


def _adam(count: int, size: int) -> Workload:
    """From the second call on the state is another, not the work."""
    first, slope = normal(size), normal(size, seed=1)
    return Workload(
        name=f"step of Adam, {count} parameters of {size}",
        kind="training",
        peers={
            "flambeau": partial(peers.flambeau_library, _adam_of(count), first, slope),
            "torch": partial(peers.torch_library, _adam_of(count), first, slope),
        },
        expected=lambda: first.astype(np.float64) - 1e-3 * slope / (np.abs(slope.astype(np.float64)) + 1e-8),
        goal=Goal(times=2.0, against="torch"),
    )
