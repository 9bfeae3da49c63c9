"""The native call entry: from a Python call to a kernel and back without interpreting a line.

One function serves every kernel; what differs is data. A callable refers to a cell with its newest launch, and launches
are chained. A launch (`layouts.LAUNCH`) describes one pattern of inputs exactly: descriptor, rank, dimensions and
strides of each. The entry compares, allocates the outputs through NumPy's C interface, copies the launch's block of
words, puts in the addresses and jumps into the kernel. Whatever does not match goes to the slow callable, which makes
new launches and raises errors.

Offsets of object fields are arguments: they are probed when the process starts, never assumed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from flambeau.codegen.layouts import (
    CELL,
    INPUT,
    LAUNCH,
    NUMBER_COMPLEX,
    NUMBER_FLOAT,
    NUMBER_INT,
    OUTPUT,
    RELEASE_GIL,
    ObjectLayouts,
)
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE, NUMPY_INTERFACE
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_geometry import FILLED
from flambeau.codegen.llvm.entry_memory import add_allocation
from flambeau.codegen.llvm.entry_patterns import FRAME_WORDS
from flambeau.codegen.llvm.launch_inputs import ArrayInputs
from flambeau.codegen.llvm.launch_search import add_search
from flambeau.codegen.llvm.launch_start import LaunchBlock, add_start
from flambeau.codegen.llvm.recorded_launches import add_recorded

ARGUMENT_COUNT = (1 << 63) - 1
"""The bits of a vectorcall's number of arguments that say how many there are."""


class Results(ABC):
    """What an entry makes of the arrays of a call's results."""

    @abstractmethod
    def add_functions(self, m: ModuleBuilder) -> None:
        """Add ``ready(record)``, a storage whose array can be a result, or null; and ``array_of_storage(storage)``."""

    @abstractmethod
    def deliver(self, f: FunctionBuilder, launch: Value, arrays: Value, storages: Value, n_out: Value) -> None:
        """Return one object of all results; goes to ``lost`` where there is no memory for a tuple, and to ``raise``
        where other memory is lacking and all references are given back.
        """


def entry_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``entry``, a function of the vectorcall signature, on arrays."""
    m = new_module()
    add_attempt(m, layouts, ArrayResults())
    f = m.function("ptr entry", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
    self, args, nargsf, names = f.parameters
    with f.when(f.is_null(names)):
        count = f.op("and", nargsf, ARGUMENT_COUNT)
        answer = f.call("attempt", f.get(self, layouts.callable, "cell"), args, count)
        f.return_if(f.compare("ne", answer, NULL), answer)
    call_slowly(f, layouts)
    return m


def new_module() -> ModuleBuilder:
    """A module that may call the C interfaces of Python and NumPy."""
    return ModuleBuilder(C_INTERFACE | NUMPY_INTERFACE)


def call_slowly(f: FunctionBuilder, layouts: ObjectLayouts) -> None:
    """Return what the slow callable makes of a vectorcall."""
    self, args, nargsf, names = f.parameters
    f.ret(f.call("PyObject_Vectorcall", f.get(self, layouts.callable, "slow"), args, nargsf, names))


def add_attempt(m: ModuleBuilder, layouts: ObjectLayouts, results: Results, *, by_rows: bool = False) -> None:
    """Add ``attempt(cell, arguments, count)``: results; null, with no exception, where it has no launch.

    It has no references to arguments except while other threads run. Only with ``by_rows`` it knows launches that go
    over arrays row by row (see ``entry_geometry``).
    """
    add_search(m, ArrayInputs(layouts), by_rows=by_rows)
    add_allocation(m, layouts)
    add_start(m)
    results.add_functions(m)
    for name, function in (("take_references", "Py_IncRef"), ("drop_references", "Py_DecRef")):
        f = m.function(f"void {name}", "ptr objects", "i64 n")
        with f.loop(f.parameters[1]) as k:
            f.call(function, f.word_of(f.parameters[0], k, "ptr"))
        f.ret()
    if by_rows:
        _add_lies_apart(m)
    else:
        add_recorded(m, "PyMem_RawMalloc")
    _Attempt(m, layouts, results, by_rows=by_rows).build()
    _add_search_and_run(m, by_rows=by_rows)


def _add_lies_apart(m: ModuleBuilder) -> None:
    """Add ``lies_apart(launch, arguments, count)``: whether the first array of a call may be written, and the others,
    of so many elements or of one, either lie elsewhere or just there."""
    f = m.function("i1 lies_apart", "ptr launch", "ptr args", "i64 count")
    launch, args, count = f.parameters
    records, target = f.get(launch, LAUNCH, "inputs"), f.load(args, "ptr")
    f.return_unless(f.call("is_writeable", target), FALSE)
    start = f.call("data_of", target)
    end = f.op("add", start, f.op("mul", count, f.get(records, INPUT, "strides", "i64")))
    with f.loop(f.get(launch, LAUNCH, "n_in")) as k:
        record = f.at(records, f.op("mul", k, INPUT.words))
        with f.when(f.compare("ne", f.get(record, INPUT, "descr"), NULL)):
            here, itemsize = f.call("data_of", f.word_of(args, k, "ptr")), f.get(record, INPUT, "strides", "i64")
            is_one = f.compare("eq", f.get(record, INPUT, "rank"), 0)
            there = f.op("add", here, f.op("mul", f.pick(is_one, 1, count), itemsize))
            is_elsewhere = f.op("or", f.compare("uge", here, end), f.compare("uge", start, there))
            is_same = f.op("and", f.compare("eq", here, start), f.compare("eq", there, end))
            f.return_unless(f.op("or", is_elsewhere, is_same), FALSE)
    f.ret(TRUE)


def _add_search_and_run(m: ModuleBuilder, *, by_rows: bool) -> None:
    """Add ``attempt``, which asks ``run_launch``."""
    f = m.function("ptr attempt", "ptr cell", "ptr args", "i64 n")
    cell, args, n = f.parameters
    shape_slot, count_slot = f.slot("ptr", 8), f.slot("i64", 8)
    frame = f.slot(f"[{FRAME_WORDS} x i64]", 16)
    launch = f.call("find_launch", cell, args, n, shape_slot, count_slot, frame)
    with f.when(f.is_null(launch)):
        if by_rows:
            f.ret(NULL)
        else:
            recorded = f.call("recorded_launch", cell, args, n)
            f.return_if(f.is_null(recorded), NULL)
            answer = f.call("run_launch", cell, recorded, args, n, NULL, word(-1))
            f.call("PyMem_RawFree", recorded)
            f.ret(answer)
    # A launch of nothing: NumPy gives arrays without elements other strides than operators do.
    f.return_if(f.is_null(f.get(launch, LAUNCH, "kernel")), NULL)
    f.ret(f.call("run_launch", cell, launch, args, n, f.load(shape_slot, "ptr"), f.load(count_slot)))


class _Attempt:
    """The building of ``run_launch(cell, launch, arguments, n, shape, count)``: results by a launch, or null."""

    def __init__(self, m: ModuleBuilder, layouts: ObjectLayouts, results: Results, *, by_rows: bool) -> None:
        self.f = f = m.function(
            "ptr run_launch", "ptr cell", "ptr launch", "ptr args", "i64 n", "ptr shape", "i64 count"
        )
        self.layouts, self.results, self.by_rows = layouts, results, by_rows
        self.cell, self.launch, self.args, self.n, self.shape, self.count = f.parameters
        self.error = f.slot("i32", 4)

    def build(self) -> None:
        """Fill, allocate, launch, deliver."""
        f = self.f
        self.block = LaunchBlock(f, self.launch, self.count, self.error)
        self.n_out = self.block.n_out
        self.arrays, self.storages = f.array("ptr", self.n_out), f.array("ptr", self.n_out)
        self.numbers = f.array("i64", f.op("mul", self.block.n_in, 2))
        self.block.put_inputs(self.args, self.data_of)
        if self.by_rows:
            self.put_target()
        self.make_outputs()
        self.run()
        with f.when(f.compare("ne", f.load(self.error, "i32"), 0)):
            self.drop_results(self.n_out)
            f.ret(NULL)
        served = f.field(self.cell, CELL, "served")
        f.define(f"atomicrmw add ptr {served}, i64 1 monotonic", "i64")
        self.results.deliver(f, self.launch, self.arrays, self.storages, self.n_out)
        f.start("lost", falls_through=False)
        self.drop_results(self.n_out)
        f.start("raise")  # the slow callable meets the lack of memory again
        f.call("PyErr_Clear")
        f.ret(NULL)

    def data_of(self, value: Value, record: Value, number: Value) -> Value:
        """The address of an array's elements, or of a number, which is read."""
        f = self.f
        is_number = f.is_null(f.get(record, INPUT, "descr"))
        return f.choose(is_number, lambda: self.read_number(value, record, number), lambda: f.call("data_of", value))

    def read_number(self, value: Value, record: Value, number: Value) -> Value:
        """The address of a Python number; 0 for another object, which decides by being there."""
        f = self.f
        slot = f.at(self.numbers, f.op("mul", number, 2))
        address = f.convert("ptrtoint", slot, "i64")
        before, done = f.block, f.label("read")
        is_float, is_int, is_complex = f.label("float"), f.label("int"), f.label("complex")
        kinds = {NUMBER_FLOAT: is_float, NUMBER_INT: is_int, NUMBER_COMPLEX: is_complex}
        f.switch(f.get(record, INPUT, "rank"), done, kinds)
        f.start(is_float)
        f.store(slot, f.call("PyFloat_AsDouble", value))
        f.branch(done)
        f.start(is_complex)
        f.store(slot, f.call("PyComplex_RealAsDouble", value))
        f.store(f.at(slot, 1), f.call("PyComplex_ImagAsDouble", value))
        f.branch(done)
        f.start(is_int)
        f.store(slot, f.call("PyLong_AsLongLongAndOverflow", value, self.error))
        f.return_unless(f.compare("eq", f.load(self.error, "i32"), 0), NULL)
        end = f.block
        f.start(done)
        return f.joined_value([(word(0), before), (address, is_float), (address, is_complex), (address, end)])

    def put_target(self) -> None:
        """The address of the first argument, where the result is written into it."""
        f = self.f
        with f.when(f.compare("eq", f.get(self.launch, LAUNCH, "geometry"), FILLED)):
            f.return_unless(f.call("lies_apart", self.launch, self.args, self.count), NULL)
            self.block.put_output(word(0), f.call("data_of", f.load(self.args, "ptr")))

    def make_outputs(self) -> None:
        """Arrays of the results, and their addresses into the block."""
        f = self.f
        room = f.slot(f"[{OUTPUT.words} x i64]", 8)
        records = f.get(self.launch, LAUNCH, "outputs")
        with f.loop(self.n_out) as k:
            plain = f.at(records, f.op("mul", k, OUTPUT.words))
            record = f.call("sized", plain, room, self.shape, self.count)
            storage = f.call("ready", record)
            f.set_word(self.storages, k, storage)
            array = f.choose(
                f.is_null(storage), lambda: f.call("allocate", record), lambda: f.call("array_of_storage", storage)
            )
            f.set_word(self.arrays, k, array)
            with f.when(f.is_null(array)):
                self.drop_results(k)
                f.branch("raise")
            self.block.put_output(k, f.call("data_of", array))

    def run(self) -> None:
        """The kernel; without the GIL if that pays, while there are references to the arguments."""
        f = self.f
        inside, outside, done = f.label("inside"), f.label("outside"), f.label("ended")
        flag = f.op("and", f.get(self.launch, LAUNCH, "flags"), RELEASE_GIL)
        f.branch_if(f.compare("ne", flag, 0), outside, inside)
        f.start(outside)
        f.call("take_references", self.args, self.n)
        state = f.call("PyEval_SaveThread")
        f.call("start", self.launch, self.block.address, self.count)
        f.call("PyEval_RestoreThread", state)
        f.call("drop_references", self.args, self.n)
        f.branch(done)
        f.start(inside)
        f.call("start", self.launch, self.block.address, self.count)
        f.start(done)

    def drop_results(self, count: Value) -> None:
        """Give back what has been made so far."""
        for objects in (self.arrays, self.storages):
            self.f.call("drop_references", objects, count)


def pack_tuple(f: FunctionBuilder, count: Value, item: Callable[[Value], Value]) -> tuple[Value, Value]:
    """A tuple of new references, and whether one of them is null; goes to ``lost`` where there is no tuple."""
    result = f.call("PyTuple_New", count)
    f.require(f.compare("ne", result, NULL), "lost")
    broken = f.variable(word(0))
    with f.loop(count) as k:
        value = item(k)
        f.store(broken, f.op("or", f.load(broken), f.convert("zext", f.is_null(value), "i64")))
        f.call("PyTuple_SetItem", result, k, value)
    return result, f.compare("ne", f.load(broken), 0)


class ArrayResults(Results):
    """Arrays themselves, or a tuple of several."""

    def add_functions(self, m: ModuleBuilder) -> None:
        """Arrays are always new."""
        for head, parameter in (("ptr ready", "ptr record"), ("ptr array_of_storage", "ptr storage")):
            m.function(head, parameter, attributes="alwaysinline").ret(NULL)

    def deliver(self, f: FunctionBuilder, launch: Value, arrays: Value, storages: Value, n_out: Value) -> None:
        """The array, or a tuple of all."""
        with f.when(f.compare("eq", n_out, 1)):
            f.ret(f.load(arrays, "ptr"))
        result, _ = pack_tuple(f, n_out, lambda k: f.word_of(arrays, k, "ptr"))
        f.ret(result)
