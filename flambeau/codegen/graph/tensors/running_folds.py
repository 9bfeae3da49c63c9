"""Folds whose state after each element is a result, in native code: `cummax`, `cummin`, `logcumsumexp`.

A line along the axis is gone through once, from its first element on, in the order of NumPy's `accumulate`.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array
from flambeau.codegen.graph.tensors.ordered_lines import axis_of_lines, each_line
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes


class _Running:
    """One operator: what it reads, along which axis, and what it gives."""

    def __init__(self, fn: EmittedFunction, node: Node, *result_dtypes: dtypes.DType) -> None:
        self.fn, self.node, self.x = fn, node, array(fn, node.operand(0))
        self.dim = axis_of_lines(fn, self.x, literal_of(operands_by_name(fn, node)["dim"]))
        self.dtype = self.x.rep.dtype
        self.s = Registers(fn, node, is_exact=False)
        self.results = [arrays.new(fn, dtype, self.x.sizes, node) for dtype in (self.dtype, *result_dtypes)]
        self.slot = fn.e.slot(memory.element(self.dtype).memory, 8)

    def state(self) -> Operand:
        """What there is before an element."""
        return Operand(memory.load_element(self.fn.e, self.slot, self.dtype), self.dtype)

    def keep(self, state: Operand) -> None:
        """Note what there is behind it."""
        memory.store_element(self.fn.e, self.slot, state.register, self.dtype)

    def along(self, body: Callable[[Register, Operand, Register], list[Operand]]) -> None:
        """What `body` gives for each element, of its number, itself, and whether it is the first of its line."""
        fn, e = self.fn, self.fn.e

        def line(at: list[Register]) -> None:
            def step(k: Register) -> None:
                x = Operand(memory.load_element(e, self._element(self.x, at[0], k), self.dtype), self.dtype)
                states = body(k, x, e.icmp("eq", k, number(0)))
                for result, start, value in zip(self.results, at[1:], states, strict=True):
                    memory.store_element(e, self._element(result, start, k), value.register, result.rep.dtype)

            each(fn, self.x.sizes[self.dim], step)

        each_line(fn, self.dim, [self.x, *self.results], line)
        for value, result in zip(self.node.results, self.results, strict=True):
            fn.values.set_new(value, result)

    def _element(self, x: ArrayValue, line: Register, k: Register) -> Register:
        return memory.offset_address(self.fn.e, line, k, x.strides[self.dim], memory.itemsize(x.rep.dtype))


def _extreme(fn: EmittedFunction, node: Node, is_better: Callable[[Registers, Operand, Operand], Operand]) -> None:
    """The best element so far and where it was last; nan, once there is one."""
    run, e = _Running(fn, node, dtypes.int64), fn.e
    s, index = run.s, e.slot("i64", 8)

    def step(k: Register, x: Operand, is_first: Register) -> list[Operand]:
        best = run.state()
        takes = is_better(s, x, best)
        if run.dtype.is_floating_point:
            takes = s.logical_or(takes, s.isnan(x))
        taken = e.binary("or", is_first, takes.register)
        value = Operand(e.select(taken, x.register, best.register), run.dtype)
        run.keep(value)
        at = e.select(taken, k, e.define(f"load i64, ptr {index}", "i64", 1))
        e.raw(f"store i64 {at}, ptr {index}")
        return [value, Operand(at, dtypes.int64)]

    run.along(step)


@lowers_on_tensors("aten::cummax")
def _cummax(fn: EmittedFunction, node: Node) -> None:
    _extreme(fn, node, lambda s, x, best: s.ge(x, best))


@lowers_on_tensors("aten::cummin")
def _cummin(fn: EmittedFunction, node: Node) -> None:
    _extreme(fn, node, lambda s, x, best: s.le(x, best))


@lowers_on_tensors("aten::logcumsumexp")
def _logcumsumexp(fn: EmittedFunction, node: Node) -> None:
    """The larger one, and what the exponential of the distance adds to it; infinities that are equal are themselves."""
    if array(fn, node.operand(0)).rep.dtype not in (dtypes.float32, dtypes.float64):
        raise CannotCompileError("a tensor of other numbers than floats")
    run, e = _Running(fn, node), fn.e
    s = run.s

    def step(k: Register, x: Operand, is_first: Register) -> list[Operand]:
        before = run.state()
        below, above = s.minimum(x, before), s.maximum(x, before)
        apart = s.add(above, s.log1p(s.exp(s.sub(below, above))))
        both = s.logical_and(s.eq(below, above), s.logical_not(s.isfinite(above)))
        joined = s.select(both, above, apart)
        value = Operand(e.select(is_first, x.register, joined.register), run.dtype)
        run.keep(value)
        return [value]

    run.along(step)
