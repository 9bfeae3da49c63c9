"""How stubs look at the inputs of launches: objects of NumPy's where Python calls, words where compiled graphs do.

Each kind of inputs adds the same functions to a module, so that search, sizes and patterns are built once:
``matches(input, record)``, whether an input looks as a launch's record says; ``looks_like``, the same for the records
of patterns; ``dims_of(input)`` and ``strides_of(input, rank)``, addresses of numbers; ``data_of(input)``, the address
of the elements, or that of a number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from flambeau.codegen.layouts import IDENTITY, INPUT, STATIC, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, WRITEABLE
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE
from flambeau.codegen.llvm.emitter import Value


class LaunchInputs(ABC):
    """A kind of inputs."""

    checks_count: bool
    """Whether a call may have another number of inputs than launches."""

    @abstractmethod
    def add_functions(self, m: ModuleBuilder) -> None:
        """Add the functions that look at one input."""


def add_same_numbers(m: ModuleBuilder) -> None:
    """Add ``same_numbers(a, b, n)``."""
    f = m.function("i1 same_numbers", "ptr a", "ptr b", "i64 n", attributes="alwaysinline")
    a, b, n = f.parameters
    with f.loop(n) as k:
        f.return_unless(f.compare("eq", f.word_of(a, k), f.word_of(b, k)), FALSE)
    f.ret(TRUE)


class ArrayInputs(LaunchInputs):
    """NumPy's arrays, Python's numbers, and objects that decide by being the very ones."""

    checks_count = True

    def __init__(self, layouts: ObjectLayouts) -> None:
        self._object, self._array = layouts.object, layouts.array

    def add_functions(self, m: ModuleBuilder) -> None:
        """Also adds ``is_writeable(array)``."""
        self._add_matches(m)
        f = m.function("i1 looks_like", "ptr argument", "ptr record", attributes="alwaysinline")
        f.ret(f.call("matches", *f.parameters))
        for name, kind in (("dims", "ptr"), ("strides", "ptr"), ("data", "i64")):
            parameters = ("ptr array", "i64 rank") if name == "strides" else ("ptr array",)
            f = m.function(f"{kind} {name}_of", *parameters, attributes="alwaysinline")
            f.ret(f.get(f.parameters[0], self._array, name, kind))
        f = m.function("i1 is_writeable", "ptr array", attributes="alwaysinline")
        f.ret(f.compare("ne", f.op("and", f.get(f.parameters[0], self._array, "flags"), WRITEABLE), 0))

    def _add_matches(self, m: ModuleBuilder) -> None:
        f = m.function("i1 matches", "ptr array", "ptr record", attributes="alwaysinline")
        array, record = f.parameters
        kind, descr = f.get(array, self._object, "type"), f.get(record, INPUT, "descr")
        with f.when(f.is_null(descr)):
            is_identity = f.compare("eq", f.get(record, INPUT, "rank"), IDENTITY)
            looked_at = f.pick(is_identity, array, kind, "ptr")
            f.ret(f.compare("eq", looked_at, f.get(record, INPUT, "dims")))
        f.return_unless(f.compare("eq", kind, m.symbol("ndarray")), FALSE)
        rank = f.convert("sext", f.get(array, self._array, "rank"), "i64")
        aligned = f.op("and", f.get(array, self._array, "flags"), ALIGNED)
        fits = f.all_of(
            f.compare("eq", f.get(array, self._array, "descr"), descr),
            f.compare("eq", rank, f.get(record, INPUT, "rank")),
            f.compare("ne", aligned, 0),
        )
        f.return_unless(fits, FALSE)
        f.return_if(f.is_null(f.get(record, INPUT, "dims")), TRUE)
        same = [
            f.call("same_numbers", f.get(array, self._array, name), f.get(record, INPUT, name), rank)
            for name in ("dims", "strides")
        ]
        f.ret(f.all_of(*same))


class WordInputs(LaunchInputs):
    """Values of compiled graphs: their words from the address of the elements on, or that of a number. Of what a group
    is told: the address of the numbers, and how many there are.
    """

    checks_count = False

    def add_functions(self, m: ModuleBuilder) -> None:
        """Element types and ranks are those that the code was made for: only sizes and strides are looked at."""
        f = m.function("ptr dims_of", "ptr words", attributes="alwaysinline")
        f.ret(f.at(f.parameters[0], 1))
        f = m.function("ptr strides_of", "ptr words", "i64 rank", attributes="alwaysinline")
        f.ret(f.at(f.at(f.parameters[0], 1), f.parameters[1]))
        f = m.function("i64 data_of", "ptr words", attributes="alwaysinline")
        f.ret(f.load(f.parameters[0]))
        f = m.function("i1 looks_like", "ptr words", "ptr record", attributes="alwaysinline")
        f.ret(TRUE)
        f = m.function("i1 matches", "ptr words", "ptr record", attributes="alwaysinline")
        words, record = f.parameters
        rank, dims = f.get(record, INPUT, "rank"), f.get(record, INPUT, "dims")
        with f.when(f.is_null(f.get(record, INPUT, "descr"))):
            f.return_if(f.compare("ne", rank, STATIC), TRUE)
            count = f.get(record, INPUT, "strides", "i64")
            f.return_unless(f.compare("eq", f.word_of(words, 1), count), FALSE)
            f.ret(f.call("same_numbers", f.load(words, "ptr"), dims, count))
        f.return_if(f.is_null(dims), TRUE)
        f.return_unless(f.call("same_numbers", f.call("dims_of", words), dims, rank), FALSE)
        f.ret(f.call("same_numbers", f.call("strides_of", words, rank), f.get(record, INPUT, "strides"), rank))


def input_of(f: FunctionBuilder, inputs: Value, records: Value, index: Value) -> tuple[Value, Value]:
    """An input, and what a launch says of it."""
    return f.word_of(inputs, index, "ptr"), f.at(records, f.op("mul", index, INPUT.words))
