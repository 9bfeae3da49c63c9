"""Forked tasks: at the same time, in native code, with what their forker had set, and with no way to get stuck."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.interpreter import tasks
from flambeau.util.errors import ScriptError
from tests.processes import as_users_have

_meeting = threading.Barrier(2)


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = flambeau.get_num_interop_threads()
    flambeau.set_num_interop_threads(2)
    yield
    flambeau.set_num_interop_threads(before)


@jit.ignore
def meet(n: int) -> int:
    """Comes back when two threads are here at the same time."""
    _meeting.wait(30)
    return n


def meets(n: int) -> int:
    return meet(n) + 1


def test_c14_tasks_run_at_the_same_time() -> None:
    @flambeau.script
    def f(n: int) -> int:
        a, b = jit.fork(meets, n), jit.fork(meets, n + 1)
        return jit.wait(a) * jit.wait(b)

    assert f(3) == 20
    futures = [jit.fork(meets, 1), jit.fork(meets, 2)]
    assert [jit.wait(f) for f in futures] == [2, 3]


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_c14_tasks_are_compiled() -> None:
    @flambeau.script
    def f(n: int) -> int:
        a, b = jit.fork(collatz, n), jit.fork(collatz, n + 1)
        return jit.wait(a) - jit.wait(b)

    assert f(27) == collatz(27) - collatz(28)
    (plan,) = f._executor.plans
    for node in plan.graph.find_all("prim::fork"):
        executor = node.attributes["site"]._run.args[0]
        assert [p.compiled.reason for p in executor.plans] == [""]
        assert all(p.compiled.variants for p in executor.plans)


def test_c14_options_of_a_function_are_those_of_its_tasks() -> None:
    def f(n: int) -> int:
        return jit.wait(jit.fork(collatz, n))

    scripted = flambeau.script(f, backend="interpreter")
    assert scripted(27) == 111
    (plan,) = scripted._executor.plans
    (node,) = plan.graph.find_all("prim::fork")
    executor = node.attributes["site"]._run.args[0]
    assert executor.options.backend == "interpreter"
    assert all(p.compiled is None for p in executor.plans)


def inner(n: int) -> int:
    if n == 7:
        raise ValueError(f"bad {n}")
    return n


def outer(n: int) -> int:
    return inner(n) + 1


def test_c14_errors_come_out_at_the_wait() -> None:
    reached: list[int] = []

    @jit.ignore
    def note(n: int) -> None:
        reached.append(n)

    @flambeau.script
    def f(n: int) -> int:
        a = jit.fork(outer, n)
        b = jit.fork(outer, 7)
        note(n)
        return jit.wait(a) + jit.wait(b)

    for _ in range(12):  # also when tasks run where they are forked
        with pytest.raises(ScriptError, match="bad 7") as caught:
            f(3)
        text = str(caught.value)
        assert "return jit.wait(a) + jit.wait(b)" in text
        assert "return inner(n) + 1" in text
        assert 'raise ValueError(f"bad {n}")' in text
        assert "ValueError" in text
    assert reached == [3] * 12

    @flambeau.script
    def g(n: int) -> int:
        try:
            return jit.wait(jit.fork(outer, n))
        except ValueError:
            return -1

    assert [g(3), g(7)] == [4, -1]


def test_c14_a_task_nobody_waits_for_runs() -> None:
    seen = threading.Event()

    @jit.ignore
    def tell(n: int) -> int:
        seen.set()
        return n

    def told(n: int) -> int:
        return tell(n)

    @flambeau.script
    def f(n: int) -> int:
        jit.fork(told, n)
        jit.fork(outer, 7)  # raises, and nobody hears
        return n

    assert f(1) == 1
    assert seen.wait(30)


@pytest.mark.parametrize("program", ["script", "eager"])
def test_c14_many_tasks(program: str) -> None:
    def f(n: int) -> int:
        tasks: list[jit.Future[int]] = []
        for i in range(n):
            tasks.append(jit.fork(collatz, i + 1))
        total = 0
        for task in tasks:
            total += jit.wait(task)
        return total

    run, count = (flambeau.script(f), 10_000) if program == "script" else (f, 2_000)
    assert run(count) == sum(map(collatz, range(1, count + 1)))


class Node:
    """A chain of tasks."""

    @staticmethod
    def deep(n: int) -> int:
        return n if n == 0 else jit.wait(jit.fork(Node.deep, n - 1)) + 1


def test_c14_forks_within_forks_in_python() -> None:
    flambeau.set_num_interop_threads(1)
    assert Node.deep(1_000) == 1_000


def test_c14_forks_within_forks_in_programs() -> None:
    """Tasks fork tasks a thousand deep: through a function that calls itself."""
    flambeau.set_num_interop_threads(1)

    @flambeau.script
    def deep(n: int) -> int:
        if n == 0:
            return 0
        return jit.wait(jit.fork(deep, n - 1)) + 1

    assert deep(1_000) == 1_000


def test_c14_waiting_workers_give_their_place_to_others() -> None:
    """More tasks than threads wait for a future that a later task completes."""
    flambeau.set_num_interop_threads(1)
    signal_: jit.Future[int] = jit.Future()
    waiting = [jit.fork(signal_.wait) for _ in range(20)]
    last = jit.fork(signal_.set_result, 5)
    assert [w.wait() for w in waiting] == [5] * 20
    assert last.wait() is None
    assert tasks._Count.waiting == 0


def test_c14_tasks_that_wait_for_what_is_forked_later() -> None:
    @flambeau.script
    def f(n: int) -> int:
        a = jit.fork(collatz, n)
        b = jit.fork(lambda x: jit.wait(x) + 1, a)
        c = jit.fork(lambda x, y: jit.wait(x) * jit.wait(y), a, b)
        return jit.wait(c)

    assert f(27) == 111 * 112


def test_c14_tasks_change_what_they_share() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n = 0
            self.seen: list[int] = []

        def add(self, k: int) -> int:
            for _ in range(100):
                self.seen.append(k)
            self.n = self.n + 1
            return k

    @flambeau.script
    def f(x: Tensor) -> tuple[int, int, int, Tensor]:
        c = Counter()
        numbers: list[int] = []

        def push(to: list[int], k: int) -> int:
            for _ in range(200):
                to.append(k)
            return k

        a, b = jit.fork(push, numbers, 1), jit.fork(push, numbers, 2)
        t = jit.fork(lambda v: v.add_(1), x)
        m = jit.fork(c.add, 3)
        jit.wait(a), jit.wait(b), jit.wait(t), jit.wait(m)
        return len(numbers), sum(numbers), len(c.seen) + c.n, x * 2

    for _ in range(6):
        count, total, seen, doubled = f(flambeau.zeros(3))
        assert (count, total, seen) == (400, 600, 101)
        assert doubled.tolist() == [2, 2, 2]


def test_c14_what_a_task_gives_on_is_what_it_got() -> None:
    @flambeau.script
    def f(n: int) -> list[int]:
        numbers = [n]
        same = jit.wait(jit.fork(lambda v: v, numbers))
        same.append(n + 1)
        return numbers

    for _ in range(6):
        assert f(1) == [1, 2]


def test_c14_tasks_have_their_forkers_settings() -> None:
    def asks() -> bool:
        return flambeau.is_grad_enabled()

    with flambeau.no_grad():
        without = jit.fork(asks)
    assert (without.wait(), jit.fork(asks).wait()) == (False, True)

    def turn_off() -> bool:
        flambeau.set_grad_enabled(False)
        return flambeau.is_grad_enabled()

    for _ in range(4):
        assert jit.fork(turn_off).wait() is False
        assert flambeau.is_grad_enabled()
    with np.errstate(divide="raise"):
        divided = jit.fork(lambda: np.ones(1) / np.zeros(1))
    with pytest.raises(FloatingPointError):
        divided.wait()


def test_c14_modules_and_methods() -> None:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

        def scaled(self, x: Tensor, k: float) -> Tensor:
            return self.two(x) * k

        def forward(self, x: Tensor) -> Tensor:
            a, b = jit.fork(self.one, x), jit.fork(self.scaled, x, k=2.0)
            return jit.wait(a) + jit.wait(b)

    module = M().eval()
    x = flambeau.rand(3, 4)
    with flambeau.no_grad():
        want = (module.one(x) + module.two(x) * 2.0).numpy()
        for run in (module, flambeau.jit.script(module), flambeau.jit.trace(module, x)):
            for _ in range(6):
                np.testing.assert_allclose(run(x).numpy(), want, rtol=1e-5)
        frozen = flambeau.jit.freeze(flambeau.jit.script(module))
        np.testing.assert_allclose(frozen(x).numpy(), want, rtol=1e-5)


def test_c14_what_a_task_reads_nobody_overwrites() -> None:
    @flambeau.script
    def f(x: Tensor) -> Tensor:
        y = x * 2
        task = jit.fork(lambda v: v + 1, y)
        z = flambeau.relu(y) * 3
        y.add_(0.0)
        return jit.wait(task) + z

    for _ in range(6):
        assert f(flambeau.ones(4)).tolist() == [9, 9, 9, 9]


def test_c14_futures() -> None:
    started, go_on = threading.Event(), threading.Event()

    def work(n: int) -> int:
        started.set()
        go_on.wait(30)
        return n

    future = jit.fork(work, 3)
    started.wait(30)
    assert not future.done()
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    after = future.then(lambda f: f.value() + 1)
    go_on.set()
    assert (future.wait(), future.done(), future.value(), after.wait()) == (3, True, 3, 4)
    assert flambeau.futures.wait_all([future, after]) == [3, 4]


def test_c14_a_number_of_threads_is_positive() -> None:
    with pytest.raises(ValueError, match="set_num_interop_threads expects a positive number, got 0"):
        flambeau.set_num_interop_threads(0)
    with pytest.raises(TypeError, match=r"set_num_interop_threads expects an int, but got float: 1\.5"):
        flambeau.set_num_interop_threads(1.5)
    flambeau.set_num_interop_threads(3)
    assert flambeau.get_num_interop_threads() == 3


def _run(program: str, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    command, environment = [sys.executable, "-c", program], as_users_have()
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)


ENDLESS = """
import os, signal, sys, threading, time
import flambeau
from flambeau import jit
def endless(n: int) -> int:
    while n > 0:
        n = n + 1 - (n % 2)
    return n
def counting():
    while True:
        pass
flambeau.script(endless)(0)
"""


@pytest.mark.parametrize("task", ["flambeau.script(endless), 1", "endless, 1", "counting", "time.sleep, 1000"])
def test_c14_a_process_ends_while_tasks_run(task: str) -> None:
    program = f"{ENDLESS}\nfutures = [jit.fork({task}) for _ in range(4)]\ntime.sleep(0.3)\nprint('end')"
    done = _run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or os.name != "posix", reason="needs signals")
def test_c14_waiting_can_be_interrupted() -> None:
    program = f"""{ENDLESS}
@flambeau.script
def f(n: int) -> int:
    return jit.wait(jit.fork(endless, n)) + jit.wait(jit.fork(endless, n))
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
for wait in (lambda: f(1), lambda: jit.Future().wait()):
    try:
        wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
time.sleep(0.1)
os._exit(0)
"""
    done = _run(program)
    assert (done.returncode, done.stdout) == (0, "interrupted\ninterrupted\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_c14_tasks_in_a_forked_process() -> None:
    started, go_on = threading.Event(), threading.Event()

    def work() -> int:
        started.set()
        go_on.wait(30)
        return 1

    flambeau.set_num_interop_threads(1)
    running = jit.fork(work)
    started.wait(30)
    queued = jit.fork(collatz, 27)
    pid = os.fork()
    if pid == 0:
        threading.Timer(20.0, os._exit, (7,)).start()
        ends = [queued.wait() == 111, jit.fork(collatz, 27).wait() == 111]
        try:
            running.wait()
        except RuntimeError as error:
            ends.append("goes on in the parent process" in str(error))
        os._exit(0 if ends == [True] * 3 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    go_on.set()
    assert (running.wait(), queued.wait()) == (1, 111)
