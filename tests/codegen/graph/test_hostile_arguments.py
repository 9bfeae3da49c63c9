"""What native code of whole graphs makes of wrong and strange input, of too little memory, and of other failures."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.llvm.compiler import Compiler, NativeError
from flambeau.codegen.llvm.object_cache import SUFFIX
from flambeau.tensor.tensor import view_of
from flambeau.util.errors import ExecutionError
from tests.codegen.graph.one_meaning import agree, functions, outcome, same

SUMS = """
def g(x: Tensor, i: int) -> float:
    return float(x[i])

def f(x: Tensor, y: Tensor, n: int) -> float:
    t = 0.0
    for i in range(n):
        y[i] = x[i] * 2
        t += g(x, i + 1)
    return t
"""
ADDS = """
def f(x: Tensor, y: Tensor) -> Tensor:
    for i in range(x.size(0)):
        y[i] += x[i]
    return y
"""


def numbers(n: int, dtype: str = "float64") -> Any:
    return np.arange(n).astype(dtype) + 1


def given(*arrays: Any) -> tuple[Any, ...]:
    return tuple([flambeau.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays])


# -- indexes ----------------------------------------------------------------------------------------------------------


def test_an_index_out_of_range_in_a_callee() -> None:
    agree(SUMS, lambda: given(numbers(5), np.zeros(9), 9))
    agree(SUMS, lambda: given(numbers(9), np.zeros(3), 9))
    f = flambeau.CompilationUnit(SUMS).f
    for x in (flambeau.ones(5), flambeau.ones(5), np.ones(5, np.float32)):
        y = np.zeros(9, np.float32)
        with pytest.raises(ExecutionError) as caught:
            f(x, y, 9)
        text = str(caught.value)
        assert "select(): index 5 out of range for tensor of size [5] at dimension 0" in text
        assert [line.strip() for line in text.splitlines() if "File" in line] == [
            'File "<string>", line 9, in f', 'File "<string>", line 3, in g',
        ]  # fmt: skip
        assert [line for line in text.splitlines() if "~" in line] == [
            "             ~ <--- HERE", "                 ~~~~ <--- HERE",
        ]  # fmt: skip
        assert y.tolist() == [2.0] * 5 + [0.0] * 4
    assert f._executor.plans[0].compiled.calls >= 2  # type: ignore[union-attr]


@pytest.mark.parametrize("start", [-3, -4, 2, -(1 << 63), (1 << 63) - 1])
def test_indexes_from_the_end_and_far_away(start: int) -> None:
    source = """
def f(x: Tensor, start: int) -> float:
    t = 0.0
    for i in range(3):
        x[start - i + 1, -1] = i
        t += float(x[start + i, -2])
    return t
"""
    agree(source, lambda: given(numbers(12).reshape(4, 3), start))


# -- what calls are given ---------------------------------------------------------------------------------------------


def in_iteration(source: str, calls: list[Callable[[], tuple[Any, ...]]], rounds: int = 2) -> Any:
    """The same function called with one after the other, several times, natively and by the interpreter."""
    by = functions(source)
    for _ in range(rounds):
        for number, arguments in enumerate(calls):
            same(outcome(by["native"], arguments()), outcome(by["interpreter"], arguments()), f"call {number}")
    return by["native"]


def test_sizes_dtypes_and_strides_change_between_calls() -> None:
    def call(n: int, m: int, dtype: str = "float64", step: int = 1) -> Callable[[], tuple[Any, ...]]:
        return lambda: given(numbers(n * m * step, dtype)[::step].reshape(n, m), numbers(n * m, dtype).reshape(n, m))

    calls = [
        call(3, 4), call(4, 3), call(1, 4), call(4, 1), call(1, 1), call(0, 4), call(4, 0), call(3, 4, "float32"),
        call(3, 4, "int32"), call(2, 6, step=2), lambda: given(numbers(12).reshape(3, 4).T, numbers(12).reshape(4, 3)),
        lambda: given(numbers(3), numbers(3)), lambda: given(numbers(3), numbers(4)), call(3, 4),
        lambda: given(numbers(4), numbers(12).reshape(4, 3)), lambda: given(numbers(12).reshape(3, 4), numbers(4)),
    ]  # fmt: skip
    in_iteration(ADDS, calls)


def views() -> dict[str, Callable[[], tuple[Any, ...]]]:
    def tensors(first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor]) -> Callable[[], tuple[Any, ...]]:
        def arguments() -> tuple[Any, ...]:
            base = flambeau.from_numpy(numbers(12).reshape(4, 3))
            return first(base), second(base)

        return arguments

    def arrays(first: Any, second: Any) -> Callable[[], tuple[Any, ...]]:
        def arguments() -> tuple[Any, ...]:
            base = numbers(12)
            return given(base[first], base[second])

        return arguments

    return {
        "one": tensors(lambda x: x, lambda x: x),
        "shifted": tensors(lambda x: x[1:], lambda x: x[:-1]),
        "shifted back": tensors(lambda x: x[:-1], lambda x: x[1:]),
        "turned": tensors(lambda x: x[:3].t(), lambda x: x[1:]),
        "elements": tensors(lambda x: x[:, 0], lambda x: x[0, :1].expand(4)),
        "onto themselves": tensors(lambda x: x[:, 0], lambda x: view_of(x, (4,), (0,), 5)),
        "overlapping rows": tensors(lambda x: x, lambda x: view_of(x, (4, 3), (1, 1), 0)),
        "arrays": arrays(slice(1, None), slice(None, -1)),
        "arrays the other way": arrays(slice(None, -1), slice(1, None)),
    }


def test_arguments_that_overlap() -> None:
    in_iteration(ADDS, list(views().values()), 3)


def test_a_write_is_seen_through_every_argument_on_its_storage() -> None:
    agree(ADDS, lambda: (lambda x: (x[1:], x[:-1]))(flambeau.from_numpy(numbers(5))))
    source = """
def f(pair: Tuple[Tensor, Tensor], other: Optional[Tensor]) -> float:
    t = 0.0
    for i in range(3):
        pair[1][i] = i
        t += float(pair[0][i])
    return t
"""
    function = functions(source)["native"]
    for _ in range(4):
        x, y, z = (flambeau.ones(3) for _ in range(3))
        versions = x._version, y._version, z._version
        assert function((x, y), z) == 3.0
        assert (y._version > versions[1], z._version) == (True, versions[2])
        assert y.tolist() == [0.0, 1.0, 2.0]
    agree(source, lambda: ((lambda x: (x, x))(flambeau.ones(3)), None))


def test_read_only_arrays() -> None:
    def fixed() -> Any:
        array = numbers(4)
        array.flags.writeable = False
        return array

    for source, calls in (
        (ADDS, [lambda: (fixed(), numbers(4)), lambda: (numbers(4), fixed()), lambda: (numbers(0), fixed())]),
        ("def f(p: Tuple[Tensor, int]) -> float:\n    t = 0.0\n    for i in range(3):\n        t += float(p[0][i])\n"
         "        p[0][i] = t\n    return t\n", [lambda: ((numbers(4), 1),), lambda: ((fixed(), 1),)]),
    ):  # fmt: skip
        by = functions(source)
        for _ in range(3):
            for arguments in calls:
                mine, theirs = arguments(), arguments()
                found, expected = outcome(by["native"], mine), outcome(by["interpreter"], theirs)
                assert found[:2] == expected[:2] or len(found) == 4
                same(found[:1] + found[2:3], expected[:1] + expected[2:3], "native code")
                assert repr(mine) == repr(theirs)
        assert by["native"]._executor.plans[0].compiled.calls  # type: ignore[union-attr]


def test_swapped_unaligned_and_turned_arrays() -> None:
    def swapped() -> Any:
        return numbers(4).astype(">f8")

    def unaligned() -> Any:
        array = np.zeros(33, np.uint8)[1:].view(np.float64)
        array[...] = numbers(4)
        assert not array.flags.aligned
        return array

    def field() -> Any:
        array = np.zeros(4, "f8,u1")["f0"]
        array[...] = numbers(4)
        return array

    makers = [swapped, unaligned, field, lambda: numbers(8)[::-2], lambda: np.broadcast_to(numbers(1), 4)]
    by = functions(ADDS)
    for _ in range(3):
        for make in makers:
            for flip in (False, True):
                kinds = []
                for backend in ("native", "interpreter"):
                    pair = (make(), numbers(4)) if not flip else (numbers(4), make())
                    try:
                        result: Any = by[backend](*pair).tolist()
                    except Exception as error:
                        result = type(error), str(error)
                    kinds.append((result, [a.tolist() for a in pair]))
                assert kinds[0] == kinds[1]


def test_tensors_without_elements_or_axes() -> None:
    calls = [
        lambda: given(np.zeros(0), np.zeros(0)), lambda: given(np.zeros((0, 3)), np.zeros((0, 3))),
        lambda: given(np.zeros((3, 0)), np.zeros((3, 0))), lambda: given(np.zeros(0), np.ones(3)),
        lambda: given(np.ones(3), np.zeros(0)), lambda: given(np.array(1.0), np.array(2.0)),
        lambda: given(np.ones(2), np.array(2.0)),
    ]  # fmt: skip
    in_iteration(ADDS, calls, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", [(0,), (0, 2), (2, 0), (3, 0, 2)])
def test_results_without_elements_have_the_strides_of_others(sizes: tuple[int, ...]) -> None:
    fused = "def f(x: Tensor, y: Tensor) -> Tensor:\n    return flambeau.tanh(x * 2 + y)\n"
    in_iteration(fused, [lambda: (flambeau.zeros(*sizes), flambeau.ones(*sizes))], 4)
    assert (flambeau.zeros(*sizes) + 1).stride() == flambeau.zeros(*sizes).stride()


def test_objects_of_other_types_on_the_way() -> None:
    f = flambeau.CompilationUnit(SUMS).f
    x, y = numbers(5), np.zeros(4)
    for _ in range(3):
        assert f(x, y, 4) == 14.0
    wrong: list[tuple[Any, ...]] = [
        (x, y, "4"), (x, None, 4), ([1.0], y, 4), (x, y, 4.5), (x, y), (x, y, 4, 4), (x, y, 1 << 70), (object(), y, 4),
    ]  # fmt: skip
    texts = []
    for _ in range(2):
        for arguments in wrong:
            with pytest.raises(Exception) as caught:  # noqa: PT011  (compared below)
                f(*arguments)
            texts.append((type(caught.value), str(caught.value).partition(" object at")[0]))
        assert f(x, y, np.int64(4)) == f(x, y, True + 3) == 14.0
    assert texts[: len(wrong)] == texts[len(wrong) :]
    assert f(x.astype(np.float32), y, 4) == 14.0
    assert f(flambeau.tensor(x.tolist()).requires_grad_(), y, 4) == 14.0


# -- memory runs out --------------------------------------------------------------------------------------------------

HUGE = """
def f(x: Tensor, n: int) -> Tensor:
    parts: List[Tensor] = []
    for i in range(3):
        x[i] = i
        parts.append(x * 2)
    return flambeau.zeros([n, 1 << 20])
"""


def test_memory_that_is_not_there() -> None:
    f = flambeau.CompilationUnit(HUGE).f
    before = resident()
    for n in (1 << 40, 1 << 24, -1, (1 << 63) - 1):
        for _ in range(4):
            x = flambeau.ones(100_000)
            with pytest.raises((MemoryError, RuntimeError)):
                f(x, n)
            assert x.tolist()[:4] == [0.0, 1.0, 2.0, 1.0]
    assert resident() - before < 8 << 20
    assert f(flambeau.ones(3), 2).shape == (2, 1 << 20)


def test_sizes_whose_product_is_no_int() -> None:
    source = """
def f(x: Tensor, n: int) -> Tensor:
    for i in range(x.size(0)):
        x[i] = i
    return x.view([n, n])
"""
    agree(source, lambda: given(np.ones(0), 1 << 32))
    agree(source, lambda: given(np.ones(4), 2))
    agree(source, lambda: given(np.ones(4), -2))


def resident() -> int:
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") if path.exists() else 0


# -- LLVM and the cache -----------------------------------------------------------------------------------------------


def test_code_that_llvm_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> bytes:
        raise NativeError("LLVM refused a module: made up\nat some line")

    with monkeypatch.context() as patch:
        patch.setenv("FLAMBEAU_CACHE", "off")
        patch.setattr(Compiler, "compile", refuse)
        f = flambeau.CompilationUnit(ADDS).f
        with pytest.warns(RuntimeWarning, match="(?s)native code for f could.*refused.*report") as caught:
            assert f(numbers(3), np.zeros(3)).tolist() == [1.0, 2.0, 3.0]
        assert len(caught) == 1
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = np.zeros(3)
            for iteration in range(3):
                assert f(numbers(3), y).tolist() == [iteration + 1.0, iteration * 2 + 2.0, iteration * 3 + 3.0]
        assert "LLVM refused a module: made up" in str(f.explain())
    f = flambeau.CompilationUnit(ADDS).f
    assert f(numbers(3), np.zeros(3)).tolist() == [1.0, 2.0, 3.0]
    assert f._executor.plans[0].compiled.variants  # type: ignore[union-attr]


PROGRAM = f"""
import sys, flambeau
from flambeau import Tensor
f = flambeau.CompilationUnit({ADDS!r}).f
for n in range(2, 6):
    assert f(flambeau.ones(n), flambeau.ones(n)).tolist() == [2.0] * n
plan = f._executor.plans[0].compiled
print(plan.variants[0].code.is_from_cache, plan.calls)
"""


def run_all(cache: Path, count: int = 1) -> list[str]:
    """The program in processes that run at once, on one cache."""
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("FLAMBEAU_CACHE", None)
    command = [sys.executable, "-c", PROGRAM]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    answers = []
    for process in running:
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
        answers.append(out.split()[0])
    return answers


def test_damaged_files_and_two_writers_of_the_cache(tmp_path: Path) -> None:
    run_all(tmp_path, 2)
    assert run_all(tmp_path) == ["True"]
    files = sorted(p for p in tmp_path.rglob("*") if p.suffix == SUFFIX)
    whole = {p: p.read_bytes() for p in files}
    damage = [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"\x7fELF" + b[4:], lambda b: b[:-9] + b"ninebytes"]
    for number, path in enumerate(files):
        path.write_bytes(damage[number % 4](whole[path]))
    assert run_all(tmp_path) == ["False"]
    assert run_all(tmp_path) == ["True"]
    after = {p for p in tmp_path.rglob("*") if p.suffix == SUFFIX}
    assert after == set(files)
