"""What the package imports, and what of it only where a program asks for it: the compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flambeau.util import inversions
from flambeau.util.inversions import Inversion
from tests.processes import as_users_have

ROOMS = ("frontend", "passes", "codegen", "executor", "interpreter", "jit", "autodiff", "serialize", "optim")
BEGINNING = f"""
import sys
import flambeau
def is_there():
    return any(name in sys.modules for name in {tuple(f"flambeau.{room}" for room in ROOMS)!r})
assert not is_there(), "before anything was asked for"
"""


def runs(code: str) -> str:
    """What a process prints that imports the package, and finds no compiler there."""
    program = [sys.executable, "-c", BEGINNING + code]
    done = subprocess.run(program, capture_output=True, text=True, env=as_users_have(), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SMALL = """
x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
model = flambeau.nn.Sequential(flambeau.nn.Linear(2, 3), flambeau.nn.Tanh())
model(x).sum().backward()
y = flambeau.zeros(1000)
y += flambeau.arange(1000).double().float() * 2
y[3:7].sqrt_()
assert flambeau.vmap(flambeau.grad(lambda v: (v * v).sum()))(x.detach()).tolist() == [[2.0, 4.0], [6.0, 8.0]]
assert y.max() == 1998 and x.grad.shape == (2, 2) and flambeau.allclose(x @ x, x.mm(x))
"""


@pytest.mark.parametrize("code", ["import flambeau.nn.functional as F", SMALL])
def test_programs_of_small_arrays_import_no_compiler(code: str) -> None:
    assert runs(code + "\nprint(is_there())") == "False"


def test_short_commands_import_no_compiler() -> None:
    code = """
from flambeau.tools import cli
for words in (["--version"], ["show", "--help"]):
    try:
        cli.main(words)
    except SystemExit as end:
        assert end.code == 0
print(is_there())
"""
    assert runs(code).endswith("False")


USES = {
    "program": "flambeau.jit.CompilationUnit('def f(x):\\n    return x + 1').f(flambeau.ones(2))",
    "gelu of many": "flambeau.nn.functional.gelu(flambeau.ones(1 << 14))",
    "writes to many": "flambeau.ones(1 << 16).add_(1)",
    "conversion of many": "flambeau.ones(1 << 16).double()",
    "halves": "flambeau.ones(1 << 12).half()",
    "convolution": "flambeau.nn.Conv2d(1, 1, 1)(flambeau.ones(1, 1, 2, 2))",
    "gradient of many": "x = flambeau.ones(1 << 16, requires_grad=True); x.sigmoid().sum().backward()",
    "many calls": "x = flambeau.ones(3)\nfor _ in range(300): x = x + 1",
    "optim": "flambeau.optim.SGD([flambeau.nn.Parameter(flambeau.ones(2))], lr=1.0)",
    "from": "from flambeau import jit",
    "star": "from flambeau import *\nassert script is flambeau.jit.script and jit.load and optim.Adam",
}


@pytest.mark.parametrize("use", USES)
def test_what_runs_natively_imports_the_compiler(use: str) -> None:
    assert runs(f"{USES[use]}\nprint(is_there())") == "True"


def test_calls_of_python_kernels_that_come_often_import_the_compiler() -> None:
    code = """
x = flambeau.ones(2, 2)
for _ in range(600):
    flambeau.kron(x, x)
print(is_there())
"""
    assert runs(code) == "True"


def test_names_of_the_compiler_are_there_before_it_is() -> None:
    code = """
names = dir(flambeau)
scope = {}
exec("from flambeau import *", scope)
assert {"script", "trace", "jit", "ir", "load", "save", "set_num_threads", "codegen"} <= set(names) & set(scope)
assert sorted(set(dir(flambeau)) - set(names)) == []
import flambeau.futures as futures
assert futures is flambeau.futures is flambeau.jit.futures and futures.__spec__.name == "flambeau.jit.futures"
assert flambeau._C.__name__ == "flambeau.jit.torch_names" and flambeau._jit_internal.Future is futures.Future
print(flambeau.load.__name__, flambeau.get_num_threads() > 0)
"""
    assert runs(code) == "load_values True"


HANDLES = """
module = flambeau.script(flambeau.nn.ReLU())
print(type(module._c).__name__, flambeau._C is sys.modules["flambeau._C"])
"""
STATEMENT = """
import flambeau._C as own
from flambeau._C import ListType
print(ListType.__name__, own is flambeau._C, own is flambeau.jit.torch_names)
"""


@pytest.mark.parametrize(("code", "printed"), [(HANDLES, "ModuleHandle True"), (STATEMENT, "ListType True True")])
def test_what_pytorch_calls_its_core_is_imported_when_it_is_asked_for(code: str, printed: str) -> None:
    assert runs(code) == printed


def test_threads_that_ask_at_once_all_find_the_compiler() -> None:
    code = """
import threading
results, start = [], threading.Barrier(4)
def ask(name):
    start.wait()
    results.append(eval(name) is not None)
many = "flambeau.nn.functional.gelu(flambeau.ones(1 << 14))"
asks = ("flambeau.script", "flambeau.jit.load", "flambeau.optim.Adam", many)
threads = [threading.Thread(target=ask, args=(name,)) for name in asks]
[t.start() for t in threads], [t.join() for t in threads]
print(results)
"""
    assert runs(code) == "[True, True, True, True]"


def test_threads_that_import_parts_of_it_at_once_all_find_them() -> None:
    """Each by a statement, which keeps what it imports from others: parts of the compiler, and those who rest on it."""
    code = """
import importlib, os, threading
DOORS = "optim", "library", "serialization", "te", "futures", "_C", "utils.data", "testing"
def trial():
    errors, start = [], threading.Barrier(len(DOORS) + 1)
    def ask(import_it):
        start.wait()
        try:
            import_it()
        except BaseException as error:
            errors.append(error)
    asks = [lambda door=door: importlib.import_module(f"flambeau.{door}") for door in DOORS]
    asks.append(lambda: flambeau.nn.functional.gelu(flambeau.ones(1 << 14)))
    threads = [threading.Thread(target=ask, args=(one,)) for one in asks]
    [t.start() for t in threads], [t.join() for t in threads]
    return errors
sys.setswitchinterval(1e-5)
for _ in range(4):
    child = os.fork()
    if not child:
        errors = trial()
        print(*errors, flush=True)
        os._exit(len(errors))
    assert os.waitpid(child, 0)[1] == 0
"""
    assert runs(code) == ""


def test_signals_wait_until_the_compiler_is_there() -> None:
    code = """
import os, signal
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "flambeau.jit.transforms":
            print("asked for")
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
try:
    flambeau.jit
    print("no signal came")
except KeyboardInterrupt:
    print(flambeau.jit.CompilationUnit("def f(x):\\n    return x + 1").f(flambeau.ones(1)).tolist())
try:
    os.kill(os.getpid(), signal.SIGINT)
    print("no signal came")
except KeyboardInterrupt:
    print("signals come")
"""
    assert runs(code).splitlines() == ["asked for", "[2.0]", "signals come"]


def test_tools_for_training_import_no_compiler() -> None:
    assert runs("from flambeau.utils import benchmark, checkpoint, data\nprint(is_there())") == "False"


def test_the_package_is_few_objects_until_something_compiles() -> None:
    """A collection of cyclic garbage looks at each of them, and so does the end of the process."""
    assert int(runs("import gc; gc.collect(); gc.collect(); print(len(gc.get_objects()))")) < 95_000


def test_nobody_provides() -> None:
    asked = Inversion[int]("answers")
    assert not asked.is_provided
    with pytest.raises(AttributeError, match="nobody provides what answers"):
        _ = asked.implementation
    later = Inversion[int]("answers later", 3, is_later=True)
    assert not later.is_provided
    assert later.implementation == 3  # the compiler is there, and does not provide it
    with pytest.raises(AttributeError, match="nobody provides what answers never"):
        _ = Inversion[int]("answers never", is_later=True).implementation
    assert inversions.LARGE_KERNEL.is_provided
