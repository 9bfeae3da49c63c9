"""What the tape holds, for how long: nothing grows, what was saved goes as the way back passes; it can be stopped."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from tests.processes import as_users_have


def test_ten_thousand_steps_do_not_grow() -> None:
    w, x = flambeau.ones(4).requires_grad_(), flambeau.ones(3, 4)

    def steps(count: int) -> None:
        for _ in range(count):
            (w * x).sum().backward()
            with flambeau.no_grad():
                w.sub_(w.grad, alpha=0.001)
            w.grad = None

    steps(10_000)  # until native code is there
    gc.collect()
    before = sys.getallocatedblocks()
    gc.disable()
    try:
        steps(10_000)
    finally:
        gc.enable()
    assert gc.collect() < 1000, "no cycle of objects for each step"
    assert sys.getallocatedblocks() - before < 1000, "less than a block of memory for each step"


def test_saved_values_go_as_the_way_back_passes() -> None:
    x = flambeau.ones(4).requires_grad_()
    alive: list[int] = []
    y: Any = x
    saved: list[weakref.ref[Any]] = []
    for _ in range(5):
        y = y.exp() * 0.1
        saved.append(weakref.ref(y.grad_fn.next_functions[0][0]._raw_saved_result.tensor))
        y.register_hook(lambda g: alive.append(sum(one() is not None for one in saved)))
    y.sum().backward()
    assert alive == [5, 4, 3, 2, 1]
    assert all(one() is None for one in saved)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to threads")
def test_a_run_can_be_interrupted() -> None:
    x = flambeau.ones(4).requires_grad_()
    y: Any = x
    for _ in range(2000):
        y = y * 1.0
    runs: list[int] = []

    def interrupt(gradient: Tensor) -> None:
        runs.append(1)
        signal.raise_signal(signal.SIGINT)

    y.register_hook(interrupt)
    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    assert runs == [1]
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2] * 4


@pytest.mark.parametrize("register", [Tensor.register_hook, Tensor.register_post_accumulate_grad_hook])
def test_a_hook_that_knows_its_own_leaf_does_not_keep_it(register: Any) -> None:
    def used() -> weakref.ref[Tensor]:
        x = flambeau.ones(2, requires_grad=True)
        register(x, lambda given: None if given is x else given * x.detach())
        (x * 2).sum().backward()
        return weakref.ref(x)

    gone = used()
    gc.collect()
    assert gone() is None


AT_THE_END = """
import encodings, sys
import flambeau

class Scaled(flambeau.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = flambeau.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

x = flambeau.ones(2, requires_grad=True)
handle = x.register_hook(lambda gradient: gradient * x.detach())
module = Scaled()
(flambeau.jit.script(module)(x[None]) * 2).sum().backward()
module.layer.weight.register_hook(lambda gradient: module.layer.weight.detach())
held = [name for name in sys.modules if name.startswith("flambeau")]
encodings.held = module, x, [sys.modules[name] for name in held]  # modules of Python's own go after all others
"""


def test_the_end_of_a_process_is_quiet() -> None:
    """Modules are emptied before the last tensors go: whoever is told of these must need no name of a module."""
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=as_users_have())
    assert not done.stderr
