"""What hooks have called when a way back is over."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.autograd import Variable

queue: Any = Variable._execution_engine.queue_callback


def test_order_and_moment() -> None:
    x, log = flambeau.ones(1, requires_grad=True), []

    def hook(gradient: Any) -> None:
        queue(lambda: log.append(("first", x.grad.tolist())))
        queue(lambda: log.append(("second", x.grad.tolist())))

    y = x * 2
    y.register_hook(hook)
    y.backward()
    assert log == [("first", [2.0]), ("second", [2.0])]


def test_not_after_errors() -> None:
    x, log = flambeau.ones(1, requires_grad=True), []

    def broken(gradient: Any) -> None:
        raise ValueError("no")

    y = x * 2
    y.register_hook(lambda _: queue(lambda: log.append(1)))
    x.register_hook(broken)
    with pytest.raises(ValueError, match="no"):
        y.backward()
    assert log == []
    with pytest.raises(RuntimeError, match="during backward pass"):
        queue(print)
