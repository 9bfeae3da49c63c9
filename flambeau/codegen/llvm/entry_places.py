"""The native entries of kernels that put elements elsewhere as they are: several tensors together, or what lies at
places that tensors name. They serve tensors of any sizes up to a bound, and any dtype.

What NumPy would promote, refuse or find empty goes to the slow callable, which says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_CONTIGUOUS
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import new_module
from flambeau.codegen.llvm.entry_copies import COPIES, add_copied
from flambeau.codegen.llvm.entry_losses import LOSSES, add_losses
from flambeau.codegen.llvm.entry_memory import add_make_array
from flambeau.codegen.llvm.picked_arrays import MOST_BYTES, add_picks
from flambeau.codegen.llvm.strided_copies import MOST_AXES, add_copies
from flambeau.codegen.llvm.tensor_entry import TensorEntry, any_entry
from flambeau.codegen.llvm.tensor_objects import add_constructors

JOINS: Final = ("cat", "stack")
PICKS: Final = ("index_select", "embedding", "index", "take", "gather")
_ALL: Final = (*JOINS, *PICKS, *LOSSES, *COPIES)
PLACES: Final = (*_ALL, *map(any_entry, _ALL))
"""The functions of the module."""
MOST_PARTS: Final = 1 << 10
"""Tensors that are put together."""


def places_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``PLACES``, functions of the vectorcall signature."""
    m = new_module()
    add_make_array(m)
    add_constructors(m, layouts)
    add_copies(m)
    add_picks(m, layouts)
    add_losses(m, layouts)
    add_copied(m, layouts)
    for is_plain in (True, False):
        for name in JOINS:
            _Join(m, layouts, is_plain=is_plain).build(name, name if is_plain else any_entry(name))
        for name in PICKS:
            _Pick(m, layouts, is_plain=is_plain).build(name, name if is_plain else any_entry(name))
    return m


class _Entry(TensorEntry):
    """What the building of all functions has in common."""

    def listed(self, f: FunctionBuilder, value: Value) -> Value:
        """How many objects a list or tuple has; -1 for all else."""

        def of_tuple() -> Value:
            is_tuple = self.is_a(f, value, "tuple_type")
            return f.choose(is_tuple, lambda: f.call("PyTuple_Size", value), lambda: word(-1))

        return f.choose(self.is_a(f, value, "list_type"), lambda: f.call("PyList_Size", value), of_tuple)

    def item(self, f: FunctionBuilder, value: Value, number: Value | int) -> Value:
        """An object of a list or tuple, no reference."""
        return f.choose(
            self.is_a(f, value, "list_type"),
            lambda: f.call("PyList_GetItem", value, number),
            lambda: f.call("PyTuple_GetItem", value, number),
        )

    def axis(self, f: FunctionBuilder, value: Value, rank: Value) -> Value:
        """A dimension, from either end, as one from the front; goes to ``slow`` for all else."""
        number = self.number(f, value)
        number = f.op("add", number, f.pick(f.compare("slt", number, 0), rank, 0))
        f.require(f.compare("ult", number, rank), "slow")
        return number


class _Join(_Entry):
    """The building of a function of a list of tensors and a dimension, 0 where none is given."""

    def build(self, kernel: str, name: str) -> None:
        """Look at all tensors, make the result, copy each."""
        is_stack = kernel == "stack"
        f, args, passed = self.start(name, 1, 2)
        parts, count = self.parts(f, f.load(args, "ptr"))
        first = f.load(parts, "ptr")
        rank = self.rank(f, first)
        result_rank = f.op("add", rank, int(is_stack))
        f.require(f.compare("ult", f.op("sub", result_rank, 1), MOST_AXES), "slow")
        if not is_stack:  # channels that lie last stay there
            flags = f.op("and", f.get(first, self.layouts.array, "flags"), C_CONTIGUOUS)
            is_dense = f.compare("ne", flags, 0)
            f.require(f.op("or", is_dense, f.compare("ne", rank, 4)), "slow")
        axis = f.choose(
            f.compare("eq", passed, 1),
            lambda: word(0),
            lambda: self.axis(f, f.word_of(args, 1, "ptr"), result_rank),
        )
        added = self.require_alike(f, parts, count, rank, word(-1) if is_stack else axis)
        total = count if is_stack else added
        dims = f.slot(f"[{MOST_AXES} x i64]", 8)
        self.put_sizes(f, dims, first, rank, axis, total, is_stack=is_stack)
        array = f.call("new_filled", f.get(first, self.layouts.array, "descr"), result_rank, dims)
        f.require(f.compare("ne", array, NULL), "slow")
        self.copy(f, array, parts, count, rank, axis, is_stack=is_stack)
        self.deliver(f, array)

    def parts(self, f: FunctionBuilder, value: Value) -> tuple[Value, Value]:
        """The arrays of a list of tensors, and how many there are."""
        count = self.listed(f, value)
        f.require(f.compare("ult", f.op("sub", count, 1), MOST_PARTS), "slow")
        parts = f.array("ptr", count)
        with f.loop(count) as k:
            f.set_word(parts, k, self.real_array(f, self.item(f, value, k)))
        return parts, count

    def require_alike(self, f: FunctionBuilder, parts: Value, count: Value, rank: Value, axis: Value) -> Value:
        """Go to ``slow`` unless all arrays have one dtype, and one size but along an axis; the sum of sizes there."""
        first = f.load(parts, "ptr")
        descr, sizes = (f.get(first, self.layouts.array, name) for name in ("descr", "dims"))
        loop = f.loop(count, word(0))
        with loop as k:
            part = f.word_of(parts, k, "ptr")
            f.require(f.compare("eq", f.get(part, self.layouts.array, "descr"), descr), "slow")
            f.require(f.compare("eq", self.rank(f, part), rank), "slow")
            mine = f.get(part, self.layouts.array, "dims")
            inner = f.loop(rank, loop.values[0])
            with inner as d:
                size = f.word_of(mine, d)
                is_axis = f.compare("eq", d, axis)
                f.require(f.op("or", is_axis, f.compare("eq", size, f.word_of(sizes, d))), "slow")
                f.require(f.compare("ule", size, MOST_BYTES), "slow")
                inner.carry(f.op("add", inner.values[0], f.pick(is_axis, size, 0)))
            loop.carry(inner.values[0])
        return loop.values[0]

    def put_sizes(
        self, f: FunctionBuilder, dims: Value, first: Value, rank: Value, axis: Value, total: Value, *, is_stack: bool
    ) -> None:
        """Write the sizes of the result."""
        sizes = f.get(first, self.layouts.array, "dims")
        with f.loop(rank) as d:
            at = f.op("add", d, f.pick(f.compare("uge", d, axis), 1, 0)) if is_stack else d
            f.set_word(dims, at, f.word_of(sizes, d))
        f.set_word(dims, axis, total)

    def copy(
        self, f: FunctionBuilder, array: Value, parts: Value, count: Value, rank: Value, axis: Value, *, is_stack: bool
    ) -> None:
        """Copy all parts to where they are in the result."""
        strides = f.get(array, self.layouts.array, "strides")
        along = f.word_of(strides, axis)
        steps = strides
        if is_stack:
            steps = f.slot(f"[{MOST_AXES} x i64]", 8)
            with f.loop(rank) as d:
                at = f.op("add", d, f.pick(f.compare("uge", d, axis), 1, 0))
                f.set_word(steps, d, f.word_of(strides, at))
        item = f.call("bytes_of", f.get(array, self.layouts.array, "descr"))
        loop = f.loop(count, f.get(array, self.layouts.array, "data", "i64"))
        with loop as k:
            part = f.word_of(parts, k, "ptr")
            data, sizes, mine = (f.get(part, self.layouts.array, name) for name in ("data", "dims", "strides"))
            start = f.convert("inttoptr", loop.values[0], "ptr")
            f.call("copy_axes", start, data, rank, sizes, steps, mine, item)
            size = word(1) if is_stack else f.word_of(sizes, axis)
            loop.carry(f.op("add", loop.values[0], f.op("mul", size, along)))


class _Pick(_Entry):
    """The building of a function that takes elements of one tensor at the places of another."""

    def build(self, kernel: str, name: str) -> None:
        """Look at the arguments, and have one of ``picked_arrays`` make the result."""
        count = {"index_select": 3, "embedding": 5, "index": 2, "take": 2, "gather": 4}[kernel]
        f, args, _ = self.start(name, count)
        values = [f.word_of(args, k, "ptr") for k in range(count)]
        source = self.real_array(f, values[0])
        make: Callable[[FunctionBuilder, Value, list[Value]], Value] = getattr(self, kernel)
        array = make(f, source, values)
        f.require(f.compare("ne", array, NULL), "slow")
        self.deliver(f, array)

    def index_select(self, f: FunctionBuilder, source: Value, values: list[Value]) -> Value:
        """Along a dimension, by a vector."""
        axis, places = self.axis(f, values[1], self.rank(f, source)), self.real_array(f, values[2])
        f.require(f.compare("eq", self.rank(f, places), 1), "slow")
        return f.call("pick", source, axis, places, FALSE)

    def embedding(self, f: FunctionBuilder, source: Value, values: list[Value]) -> Value:
        """Rows of a matrix."""
        f.require(f.compare("eq", self.rank(f, source), 2), "slow")
        return f.call("pick", source, 0, self.real_array(f, values[1]), FALSE)

    def index(self, f: FunctionBuilder, source: Value, values: list[Value]) -> Value:
        """By one tensor of places, along one of the first two dimensions: behind None along the second."""
        count = self.listed(f, values[1])
        f.require(f.compare("ult", f.op("sub", count, 1), 2), "slow")
        axis = f.op("sub", count, 1)
        is_none = f.compare("eq", self.item(f, values[1], 0), self.m.symbol("none"))
        f.require(f.compare("eq", is_none, f.compare("eq", axis, 1)), "slow")
        places = self.real_array(f, self.item(f, values[1], axis))
        f.require(f.compare("ult", axis, self.rank(f, source)), "slow")
        f.require(f.compare("ne", self.rank(f, places), 0), "slow")
        return f.call("pick", source, axis, places, TRUE)

    def take(self, f: FunctionBuilder, source: Value, values: list[Value]) -> Value:
        """Of all elements in order."""
        places = self.real_array(f, values[1])
        is_wide = f.compare("eq", f.get(places, self.layouts.array, "descr"), self.m.symbol("int64_descr"))
        f.require(is_wide, "slow")
        return f.call("pick_elements", source, places)

    def gather(self, f: FunctionBuilder, source: Value, values: list[Value]) -> Value:
        """Along a dimension, in step along the others."""
        axis, places = self.axis(f, values[1], self.rank(f, source)), self.real_array(f, values[2])
        return f.call("pick_along", source, axis, places)
