"""Scripted functions as CPython calls them, natively once they have run: they stay the objects they were."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import inspect
import io
import os
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.callable_type import missed
from flambeau.jit import ScriptFunction
from flambeau.tensor import dispatch, observer
from flambeau.util.native_type import NativeBase, is_supported

SOURCE = """
def f(x: Tensor, k: float = 2.0):
    return x * k + 1.0
"""


def scripted(source: str = SOURCE) -> ScriptFunction:
    found: ScriptFunction = flambeau.CompilationUnit(source).f
    return found


def warm(function: Any, *arguments: Any) -> Any:
    """The function after some calls."""
    for _ in range(3):
        function(*arguments)
    return function


@contextlib.contextmanager
def not_in_python(kind: type = ScriptFunction) -> Iterator[None]:
    """Within the block, calls that come to a class's Python code fail; those that went natively before do not."""

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the call came to Python")

    before = kind.__dict__["_call_slowly"]
    code = before.__code__
    try:
        before.__code__ = refuse.__code__
        yield
    finally:
        before.__code__ = code


def test_repeated_calls_do_not_come_to_python() -> None:
    x = flambeau.ones(3)
    f = warm(scripted(), x, 2.0)
    profiled = []
    sys.setprofile(lambda frame, event, _: profiled.append((event, frame.f_code.co_name)))
    try:
        got = f(x, 2.0)
    finally:
        sys.setprofile(None)
    assert got.tolist() == [3.0] * 3
    assert not [name for event, name in profiled if event == "call"]
    with not_in_python():
        assert f(x, 2.0).tolist() == [3.0] * 3
        assert f(*[x, 2.0]).tolist() == [3.0] * 3
        assert next(map(f, [x], [2.0])).tolist() == [3.0] * 3
        with pytest.raises(AssertionError, match="came to Python"):
            f(x, k=2.0)
        with pytest.raises(AssertionError, match="came to Python"):
            f(x)


def test_every_form_of_call_gives_the_same() -> None:
    x = flambeau.ones(3)
    f = scripted()
    for _ in range(4):
        named = {"x": x}
        for got in (f(x, 2.0), f(x), f(x, k=2.0), f(x=x), f(*(x,)), f(**named), f.__call__(x), type(f).__call__(f, x)):
            assert got.tolist() == [3.0] * 3
        assert functools.partial(f, x)(k=3.0).tolist() == [4.0] * 3
        with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
            f()
        with pytest.raises(RuntimeError, match="at most 2"):
            f(x, 1.0, 2)
        with pytest.raises(RuntimeError, match="Unknown keyword"):
            f(x, other=1)
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            f("x")


def test_it_stays_what_it_was() -> None:
    @flambeau.script
    def documented(x: Tensor, k: int = 3) -> Tensor:
        """Multiplies."""
        return x * k

    f = warm(documented, flambeau.ones(2))
    assert isinstance(f, ScriptFunction)
    assert callable(f)
    assert (f.__name__, f.__doc__) == ("documented", "Multiplies.")
    assert f.__wrapped__.__name__ == "documented"
    assert f.__module__ == __name__
    assert str(inspect.signature(f)) == "(x: 'Tensor', k: 'int' = 3)"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        help(f)
    assert "Multiplies." in out.getvalue()
    f.note = "kept"
    assert vars(f)["note"] == "kept"
    with pytest.raises(pickle.PickleError, match="cannot be pickled"):
        pickle.dumps(f)
    assert copy.copy(f) is copy.deepcopy(f) is f
    assert hash(f) == hash(f)
    assert f == f
    assert f.with_options(f.options)(flambeau.ones(2)).tolist() == [3.0, 3.0]


def test_as_a_method() -> None:
    f = warm(scripted(), flambeau.ones(3), 2.0)

    class Holder(Tensor):
        __slots__ = ()
        method = f

    held = Holder(np.ones(2, np.float32))
    assert held.method(2.0).tolist() == [3.0, 3.0]
    assert Holder.method is f


def test_subclasses() -> None:
    function = scripted().script_function

    class Counting(ScriptFunction):
        calls = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super().__call__(*args, **kwargs)

    class Plain(ScriptFunction):
        extra = 1

    class Under(Counting):
        pass

    x = flambeau.ones(2)
    for kind in (Counting, Under):
        counting = kind(function)
        for k in range(1, 6):
            assert counting(x, 2.0).tolist() == [3.0, 3.0]
            assert counting.calls == k
    plain = warm(Plain(function), x, 2.0)
    with not_in_python():
        assert plain(x, 2.0).tolist() == [3.0, 3.0]
    assert plain.extra == 1


def test_it_goes_when_nobody_holds_it() -> None:
    x = flambeau.ones(3)
    f = warm(scripted(), x, 2.0)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    f = warm(scripted(), x, 2.0)
    f.myself = [f]
    gone = weakref.ref(f)
    executor = weakref.ref(f._executor)
    del f
    gc.collect()
    assert gone() is None
    assert executor() is None


def test_references_are_balanced_on_every_way() -> None:
    x, y = flambeau.ones(3), np.ones(3, np.float32)
    f = warm(scripted(), x, 2.0)

    def counts() -> tuple[int, ...]:
        objects = (f, f._executor.fast_path, x, x._array, x._storage, y, missed, ScriptFunction._call_slowly)
        return tuple(map(sys.getrefcount, objects))

    f(y, 2.0), f(x, k=2.0), f(x, 2.0)
    gc.collect()
    before = counts()
    for _ in range(100_000):
        f(x, 2.0)
    for _ in range(2000):
        f(x, k=2.0)
        f(y, 2.0)
        with contextlib.suppress(RuntimeError):
            f("x")
    f(x, 2.0)
    gc.collect()
    assert counts() == before


def test_watchers_see_what_native_calls_would_hide() -> None:
    x = flambeau.ones(3)
    f = warm(scripted(), x, 2.0)
    seen: list[str] = []

    def handler(definition: Any, arguments: Any, proceed: Any) -> Any:
        seen.append(definition.schema.name)
        return proceed(arguments)

    with dispatch.intercepting(handler):
        assert f(x, 2.0).tolist() == [3.0] * 3
    assert "aten::mul" in seen
    assert observer.watchers.count.value == 0
    with not_in_python():
        f(x, 2.0)
    traced = flambeau.jit.trace(lambda v: f(v, 2.0) + 1.0, (x,))
    assert traced(x).tolist() == [4.0] * 3
    assert "f" in str(traced.graph) or "aten::mul" in str(traced.inlined_graph)
    seen.clear()
    done, go = threading.Event(), threading.Event()

    def watch() -> None:
        with dispatch.intercepting(handler):
            go.set()
            done.wait(10)

    other = threading.Thread(target=watch)
    other.start()
    go.wait(10)
    assert f(x, 2.0).tolist() == [3.0] * 3
    assert not seen
    done.set()
    other.join()
    assert observer.watchers.count.value == 0


def test_plans_change_while_calls_go_on() -> None:
    f = scripted()
    shapes = [(3,), (1,), (2, 3), (1, 3), ()]
    wrong: list[Any] = []

    def work(seed: int) -> None:
        order = np.random.default_rng(seed)
        for _ in range(300):
            x = flambeau.ones(shapes[order.integers(len(shapes))])
            if f(x, 2.0).sum().item() != 3.0 * x.numel():
                wrong.append(x.shape)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_plans_that_take_turns_all_stay_native() -> None:
    f = scripted()
    given = [flambeau.ones(3), flambeau.ones(1), flambeau.ones(2, 3), flambeau.ones(3, dtype=flambeau.float64)]
    for _ in range(3):
        for x in given:
            f(x, 2.0)
    with not_in_python():
        for x in given * 3:
            assert f(x, 2.0).sum().item() == 3.0 * x.numel()
    for n in range(1, 9):
        f(flambeau.ones((1,) * n), 2.0)
    with not_in_python(), pytest.raises(AssertionError, match="came to Python"):
        f(given[0], 2.0)
    assert f(given[0], 2.0).tolist() == [3.0] * 3
    f._executor.forget_plans()
    assert f._executor.fast_path is None
    assert f(given[0], 2.0).tolist() == [3.0] * 3


def test_small_results_never_share_memory_that_somebody_holds() -> None:
    x = flambeau.arange(4, dtype=flambeau.float32)
    f = warm(scripted(), x, 1.0)
    held = [f(x, float(k)) for k in range(8)]
    assert [h[1].item() for h in held] == [k + 1.0 for k in range(8)]
    assert len({h.data_ptr() for h in held}) == 8
    view, array = f(x, 10.0)[1:], f(x, 20.0).numpy()
    storage = f(x, 30.0).untyped_storage()
    exported = np.from_dlpack(f(x, 40.0))
    note = weakref.ref(f(x, 50.0))
    for _ in range(10):
        f(x, -1.0)
    assert note() is None
    assert (view[0].item(), array[1], exported[1]) == (11.0, 21.0, 41.0)
    assert storage.bytes.view(np.float32)[1] == 31.0
    for _ in range(6):
        written = f(x, 2.0)
        assert written._version == 0
        assert written.grad is None
        assert not written.requires_grad
        written.add_(1).requires_grad_()
    nested = f(f(f(x, 1.0), 1.0), 1.0)
    assert nested.tolist() == [3.0, 4.0, 5.0, 6.0]


def test_methods_of_modules() -> None:
    class Scale(flambeau.nn.Module):
        def forward(self, x: Tensor, k: float = 2.0) -> Tensor:
            return x * k + 1.0

    module = flambeau.script(Scale())
    x = flambeau.ones(2)
    for _ in range(4):
        assert module(x).tolist() == [3.0, 3.0]
        assert module.forward(x, 3.0).tolist() == [4.0, 4.0]
        assert module.forward(x, k=3.0).tolist() == [4.0, 4.0]
    owner, forward = module.script_object, module.forward
    assert forward.owner is owner
    assert [a.name for a in forward.schema.arguments] == ["self", "x", "k"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_fork() -> None:
    x = flambeau.ones(3)
    f = warm(scripted(), x, 2.0)
    child = os.fork()
    if child == 0:
        with dispatch.intercepting(lambda definition, arguments, proceed: proceed(arguments)):
            f(x, 2.0)
        os._exit(0 if f(x, 2.0).tolist() == [3.0] * 3 and not observer.watchers.count.value else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_base_is_native_here() -> None:
    assert is_supported() == (sys.implementation.name == "cpython")
    assert issubclass(ScriptFunction, NativeBase)
