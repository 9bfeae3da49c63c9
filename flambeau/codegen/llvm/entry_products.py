"""The native entries of products of matrices and vectors: the loop that NumPy would run, without the way there.

One function for each kernel, for the ranks that it takes; for each way in which the gradients of a product read one
matrix as its transpose; and for layers, products to whose rows a vector is added. Anything but tensors of float32 or
float64 that fit goes to the slow callable.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_CONTIGUOUS
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import call_slowly, new_module
from flambeau.codegen.llvm.entry_memory import add_make_array
from flambeau.codegen.llvm.product_operands import (
    COUNT,
    FIRST,
    FIRST_STEP,
    MOST_RANK,
    OPERAND,
    SECOND,
    STACKS,
    Bounds,
    add_operands,
)
from flambeau.codegen.llvm.tensor_entry import TensorEntry, any_entry
from flambeau.codegen.llvm.tensor_objects import add_constructors

Ranks = tuple[tuple[int, int], ...]
KERNELS: Final[dict[str, Ranks]] = {
    "matmul": ((1, 1), (2, 1), (1, 2), (2, 2), (3, 3), (3, 2), (4, 4), (4, 2)),
    "mm": ((2, 2),),
    "bmm": ((3, 3),),
    "mv": ((2, 1),),
    "dot": ((1, 1),),
}
"""The ranks that kernels of products take here."""
LAYERS: Final = ("linear", "addmm")
BY_TRANSPOSES: Final = {"product_by_transposed": 1, "product_of_transposed": 0}
"""Products of two matrices of any tensors: which operand is read as its transpose."""


PRODUCTS: Final = (*KERNELS, *LAYERS, *map(any_entry, (*KERNELS, *LAYERS)), *BY_TRANSPOSES)
"""The functions of the module."""


def products_module(layouts: ObjectLayouts, bounds: Bounds) -> ModuleBuilder:
    """A module with ``PRODUCTS``, functions of the vectorcall signature."""
    m = new_module()
    add_make_array(m)
    add_constructors(m, layouts)
    add_operands(m, layouts, bounds)
    for is_plain in (True, False):
        for name, ranks in KERNELS.items():
            _Product(m, layouts, is_plain=is_plain).build(name if is_plain else any_entry(name), ranks)
        for name in LAYERS:
            _Layer(m, layouts, is_plain=is_plain).build(name, name if is_plain else any_entry(name))
    for name, transposed in BY_TRANSPOSES.items():
        _Product(m, layouts, is_plain=False).build(name, ((2, 2),), transposed)
    return m


class _Entry(TensorEntry):
    """What the building of all functions has in common."""

    def operand(self, f: FunctionBuilder, array: Value) -> tuple[Value, Value]:
        """What `product_operands` says of an array, and its rank."""
        operand = f.slot(f"[{OPERAND} x i64]", 8)
        rank = f.call("look", array, operand)
        f.require(f.compare("ne", rank, 0), "slow")
        return operand, rank


class _Product(_Entry):
    """The building of a function of two operands."""

    def build(self, name: str, ranks: Ranks, transposed: int = -1) -> None:
        """Look at the operands, multiply, wrap. `transposed`: which operand is read as its transpose."""
        f, args, _ = self.start(name, 2)
        arrays = [self.array(f, f.word_of(args, k, "ptr")) for k in range(2)]
        (left, left_rank), (right, right_rank) = (self.operand(f, array) for array in arrays)
        pair = f.op("or", f.op("shl", left_rank, 4), right_rank)
        known = [f.compare("eq", pair, a << 4 | b) for a, b in ranks]
        for one in known[1:]:
            known[0] = f.op("or", known[0], one)
        f.require(known[0], "slow")
        if transposed >= 0:
            f.call("transpose", (left, right)[transposed])
        with f.when(f.compare("eq", left_rank, 1)):
            f.call("transpose", left)
        with f.when(f.op("and", f.compare("ugt", left_rank, 2), f.compare("eq", right_rank, 2))):
            for k in (COUNT, STACKS):  # one matrix for all
                f.set_word(right, k, f.word_of(left, k))
        dims = f.slot("[4 x i64]", 8)
        sizes = [f.word_of(left, k) for k in (STACKS, COUNT, FIRST)]
        for k, size in enumerate((*sizes, f.word_of(right, SECOND))):
            f.set_word(dims, k, size)
        columns = f.pick(f.compare("eq", right_rank, 1), 0, 1)
        rank = f.op("add", f.op("sub", left_rank, 1), columns)
        array = f.call("multiply", *arrays, left, right, rank, f.at(dims, f.op("sub", word(4), left_rank)))
        f.require(f.compare("ne", array, NULL), "slow")
        self.deliver(f, array)


class _Layer(_Entry):
    """The building of a function that adds a vector to the rows of a product."""

    def build(self, kernel: str, name: str) -> None:
        """Look at the operands, multiply, add, wrap."""
        is_linear = kernel == "linear"
        f, args, _ = self.start(name, 3 if is_linear else 5)
        arguments = [f.word_of(args, k, "ptr") for k in range(3 if is_linear else 5)]
        row, operands = (arguments[2], arguments[:2]) if is_linear else (arguments[0], arguments[1:3])
        for factor in arguments[3:]:
            f.require(f.compare("eq", factor, self.m.symbol("one")), "slow")
        arrays = [self.array(f, value) for value in operands]
        (left, left_rank), (right, right_rank) = (self.operand(f, array) for array in arrays)
        f.require(f.compare("eq", right_rank, 2), "slow")
        if is_linear:
            f.require(f.compare("uge", left_rank, 2), "slow")
            f.call("transpose", right)
            self.as_rows(f, arrays[0], left, left_rank)
        else:
            f.require(f.compare("eq", left_rank, 2), "slow")
        dims = f.slot(f"[{MOST_RANK} x i64]", 8)
        f.copy(dims, f.get(arrays[0], self.layouts.array, "dims"), f.op("shl", left_rank, 3), 8)
        f.set_word(dims, f.op("sub", left_rank, 1), f.word_of(right, SECOND))
        is_none = f.compare("eq", row, self.m.symbol("none"))
        row_array = f.choose(is_none, lambda: NULL, lambda: self.array(f, row))
        array = f.call("multiply", *arrays, left, right, left_rank, dims)
        f.require(f.compare("ne", array, NULL), "slow")
        is_whole = f.call("add_row", array, f.word_of(left, FIRST), f.word_of(right, SECOND), row_array)
        f.require(is_whole, "drop")
        f.ret(f.call("tensor_of", array, f.call("storage_of", array)))
        f.start("drop", falls_through=False)
        f.call("Py_DecRef", array)
        f.start("slow")
        call_slowly(f, self.layouts)

    def as_rows(self, f: FunctionBuilder, array: Value, operand: Value, rank: Value) -> None:
        """Take all but the last axis for one; goes to ``slow`` where they do not lie as one."""
        with f.when(f.compare("ugt", rank, 2)):
            flags = f.get(array, self.layouts.array, "flags")
            f.require(f.compare("ne", f.op("and", flags, C_CONTIGUOUS), 0), "slow")
            stacked = f.op("mul", f.word_of(operand, STACKS), f.word_of(operand, COUNT))
            f.set_word(operand, FIRST, f.op("mul", f.word_of(operand, FIRST), stacked))
            for k in (COUNT, STACKS):
                f.set_word(operand, k, 1)
            # not the step of the last axis: that of a single element may be anything
            is_single = f.compare("eq", f.get(array, self.layouts.array, "descr"), self.m.symbol("float32_descr"))
            f.set_word(operand, FIRST_STEP, f.op("mul", f.word_of(operand, SECOND), f.pick(is_single, 4, 8)))
