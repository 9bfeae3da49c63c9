"""Recognises the loop nest of a product, and the part that each axis plays in it.

for i, j {
  for k reduce s: float32 = sum {
    %0: float32 = load a[i, k]
    %1: float32 = load b[k, j]
    %2: float32 = product %0, %1
    s <- %2
  }
  ...                                  the epilogue: anything that reads s
  store y[i, j], %9
}
"""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import HALVES, element_type
from flambeau.codegen.kernel.nest import Accumulate, Buffer, Carry, Kernel, Let, Load, Loop, Statement, walk
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """One product: `a` has the rows and `b` the columns. A vector times a matrix has no rows."""

    loop: Loop
    """The loop over what is kept."""
    fold: Loop
    epilogue: tuple[Statement, ...]
    """What the loop does besides folding."""
    a: Buffer
    b: Buffer
    outer: tuple[str, ...]
    """Axes of stacks, outermost first."""
    row: str | None
    column: str
    inner: str
    dtype: str
    """What is computed in: that of both factors, or float32 where they are kept in half precision."""

    @property
    def is_widened(self) -> bool:
        """Whether the factors are kept in half precision."""
        return self.b.dtype != self.dtype

    @property
    def state(self) -> str:
        """The name under which the epilogue reads the product."""
        return self.fold.carries[0].name


def is_product(kernel: Kernel) -> bool:
    """Whether the kernel computes a product.

    >>> from flambeau.codegen.lower import lower_graph
    >>> from flambeau.ir.parser import parse_ir
    >>> text = "graph(%x : Float(*, *), %w : Float(*, *)):\\n  %y : Float(*, *) = aten::mm(%x, %w)\\n  return (%y)"
    >>> is_product(lower_graph(parse_ir(text)).kernel)
    True
    """
    return any(isinstance(s, Let) and s.op == "product" for s in walk(kernel.body))


def match(special: Specialized) -> Product | None:
    """The product that a specialised kernel is; None for another kernel, or a product of vectors or integers."""
    kernel = special.kernel
    nest = _loop_and_fold(kernel)
    operands = None if nest is None else _operands(kernel, nest[1])
    if nest is None or operands is None:
        return None
    loop, fold = nest
    a, b = operands
    dtype = fold.carries[0].dtype
    if not _only_in(b, a, loop):
        a, b = b, a
    rows, columns = _only_in(a, b, loop), _only_in(b, a, loop)
    if not columns:
        return None
    row, column = rows[-1] if rows else None, columns[-1]
    outer = tuple(x for x in loop.axes if x not in (row, column))
    epilogue = tuple(s for s in loop.body if s is not fold)
    return Product(loop, fold, epilogue, a, b, outer, row, column, fold.axes[0], dtype)


def _loop_and_fold(kernel: Kernel) -> tuple[Loop, Loop] | None:
    """The one loop over what is kept and the one over what is folded inside it, if the kernel is nothing else."""
    loop = kernel.body[0] if len(kernel.body) == 1 else None
    if not isinstance(loop, Loop) or loop.carries or not loop.axes:
        return None
    folds = [s for s in loop.body if isinstance(s, Loop)]
    if len(folds) != 1 or len(folds[0].axes) != 1 or len(folds[0].carries) != 1:
        return None
    return loop, folds[0]


def _only_in(buffer: Buffer, other: Buffer, loop: Loop) -> list[str]:
    """The axes of a loop that one factor has and the other has not."""
    return [axis for axis in loop.axes if axis in buffer.axes and axis not in other.axes]


def _operands(kernel: Kernel, fold: Loop) -> tuple[Buffer, Buffer] | None:
    """The buffers of the factors, if the fold is a plain sum of products of floats, kept in half precision or not."""
    loads = {s.name: kernel.buffer(s.buffer) for s in fold.body if isinstance(s, Load)}
    casts = {s.name: s.args[0] for s in fold.body if isinstance(s, Let) and s.op == "cast" and s.args[0] in loads}
    carry = fold.carries[0]
    rest = [s for s in fold.body if getattr(s, "name", None) not in loads.keys() | casts.keys()]
    names = _multiplied(rest, carry)
    factors = [loads.get(casts.get(name, name)) for name in names]
    if None in factors or not factors or not element_type(carry.dtype).is_float:
        return None
    first, second = factors
    assert first is not None
    assert second is not None
    is_read = first.dtype == second.dtype and (first.dtype == carry.dtype or first.dtype in HALVES)
    return (first, second) if is_read else None


def _multiplied(statements: list[Statement], carry: Carry) -> tuple[str, ...]:
    """The names of two factors whose products statements add up, if that is all they do."""
    if len(statements) != 2 or carry.reducer != "sum":
        return ()
    let, add = statements
    is_product = isinstance(let, Let) and let.op == "product" and isinstance(add, Accumulate) and add.value == let.name
    return let.args if is_product and isinstance(let, Let) else ()
