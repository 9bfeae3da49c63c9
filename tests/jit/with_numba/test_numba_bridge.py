"""Functions compiled by Numba that call scripts: natively, with the results and errors of the scripts themselves."""

from __future__ import annotations

import functools
import gc
import math
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import ExecutionError, ScriptError
from tests.interrupts import interrupted_once

numba = pytest.importorskip("numba", reason="numba is an extra: pip install flambeau[numba]")


@flambeau.script
def hypotenuse(x: float, y: float = 2.0) -> float:
    return (x * x + y * y) ** 0.5


@flambeau.script
def collatz(n: int) -> int:
    assert n > 0, "starts at one"
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@flambeau.script
def quotient(a: int, b: int) -> int:
    return a // b


@flambeau.script
def parts(n: int, up: bool) -> tuple[int, float, bool]:
    return n + 1 if up else n - 1, n * 0.5, n > 3


@flambeau.script
def spin(n: int) -> int:
    s = 0
    for i in range(n):
        s = s * 3 + i % 7 ^ s
    return s


@flambeau.script
def with_python(n: int) -> float:
    x = flambeau.arange(n) * 2.0
    y: list[int] = []
    for i in range(n):
        y.append(i)
    return float(x.sort()[0].sum()) + float(len(y))


@numba.njit
def longest(n):
    best = 0
    for i in range(1, n):
        best = max(best, collatz(i))
    return best


@numba.njit
def divided(a, b):
    return quotient(a, b)


def refused(fn: Any, *args: Any) -> str:
    with pytest.raises(numba.core.errors.TypingError) as found:
        numba.njit(fn)(*args)
    return str(found.value)


def test_numbers_in_a_loop() -> None:
    assert longest(1000) == 178

    @numba.njit
    def total(n):
        s = 0.0
        for i in range(n):
            s += hypotenuse(float(i)) + hypotenuse(y=1.0, x=i)
        return s

    assert total(50) == sum(hypotenuse(float(i)) + hypotenuse(float(i), 1.0) for i in range(50))


def test_tuples_and_bools() -> None:
    @numba.njit
    def f(n):
        a, b, c = parts(n, n > 0)
        return a, b, c, parts(n, False)

    for n in (-3, 0, 5):
        assert f(n) == (*parts(n, n > 0), parts(n, False))


@pytest.mark.parametrize("x", [math.nan, math.inf, -0.0, 5e-324, 1.7e308])
def test_special_values(x: float) -> None:
    @flambeau.script
    def same(x: float) -> float:
        return x

    assert np.float64(numba.njit(lambda x: same(x))(x)).tobytes() == np.float64(x).tobytes()


def test_narrow_and_wide_numbers_convert() -> None:
    twice = numba.njit(lambda x: hypotenuse(x, 0.0))
    assert twice(np.float32(1.5)) == twice(np.int8(1)) + 0.5 == 1.5
    assert divided(np.uint32(7), np.int16(-2)) == -4


def test_scripts_are_values() -> None:
    apply = numba.njit(lambda fn, x: fn(x))
    assert apply(hypotenuse, 1.5) == hypotenuse(1.5)
    assert apply(collatz, 27) == 111


def test_scripts_that_call_routines() -> None:
    @flambeau.script
    def second(x: flambeau.Tensor) -> float:
        return float(flambeau.topk(flambeau.linalg.inv(x).reshape(-1), 2)[0][1])

    @numba.njit
    def f(x):
        return second(x) + 1

    assert f(np.diag([2.0, 4.0])) == 1.25


def test_numbas_recursion_calls_scripts() -> None:
    @numba.njit
    def f(n):
        if n == 0:
            return 0
        return collatz(n) + f(n - 1)

    assert f(20) == sum(map(collatz, range(1, 21)))


def test_there_and_back() -> None:
    @flambeau.script
    def outer(n: int) -> int:
        s = 0
        for i in range(n):
            s += divided(100, i - 2)
        return s

    with pytest.raises(RuntimeError, match="division by 0"):
        outer(5)
    assert outer(2) == -150


def test_errors_are_those_of_the_script() -> None:
    for _ in range(2):
        for native, script, args, kind in (
            (divided, quotient, (1, 0), ExecutionError),
            (numba.njit(lambda n: collatz(n)), collatz, (0,), ScriptError),
        ):
            with pytest.raises(kind) as own:
                script(*args)
            with pytest.raises(kind) as found:
                native(*args)
            assert str(found.value) == str(own.value)
    assert "AssertionError: starts at one" in str(found.value)
    assert "test_numba_bridge.py" in str(found.value)


def test_places_outside() -> None:
    @flambeau.script
    def pick(n: int) -> int:
        return [1, 2, 3][n]

    take = numba.njit(lambda n: pick(n))
    assert take(-1) == 3
    with pytest.raises(RuntimeError, match="list index out of range"):
        take(3)


def test_errors_can_be_caught() -> None:
    @numba.njit
    def f(n):
        caught = 0
        for i in range(n):
            try:
                quotient(i, i % 2)
            except Exception:
                caught += 1
            try:
                divided(i, i % 2)  # its own function has no try
            except Exception:
                caught += 100
        return caught

    assert f(6) == 303
    with pytest.raises(RuntimeError, match="division by 0"):
        divided(1, 0)


def test_errors_that_nobody_asks_for_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.jit.with_numba import numba_errors as numba_errors

    monkeypatch.setattr(numba_errors, "MAX_ERRORS", 2)

    @numba.njit
    def f(n):
        for i in range(n):
            try:
                quotient(i, 0)
            except Exception:
                n += 0
        return n

    assert f(10) == 10
    assert len(numba_errors._errors) <= 2
    numba_errors._unwrap(-1)
    assert "too many others since" in str(numba_errors._take())


def test_what_python_has_a_part_in() -> None:
    @numba.njit
    def f(n):
        return with_python(n) + with_python(n)

    assert f(4) == 2 * with_python(4) == 32


@pytest.mark.parametrize("nogil", [False, True])
def test_threads(nogil: bool) -> None:
    @numba.njit(nogil=nogil)
    def work(n):
        s = with_python(3)
        for i in range(1, n):
            s += collatz(i)
        return s

    want = with_python(3) + sum(map(collatz, range(1, 2000)))
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(work(2000))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [want] * 4


def test_errors_of_threads() -> None:
    work = numba.njit(nogil=True)(lambda n: quotient(1, n) + collatz(n))
    found: list[str] = []

    def run(n: int) -> None:
        for _ in range(50):
            try:
                work(n)
            except (ExecutionError, ScriptError) as error:
                found.append(str(error).splitlines()[-1])

    threads = [threading.Thread(target=run, args=(n,)) for n in (0, -1, 0, -1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(set(found)) == ["RuntimeError: AssertionError: starts at one", "RuntimeError: division by 0"]
    assert len(found) == 200


@pytest.mark.filterwarnings("ignore")
def test_loops_over_threads() -> None:
    @numba.njit(parallel=True)
    def f(n):
        s = 0
        for i in numba.prange(n):
            s += collatz(i + 1)
        return s

    assert f(300) == sum(map(collatz, range(1, 301)))


@pytest.mark.parametrize("nogil", [False, True])
def test_a_long_loop_is_interrupted(nogil: bool) -> None:
    long = numba.njit(nogil=nogil)(lambda n: spin(n))
    assert long(10) == spin(10)
    started = time.monotonic()
    with interrupted_once(lambda: time.monotonic() - started > 0.1):
        long(1 << 45)


def test_other_threads_run_meanwhile() -> None:
    long = numba.njit(lambda n: spin(n))
    long(1)
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.wait(0.001):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    long(20_000_000)
    done.set()
    thread.join()
    assert turns > 2


def test_a_script_defined_again_is_another_one() -> None:
    def made(step: int) -> tuple[Any, Any]:
        text = f"def step(n: int) -> int:\n  return n + {step}"
        script = flambeau.CompilationUnit(text).step
        return script, numba.njit(lambda n: script(n))

    first, second = made(1), made(2)
    assert (first[1](0), second[1](0)) == (1, 2)
    assert numba.typeof(first[0]) == numba.typeof(first[0]) != numba.typeof(second[0])


def test_scripts_that_numba_met_are_collected() -> None:
    script = flambeau.CompilationUnit("def f(n: int) -> int:\n  return n + 1").f
    assert "script(f(int n) -> int" in str(numba.typeof(script))
    gone = weakref.ref(script)
    del script
    gc.collect()
    assert gone() is None


def test_compiled_functions_keep_the_code_they_call() -> None:
    def made() -> Any:
        script = flambeau.CompilationUnit("def f(n: int) -> int:\n  return n * 3").f
        inner = numba.njit(lambda n: script(n))
        return numba.njit(lambda n: inner(n) + 1)

    f = made()
    assert f(2) == 7
    gc.collect()
    assert f(5) == 16


def test_ufuncs_and_callbacks() -> None:
    length = numba.vectorize(["float64(float64, float64)"])(lambda x, y: hypotenuse(x, y))
    assert length(np.array([3.0, 5.0]), np.array([4.0, 12.0])).tolist() == [5, 13]
    back = numba.cfunc("int64(int64)")(lambda n: collatz(n))
    assert back.ctypes(27) == 111


def test_options_of_the_script_hold() -> None:
    def add(n: int) -> float:
        s = 0.0
        for i in range(n):
            s += 1.0 / (i + 1)
        return s

    for options in ({"fastmath": True}, {"without": ("llvm",)}):
        script = flambeau.script(add, **options)
        call = numba.njit(lambda n: script(n))  # noqa: B023
        assert call(1000) == pytest.approx(add(1000))


def test_wrappers_are_not_the_script() -> None:
    assert numba.typeof(collatz) == numba.typeof(collatz)

    @functools.wraps(collatz)
    def wrapper(n: int) -> int:
        return collatz(n) + 1

    again = flambeau.script(wrapper)
    assert again._numba_type_ != collatz._numba_type_
    assert not hasattr(wrapper, "_numba_type_")


def test_code_is_not_cached_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cached.py"
    path.write_text("import numba\nimport flambeau\n" + "s = flambeau.CompilationUnit('def f(n: int): return n').f\n")
    path.write_text(path.read_text() + "@numba.njit(cache=True)\ndef g(n):\n  return s(n)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import cached  # type: ignore[import-not-found]

    with pytest.warns(numba.NumbaWarning, match="dynamic globals"):
        assert cached.g(3) == 3


def test_refusals_of_arguments() -> None:
    name = "collatz(int n) -> int does not take"
    assert f"{name} (float64) from a function compiled by Numba: 'n' is float64" in refused(lambda x: collatz(x), 1.5)
    assert f"{name} (bool) from a function compiled by Numba: 'n' is bool" in refused(lambda x: collatz(x), True)
    assert "too many positional arguments" in refused(lambda n: collatz(n, n), 1)
    assert f"{name} (m=int64) from a function compiled by Numba" in refused(lambda n: collatz(m=n), 1)
    assert "'up' is int64" in refused(lambda n: parts(n, n), 1)


def test_refusals_of_scripts() -> None:
    unit = flambeau.CompilationUnit(
        "def text(s: str) -> int:\n  return len(s)\n"
        "def words(n: int) -> list[int]:\n  return [n, n]\n"
        "def name(n: int) -> str:\n  return 'n'\n"
    )
    text, words, name = unit.text, unit.words, unit.name
    takes = "calls scripts of int, float, bool and Tensor that return numbers, tensors, tuples of them or None; "
    assert takes in (found := refused(lambda n: text(n), 1))
    assert "text(str s) -> int has parameter 's' of type str" in found
    assert "words(int n) -> int[] has a result of type List[int]" in refused(lambda n: words(n), 1)
    assert "name(int n) -> str" in refused(lambda n: name(n), 1)
    slow = flambeau.script(collatz, backend="interpreter")
    assert "has no native code that Numba could call: its backend is 'interpreter'" in refused(lambda n: slow(n), 1)


def test_other_processors_are_refused() -> None:
    with pytest.raises(numba.core.errors.TypingError, match="which Numba cannot call from here"):
        numba.typeof(collatz).get_call_type(object(), (), {})
