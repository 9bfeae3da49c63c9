"""Plans that are made behind calls: who serves meanwhile, and what becomes of errors, forks, signals and the end."""

from __future__ import annotations

import gc
import io
import os
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.executor import executor as executor_module
from flambeau.executor import rehearsal
from flambeau.executor.executor import Executor
from flambeau.executor.plan import ExecutionPlan
from flambeau.ir import parse_ir
from flambeau.util.errors import CompileError
from flambeau.util.user_code import warn_user
from tests.processes import as_users_have


@pytest.fixture(autouse=True)
def _in_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "on")


STEP = " x = flambeau.tanh(x) * 2 - 1\n"
LONG_TEXT = "def f(x: Tensor):\n" + STEP * 12 + " return x\n"
X = flambeau.arange(8.0).reshape(2, 4)


def compiled(text: str = LONG_TEXT) -> Any:
    return flambeau.CompilationUnit(text).f


def told(f: Any) -> str:
    """What `explain()` says, without its line breaks."""
    return " ".join(str(f.explain()).split())


@contextmanager
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Plans are only made once this is set."""
    may_go, make_ready = threading.Event(), Executor.make_ready

    def wait(self: Executor, arguments: Any) -> None:
        assert may_go.wait(30)
        make_ready(self, arguments)

    monkeypatch.setattr(Executor, "make_ready", wait)
    try:
        yield may_go
    finally:
        may_go.set()


def test_calls_are_answered_until_the_plan_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    f = compiled()
    with held_up(monkeypatch) as may_go:
        answers = [f(X) for _ in range(5)]
        said = f.explain()
        assert (said.first_calls, said.compilations, said.is_native) == (5, (), False)
        assert "first tier: 5 calls answered" in told(f)
        assert "the plan is being made, fn.compile(*args) waits for it" in told(f)
        may_go.set()
        f.compile(X)
    planned = f(X)
    said = f.explain()
    assert (said.first_calls, len(said.compilations), said.is_native) == (5, 1, True)
    assert "5 calls answered as the program is written, 36 operators one at a time, before there was a plan" in told(f)
    for answer in answers:
        assert flambeau.allclose(planned, answer, rtol=1e-6, atol=1e-6)


def test_the_plan_takes_over_by_itself() -> None:
    f = compiled()
    for _ in range(2):
        f(X)
    pause = threading.Event()
    for _ in range(3000):
        if not f._executor.first_tier.is_on:
            break
        f(X)
        pause.wait(0.005)
    (plan,) = f.explain().compilations
    assert plan.calls == 1
    before = f.explain().first_calls
    f(X)
    assert f.explain().first_calls == before


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.linspace(-1.0, 1.0, 4))

    def forward(self, x: Tensor) -> Tensor:
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        return flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()


def loaded() -> Any:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(Net()), stream)
    return flambeau.jit.load(io.BytesIO(stream.getvalue()))


@pytest.mark.parametrize("make", [loaded, lambda: flambeau.script(Net())], ids=["loaded", "scripted"])
def test_methods_have_plans_without_their_objects(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module = make()
    with flambeau.no_grad():
        with held_up(monkeypatch) as may_go:
            answers = [module(X) for _ in range(3)]
            assert module.forward.explain().first_calls == 3
            may_go.set()
            module.forward.compile(X)
        answers.append(module(X))
        said = module.forward.explain()
        assert (said.first_calls, len(said.compilations), said.compilations[0].calls) == (3, 1, 1)
        module.weight.fill_(0.5)
        assert not flambeau.allclose(module(X), answers[0])
    for answer in answers[1:]:
        assert flambeau.allclose(answer, answers[0], rtol=1e-5, atol=1e-6)


def test_a_call_that_asks_for_gradients_makes_its_plan_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded()
    with held_up(monkeypatch):
        for _ in range(2):
            x = X.clone().requires_grad_()
            module(x).sum().backward()
            assert x.grad is not None
        assert module.forward.explain().first_calls == 1
        assert module.forward.explain().compilations


def test_while_a_plan_is_made_other_calls_may_ask_for_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    f = compiled()
    with held_up(monkeypatch) as may_go:
        f(X)
        f(X)
        x = X.clone().requires_grad_()
        f(x).sum().backward()
        may_go.set()
        f.compile(X)
    other = X.clone().requires_grad_()
    f(other).sum().backward()
    assert flambeau.allclose(x.grad, other.grad, rtol=1e-5, atol=1e-6)


def test_an_error_is_said_once_and_the_first_tier_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise CompileError("too hard\nat all")

    monkeypatch.setattr(executor_module, "make_plan", refuse)
    f = compiled()
    expected = f(X)
    f(X)
    f._executor.first_tier._job.wait()
    wanted = "the plan of f could not be made, and each call of it is answered an operator at a time: CompileError: too"
    with pytest.warns(RuntimeWarning, match=wanted) as seen:
        assert flambeau.equal(f(X), expected)
    assert [w.filename for w in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flambeau.equal(f(X), expected)
    assert "first tier: 4 calls answered" in told(f)
    assert "and all to come: the plan could not be made: too hard" in told(f)
    with pytest.raises(CompileError, match="too hard"):
        f.compile(X)


def test_warnings_of_the_passes_name_the_line_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    make_ready = Executor.make_ready

    def warn(self: Executor, arguments: Any) -> None:
        warn_user("not so fast", RuntimeWarning)
        make_ready(self, arguments)

    monkeypatch.setattr(Executor, "make_ready", warn)
    f = compiled()
    f(X)
    f(X)
    f._executor.first_tier._job.wait()
    with pytest.warns(RuntimeWarning, match="not so fast") as seen:
        f(X)
    assert [w.filename for w in seen] == [__file__]


def test_nothing_holds_arguments_once_the_plan_is_there() -> None:
    f, x = compiled(), X.clone()
    f(x)
    f(x)
    f.compile(X)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_signals_reach_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(*_: Any) -> None:
        raise TimeoutError("time is over")

    f, before = compiled(), signal.signal(signal.SIGALRM, handler)
    expected = f(X)
    try:
        with held_up(monkeypatch) as may_go:
            f(X)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(TimeoutError, match="time is over"):
                f.compile(X)
            may_go.set()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    f.compile(X)
    assert flambeau.allclose(f(X), expected, rtol=1e-6, atol=1e-6)


def test_a_variable_has_calls_make_their_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "off")
    f = compiled()
    f(X)
    f(X)
    assert (f.explain().first_calls, len(f.explain().compilations)) == (1, 1)


QUIET = "graph(%x : Tensor, %n : int[]):\n  %c : int = prim::Constant[value=1]()\n{}\n  return (%y)"


@pytest.mark.parametrize(
    ("line", "is_unseen"),
    [
        ("  %y : Tensor = aten::add(%x, %x, %c)", True),
        ("  %m : NoneType = prim::Constant()\n  %y : Tensor = aten::bernoulli(%x, %m)", False),
        ("  %y : Tensor = aten::add_(%x, %x, %c)", False),
        ("  %z : Tensor = aten::add(%x, %x, %c)\n  %y : Tensor = aten::add_(%z, %x, %c)", True),
        ("  %y : int[] = aten::append(%n, %c)", False),
        ("  %y : Tensor = aten::relu(%x)\n   = prim::Print(%y)", False),
        ("  %p : float = prim::Constant[value=0.5]()\n  %t : bool = prim::Constant[value=0]()\n"
         "  %y : Tensor = aten::dropout(%x, %p, %t)", True),
        ("  %p : float = prim::Constant[value=0.5]()\n  %t : bool = prim::Constant[value=1]()\n"
         "  %y : Tensor = aten::dropout(%x, %p, %t)", False),
    ],
    ids=["sum", "random", "written", "own memory", "list", "printed", "no dropout", "dropout"],
)  # fmt: skip
def test_what_is_rehearsed(line: str, is_unseen: bool) -> None:
    assert rehearsal.is_unseen(parse_ir(QUIET.format(line)), (X, [1])) == is_unseen


def test_what_fails_when_rehearsed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run = ExecutionPlan.run

    def fail(self: ExecutionPlan, arguments: Any) -> Any:
        runs.append(threading.current_thread().name)
        if len(runs) == 1:
            raise ValueError("not these")
        return run(self, arguments)

    monkeypatch.setattr(ExecutionPlan, "run", fail)
    f = compiled()
    expected = [f(X), f(X)][0]
    f.compile(X)
    assert flambeau.allclose(f(X), expected, rtol=1e-6, atol=1e-6)
    assert runs == ["flambeau plans", *[threading.current_thread().name] * 2]  # compile tries again


def test_a_call_after_compile_finds_its_kernels() -> None:
    f = compiled("def f(x: Tensor):\n return (flambeau.tanh(x) * 2).softmax(-1)\n")
    f.compile(X)
    assert "1 variant(s)" in told(f)
    assert told(f).count("not called yet") == 0


PROGRAM = """
import os, sys, threading
import flambeau
from flambeau.executor.executor import Executor

make_ready, has_begun = Executor.make_ready, threading.Event()

def begin(self, arguments):
    has_begun.set()
    make_ready(self, arguments)

Executor.make_ready = begin
text = "def f(x: Tensor):\\n" + " x = flambeau.tanh(x) * 2 - 1\\n" * 60 + " return x\\n"
f, x = flambeau.CompilationUnit(text).f, flambeau.ones(3)
expected = f(x)
f(x)
assert has_begun.wait(30)
"""
FORK = """
pid = os.fork()
for _ in range(3):
    assert flambeau.allclose(f(x), expected, rtol=1e-5, atol=1e-5)
f.compile(x)
assert flambeau.allclose(f(x), expected, rtol=1e-5, atol=1e-5)
assert f.explain().compilations[0].calls
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print("done")
"""


def ran(program: str, tmp_path: Path) -> tuple[int, str, str]:
    environment = as_users_have(FLAMBEAU_CACHE_DIR=str(tmp_path / "cache"))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]  # Python 3.12 warns of each fork
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_makes_its_own_plan(tmp_path: Path) -> None:
    assert ran(PROGRAM + FORK, tmp_path) == (0, "done\n", "")


def test_the_end_of_the_interpreter_gives_up_what_is_made(tmp_path: Path) -> None:
    assert ran(PROGRAM + "print('end')", tmp_path) == (0, "end\n", "")
