"""Short tasks: where they run, what wakes a worker for them, and what is known of their length."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator

import pytest

import flambeau
from flambeau import jit
from flambeau.interpreter import fork_site, task_length, tasks
from flambeau.interpreter.fork_site import ForkSite
from flambeau.interpreter.task_length import TaskLength, length_of


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = flambeau.get_num_interop_threads()
    flambeau.set_num_interop_threads(2)
    yield
    flambeau.set_num_interop_threads(before)


_meeting = threading.Barrier(2)


@jit.ignore
def meet(n: int) -> int:
    """Comes back when two threads are here at the same time."""
    _meeting.wait(30)
    return n


def _sites(scripted: jit.ScriptFunction) -> list[ForkSite]:
    (plan,) = scripted._executor.plans
    return [n.attributes["site"] for n in plan.graph.find_all("prim::fork")]


def small(n: int) -> int:
    return n + 1


def test_c14_short_tasks_run_where_they_are_forked() -> None:
    """Unless they could wait for what is behind the place where they are forked."""

    @flambeau.script
    def f(n: int) -> int:
        total = 0
        for i in range(n):
            total += jit.wait(jit.fork(small, i))
        return total

    assert f(200) == sum(range(1, 201))
    (site,) = _sites(f)
    assert site.is_independent()
    _make_short(site.length)
    here = threading.get_ident()
    ran: list[int] = []
    run = site._run

    def watched(*arguments: object) -> object:
        ran.append(threading.get_ident())
        return run(*arguments)

    site._run = watched
    assert f(1) == 1
    assert ran == [here]

    @flambeau.script
    def waits(n: int) -> int:
        total = 0
        for i in range(n):
            total += jit.wait(jit.fork(lambda t: jit.wait(t), jit.fork(small, i)))
        return total

    assert waits(50) == sum(range(1, 51))
    assert [s.is_independent() for s in _sites(waits)] == [True, False]


def _make_short(length: TaskLength) -> None:
    for _ in range(16):
        length.took(0.0)
    assert length.is_short


def forks_two(n: int) -> int:
    a, b = jit.fork(small, n), jit.fork(small, n + 1)
    return jit.wait(a) + jit.wait(b)


def test_c14_tasks_that_wait_for_their_own_run_where_they_are_forked() -> None:
    @flambeau.script
    def f(n: int) -> int:
        a, b = jit.fork(forks_two, n), jit.fork(forks_two, n)
        return jit.wait(a) - jit.wait(b)

    assert f(3) == 0
    sites = _sites(f)
    assert [s.is_independent() for s in sites] == [True, True]
    for site in sites:
        _make_short(site.length)
    submitted: list[functools.partial[int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_site, "submit", lambda run, length: submitted.append(run))
        with pytest.raises(AttributeError):  # the tasks of tasks are not known to be short
            f(4)
    assert [run.args[1:] for run in submitted] == [(4,), (5,)] * 2


def gone_on(numbers: list[int]) -> int:
    turns = 0
    while len(numbers) < 2 and turns >= 0:
        turns += 1
    return turns


def given_futures(futures: list[jit.Future[int]]) -> int:
    return jit.wait(futures[len(futures) - 1])


def asks_python(n: int) -> int:
    return meet(n)


def test_c14_tasks_that_others_must_help_do_not_run_where_they_are_forked() -> None:
    @flambeau.script
    def f(n: int) -> int:
        numbers = [n, n]
        futures = [jit.fork(small, n)]
        a, b = jit.fork(gone_on, numbers), jit.fork(given_futures, futures)
        c, d = jit.fork(asks_python, n), jit.fork(asks_python, n)
        return jit.wait(a) + jit.wait(b) + jit.wait(c) + jit.wait(d)

    for _ in range(3):
        assert f(1) == 4
    assert [s.is_independent() for s in _sites(f)] == [True, False, False, False, False]
    assert [s.length.blocks for s in _sites(f)] == [False, False, False, True, True]


def tree(depth: int) -> int:
    if depth == 0:
        return 1
    a, b = jit.fork(tree, depth - 1), jit.fork(tree, depth - 1)
    return jit.wait(a) + jit.wait(b)


def test_c14_tasks_that_call_a_function_share_its_plans() -> None:
    scripted = flambeau.script(tree)
    for _ in range(4):
        assert scripted(4) == 16
    assert len(scripted._executor.plans) == 1
    assert [s._run.args[0] for s in _sites(scripted)] == [scripted._executor] * 2


def test_c14_short_tasks_lie_until_somebody_waits_or_a_worker_looks() -> None:
    length = TaskLength()
    _make_short(length)
    threads: list[int] = []

    def note() -> int:
        threads.append(threading.get_ident())
        return len(threads)

    with tasks._lock:  # no worker takes anything meanwhile
        lying = [tasks.submit(note, length) for _ in range(50)]
        assert len(tasks._lying) >= 50
        assert [future.wait() for future in lying] == list(range(1, 51))
        assert not tasks._lying
    assert threads == [threading.get_ident()] * 50

    done = threading.Event()
    tasks.submit(done.set, length)  # nobody waits for it
    assert done.wait(30)


def test_c14_short_tasks_run_beside_one_that_does_not_end() -> None:
    length = TaskLength()
    _make_short(length)
    end = threading.Event()
    endless = [tasks.submit(lambda: end.wait(60), length) for _ in range(2)]
    for future in endless:
        assert not future.done()
    assert [tasks.submit(functools.partial(int, k), length).wait() for k in range(20)] == list(range(20))
    end.set()
    assert [future.wait() for future in endless] == [True, True]


def test_c14_many_short_tasks_need_few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    length = TaskLength()
    _make_short(length)
    calls = 0
    hire = tasks._hire

    def hired() -> object:
        nonlocal calls
        calls += 1
        return hire()

    monkeypatch.setattr(tasks, "_hire", hired)
    for _ in range(20):
        futures = [tasks.submit(functools.partial(int, k), length) for k in range(100)]
        assert [future.wait() for future in futures] == list(range(100))
    assert calls < 200


def test_c14_lengths_are_those_of_a_function() -> None:
    def known(n: int) -> int:
        return n

    assert length_of(known) is length_of(known)
    assert length_of(flambeau.script(known)) is length_of(known)
    assert length_of(functools.partial(known, 1)) is length_of(known)
    assert length_of(small) is not length_of(known)
    for _ in range(2 * task_length.MOST_KEPT):
        length_of(object().__str__)
    assert len(task_length._lengths) <= task_length.MOST_KEPT
    length = TaskLength()
    assert not length.is_short
    _make_short(length)
    length.took(1.0)
    assert length.is_short  # the machine may have held the thread up
    length.took(1.0)
    assert not length.is_short


def test_c14_a_loop_of_tasks_is_warned_of() -> None:
    """Of what a loop does here nobody but the caller's list can tell, so that its tasks stay tasks."""

    @flambeau.script
    def f(numbers: list[int], n: int) -> int:
        total = 0
        for i in range(n):
            total += jit.wait(jit.fork(gone_on, numbers)) + i
        return total

    with pytest.warns(flambeau.PerformanceWarning, match="it forks tasks, or waits for them. Instead, let"):
        f([1, 2], 10_100)
