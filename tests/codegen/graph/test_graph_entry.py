"""Native entries of whole-graph functions against the same by hand, on functions written in LLVM text for the purpose:
guards, blocks, errors; and on compiled programs: threads, recursion, forks, exits, leaks."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.callable_type import MISSED, missed
from flambeau.codegen.graph.entry import entry_stub
from flambeau.codegen.graph.entry.entry_stub import Parameter, Signature, call_in_python, make_entry
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Element,
    Fixed,
    Float,
    Int,
    Listed,
    Optional,
    Representation,
    Tupled,
    word_count,
)
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.schema import dtype as dtypes
from flambeau.tensor.tensor import Tensor, view_of, wrap_number
from tests.processes import as_users_have

VECTOR, MATRIX = Array(dtypes.float32, 1), Array(dtypes.float32, 2)
Call = Callable[..., Any]


def code_of(body: str) -> NativeCode:
    """A function of whole graphs with some body, which may call ``new_block``."""
    support = entry_stub._objects_code()
    assert support is not None
    text = f"""
declare ptr @flambeau_new_block(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i64 @f(ptr %context, ptr %arguments, ptr %results) {{
entry:
{body}
}}
"""
    return engine().link(text, ("f",), {"flambeau_new_block": support.addresses["new_block"]})


def fail(code: int, context: int) -> Any:
    raise RuntimeError(f"code {code}")


def _fail(_: NativeCode, code: int, context: int) -> Any:
    """The same, which keeps the code."""
    fail(code, context)


def both(signature: Signature, body: str) -> list[Call]:
    """The function as a native entry, and by hand."""
    code = code_of(body)
    entry = make_entry(signature, code.addresses["f"], missed, functools.partial(_fail, code))
    assert entry is not None

    def by_hand(*given: Any) -> Any:
        return call_in_python(signature, code.addresses["f"], fail, given)

    return [entry.call, by_hand]


def echo(*kinds: Representation) -> list[Call]:
    """Functions that give their arguments back."""
    words = sum(map(word_count, kinds))
    body = f"call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %arguments, i64 {8 * words}, i1 false)\n  ret i64 0"
    return both(Signature(tuple(map(Parameter, kinds)), kinds), body)


COPY = """
  %from.p = getelementptr i64, ptr %arguments, i64 1
  %from = load ptr, ptr %from.p
  %n.p = getelementptr i64, ptr %arguments, i64 2
  %n = load i64, ptr %n.p
  %bytes = mul i64 %n, 4
  %block = call ptr @flambeau_new_block(ptr %context, i64 %bytes)
  %data = getelementptr i8, ptr %block, i64 64
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %from, i64 %bytes, i1 false)
"""


def store(place: int, value: str) -> str:
    kind = "ptr" if value in ("%block", "%data", "%later") else "i64"
    return f"  %r{place} = getelementptr i64, ptr %results, i64 {place}\n  store {kind} {value}, ptr %r{place}\n"


def test_numbers() -> None:
    for call in echo(Int(), Float(), Bool()):
        assert call(3, 2.5, True) == (3, 2.5, True)
        assert call(-(1 << 63), -0.0, False) == (-(1 << 63), 0.0, False)
        assert np.signbit(call(1, -0.0, True)[1])
        assert np.isnan(call(1, float("nan"), True)[1])
        assert [type(x) for x in call(0, 7, False)] == [int, float, bool]
        assert call(0, 1 << 80, False)[1] == float(1 << 80)
        bad: tuple[Any, ...]
        for bad in ((True, 1.0, True), (1 << 63, 1.0, True), (1, True, True), (1, 1 << 2000, True), (1, 1.0, 1)):
            assert call(*bad) is MISSED
        for bad in ((np.int32(1), 1.0, True), (1, np.float32(1), True), (1, "1", True), (1, 1.0, None)):
            assert call(*bad) is MISSED
        numbers = call(np.int64(-(1 << 63)), np.float64(-0.5), True)
        assert (numbers, [type(x) for x in numbers]) == ((-(1 << 63), -0.5, True), [int, float, bool])
        assert call(1, 1.0) is MISSED
        assert call(1, 1.0, True, 1) is MISSED


def test_optional_and_fixed_values_and_tuples() -> None:
    for call in echo(Optional(Int()), Fixed(None), Tupled((Float(), Tupled((Int(), VECTOR)))), Optional(VECTOR)):
        x = flambeau.arange(3, dtype=flambeau.float32)
        assert call(None, None, (1.0, (2, x)), None) == (None, None, (1.0, (2, x)), None)
        got = call(5, None, (1.0, (2, x)), x)
        assert got[0] == 5
        assert got[2][1][1] is x
        assert got[3] is x
        for bad in (
            (5, 0, (1.0, (2, x)), x),
            (5, None, [1.0, (2, x)], x),
            (5, None, (1.0, (2,)), x),
            (5, None, (1, (2, x)), x),
        ):
            assert call(*bad) is MISSED


def test_no_results_are_none() -> None:
    for call in both(Signature((Parameter(Int()),), ()), "  ret i64 0"):
        assert call(1) is None


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "int32", "float32", "int64", "float64"])
def test_elements(dtype: str) -> None:
    kind = dtypes.by_name(dtype)
    for call in echo(Element(kind)):
        for value in (0, 1, 3):
            x = flambeau.tensor(value, dtype=getattr(flambeau, dtype))
            got = call(x)
            assert got is not x
            assert got.dtype is x.dtype
            assert got.shape == ()
            assert got.item() == x.item()
        assert call(flambeau.zeros(1, dtype=getattr(flambeau, dtype))) is MISSED
        assert call(wrap_number(True)) is MISSED
        assert call(flambeau.zeros((), dtype=flambeau.complex64)) is MISSED


def test_tensors_come_back_as_themselves_and_arrays_as_tensors_on_their_memory() -> None:
    for call in echo(VECTOR, MATRIX):
        x, m = flambeau.ones(3), flambeau.ones(2, 3).t()
        a, b = call(x, m)
        assert a is x
        assert b is m
        v, w = np.ones(3, np.float32), np.ones((4, 6), np.float32)[::2, ::3]
        a, b = call(v, w)
        assert type(a) is Tensor
        assert a.stride() == (1,)
        assert b.stride() == (12, 3)
        v[1] = w[0, 0] = 5
        assert a.tolist() == [1, 5, 1]
        assert b[0, 0].item() == 5
        a, _ = call(np.broadcast_to(np.float32(2), 3), m)
        assert a.stride() == (0,)
        a, _ = call(flambeau.ones(0), m)
        assert a.shape == (0,)


def strange() -> dict[str, Any]:
    """Arrays and tensors that are not what a guard for a float32 vector wants."""
    raw = np.zeros(17, np.uint8)
    leaf, result = flambeau.ones(3).requires_grad_(), flambeau.ones(3)
    result._node = object()

    class Mine(np.ndarray):
        pass

    class MyTensor(Tensor):
        __slots__ = ()

    return {
        "rank": flambeau.ones(3, 1), "dtype": flambeau.ones(3, dtype=flambeau.float64), "list": [1.0, 2.0],
        "number": 1.0, "none": None, "with gradient": leaf, "result of one": result, "swapped": np.ones(3, ">f4"),
        "of a number": wrap_number(1.0), "unaligned": raw[1:17].view(np.float32),
        "backwards": np.ones(3, np.float32)[::-1], "subclass": np.ones(3, np.float32).view(Mine),
        "tensor subclass": MyTensor(np.ones(3, np.float32)),
        "odd strides": np.zeros(4, "f4,u1")["f0"],
    }  # fmt: skip


@pytest.mark.parametrize("name", list(strange()))
def test_what_does_not_fit_goes_the_slow_way(name: str) -> None:
    value = strange()[name]
    for call in echo(VECTOR, Int()):
        assert call(value, 1) is MISSED
    for call in echo(Int(), VECTOR, Int()):
        assert call(1, value, 1) is MISSED


def test_density_ones_and_read_only_memory() -> None:
    dense = Array(dtypes.float32, 2, 2)
    rows = Array(dtypes.float32, 2, 1)
    give_two = "  store i64 2, ptr %results\n  ret i64 0"
    for call in both(Signature((Parameter(dense),), (Int(),)), give_two):
        assert call(flambeau.ones(3, 4)) == 2
        assert call(flambeau.ones(3, 4).t()) is MISSED
        assert call(flambeau.ones(3, 8)[:, ::2]) is MISSED
        assert call(flambeau.ones(6, 4)[::2]) is MISSED
        assert call(flambeau.ones(1, 4).t()) == 2
        assert call(flambeau.ones(0, 4)) == 2
    for call in both(Signature((Parameter(rows),), (Int(),)), give_two):
        assert call(flambeau.ones(6, 4)[::2]) == 2
        assert call(flambeau.ones(6, 8)[:, ::2]) is MISSED
    for call in both(Signature((Parameter(MATRIX, ones=(False, True)),), (Int(),)), give_two):
        assert call(flambeau.ones(3, 1)) == 2
        assert call(flambeau.ones(3, 2)) is MISSED
        assert call(flambeau.ones(1, 1)) is MISSED
    fixed = np.ones(3, np.float32)
    fixed.flags.writeable = False
    for call in both(Signature((Parameter(VECTOR, is_written=True), Parameter(VECTOR)), (Int(),)), give_two):
        x, y = flambeau.ones(3), flambeau.ones(3)
        before = x._version, y._version
        assert call(x, y) == 2
        assert (x._version, y._version) == (before[0] + 1, before[1])
        assert call(fixed, y) is MISSED
        assert call(np.ones(3, np.float32), fixed) == 2


def test_new_memory_small_and_large() -> None:
    body = COPY + "".join(store(k, v) for k, v in enumerate(("%block", "%data", "%n", "4"))) + "  ret i64 0"
    for call in both(Signature((Parameter(VECTOR),), (VECTOR,)), body):
        for n in (0, 1, 5, 512, 513, 100_000):
            x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
            got = call(x)
            np.testing.assert_array_equal(got.numpy(), x)
            assert got.storage_offset() == 0
            assert got._version == 0
            got.add_(1)
            np.testing.assert_array_equal(got.numpy(), x + 1)
            view = got[n // 2 :]
            del got
            gc.collect()
            np.testing.assert_array_equal(view.numpy(), x[n // 2 :] + 1)


@pytest.mark.parametrize("n", [8, 4096])
def test_results_that_share_a_new_block_share_a_storage(n: int) -> None:
    body = COPY + "  store i64 2, ptr %block\n  %later = getelementptr i8, ptr %data, i64 8\n  %less = sub i64 %n, 2\n"
    whole = [store(k, v) for k, v in enumerate(("%block", "%data", "%n", "4"))]
    part = [store(4 + k, v) for k, v in enumerate(("%block", "%later", "%less", "4"))]
    for call in both(Signature((Parameter(VECTOR),), (VECTOR, VECTOR)), body + "".join(whole + part) + "  ret i64 0"):
        a, b = call(np.arange(n, dtype=np.float32))
        assert a.shares_storage(b)
        assert (a.storage_offset(), b.storage_offset()) == (0, 2)
        b.zero_()
        assert a.tolist() == [0, 1] + [0] * (n - 2)
        del a
        assert b.sum().item() == 0


def test_parts_of_arguments_share_their_storage() -> None:
    words = ("%block0", "%later0", "%n0", "4")
    body = """
  %block0 = load ptr, ptr %arguments
  %data.p = getelementptr i64, ptr %arguments, i64 1
  %data0 = load ptr, ptr %data.p
  %later0 = getelementptr i8, ptr %data0, i64 4
  %n.p = getelementptr i64, ptr %arguments, i64 2
  %n1 = load i64, ptr %n.p
  %n0 = sub i64 %n1, 1
"""
    for k, value in enumerate(words * 2):
        kind = "ptr" if value in words[:2] else "i64"
        body += f"  %q{k} = getelementptr i64, ptr %results, i64 {k}\n  store {kind} {value}, ptr %q{k}\n"
    for call in both(Signature((Parameter(VECTOR),), (VECTOR, VECTOR)), body + "  ret i64 0"):
        x = flambeau.arange(5, dtype=flambeau.float32)
        a, b = call(x)
        assert a.shares_storage(x)
        assert b.shares_storage(x)
        assert a.storage_offset() == 1
        a.zero_()
        assert x.tolist() == [0] * 5
        array = np.arange(5, dtype=np.float32)
        array.flags.writeable = False
        a, b = call(array)
        assert a.shares_storage(b)
        assert not a._array.flags.writeable
        assert a.tolist() == [1, 2, 3, 4]
        inner = view_of(x, (3,), (1,), 1)
        assert call(inner)[0].storage_offset() == 2


def test_lists() -> None:
    for call in echo(Listed(Int()), Listed(Listed(Float())), Listed(VECTOR), Listed(Tupled((Int(), VECTOR)))):
        x, y = flambeau.ones(2), np.zeros(3, np.float32)
        given: tuple[Any, ...] = ([1, 2, 3], ([1.0], [], (2, 3.5)), [x, y, x], [(1, x)])
        numbers, nested, tensors, pairs = call(*given)
        assert numbers == [1, 2, 3]
        assert numbers is not given[0]
        assert nested == [[1.0], [], [2.0, 3.5]]
        assert tensors[0] is x
        assert tensors[2] is x
        assert tensors[1].tolist() == [0, 0, 0]
        assert pairs == [(1, x)]
        empty: list[Any] = []
        assert call(empty, empty, empty, empty) == ([], [], [], [])
        bad: tuple[Any, ...]
        for bad in (([1.0], [], [], []), ([], [1.0], [], []), ([], [[1]], [1], []), ([], [], [], [[1, x]])):
            assert call(*bad) is MISSED
        many = list(range(1000))
        assert call(many, [], [], [])[0] == many


def test_one_list_given_back_twice_is_one_list() -> None:
    body = """
  %list = load i64, ptr %arguments
  store i64 %list, ptr %results
  %second = getelementptr i64, ptr %results, i64 1
  store i64 %list, ptr %second
  ret i64 0"""
    for call in both(Signature((Parameter(Listed(Int())),), (Listed(Int()), Listed(Int()))), body):
        a, b = call([1, 2])
        assert a is b


def test_errors_and_their_record() -> None:
    seen: list[Any] = []
    signature = Signature((Parameter(VECTOR, is_written=True),), (VECTOR,), record_words=3)
    body = COPY + """
  %record.p = getelementptr i64, ptr %context, i64 6
  %record = load ptr, ptr %record.p
  %third = getelementptr i64, ptr %record, i64 2
  store i64 77, ptr %third
  ret i64 5"""
    code = code_of(body)

    def error(number: int, context: int) -> Any:
        words = (ctypes.c_int64 * 8).from_address(context)
        record = (ctypes.c_int64 * 3).from_address(words[6])
        seen.append((number, words[7], record[2]))
        raise KeyError("site")

    entry = make_entry(signature, code.addresses["f"], missed, error, user=99)
    assert entry is not None

    def by_hand(*given: Any) -> Any:
        return call_in_python(signature, code.addresses["f"], error, given, user=99)

    for call in (entry.call, by_hand):
        x = flambeau.ones(3)
        count = sys.getrefcount(x._array)
        for _ in range(3):
            with pytest.raises(KeyError, match="site"):
                call(x)
        assert x._version == 3
        gc.collect()
        after = sys.getrefcount(x._array)
        assert after == count
    assert seen == [(5, 99, 77)] * 6
    assert entry.served == 3


# -- compiled programs ------------------------------------------------------------------------------------------------

SOURCE = """
def total(x: Tensor, n: int, k: float):
    t = 0.0
    for i in range(n):
        t = t + float(x[i]) * k
    return t

def grown(x: Tensor, names: List[int]):
    out = []
    for i in range(len(names)):
        names.append(names[i] + 1)
        out.append(x + 1)
    return out, names

def doubled(x: Tensor):
    for i in range(x.size(0)):
        x[i] = x[i] * 2
    return x

def long(x: Tensor, n: int):
    t = 0.0
    i = 0
    while i < n:
        t = t * 0.5 + float(x[i % 7])
        i += 1
    return t
"""


def program(name: str) -> flambeau.jit.ScriptFunction:
    found: flambeau.jit.ScriptFunction = getattr(flambeau.CompilationUnit(SOURCE), name)
    return found


def ready(name: str, *arguments: Any) -> flambeau.jit.ScriptFunction:
    """A program that was called, so that it has its native entry."""
    function = program(name)
    function(*arguments)
    function(*arguments)
    assert function._executor.fast_path is not None
    return function


def test_programs_give_what_the_interpreter_gives_and_leave_nothing() -> None:
    x = flambeau.arange(10, dtype=flambeau.float32)
    function = ready("total", x, 3, 2.0)
    served = function._executor._latest.compiled.calls  # type: ignore[union-attr]
    assert function(x, 4, 2.0) == 12.0
    assert function(x, 4, 2) == 12.0
    assert function(x.numpy(), 4, 2) == 12.0
    assert function._executor._latest.compiled.calls == served + 3  # type: ignore[union-attr]
    assert function(x=x, n=4, k=2.0) == 12.0
    assert function(x[::2], 4, 2.0) == 24.0
    assert function(x.to(flambeau.float64), 4, 2.0) == 12.0
    for _ in range(3):
        with pytest.raises(RuntimeError, match="index"):
            function(x, 40, 2.0)
    counts = sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._storage)
    for _ in range(20_000):
        function(x, 4, 2.0)
    assert (sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._storage)) == counts


def resident() -> int:
    with open("/proc/self/statm") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_lists_and_tensors_of_programs_are_freed() -> None:
    x = flambeau.ones(300)
    function = ready("grown", x, [1, 2, 3])
    out, names = function(x, (1, 2, 3))
    assert [t.tolist() for t in out] == [[2.0] * 300] * 3
    assert names == [1, 2, 3, 2, 3, 4]
    given = list(range(200))
    for _ in range(50):
        function(x, given)
    gc.collect()
    before = resident()
    for _ in range(300):
        function(x, given)
    assert resident() - before < 20 << 20
    assert given == list(range(200))


def test_writes_count_and_read_only_arrays_are_refused() -> None:
    x = flambeau.ones(3)
    function = ready("doubled", x)
    before = x._version
    assert function(x) is x
    assert x.tolist() == [8.0] * 3
    assert x._version > before
    fixed = np.ones(3, np.float32)
    fixed.flags.writeable = False
    for _ in range(2):
        with pytest.raises((RuntimeError, ValueError)):
            function(fixed)
    assert fixed.tolist() == [1.0] * 3


def test_threads() -> None:
    x = flambeau.arange(7, dtype=flambeau.float32)
    long, grown = ready("long", x, 10), ready("grown", x, [1])
    want = long(x, 200_000)
    wrong: list[Any] = []

    def work(iteration: int) -> None:
        for n in range(20):
            if iteration % 2 and long(x, 200_000) != want:
                wrong.append(n)
            if len(grown(x, [n] * n)[0]) != n or grown(x, [n])[1] != [n, n + 1]:
                wrong.append(n)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_recursion_through_the_error_callable_and_the_slow_one() -> None:
    x = flambeau.arange(5, dtype=flambeau.float32)
    total = ready("total", x, 2, 1.0)
    depth = [0]
    code = code_of("  ret i64 1")

    def error(number: int, context: int) -> Any:
        depth[0] += 1
        if depth[0] < 50:
            return call(x)
        return total(x, 3, 1.0)

    entry = make_entry(Signature((Parameter(VECTOR),), (VECTOR,)), code.addresses["f"], missed, error)
    assert entry is not None
    call = entry.call
    assert call(x) == 3.0
    assert depth == [50]


def test_entries_go_with_their_function_through_cycles() -> None:
    function = ready("total", flambeau.ones(3), 2, 1.0)
    native = weakref.ref(function._executor._latest.compiled.variants[0])  # type: ignore[union-attr]
    function.myself = function
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None
    assert native() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_fork() -> None:
    x = flambeau.arange(7, dtype=flambeau.float32)
    long = ready("long", x, 10)
    want = long(x, 100_000)
    child = os.fork()
    if child == 0:
        os._exit(0 if long(x, 100_000) == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_interpreter_exits_while_a_thread_is_in_native_code() -> None:
    program_text = textwrap.dedent("""
        import threading, time, flambeau
        unit = flambeau.CompilationUnit(SOURCE)
        x = flambeau.ones(7)
        unit.long(x, 10), unit.long(x, 10)
        threading.Thread(target=unit.long, args=(x, 1 << 50), daemon=True).start()
        time.sleep(0.3)
        print("leaving", flush=True)
    """)
    program_text = f"SOURCE = {SOURCE!r}\n{program_text}"
    command, environment = [sys.executable, "-c", program_text], as_users_have()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.stdout, done.stderr, done.returncode) == ("leaving\n", "", 0)


def test_first_calls_that_race_share_no_code_that_goes() -> None:
    program_text = textwrap.dedent("""
        import sys, threading, flambeau
        unit = flambeau.CompilationUnit(SOURCE)
        x = flambeau.ones(7)
        sys.setswitchinterval(1e-5)
        def work(k):
            for n in range(60):
                assert unit.total(x, 3, 1.0) == 3.0
                assert unit.doubled(flambeau.ones(k)).tolist() == [2.0] * k
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
        [t.start() for t in threads], [t.join() for t in threads]
        print("done")
    """)
    program_text = f"SOURCE = {SOURCE!r}\n{program_text}"
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program_text], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
