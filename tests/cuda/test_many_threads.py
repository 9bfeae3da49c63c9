"""Many threads that call one scripted function on a few streams, and training that goes on for long."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn

PATIENCE = 30.0
"""Seconds after which a thread is taken for stuck."""


def gated(x: Tensor, w: Tensor) -> Tensor:
    return nn.functional.gelu(x @ w) * 0.5 + x


@pytest.mark.parametrize("threads", [1, 4, 32])
def test_threads_on_four_streams(cuda: Any, threads: int) -> None:
    function = flambeau.script(gated)
    x, w = flambeau.randn(64, 64).to("cuda"), (flambeau.randn(64, 64) * 0.1).to("cuda")
    wanted = function(x, w).cpu()
    streams = [flambeau.cuda.Stream() for _ in range(4)]
    agreed: list[int] = []

    def work(number: int) -> None:
        stream = streams[number % 4]
        stream.wait_stream(flambeau.cuda.default_stream())
        with flambeau.cuda.stream(stream):
            for _ in range(12):
                y = function(x, w)
            if bool(((y.cpu() - wanted).abs() < 1e-5).all()):
                agreed.append(number)

    running = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(PATIENCE)
    flambeau.cuda.synchronize()
    assert sorted(agreed) == list(range(threads))


def test_steps_of_training_keep_their_memory(cuda: Any) -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).to("cuda")
    optimizer = flambeau.optim.Adam(model.parameters())
    x, y = flambeau.randn(64, 32).to("cuda"), flambeau.randint(0, 4, (64,)).to("cuda")
    allocated = []
    for _ in range(36):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        allocated.append(flambeau.cuda.memory_allocated())
    assert len(set(allocated[20:])) == 1
