"""Functions whose tasks are short: answered without tasks, as long as nobody can tell."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jit
from flambeau.executor import joined_tasks
from flambeau.executor.joined_tasks import JoinedTasks
from flambeau.interpreter.task_length import TaskLength
from flambeau.util.errors import ScriptError


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def _joined(scripted: jit.ScriptFunction, *arguments: object) -> JoinedTasks:
    """What the tasks of a function are joined by, after so many calls that it is on if it ever is. The machine may have
    held up some of these."""
    for _ in range(200):
        scripted(*arguments)
        (plan,) = scripted._executor.plans
        if plan.joined.is_on or plan.joined._left == joined_tasks.MOST_LEFT:
            break
        for site in plan.joined._sites:
            _make_short(site.length)
    assert isinstance(plan.joined, JoinedTasks)
    plan.joined._limit = 60.0
    return plan.joined


def _make_short(length: TaskLength) -> None:
    for _ in range(16):
        length.took(0.0)


def test_c14_short_tasks_become_calls_in_native_code() -> None:
    @flambeau.script
    def f(n: int) -> int:
        futures: list[jit.Future[int]] = []
        for i in range(n):
            futures.append(jit.fork(collatz, i + 1))
        total = 0
        for future in futures:
            total += jit.wait(future)
        return total

    joined = _joined(f, 10)
    assert joined.is_on
    before = joined._tasks()
    for count in (0, 1, 10, 50):
        assert f(count) == sum(map(collatz, range(1, count + 1)))
    assert joined._tasks() == before
    (plan,) = joined._executor.plans
    assert plan.compiled.reason == ""
    assert plan.graph.find("prim::fork") is None
    assert "short" in str(f.explain())


def test_c14_tasks_of_tasks_become_calls() -> None:
    def tree(depth: int) -> int:
        if depth == 0:
            return 1
        a, b = jit.fork(tree, depth - 1), jit.fork(tree, depth - 1)
        return jit.wait(a) + jit.wait(b)

    f = flambeau.script(tree)
    joined = _joined(f, 4)
    assert joined.is_on
    assert [f(depth) for depth in range(7)] == [2**depth for depth in range(7)]
    (plan,) = joined._executor.plans
    assert plan.compiled.reason == ""


def test_c14_errors_of_short_tasks_come_out_at_the_wait() -> None:
    def some(n: int) -> int:
        if n == 7:
            raise ValueError(f"bad {n}")
        return n

    @flambeau.script
    def f(n: int) -> int:
        task = jit.fork(some, n)
        more = n + 1
        return jit.wait(task) + more

    assert _joined(f, 1).is_on
    with pytest.raises(ScriptError, match="bad 7") as caught:
        f(7)
    assert "return jit.wait(task) + more" in str(caught.value)
    assert [f(1), f(2)] == [3, 5]


def test_c14_short_tasks_that_leave_traces_stay_tasks() -> None:
    def push(numbers: list[int], n: int) -> int:
        numbers.append(n)
        return n

    @flambeau.script
    def fills(numbers: list[int], n: int) -> int:
        return jit.wait(jit.fork(push, numbers, n))

    numbers: list[int] = []
    assert not _joined(fills, numbers, 1).is_on

    @flambeau.script
    def draws(x: Tensor) -> Tensor:
        return jit.wait(jit.fork(flambeau.rand_like, x))

    assert not _joined(draws, flambeau.zeros(2)).is_on

    @flambeau.script
    def asks(n: int) -> bool:
        future = jit.fork(collatz, n)
        is_done = future.done()
        return is_done or jit.wait(future) >= 0

    assert not _joined(asks, 3).is_on


def test_c14_tasks_that_become_long_are_tasks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    @flambeau.script
    def f(n: int) -> int:
        a, b = jit.fork(collatz, n), jit.fork(collatz, n + 1)
        return jit.wait(a) + jit.wait(b)

    monkeypatch.setattr(joined_tasks, "RUNS", 2)
    expected = collatz(27) + collatz(28)
    for left in range(1, joined_tasks.MOST_LEFT + 1):
        joined = _joined(f, 27)
        assert joined.is_on
        joined._limit = 0.0
        assert [f(27), f(27)] == [expected] * 2
        assert (joined.is_on, joined._left) == (False, left)
        before = joined._tasks()
        assert f(27) == expected
        assert joined._tasks() == before + 2
    assert not _joined(f, 27).is_on


def test_c14_gradients_and_threads_of_joined_tasks() -> None:
    def scaled(x: Tensor, k: float) -> Tensor:
        return (x * k).tanh()

    @flambeau.script
    def f(x: Tensor) -> Tensor:
        a, b = jit.fork(scaled, x, 2.0), jit.fork(scaled, x, 3.0)
        return (jit.wait(a) + jit.wait(b)).sum()

    x = flambeau.linspace(-1, 1, 5)
    assert _joined(f, x).is_on
    expected = np.tanh(2 * x.numpy()).sum() + np.tanh(3 * x.numpy()).sum()
    np.testing.assert_allclose(f(x).item(), expected, atol=1e-6)
    asking = x.clone().requires_grad_()
    f(asking).backward()
    slope = 2 * (1 - np.tanh(2 * x.numpy()) ** 2) + 3 * (1 - np.tanh(3 * x.numpy()) ** 2)
    np.testing.assert_allclose(asking.grad.numpy(), slope, rtol=1e-5)
    np.testing.assert_allclose(f(x.double()).item(), expected, atol=1e-6)
    answers: list[float] = []
    threads = [threading.Thread(target=lambda: answers.append(f(x).item())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(answers, [expected] * 4, atol=1e-6)
