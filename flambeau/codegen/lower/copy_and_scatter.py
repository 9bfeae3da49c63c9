"""Kernels that copy a tensor and then change the copy where values say: two loops inside those over the dimensions
before the one that the values go along.

    for d0 {
      for d1 { for d3 { ... store y0[d0, d1, d3], %1 } }
      for d2 { for d3 { ... store y0[d0, %3, d3], add %4 } }
    }

A place may be named several times, so that the second loop runs in order and is never shared by threads along `d2`.
"""

from __future__ import annotations

from contextlib import ExitStack

from flambeau.codegen.lower.passes import Lowered, Nest
from flambeau.codegen.lower.values import Dim, Expr, LoweringError, topological


def is_changed(outputs: list[Expr]) -> bool:
    """Whether results, or what they are made of, are changed where values say."""
    return any(x.op == "changed" for x in topological(outputs))


def build_changed(name: str, inputs: list[Expr], outputs: list[Expr]) -> Lowered:
    """The kernel of such a result. Raises `LoweringError` where it is not the only one, or anything is folded."""
    changed = [x for x in topological(outputs) if x.op == "changed"]
    if len(outputs) != 1 or changed != outputs:
        raise LoweringError("a tensor changed where values say is the only result of its kernel")
    return _Changed(name, inputs, outputs[0]).build()


class _Changed(Nest):
    def __init__(self, name: str, inputs: list[Expr], output: Expr) -> None:
        self.start, self.index, self.value = output.args
        assert isinstance(output.data, tuple)
        self.at, self.op = output.data
        super().__init__(name, inputs, [output], [None])
        if self.folds or self.scans:
            raise LoweringError("folds in a kernel that changes places")
        self.alone = [self.start, self.index, self.value]

    def longest(self, shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
        """The dimensions of the result, and before those that follow the one of places, that of the index."""
        dims, iteration = self.outputs[0].dims, self.index.dims[self.at]
        along = dims[self.at]
        assert along is not None
        if along.root in self.index.space | self.value.space:
            raise LoweringError("what is changed is also where places or values come from")
        iterations = () if iteration is None else (iteration.root,)
        before = tuple(d.root for d in dims[: self.at] if d is not None)
        return (*before, along.root, *iterations, *(d.root for d in dims[self.at + 1 :] if d is not None))

    def build(self) -> Lowered:
        """The two loops."""
        for x in self.inputs:
            self.b.input(str(x.data), x.dtype, self.buffer_axes(x))
        [result] = self.outputs
        self.b.output("y0", result.dtype, self.buffer_axes(result))
        names = [None if d is None else self.axes[d.root] for d in result.dims]
        before, axis, after = names[: self.at], names[self.at], names[self.at + 1 :]
        assert axis is not None
        iteration = self.index.dims[self.at]
        with ExitStack() as loops:
            self.open(loops, before)
            with ExitStack() as inner:
                self.open(inner, [axis], after)
                self.emit([self.start])
                self.b.store("y0", self.name_of(self.start))
            with ExitStack() as inner:
                self.open(inner, [None if iteration is None else self.axes[iteration.root]], after, is_scope=True)
                self.emit([self.index, self.value])
                index = self.b.within(self.name_of(self.index), axis)
                self.b.store("y0", self.name_of(self.value), ((axis, index),), self.op)
        return Lowered(self.b.kernel(), self.spans())

    def open(self, loops: ExitStack, *groups: list[str | None], is_scope: bool = False) -> None:
        """Loops over these axes, one inside the other, and a scope for values; a scope that must be one is a loop."""
        for k, group in enumerate(groups):
            axes = [a for a in group if a is not None]
            if axes or (is_scope and k == 0):
                loops.enter_context(self.b.loop(*axes))
        self.names.append({})
        loops.callback(self.names.pop)
