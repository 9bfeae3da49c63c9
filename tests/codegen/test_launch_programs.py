"""Programs that launches are made by: what they compute, and for which calls."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flambeau.codegen import available
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.kernel import parse_kernel
from flambeau.codegen.launches import Launch
from flambeau.codegen.layouts import CELL, LAUNCH, OUTPUT
from flambeau.codegen.llvm.builder import IMPORTED, ModuleBuilder
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.launch_inputs import WordInputs, add_same_numbers
from flambeau.codegen.llvm.recorded_launches import STRIDES, add_recorded
from flambeau.codegen.routines.lying import Lying, is_channels_last
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import best, bits_of, chosen, least, most
from flambeau.codegen.routines.recording import Recordable, SizesSeen, recorded
from flambeau.codegen.runtime import CompiledKernel
from flambeau.util.thread_count import ANY

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
Words = Callable[[Any, Any, Memory], Sequence[Any]]


@cache
def asking() -> Any:
    """``recorded_launch`` as a function of Python's."""
    m = ModuleBuilder({"allocate": "ptr (i64)"})
    add_same_numbers(m)
    WordInputs().add_functions(m)
    add_recorded(m, "allocate")
    f = m.function("ptr ask", "ptr cell", "ptr arguments", "i64 n", exported=True)
    f.ret(f.call("recorded_launch", *f.parameters))
    allocate = ctypes.cast(ctypes.pythonapi.PyMem_RawMalloc, ctypes.c_void_p).value or 0
    code = engine().link(m.text(), ("ask",), {IMPORTED + "allocate": allocate})
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    function = kind(code.addresses["ask"])
    function.code = code  # type: ignore[attr-defined]
    return function


def program_of(words: Words, n: int, m: int) -> InlineCache:
    """A cache with the program of a launch whose block has such words, recorded for two sizes."""

    def make(look: Sequence[Lying], memory: Memory) -> Launch:
        listed = [*words(*look[0].shape, memory)]
        routine: Any = SimpleNamespace(address=1)
        return Launch((), listed, look[0].shape[0], None, routine=routine)

    look = [Lying.dense(np.dtype(np.float32), (n, m))]
    program = recorded(make, look, frozenset({(0, 0), (0, 1), (0, STRIDES)}), ANY)
    assert program is not None
    cache_of_program = InlineCache()
    cache_of_program.add_program(program)
    return cache_of_program


def answer(known: InlineCache, n: int, m: int, count: int) -> tuple[list[int], int] | None:
    """So many words of the block of the launch for two sizes, and how many iterations it has; None where there is no
    program."""
    own = array("q", (0, n, m, 4 * m, 4))
    arguments = array("q", (own.buffer_info()[0],))
    launch = asking()(ctypes.addressof(known.cell), arguments.buffer_info()[0], 1)
    if launch is None:
        return None
    template = LAUNCH.read(launch, "template")
    numbers = (ctypes.c_int64 * count).from_address(template)[:]
    high = LAUNCH.read(launch, "high")
    ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(launch))
    return numbers, high


def arithmetic(n: Any, m: Any, memory: Memory) -> list[Any]:
    near = n - m
    return [
        n + m, 7 - n, n * m * -3, n // 5, near // 5, near % 7, -(-near // 4), 1000 // (m + 1), 1000 % n, abs(near),
        least(n, m, 20), most(n, m, 20), chosen(n < m, n + 1, m + 2), n <= m, n >= m, n == m, n != m, bits_of(n, 4),
        bits_of(n / 3 + 0.5 * m - 1, 8), bits_of(n * m / (m + 1), 4), chosen(n / 3 < m, 1, 0),
        best([(n / m, 1, n), (m / n, 2, m), (1.25, 3, 0)])[1],
    ]  # fmt: skip


@pytest.mark.parametrize("first", [(5, 9), (31, 8)])
def test_numbers_are_those_of_python(first: tuple[int, int]) -> None:
    known = program_of(arithmetic, *first)
    for n in (1, 2, 3, 19, 20, 21, 64, 1_000_003):
        for m in (1, 4, 20, 63, 4096):
            expected = [int(v) for v in arithmetic(n, m, Memory())]
            assert answer(known, n, m, len(expected)) == (expected, n), (n, m)


def test_a_decision_is_a_condition() -> None:
    known = program_of(lambda n, m, memory: [1 if n < m else 2], 3, 8)
    assert answer(known, 5, 6, 1) == ([1], 5)
    assert answer(known, 6, 6, 1) is None
    assert answer(program_of(lambda n, m, memory: [len(range(n)), m], 3, 8), 3, 9, 2) == ([3, 9], 3)
    assert answer(program_of(lambda n, m, memory: [len(range(n)), m], 3, 8), 4, 9, 2) is None
    assert answer(program_of(lambda n, m, memory: [{8: 5}[m]], 3, 8), 3, 9, 1) is None
    assert answer(program_of(lambda n, m, memory: [round(float(n)) + m], 3, 8), 4, 9, 1) is None


def test_what_has_no_answer_is_left_to_python() -> None:
    known = program_of(lambda n, m, memory: [100 // (n - m), 100 % (n - m)], 9, 2)
    assert answer(known, 7, 5, 2) == ([50, 0], 7)
    assert answer(known, 5, 5, 2) is None
    assert answer(known, 4, 5, 2) is None


def test_other_strides_are_another_program() -> None:
    known = program_of(lambda n, m, memory: [n], 9, 2)
    own = array("q", (0, 5, 6, 24, 8))
    arguments = array("q", (own.buffer_info()[0],))
    assert asking()(ctypes.addressof(known.cell), arguments.buffer_info()[0], 1) is None
    assert asking()(ctypes.addressof(known.cell), arguments.buffer_info()[0], 2) is None


def tables(n: Any, m: Any, memory: Memory) -> list[Any]:
    short = memory.table(np.int32, n * m + 3, [Filling(0, 5, m, 2, 1, n, -7, m), Filling(n * m, -1, 3)])
    listed = memory.table(np.int64, 3 * n, [Filling(0, (m, 4, n + 1), 3, 0, 1, n, 10, 3)])
    pairs = memory.table(np.int64, 2 * n, [Filling(0, short, n, 4, 2), Filling(1, n, n, 0, 2)])
    return [short, listed, pairs, memory.words([n, 8, short])]


def read_tables(words: Sequence[int], n: int, m: int) -> list[list[int]]:
    """What is in the tables, addresses as distances from the first one."""
    short = (ctypes.c_int32 * (n * m + 3)).from_address(words[0])[:]
    listed = (ctypes.c_int64 * (3 * n)).from_address(words[1])[:]
    pairs = (ctypes.c_int64 * (2 * n)).from_address(words[2])[:]
    last = (ctypes.c_int64 * 3).from_address(words[3])[:]
    return [short, listed, [v - words[0] * (k % 2 == 0) for k, v in enumerate(pairs)], [*last[:2], last[2] - words[0]]]


def test_tables_are_those_of_python() -> None:
    known = program_of(tables, 3, 4)
    for n, m in ((1, 1), (2, 9), (17, 3), (6, 50)):
        memory = Memory()
        expected = read_tables(tables(n, m, memory), n, m)
        own = array("q", (0, n, m, 4 * m, 4))
        arguments = array("q", (own.buffer_info()[0],))
        launch = asking()(ctypes.addressof(known.cell), arguments.buffer_info()[0], 1)
        words = (ctypes.c_int64 * 4).from_address(LAUNCH.read(launch, "template"))[:]
        assert read_tables(words, n, m) == expected
        ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(launch))


def test_what_takes_ints_alone_has_no_program() -> None:
    def make(look: Sequence[Lying], memory: Memory) -> Launch:
        return Launch((), ["no number"], look[0].shape[0], None)  # type: ignore[list-item]

    look = [Lying.dense(np.dtype(np.float32), (3,))]
    assert recorded(make, look, frozenset({(0, 0)}), ANY) is None
    assert Recordable(make)([np.zeros(3, np.float32)]).high == 3


def test_a_program_for_one_size_is_none() -> None:
    def make(look: Sequence[Lying], memory: Memory) -> Launch:
        routine: Any = SimpleNamespace(address=1)
        return Launch((), [len(range(n)) for n in look[0].shape], 1, None, routine=routine)

    look = [Lying.dense(np.dtype(np.float32), (3, 4))]
    assert recorded(make, look, frozenset({(0, 0), (0, STRIDES)}), ANY) is None
    assert recorded(make, look, frozenset({(0, 0), (0, 1), (0, STRIDES)}), ANY) is None


def test_sizes_that_differ_are_inputs() -> None:
    seen, one = SizesSeen(), np.dtype(np.float32)
    assert not seen.changes_with([Lying.dense(one, (2, 3))])
    assert not seen.changes_with([Lying.dense(one, (2, 3))])
    assert seen.changes_with([Lying.dense(one, (4, 3))]) == {(0, 0)}
    assert seen.changes_with([Lying.dense(one, (2, 5))]) == {(0, 0), (0, 1), (0, STRIDES)}
    for n in range(64):
        seen.changes_with([Lying.dense(one, (7 + n, 3))])
    assert not seen.changes_with([Lying.dense(one, (100, 3))]), "recording does not help"


def test_how_arrays_lie() -> None:
    x = np.zeros((2, 3, 4, 5), np.float32)
    turned = x.transpose(0, 2, 3, 1)
    for a in (x, turned, x[:, :, ::2], x[:1], x[..., :0], np.zeros((2, 5, 4, 3), np.float32).transpose(0, 3, 2, 1)):
        lying = Lying.of(a)
        assert lying.is_dense() == a.flags.c_contiguous
        assert lying.size == a.size
        last = a.transpose(0, 2, 3, 1).flags.c_contiguous
        assert is_channels_last(lying) == (last and not a.flags.c_contiguous)


def test_storages_are_there_once_python_calls() -> None:
    kernel = parse_kernel("kernel f {\n  axes d0\n  in x: float32[d0]\n  out y: float32[d0]\n  for d0 {\n"
                          "    %0: float32 = load x[d0]\n    store y[d0], %0\n  }\n}")  # fmt: skip
    compiled, known = CompiledKernel(kernel), InlineCache(has_entry=False)
    compiled.call_and_keep([np.zeros(8, np.float32)], known)
    record = LAUNCH.read(known.cell[CELL.word("launches")], "outputs")
    assert OUTPUT.read(record, "ready") == 0
    known.note_entry()
    assert OUTPUT.read(record, "ready") != 0
