"""Triangular systems in native code, row after row: `linalg.solve_triangular`, `triangular_solve`.

Large ones are left to Python, which makes products of them.
"""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either_of
from flambeau.codegen.graph.linear_algebra.matrices import by_columns, is_square, matrix_operand, turned
from flambeau.codegen.graph.linear_algebra.triangular_function import triangular_function
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import copy_elements, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

LARGE = 96
"""Rows of a system above which it is Python's: four vectors of each then fill the first cache."""


def solve_triangular(fn: EmittedFunction, node: Node) -> None:
    """`linalg.solve_triangular`: X of `A @ X = B`, or of `X @ A = B`."""
    a, b = matrix_operand(fn, node), matrix_operand(fn, node, 1)
    is_left, upper = _option(fn, node, "left"), _option(fn, node, "upper")
    system = _System(fn, node, a if is_left else turned(a), b, upper=upper is is_left, is_left=is_left)
    either_of(fn, node, system.is_usual(), [Array(b.rep.dtype, b.rep.rank, 0)], lambda: (system.solution(),))


def triangular_solve(fn: EmittedFunction, node: Node) -> None:
    """`triangular_solve`: the same with the operands the other way round, and a copy of A as the second result."""
    b, a = matrix_operand(fn, node), matrix_operand(fn, node, 1)
    upper, is_turned = _option(fn, node, "upper"), _option(fn, node, "transpose")
    system = _System(fn, node, turned(a) if is_turned else a, b, upper=upper != is_turned)

    def native() -> tuple[ArrayValue, ArrayValue]:
        copy = by_columns(fn, node, a, a.sizes)
        copy_elements(fn, copy, a)
        return system.solution(), copy

    either_of(fn, node, system.is_usual(), [Array(b.rep.dtype, b.rep.rank, 0)] * 2, native)


def _option(fn: EmittedFunction, node: Node, name: str) -> bool:
    value = literal_of(operands_by_name(fn, node)[name])
    if not isinstance(value, bool):
        raise CannotCompileError(f"what {name} says is not known")
    return value


class _System:
    """`A @ X = B` for a batch of triangular A: each row, once it is solved, is taken off the others. Unless it
    `is_left`, X and B are given as their transposes."""

    def __init__(
        self, fn: EmittedFunction, node: Node, a: ArrayValue, b: ArrayValue, *, upper: bool, is_left: bool = True
    ) -> None:
        if a.rep.dtype is not b.rep.dtype or a.rep.rank != b.rep.rank:
            raise CannotCompileError("two dtypes, or right sides that are broadcast")
        self.fn, self.node, self.a, self.b, self.upper = fn, node, a, b, upper
        self.is_left = is_left
        self.unit = _option(fn, node, "unitriangular")
        self.kind = "float" if a.rep.dtype.itemsize == 4 else "double"

    def is_usual(self) -> Register:
        """Whether the sizes fit, and the system is small but not empty."""
        e, a, b = self.fn.e, self.a, self.b if self.is_left else turned(self.b)
        usual = e.binary("and", is_square(self.fn, a), e.icmp("ule", a.sizes[-1], number(LARGE)))
        for one, other in zip(a.sizes[:-1], b.sizes[:-1], strict=True):
            usual = e.binary("and", usual, e.icmp("eq", one, other))
        for size in b.sizes:
            usual = e.binary("and", usual, e.icmp("ne", size, number(0)))
        return usual

    def solution(self) -> ArrayValue:
        """X, by columns. It is worked on by rows, so that a row is taken off another by vectors."""
        fn, a = self.fn, self.a
        x = by_columns(fn, self.node, self.b, self.b.sizes)
        sides = arrays.new(fn, x.rep.dtype, x.sizes, self.node) if self.is_left else turned(x)
        copy_elements(fn, sides, self.b if self.is_left else turned(self.b))
        batches = [view_on(t, t.data, t.sizes[:-2], t.strides[:-2], 0) for t in (a, sides)]
        arrays.each_element(fn, batches[0].sizes, batches, lambda at: self._solve(at[0], at[1], sides))
        if self.is_left:
            copy_elements(fn, x, sides)
            fn.e.raw(f"call void @drop_block(ptr {sides.owner})")
        return x

    def _solve(self, matrix: Register, sides: Register, x: ArrayValue) -> None:
        fn, e = self.fn, self.fn.e
        (down, across), step, (size, width) = self.a.strides[-2:], x.strides[-2], x.sizes[-2:]
        if self.upper:  # from the last row and column on, a lower one
            last = e.binary("sub", size, number(1))
            matrix = memory.offset_address(e, matrix, last, memory.add(e, down, across), 1)
            sides = memory.offset_address(e, sides, last, step, 1)
            down, across, step = (memory.subtract(e, number(0), s) for s in (down, across, step))
        name = triangular_function(fn, self.kind, is_unit=self.unit)
        system, right = f"ptr {matrix}, i64 {down}, i64 {across}", f"ptr {sides}, i64 {step}"
        e.raw(f"call void @{name}({system}, {right}, i64 {size}, i64 {width})")
