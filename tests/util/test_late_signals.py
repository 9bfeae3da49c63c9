"""Handlers of signals wait for the end of a block, and all run then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from flambeau.util.late_signals import late_signals

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no signals of users")


@pytest.fixture
def told() -> Iterator[list[int]]:
    arrived: list[int] = []

    def raises(number: int, frame: object) -> None:
        arrived.append(number)
        raise ArithmeticError(number)

    numbers = (signal.SIGUSR1, signal.SIGUSR2)
    before = [signal.signal(number, raises) for number in numbers]
    yield arrived
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_handlers_run_behind_the_block_each_once(told: list[int]) -> None:
    steps = []

    def send_all() -> None:
        with late_signals():
            for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
                signal.raise_signal(number)
            steps.append(list(told))

    with pytest.raises(ArithmeticError):
        send_all()
    assert steps == [[]]
    assert sorted(told) == [signal.SIGUSR1, signal.SIGUSR2]


def test_handlers_are_as_before(told: list[int]) -> None:
    def handlers() -> list[object]:
        return [signal.getsignal(number) for number in signal.valid_signals()]

    before = handlers()
    with late_signals():
        assert handlers() != before
    assert handlers() == before
    with pytest.raises(KeyError), late_signals():
        raise KeyError
    assert handlers() == before
    assert told == []


def test_a_handler_that_raises_while_they_are_put_back(told: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    put = signal.signal

    def interrupted(number: int, handler: Any) -> Any:
        before = put(number, handler)
        if number == signal.SIGUSR1 and handler is first:
            signal.raise_signal(number)
        return before

    first = signal.getsignal(signal.SIGUSR1)
    block = late_signals()
    block.__enter__()
    signal.raise_signal(signal.SIGUSR2)
    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(ArithmeticError):
        block.__exit__(None, None, None)
    assert told == [signal.SIGUSR1, signal.SIGUSR2]
    with pytest.raises(ArithmeticError):
        signal.raise_signal(signal.SIGUSR2)
    assert told == [signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR2]


def test_other_threads_leave_them_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def look() -> None:
        with late_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
