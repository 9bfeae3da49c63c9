"""Processes forked while other threads compile, call native code, draw random numbers and load archives."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.processes import as_users_have

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PROGRAM = """
import faulthandler, io, itertools, os, signal, sys, threading
import numpy as np
import flambeau
from flambeau import nn

flambeau.set_num_threads(2)
numbers = itertools.count()
stop = threading.Event()
failed = []
big = flambeau.from_numpy(np.linspace(-1, 1, 1 << 18))

@flambeau.script
def threaded(x):
    return (x.exp() + 1.0).log()

def fresh():
    n = next(numbers)
    lines = ("def f(x, n: int):", "    y = x", "    for i in range(n):", f"        y = y * {n}.5 + i")
    code = "\\n".join([*lines, f"    return y.sum() + {n}"])
    unit = flambeau.jit.CompilationUnit(code)
    want = np.ones(3)
    for i in range(3):
        want = want * (n + 0.5) + i
    got = unit.f(flambeau.ones(3, dtype=flambeau.float64), 3).item()
    assert got == want.sum() + n, (got, want.sum() + n)

def saved():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
        def forward(self, x):
            return self.l(x)
    file = io.BytesIO()
    flambeau.jit.save(flambeau.jit.script(M()), file)
    return file.getvalue()

archive = saved()

def load():
    flambeau.jit.load(io.BytesIO(archive))(flambeau.ones(1, 3))

def shared():
    got = threaded(big).numpy()
    assert np.abs(got - np.log(np.exp(big.numpy()) + 1)).max() < 1e-12

def draw():
    flambeau.rand(100_000)

def busy(work):
    try:
        while not stop.is_set():
            work()
    except BaseException as error:
        failed.append(repr(error))
        raise

def child(depth):
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        assert status == 0, f"child at depth {depth} ended with {status}"
        return
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(100)  # ends a child that hangs, and shows where
    try:
        for work in (fresh, load, shared, draw):
            work()
        assert __import__("gc").isenabled()
        assert sys.getrecursionlimit() == limit
        if depth:
            child(depth - 1)
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(3)
    os._exit(0)

limit = sys.getrecursionlimit()
threads = [threading.Thread(target=busy, args=(work,)) for work in (fresh, load, shared, draw)]
for t in threads:
    t.start()
try:
    for round in range(ROUNDS):
        child(1 if round % 4 == 0 else 0)
finally:
    stop.set()
    for t in threads:
        t.join()
assert not failed, failed
print("done")
"""


def _run(program: str, tmp_path: Path, **variables: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = as_users_have(OPENBLAS_NUM_THREADS="1", **variables)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(path)],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("cache", ["on", "off"])
def test_c10_forks_while_threads_compile(tmp_path: Path, cache: str) -> None:
    variables = {"FLAMBEAU_CACHE": cache, "FLAMBEAU_CACHE_DIR": str(tmp_path / "cache")}
    assert "done" in _run(PROGRAM.replace("ROUNDS", "12" if cache == "on" else "5"), tmp_path, **variables)


IMPORTING = """
import importlib.util, os, sys, threading, time
import flambeau

class Slow:
    "Finds a module that takes its time to run."
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "flambeau.slow" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.set()
        time.sleep(1)
        module.done = True

begun = threading.Event()
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=__import__, args=("flambeau.slow",))
thread.start()
begun.wait()
pid = os.fork()
if not pid:
    import flambeau.slow
    importing = threading.Thread(target=__import__, args=("colorsys",))  # the lock of imports is free
    importing.start()
    importing.join(20)
    os._exit(0 if flambeau.slow.done and not importing.is_alive() else 1)
assert os.waitpid(pid, 0)[1] == 0
importing = threading.Thread(target=__import__, args=("colorsys",))
importing.start()
importing.join(20)
assert not importing.is_alive()
thread.join()
print("done")
"""


def test_c10_forks_while_a_thread_imports(tmp_path: Path) -> None:
    assert "done" in _run(IMPORTING, tmp_path)


def scaled(x: Tensor, k: float) -> Tensor:
    return (x * k).exp().sum()


def _worker(k: float) -> float:
    return float(flambeau.script(scaled)(flambeau.ones(100_000, dtype=flambeau.float64), k).item())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_c10_pools_of_processes(method: str) -> None:
    flambeau.script(scaled)(flambeau.ones(100_000, dtype=flambeau.float64), 1.0)
    with multiprocessing.get_context(method).Pool(2) as pool:
        got = pool.map_async(_worker, [0.1 * k for k in range(6)]).get(timeout=120)
    np.testing.assert_allclose(got, [100_000 * np.exp(0.1 * k) for k in range(6)], rtol=1e-12)


def _call(argument: tuple[object, Tensor]) -> Tensor:
    function, x = argument
    assert callable(function)
    result: Tensor = function(x)
    return result


def test_c10_what_goes_to_another_process() -> None:
    x = pickle.loads(pickle.dumps(flambeau.arange(6).reshape(2, 3).t()))
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]]
    generator = pickle.loads(pickle.dumps(flambeau.Generator().manual_seed(3)))
    assert generator.initial_seed() == 3
    later = flambeau.jit._awaitable(pow, 2, 3)
    for value in (flambeau.jit.Future(), later, flambeau.script(scaled), flambeau.script(flambeau.nn.Linear(2, 2))):
        with pytest.raises((pickle.PickleError, RuntimeError, TypeError), match=r"cannot be pickled[:;,] ") as caught:
            pickle.dumps(value)
        assert "_thread" not in str(caught.value)


@flambeau.script
def shared(x: Tensor, n: int) -> Tensor:
    return x * n


@flambeau.script
def of_arrays(x: np.ndarray) -> float:
    return x.sum()


def test_functions_of_modules_go_to_processes_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(shared)) is shared
    assert pickle.loads(pickle.dumps(of_arrays)) is of_arrays
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(of_arrays, (np.ones(3),)) == 3.0
        assert pool.starmap(shared, [(flambeau.ones(1), 2)])[0].tolist() == [2.0]
