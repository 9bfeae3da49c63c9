"""What a signal handler raises during a compilation reaches whoever waits for it, and the function runs after it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import parse_ir
from flambeau.passes import evaluate
from flambeau.util.foreign import is_foreign

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers"),
    # Python drops what a handler raises while it destroys an object, and says so.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class LateError(Exception):
    """Raised by the handlers of these tests."""


KINDS: list[type[Exception]] = [LateError, TimeoutError, ValueError, AttributeError, KeyError, RuntimeError]


@contextmanager
def alarm(kind: type[Exception], seconds: float = 0.0) -> Iterator[None]:
    def handler(number: int, frame: FrameType | None) -> None:
        raise kind("time is over")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        if seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)


def fresh() -> Callable[[Tensor, int], Tensor]:
    def program(x: Tensor, n: int) -> Tensor:
        total = flambeau.zeros_like(x)
        for i in range(n):
            total = total + flambeau.tanh(x * i) if i % 2 == 0 else total - x.sum() * 0.5
        return total

    return program


FOLDED = """graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::mul(%1, %2)
  %y : Tensor = aten::mul(%x, %3)
  return (%y)
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("owner", "name"), [(evaluate, "_value"), (AliasAnalysis, "__init__")])
def test_c11_a_handler_that_raises_inside_a_pass(
    kind: type[Exception], owner: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = flambeau.jit.create_function_from_graph("program", parse_ir(FOLDED))
    plain = getattr(owner, name)
    calls = []

    def interrupted(*args: object) -> object:
        if not calls:
            calls.append(args)
            signal.raise_signal(signal.SIGALRM)
        return plain(*args)

    monkeypatch.setattr(owner, name, interrupted)
    with alarm(kind), pytest.raises(kind, match="time is over"):
        program(flambeau.ones(2))
    assert calls
    assert program(flambeau.ones(2)).tolist() == [6.0, 6.0]


def test_c11_an_alarm_at_any_moment_of_a_compilation() -> None:
    x = flambeau.tensor([1.0, 2.0])
    expected = fresh()(x, 3).numpy()
    flambeau.script(fresh())(x, 3)  # what only the first compilation of a process does is not timed
    start = time.perf_counter()
    flambeau.script(fresh())(x, 3)
    needed = time.perf_counter() - start
    interrupted = 0
    for index in range(20):
        function, results = fresh(), []
        try:
            with alarm(KINDS[index % len(KINDS)], max(needed * (index + 0.5) / 20, 1e-4)):
                results.append(flambeau.script(function)(x, 3))
        except tuple(KINDS):
            interrupted += 1
        for result in results:
            np.testing.assert_array_equal(result.numpy(), expected)
        np.testing.assert_array_equal(flambeau.script(function)(x, 3).numpy(), expected)
    assert interrupted


def test_c11_a_method_that_is_late_is_not_run_again() -> None:
    class Counting(flambeau.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, rounds: int) -> int:
            self.calls += 1
            total = 0
            for i in range(rounds):
                total += i ^ (total >> 3)
            return total

    module = flambeau.script(Counting())
    module(5)
    start = time.perf_counter()
    with alarm(TimeoutError, 0.2), pytest.raises(TimeoutError, match="time is over"):
        module(20_000_000_000)
    assert time.perf_counter() - start < 20
    assert module(3) == 4 - 1


def test_errors_of_ones_own_are_told_from_those_of_others() -> None:
    def raised_by(action: Callable[[], object]) -> Exception:
        try:
            action()
        except Exception as error:
            return error
        raise AssertionError("nothing was raised")

    for _ in range(600):  # calls that come often are functions written for them, which are the package's too
        flambeau.ones(2).reshape(2)
    assert not is_foreign(raised_by(lambda: flambeau.ones(2).reshape(3)), besides=(__name__,))
    assert is_foreign(raised_by(lambda: flambeau.ones(2).reshape(3)))  # the lambda is this module's
    assert is_foreign(LateError("of another package"), besides=("flambeau",))
    assert not is_foreign(ValueError("no frame of anybody else"))


def test_c11_exceptions_that_another_thread_sends() -> None:
    ctypes = pytest.importorskip("ctypes")
    x = flambeau.tensor([1.0, 2.0])
    function = fresh()
    identity = threading.get_ident()
    caught = threading.Event()

    def send() -> None:
        """Once more a second later: Python drops what is raised while it destroys an object."""
        for delay in (0.01, 1.0, 1.0, 1.0):
            if not caught.wait(delay):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), ctypes.py_object(LateError))

    sender = threading.Thread(target=send)
    sender.start()

    def compile_often() -> None:
        for _ in range(1000):
            flambeau.script(fresh())(x, 3)

    with pytest.raises(LateError):
        compile_often()
    caught.set()
    sender.join()
    np.testing.assert_array_equal(flambeau.script(function)(x, 3).numpy(), fresh()(x, 3).numpy())
