"""Launches that another process can take up: numbers, what they point to, and under which keys the cache has code.

Words of a launch may be addresses, of tables that were made for it and of functions. What is one is found by making the
launch once more beside the first: an address of a table differs between the two, and says in both the same place of one
table; an address of a function is one that linked code says it has. A word that is neither, and might be an address,
means that the launch cannot be kept.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import threads
from flambeau.codegen.inline_cache import Published
from flambeau.codegen.kept_codes import CodeWriter, KeptCode, NotKeptError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, memory_imports
from flambeau.codegen.products import Tiling
from flambeau.codegen.routines.table import Routine
from flambeau.codegen.variants import SYMBOL
from flambeau.util.record import dataclass

MOST_BYTES: Final = 1 << 20
"""Of tables: larger ones are made anew sooner than read."""
_LEAST_ADDRESS, _MOST_ADDRESS = 1 << 32, 1 << 48
"""Between which words might be addresses of code."""
_KINDS: Final = {np.ndarray: "array", int: "int", float: "float", complex: "complex", bool: "bool"}


@dataclass(frozen=True, slots=True)
class KeptTable:
    """Numbers that a launch points to."""

    content: bytes
    pointers: tuple[tuple[int, int, int], ...] = ()
    """Words that are addresses: their places, and of what: the number of a table, and the distance from its start."""
    functions: tuple[tuple[int, int, str], ...] = ()
    """Words that are functions: their places, the number of their code, and the symbol."""


@dataclass(frozen=True, slots=True)
class KeptLaunch:
    """A launch for calls of exactly some sizes and strides."""

    looks: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...]], ...]
    """Of each input its kind, and of its array the dtype, sizes and strides."""
    static: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[tuple[int, ...], str, tuple[int, ...] | None, tuple[int, ...], bool], ...]
    """Of each output the fields of `Output`."""
    words: KeptTable
    tables: tuple[KeptTable, ...]
    codes: tuple[int, ...]
    """Which of the plan's codes; the first is what runs."""
    symbol: str
    pool_at: int
    """Which word is the address of what runs stages on several threads; 0 for none."""
    numbers: tuple[int, int, int, float, int, int, int]
    """The launch's high, step, pieces, nanoseconds, bytes moved, operations and threads."""


def kept_launch(known: Published, again: Callable[[Launch], Launch | None], writer: CodeWriter) -> KeptLaunch:
    """What another process needs of a launch, whose code goes to a writer. Raises NotKeptError where it cannot take it
    up.

    `again` makes a launch once more that a routine made.
    """
    launch = known.launch
    runs = launch.runs
    assert runs is not None
    if launch.variant is not None:
        memory = _Memory(KeptTable(array("q", launch.words).tobytes()), (), (_kernel_code(launch),), SYMBOL)
    else:
        second = again(launch)
        if second is None or not isinstance(launch.routine, Routine):
            raise NotKeptError("what made it is not known")
        memory = _routine_memory(launch, second)
    looks = tuple([(_KINDS[kind], dtype.name, shape, strides) for kind, dtype, shape, strides in known.looks])
    outputs = tuple([(o.shape, o.dtype.name, o.permutation, o.memory_shape, o.large) for o in launch.outputs])
    numbers = (
        launch.high, launch.step, launch.pieces, launch.nanoseconds, launch.bytes_moved, launch.operations,
        launch.threads,
    )  # fmt: skip
    codes = tuple(map(writer.place_of, memory.codes))
    return KeptLaunch(
        looks, known.static, outputs, memory.words, memory.tables, codes, memory.symbol, _pool_at(launch), numbers
    )


def _kernel_code(launch: Launch) -> KeptCode:
    assert launch.variant is not None
    schedule = launch.variant.schedule
    tiling = schedule if isinstance(schedule, Tiling) and schedule.imports() else None
    return KeptCode(launch.variant.code.key, (SYMBOL,), tiling, is_kernel=True)


def _pool_at(launch: Launch) -> int:
    """Which word of a kernel's block is an address."""
    pool = threads.run_address(launch.threads) if launch.is_staged else 0
    indices = [k for k, value in enumerate(launch.words) if pool and value == pool]
    return indices[0] if indices else 0


# -- what routines point to -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    address: int
    content: bytes
    has_words: bool


@dataclass(frozen=True, slots=True)
class _Memory:
    words: KeptTable
    tables: tuple[KeptTable, ...]
    codes: tuple[KeptCode, ...]
    symbol: str


def _routine_memory(launch: Launch, second: Launch) -> _Memory:
    routine, other = launch.routine, second.routine
    assert isinstance(routine, Routine)
    assert isinstance(other, Routine)
    codes = [*{id(c): c for c in (routine.code, *_codes_in(routine.kept))}.values()]
    first, again = ([*_tables_in(r.kept)] for r in (routine, other))
    shapes = [[(len(t.content), t.has_words) for t in tables] for tables in (first, again)]
    if shapes[0] != shapes[1] or sum(len(t.content) for t in first) > MOST_BYTES:
        raise NotKeptError("its tables are too large, or differ from call to call")
    functions = {address: (k, name) for k, code in enumerate(codes) for name, address in code.addresses.items()}
    block = (array("q", launch.words).tobytes(), array("q", second.words).tobytes())
    words = _kept_table(*block, first, again, functions)
    tables = tuple([
        _kept_table(a.content, b.content, first, again, functions) if a.has_words else _plain_table(a, b)
        for a, b in zip(first, again, strict=True)
    ])  # fmt: skip
    symbol = next(name for name, address in routine.code.addresses.items() if address == routine.address)
    return _Memory(words, tables, tuple(map(_routine_code, codes)), symbol)


def _routine_code(code: NativeCode) -> KeptCode:
    if not memory_imports().keys() >= set(code.imports):
        raise NotKeptError("its code is linked with what is not in every process")
    return KeptCode(code.key, tuple(code.addresses))


def _plain_table(table: _Table, other: _Table) -> KeptTable:
    if table.content != other.content:
        raise NotKeptError("a table differs from call to call")
    return KeptTable(table.content)


def _kept_table(
    content: bytes, other: bytes, first: Sequence[_Table], again: Sequence[_Table],
    functions: dict[int, tuple[int, str]],
) -> KeptTable:  # fmt: skip
    """A table of words, with what in it are addresses."""
    pointers: list[tuple[int, int, int]] = []
    launches: list[tuple[int, int, str]] = []
    for at, (value, beside) in enumerate(zip(array("q", content), array("q", other), strict=True)):
        position = _place_of(value, first)
        if position is not None and position == _place_of(beside, again):
            pointers.append((at, *position))
        elif value != beside:
            raise NotKeptError("a word differs from call to call")
        elif value in functions:
            launches.append((at, *functions[value]))
        elif _LEAST_ADDRESS <= value < _MOST_ADDRESS:
            raise NotKeptError("a word may be an address")
    return KeptTable(content, tuple(pointers), tuple(launches))


def _place_of(value: int, tables: Sequence[_Table]) -> tuple[int, int] | None:
    """Which table an address is of, and how far from its start."""
    for number, table in enumerate(tables):
        if 0 <= value - table.address < len(table.content):
            return number, value - table.address
    return None


def _tables_in(kept: Any) -> Iterator[_Table]:
    """The tables that a routine keeps, in order. Raises NotKeptError for anything else, code left aside."""
    if isinstance(kept, tuple | list):
        for item in kept:
            yield from _tables_in(item)
    elif isinstance(kept, ctypes.Array):
        yield _Table(ctypes.addressof(kept), bytes(kept), kept._type_ is ctypes.c_int64)
    elif type(kept) is np.ndarray and kept.flags.c_contiguous:
        yield _Table(kept.__array_interface__["data"][0], kept.tobytes(), kept.dtype == np.int64)
    elif isinstance(kept, array):
        yield _Table(kept.buffer_info()[0], kept.tobytes(), kept.typecode == "q")
    elif kept is not None and not isinstance(kept, NativeCode):
        raise NotKeptError(f"it points to a {type(kept).__name__}")


def _codes_in(kept: Any) -> Iterator[NativeCode]:
    if isinstance(kept, tuple | list):
        for item in kept:
            yield from _codes_in(item)
    elif isinstance(kept, NativeCode):
        yield kept
