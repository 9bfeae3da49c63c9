"""The function of native code that solves one triangular system, whose right sides lie side by side.

Of four vectors of columns at a time, row after row: each minus the rows that are solved, times their factors, which
stay in registers until the row is done. So a step is a load and a product for each vector, and the vectors of a row do
not wait for each other. The columns that are left are four vectors with masks, a single one a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value, vector_type

VECTORS: Final = 4
"""Vectors of columns that are solved side by side."""
_BITS: Final = {"float": 32, "double": 64}


def triangular_function(fn: EmittedFunction, kind: str, *, is_unit: bool) -> str:
    """The symbol of ``void (matrix, row step, column step, sides, step of their rows, rows, columns)``, steps in bytes.

    The matrix is a lower one: upper ones are given from their last row and column on, with negative steps. `is_unit`:
    whether the diagonal is taken for ones.
    """
    symbol = f"solve_triangular_{kind}{'_unit' if is_unit else ''}"
    if symbol not in fn.parts.functions:
        m = ModuleBuilder({})
        parameters = ("ptr matrix", "i64 down", "i64 across", "ptr sides", "i64 step", "i64 rows", "i64 columns")
        f = m.function(f"void {symbol}", *parameters, attributes="noinline nounwind")
        _build(f, _Vectors(f, kind, fn.e.target.vector_bits // _BITS[kind]), is_unit=is_unit)
        fn.parts.functions[symbol] = f.text()
        for declaration in m.declarations:
            fn.e.declare(declaration)
    return symbol


class _Vectors:
    """Vectors that lie side by side in memory, all of their elements or those that masks tell; or one number."""

    def __init__(self, f: FunctionBuilder, kind: str, lanes: int, masks: Sequence[Value] = ()) -> None:
        self.f, self.kind, self.lanes, self.masks = f, kind, lanes, masks
        self.count = VECTORS if lanes > 1 else 1
        self.type, self.name = vector_type(kind, lanes), f"v{lanes}f{_BITS[kind]}"
        self.align = _BITS[kind] // 8

    def masked(self, count: Value) -> _Vectors:
        """The same of so many elements."""
        f, words = self.f, f"<{self.lanes} x i64>"
        wide, masks = f.splat(count, self.lanes), []
        for k in range(VECTORS):
            numbers = ", ".join(f"i64 {lane}" for lane in range(k * self.lanes, (k + 1) * self.lanes))
            masks.append(f.define(f"icmp ult {words} <{numbers}>, {wide}", "i1", self.lanes))
        f.declare(f"declare {self.type} @llvm.masked.load.{self.name}.p0(ptr, i32, <{self.lanes} x i1>, {self.type})")
        f.declare(f"declare void @llvm.masked.store.{self.name}.p0({self.type}, ptr, i32, <{self.lanes} x i1>)")
        return _Vectors(f, self.kind, self.lanes, masks)

    def load(self, row: Value) -> list[Value]:
        """The vectors at an address; zeros where a mask says no."""
        return [self._load(self.f.at(row, k * self.lanes, self.kind), k) for k in range(self.count)]

    def _load(self, address: Value, k: int) -> Value:
        if not self.masks:
            text = f"load {self.type}, ptr {address}, align {self.align}"
        else:
            mask = self.masks[k]
            rest = f"i32 {self.align}, {mask.full_type} {mask}, {self.type} zeroinitializer"
            text = f"call {self.type} @llvm.masked.load.{self.name}.p0(ptr {address}, {rest})"
        return self.f.define(text, self.kind, self.lanes)

    def store(self, row: Value, values: Sequence[Value]) -> None:
        """Write the vectors at an address."""
        for k, value in enumerate(values):
            address = self.f.at(row, k * self.lanes, self.kind)
            if not self.masks:
                self.f.raw(f"store {self.type} {value}, ptr {address}, align {self.align}")
                continue
            rest = f"ptr {address}, i32 {self.align}, {self.masks[k].full_type} {self.masks[k]}"
            self.f.raw(f"call void @llvm.masked.store.{self.name}.p0({self.type} {value}, {rest})")


def _build(f: FunctionBuilder, vectors: _Vectors, *, is_unit: bool) -> None:
    *_, sides, _, _, columns = f.parameters
    together = VECTORS * vectors.lanes
    count = f.op("udiv", columns, together)
    with f.loop(count) as k:
        _solve(f, f.at(sides, f.op("mul", k, together), vectors.kind), vectors, is_unit=is_unit)
    done = f.op("mul", count, together)
    left = f.op("sub", columns, done)
    with f.when(f.compare("eq", left, 1)):
        _solve(f, f.at(sides, done, vectors.kind), _Vectors(f, vectors.kind, 1), is_unit=is_unit)
    with f.when(f.compare("ugt", left, 1)):
        _solve(f, f.at(sides, done, vectors.kind), vectors.masked(left), is_unit=is_unit)
    f.ret()


def _solve(f: FunctionBuilder, columns: Value, vectors: _Vectors, *, is_unit: bool) -> None:
    """Solve for the columns of the vectors."""
    matrix, down, across, _, step, rows, _ = f.parameters
    with f.loop(rows) as i:
        row, line = _moved(f, columns, i, step), _moved(f, matrix, i, down)
        loop = f.loop(i, *vectors.load(row))
        with loop as k:
            factor = f.splat(f.load(_moved(f, line, k, across), vectors.kind), vectors.lanes)
            solved = vectors.load(_moved(f, columns, k, step))
            loop.carry(*(
                f.binary("fsub", value, f.binary("fmul", factor, other))
                for value, other in zip(loop.values, solved, strict=True)
            ))  # fmt: skip
        values = loop.values
        if not is_unit:
            pivot = f.splat(f.load(_moved(f, line, i, across), vectors.kind), vectors.lanes)
            values = [f.binary("fdiv", value, pivot) for value in values]
        vectors.store(row, values)


def _moved(f: FunctionBuilder, base: Value, index: Value, step: Value) -> Value:
    """The address some steps further on."""
    return f.at(base, f.op("mul", index, step), "i8")
