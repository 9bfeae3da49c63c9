"""Native code of whole graphs leaves nothing behind: after calls, errors, interrupts, in threads, forks and at exit."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import ExecutionError
from tests.interrupts import interrupted_once
from tests.processes import as_users_have

SOURCE = """
def blocks(x: Tensor, n: int) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
    rows: List[Tensor] = []
    es: List[Tensor] = []
    y = x * 2
    for i in range(n):
        y = y + x
        rows.append(y)
        rows.append(y[i:])
        es.append(y[i])
        if i % 3 == 2:
            rows.pop()
    return y[1:], rows, es

def fails(x: Tensor, n: int) -> Tensor:
    rows: List[Tensor] = []
    y = x.clone()
    for i in range(n):
        y = y + 1
        rows.append(y)
        if i == n - 1:
            y[i + 1000000] = 1
    return y

def asks(x: Tensor, n: int) -> List[Tensor]:
    rows = [x]
    t = 0.0
    for i in range(n):
        for j in range(x.size(0)):
            t += float(x[j])
        rows.append(flambeau.fmod(rows[-1] + t, 7.0))
    return rows

def endless(x: Tensor, n: int) -> Tensor:
    rows = [x * 1]
    i = 0
    while i < n:
        rows.append(rows[-1] + 1)
        rows.pop(0)
        x[0] += 1
        i += 1
    return x

def total(x: Tensor, n: int) -> float:
    t = 0.0
    for i in range(n):
        t = t * 0.5 + float(x[i % 7])
    return t
"""
UNIT = flambeau.CompilationUnit(SOURCE)
X = np.arange(300.0)


def ready(name: str, *arguments: Any) -> Callable[..., Any]:
    """A function with native code."""
    function: Any = getattr(UNIT, name)
    for _ in range(3):
        function(*arguments)
    assert function._executor._latest.compiled.variants
    assert not function._executor._latest.compiled.reason
    return function  # type: ignore[no-any-return]


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """Bytes held by Python's allocators, which native code uses too."""
    tracemalloc.start()

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    yield held
    tracemalloc.stop()


def grows(call: Callable[[], Any], held: Callable[[], int], count: int) -> int:
    """By how many bytes, over calls of which each takes thousands."""
    for _ in range(20):
        call()
    before = held()
    for _ in range(count):
        call()
    return held() - before


def expect_error(function: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(ExecutionError, match="out of range"):
        function(*arguments)


def test_calls_errors_and_questions_to_python(traced: Callable[[], int]) -> None:
    x = flambeau.from_numpy(X.copy())
    blocks, asks = ready("blocks", x, 5), ready("asks", x, 3)
    kept = blocks(x, 9)
    want = [t.tolist() for t in kept[1]]
    assert grows(lambda: blocks(x, 9), traced, 200) < 20_000
    assert grows(lambda: blocks(X, 9), traced, 200) < 20_000
    assert grows(lambda: asks(x, 3), traced, 100) < 20_000
    fails = UNIT.fails
    assert grows(lambda: expect_error(fails, x, 5), traced, 100) < 20_000
    assert fails._executor._latest.compiled.variants  # type: ignore[union-attr]
    assert [t.tolist() for t in kept[1]] == want


def test_results_outlive_what_they_show(traced: Callable[[], int]) -> None:
    x = flambeau.from_numpy(X.copy())
    blocks = ready("blocks", x, 5)
    before = traced()
    part, rows, elements = blocks(x, 6)
    last, element = rows[-1], elements[1]
    want = last.tolist(), element.item(), part.tolist()
    assert last.shares_storage(part)
    del rows, elements
    gc.collect()
    for _ in range(30):
        blocks(x, 6)
    assert (last.tolist(), element.item(), part.tolist()) == want
    part.zero_()
    assert last.tolist() == [want[0][0]] + [0.0] * 299
    del part, last, element, want
    assert traced() - before < 20_000


def test_interrupts(traced: Callable[[], int]) -> None:
    endless = ready("endless", flambeau.zeros(300), 5)

    def interrupted() -> None:
        x = flambeau.zeros(300, dtype=flambeau.float32)
        started = time.monotonic()
        with interrupted_once(lambda: bool(x._array[0] > 0)):
            endless(x, 1 << 50)
        assert time.monotonic() - started < 20
        assert x[0].item() > 0

    interrupted()
    before = traced()
    for _ in range(4):
        interrupted()
    assert traced() - before < 20_000
    assert endless(flambeau.zeros(300), 3)[0].item() == 3.0


def test_little_stack_is_left() -> None:
    x = flambeau.from_numpy(X.copy())
    functions = [ready("blocks", x, 5), ready("asks", x, 3), UNIT.fails]
    raised = []

    def deeper(function: Callable[..., Any], depth: int) -> None:
        if depth > 0:
            deeper(function, depth - 1)
            return
        try:
            function(x, 3)
        except (RecursionError, ExecutionError) as error:
            raised.append(type(error))

    limit = sys.getrecursionlimit()
    frames = len_of_stack()
    for function in functions:
        for left in range(3, 60, 3):
            try:
                deeper(function, limit - frames - left)
            except RecursionError:
                raised.append(RecursionError)
    assert RecursionError in raised
    assert [t.item() for t in functions[0](x, 3)[2]] == [0.0, 4.0, 10.0]
    assert len(functions[1](x, 3)) == 4
    expect_error(UNIT.fails, x, 3)


def len_of_stack() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count


def test_threads_at_once() -> None:
    x = flambeau.from_numpy(X.copy())
    blocks, asks, total = ready("blocks", x, 5), ready("asks", x, 3), ready("total", x, 5)
    wanted = [t.tolist() for t in blocks(x, 7)[1]], [t.tolist() for t in asks(x, 4)], total(x, 300_000)
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            for iteration in range(8):
                if number % 2 and total(x, 300_000) != wanted[2]:
                    wrong.append((number, iteration))
                if [t.tolist() for t in blocks(x, 7)[1]] != wanted[0] or [t.tolist() for t in asks(x, 4)] != wanted[1]:
                    wrong.append((number, iteration))
                expect_error(UNIT.fails, x, 4)
        except BaseException as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong
    assert not any(w.is_alive() for w in workers)


def test_other_threads_run_while_native_code_does() -> None:
    x = flambeau.from_numpy(X.copy())
    total = ready("total", x, 5)
    done = threading.Event()

    def work() -> None:
        total(x, 20_000_000)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    iterations = 0
    while not done.is_set():
        iterations += 1
        time.sleep(0.001)
    worker.join()
    assert iterations > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_another_thread_is_in_native_code() -> None:
    x = flambeau.from_numpy(X.copy())
    blocks, total = ready("blocks", x, 5), ready("total", x, 5)
    want = total(x, 50_000), [t.tolist() for t in blocks(x, 7)[1]]
    worker = threading.Thread(target=total, args=(x, 10_000_000))
    worker.start()
    child = os.fork()
    if child == 0:
        fine = (total(x, 50_000), [t.tolist() for t in blocks(x, 7)[1]]) == want
        fresh = flambeau.CompilationUnit("def f(x: Tensor) -> float:\n    t = 0.0\n    for i in range(4):\n"
                                         "        t += float(x[i]) * 77.0\n    return t\n")  # fmt: skip
        os._exit(0 if fine and fresh.f(x) == 462.0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    worker.join()


EXITS = f"""
import sys, threading, time
import flambeau
unit = flambeau.CompilationUnit({SOURCE!r})
x = flambeau.zeros(300)
unit.endless(x, 5), unit.asks(x, 2), unit.blocks(x, 5)
def many(function, n):
    while True:
        function(x, n)
for function, n in ((unit.endless, 1 << 50), (unit.asks, 20), (unit.blocks, 50)):
    threading.Thread(target=many, args=(function, n), daemon=True).start()
time.sleep(0.2)
print("leaving", flush=True)
"""


def test_the_process_ends_while_threads_are_in_native_code() -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", EXITS], capture_output=True, text=True, timeout=60, check=False, env=as_users_have()
        )
        assert (done.stdout, done.stderr, done.returncode) == ("leaving\n", "", 0)


def test_a_tensor_of_the_results_may_be_the_last_to_hold_its_memory() -> None:
    x = flambeau.from_numpy(X.copy())
    blocks = ready("blocks", x, 5)
    held: list[Tensor] = []
    for n in range(1, 40):
        held.append(blocks(x, n)[1][-1])
    assert [t.shape for t in held] == [(300 - (n - 1 if n % 3 else 0),) for n in range(1, 40)]
    assert held[0].tolist() == (X * 3).tolist()
    assert held[38].tolist() == (X * 41).tolist()


def test_errors_hold_no_memory_that_is_freed() -> None:
    """Whoever looks at the frames of an error later, as a debugger does, finds no tensors on a call's blocks."""
    source = """def f(x: Tensor, n: int, k: int) -> Tensor:
    y = x * 2.0
    for i in range(n):
        y[i] = float(y[i]) + 1.0
    return flambeau.topk(y, k)[0]
"""
    function = flambeau.CompilationUnit(source).f
    for n, k in ((9, 1), (3, 9)):  # native code finds the first error, an operator that Python runs the second
        try:
            function(flambeau.zeros(3), n, k)
        except Exception as error:
            known: BaseException | None = error
        else:
            raise AssertionError("it must fail")
        while known is not None:
            at = known.__traceback__
            while at is not None:
                if "flambeau" in at.tb_frame.f_globals.get("__name__", ""):
                    found = [v for v in at.tb_frame.f_locals.values() if isinstance(v, list | tuple | Tensor)]
                    assert not [t for v in found for t in (v if isinstance(v, list | tuple) else [v]) if _is_foreign(t)]
                at = at.tb_next
            known = known.__cause__ or known.__context__


def _is_foreign(value: object) -> bool:
    """Whether it is a tensor on memory that nothing holds."""
    return isinstance(value, Tensor) and isinstance(value._array.base, ctypes.Array)
