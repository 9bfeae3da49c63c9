"""The native entry of products of two small matrices: the loop that NumPy would run, without the way there.

One function for each way to read the operands: as they are, or one of them transposed, as the gradients of a product
ask for them. Anything but two tensors of float32 or float64 with two axes that fit goes to the slow callable.
"""

from __future__ import annotations

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, call_slowly, new_module
from flambeau.codegen.llvm.entry_memory import add_make_array
from flambeau.codegen.llvm.tensor_objects import add_constructors, any_array, plain_array

PRODUCTS = ("product", "any_product", "product_by_transposed", "product_of_transposed")
"""Of tensors without gradients; of any tensors, as the others are; with the second transposed; with the first."""
_LOOP = "void (ptr, ptr, ptr, ptr)"


def products_module(layouts: ObjectLayouts, most: int, most_work: int) -> ModuleBuilder:
    """A module with ``PRODUCTS``, functions of the vectorcall signature, for matrices of up to ``most`` elements that
    take up to ``most_work`` multiplications.
    """
    m = new_module()
    add_make_array(m)
    add_constructors(m, layouts)
    for name, is_plain, turned in zip(PRODUCTS, (1, 0, 0, 0), (-1, -1, 1, 0), strict=True):
        _Product(m, layouts, most, most_work, turned).build(name, is_plain=bool(is_plain))
    return m


class _Product:
    """The building of one of the functions."""

    def __init__(self, m: ModuleBuilder, layouts: ObjectLayouts, most: int, most_work: int, turned: int) -> None:
        self.m, self.layouts, self.most, self.most_work = m, layouts, most, most_work
        self.turned = turned
        """Which operand is read as its transpose; -1 for neither."""

    def build(self, name: str, *, is_plain: bool) -> None:
        """Look at the operands, allocate, multiply, wrap."""
        m, layouts = self.m, self.layouts
        f = m.function(f"ptr {name}", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
        _, args, nargsf, names = f.parameters
        f.require(f.is_null(names), "slow")
        f.require(f.compare("eq", f.op("and", nargsf, ARGUMENT_COUNT), 2), "slow")
        left, right = (self.matrix(f, f.word_of(args, k, "ptr"), is_plain=is_plain) for k in range(2))
        descr = f.get(left, layouts.array, "descr")
        f.require(f.compare("eq", f.get(right, layouts.array, "descr"), descr), "slow")
        is_single = f.compare("eq", descr, m.symbol("float32_descr"))
        is_known = f.op("or", is_single, f.compare("eq", descr, m.symbol("float64_descr")))
        f.require(is_known, "slow")
        rows, inner, left_steps = self.sizes(f, left, is_turned=self.turned == 0)
        inner_too, columns, right_steps = self.sizes(f, right, is_turned=self.turned == 1)
        f.require(f.compare("eq", inner, inner_too), "slow")
        f.require(f.compare("ule", f.op("mul", f.op("mul", rows, inner), columns), self.most_work), "slow")
        dims = f.slot("[2 x i64]", 8)
        f.set_word(dims, 0, rows)
        f.set_word(dims, 1, columns)
        array = f.call("make_array", descr, 2, dims, NULL, NULL, 0)
        f.require(f.compare("ne", array, NULL), "failed")
        item = f.pick(is_single, 4, 8)
        steps = [*left_steps, *right_steps, self.step(f, rows, f.op("mul", columns, item)), self.step(f, columns, item)]
        operands = [f.get(one, layouts.array, "data", "i64") for one in (left, right, array)]
        self.multiply(f, is_single, operands, [rows, inner, columns], steps)
        f.ret(f.call("tensor_of", array, f.call("storage_of", array)))
        f.start("failed", falls_through=False)
        f.call("PyErr_Clear")
        f.start("slow")
        call_slowly(f, layouts)

    def matrix(self, f: FunctionBuilder, value: Value, *, is_plain: bool) -> Value:
        """The array of an argument, which has two axes; goes to ``slow`` for all else."""
        layouts = self.layouts
        kind = f.get(value, layouts.object, "type")
        f.require(f.compare("eq", kind, self.m.symbol("tensor_type")), "slow")
        array, fits = (plain_array if is_plain else any_array)(f, layouts, value)
        f.require(fits, "slow")
        f.require(f.compare("eq", f.get(array, layouts.object, "type"), self.m.symbol("ndarray")), "slow")
        is_matrix = f.compare("eq", f.get(array, layouts.array, "rank"), 2)
        is_aligned = f.compare("ne", f.op("and", f.get(array, layouts.array, "flags"), ALIGNED), 0)
        f.require(f.op("and", is_matrix, is_aligned), "slow")
        return array

    def sizes(self, f: FunctionBuilder, array: Value, *, is_turned: bool) -> tuple[Value, Value, list[Value]]:
        """Rows, columns and their distances in bytes; goes to ``slow`` for large, empty or reversed matrices."""
        dims, strides = (f.get(array, self.layouts.array, name) for name in ("dims", "strides"))
        sizes = [f.word_of(dims, k) for k in range(2)]
        steps = [f.word_of(strides, k) for k in range(2)]
        count = f.op("sub", f.op("mul", *sizes), 1)
        f.require(f.compare("ult", f.op("or", *[f.op("sub", s, 1) for s in sizes]), 1 << 30), "slow")
        f.require(f.compare("ult", count, self.most), "slow")
        f.require(f.compare("sge", f.op("or", *steps), 0), "slow")
        steps = [self.step(f, size, step) for size, step in zip(sizes, steps, strict=True)]
        if is_turned:
            sizes, steps = sizes[::-1], steps[::-1]
        return sizes[0], sizes[1], steps

    @staticmethod
    def step(f: FunctionBuilder, size: Value, step: Value) -> Value:
        """The distance along an axis as NumPy's loops get it: none along one of size 1."""
        return f.pick(f.compare("eq", size, 1), 0, step)

    def multiply(
        self, f: FunctionBuilder, is_single: Value, operands: list[Value], sizes: list[Value], steps: list[Value]
    ) -> None:
        """Run the loop for one pair of matrices."""
        lists = []
        contents: tuple[list[Value | int], ...] = ([*operands], [1, *sizes], [0, 0, 0, *steps])
        for values in contents:
            words = f.slot(f"[{len(values)} x i64]", 8)
            for k, value in enumerate(values):
                f.set_word(words, k, value)
            lists.append(words)
        loop = f.pick(is_single, self.m.symbol("float32_loop"), self.m.symbol("float64_loop"), "ptr")
        f.call_address(loop, _LOOP, *lists, NULL)
