"""Memory that processes share: what is written here is seen there, whoever was forked, started or sent it."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn

METHODS = ["fork", "spawn"]


def write(x: Tensor, queue: Any) -> None:
    """What a process does with tensors that it was started with, and that it gets."""
    x += 1
    other = queue.get()
    other[0] = 7.0
    queue.task_done()


@pytest.mark.parametrize("method", METHODS)
def test_processes_write_the_same_memory(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    x, sent = flambeau.zeros(3, 4).t().share_memory_(), flambeau.zeros(2).share_memory_()
    row = x[1:]
    queue = context.JoinableQueue()
    process = context.Process(target=write, args=(x, queue))
    process.start()
    queue.put(sent)
    process.join(60)
    assert process.exitcode == 0
    assert x.tolist() == [[1.0] * 3] * 4
    assert row.tolist() == [[1.0] * 3] * 3
    assert sent.tolist() == [7.0, 0.0]


def step(model: nn.Module) -> None:
    """What a process does with a model: a step of training in place."""
    assert isinstance(model.weight, nn.Parameter)
    assert model.weight.requires_grad
    with flambeau.no_grad():
        for parameter in model.parameters():
            parameter.fill_(2.0)


@pytest.mark.parametrize("method", METHODS)
def test_modules(method: str) -> None:
    model = nn.Linear(2, 2).share_memory()
    assert all(p.is_shared() for p in model.parameters())
    process: Any = multiprocessing.get_context(method).Process(target=step, args=(model,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert model.weight.tolist() == [[2.0, 2.0]] * 2
    assert model(flambeau.ones(1, 2)).tolist() == [[6.0, 6.0]]


def test_all_that_shows_the_memory_goes_along() -> None:
    x = flambeau.arange(6.0)
    shown = [x[1:], x.view(2, 3).t(), x.detach(), x.data]
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert all(t.is_shared() for t in shown)
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    x.fill_(4.0)
    assert all((t == 4).all() for t in shown)
    shown[0][0] = 1.0
    assert x.tolist() == [4.0, 1.0, 4.0, 4.0, 4.0, 4.0]
    assert x._version == shown[0]._version == 2
    assert not (x + 1).is_shared()


MAKERS: list[Callable[[], Tensor]] = [
    lambda: flambeau.empty(0), lambda: flambeau.tensor(3), lambda: flambeau.ones(2).bool(),
]  # fmt: skip


@pytest.mark.parametrize("number", range(3))
def test_sizes_and_dtypes(number: int) -> None:
    x = MAKERS[number]()
    before = x.clone()
    assert flambeau.equal(x.share_memory_(), before)
    assert x.is_shared()
    assert x.stride() == before.stride()
    plain = pickle.loads(pickle.dumps(x))
    assert flambeau.equal(plain, x)
    assert not plain.is_shared()


def test_training_goes_on() -> None:
    model, optimizer = nn.Linear(1, 1), None
    optimizer = flambeau.optim.Adagrad(model.parameters(), lr=1.0)
    for _ in range(3):
        model(flambeau.ones(1)).sum().backward()
        optimizer.step()
        model.share_memory()
        optimizer.share_memory()
    assert all(state["sum"].is_shared() for state in optimizer.state.values())
    twin, other = nn.Linear(1, 1), None
    other = flambeau.optim.Adagrad(twin.parameters(), lr=1.0)
    twin.load_state_dict(model.state_dict())
    other.load_state_dict(optimizer.state_dict())
    for one, way in ((model, optimizer), (twin, other)):
        way.zero_grad()
        one(flambeau.ones(1)).sum().backward()
        way.step()
    assert flambeau.equal(model.weight, twin.weight)


def test_what_cannot_be_sent() -> None:
    assert flambeau.ones(1, device="meta").share_memory_().is_shared()
    x = flambeau.ones(1, requires_grad=True) * 2
    x.share_memory_()
    from multiprocessing.reduction import ForkingPickler

    with pytest.raises(RuntimeError, match="refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(x)
