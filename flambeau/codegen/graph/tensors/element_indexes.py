"""`x[idx[k]]` and `x[idx[k], j] = v`: tensors at places that elements of other tensors name.

An index that is an integer tensor without axes takes one slice of its axis, as an int does, but gives a copy of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops import hoisted_bounds_checks
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.representation import Array, Element, Int
from flambeau.codegen.graph.tensors import gather
from flambeau.codegen.graph.tensors.arrays import array, copy_elements, is_tensor, load, new
from flambeau.codegen.graph.tensors.index_put import index_put
from flambeau.codegen.graph.tensors.picks import INTEGERS
from flambeau.codegen.graph.tensors.pointwise import set_element
from flambeau.codegen.graph.tensors.writes import meaning_of, write_all
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node


def index(fn: EmittedFunction, node: Node) -> None:
    """`aten::index`: by elements, a new tensor, or an element in a register."""
    indices = fn.values.get(node.operand(1))
    if not _are_elements(indices):
        gather.index(fn, node)
        return
    x = array(fn, node.operand(0))
    part = _at(fn, node, x, indices)
    if part.rep.rank == 0 and x.rep.dtype not in memory.MOVED:
        set_element(fn, node.result(), load(fn, part))
        return
    if part.rep.rank > 1 and x.rep.dense != x.rep.rank:
        raise CannotCompileError("a copy of a tensor whose order in memory is not known")
    copied = new(fn, x.rep.dtype, part.sizes, node)
    copy_elements(fn, copied, part)
    fn.values.set_new(node.result(), copied)


def index_put_(fn: EmittedFunction, node: Node) -> None:
    """`aten::index_put_`: by elements, a number, or a tensor that is broadcast to the slice."""
    indices = fn.values.get(node.operand(1))
    if not _are_elements(indices):
        index_put(fn, node)
        return
    x, source = array(fn, node.operand(0)), fn.values.get(node.operand(2))
    if not isinstance(source, Scalar | ArrayValue) or not is_tensor(source):
        raise CannotCompileError("values that are no tensor")
    if literal_of(fn.values.get(node.operand(3))) is not False:
        raise CannotCompileError("values that are added")
    part, s = _at(fn, node, x, indices), meaning_of(fn, node, x)
    write_all(fn, node, part, [source], lambda _, value: s.cast(value, x.rep.dtype), reads_target=False)
    fn.values.set_view(node.result(), x)


def _are_elements(indices: Native) -> bool:
    """Whether a list of indexes has integers without axes only, and None for axes that stay."""
    if not isinstance(indices, TupleValue):
        return False
    named = [i for i in indices.items if not (isinstance(i, FixedValue) and i.rep.value is None)]
    return bool(named) and all(_is_element(i) for i in named)


def _is_element(native: Native) -> bool:
    rep = native.rep
    if not isinstance(rep, Element | Array) or (isinstance(rep, Array) and rep.rank):
        return False
    return rep.dtype.name in INTEGERS


def _at(fn: EmittedFunction, node: Node, x: ArrayValue, indices: Native) -> ArrayValue:
    """The slice that elements name; leaves the function where one is out of range."""
    assert isinstance(indices, TupleValue)
    if len(indices.items) > x.rep.rank:
        raise CannotCompileError("more indexes than the tensor has axes")
    e, data, last = fn.e, x.data, -1
    itemsize = memory.itemsize(x.rep.dtype)
    for axis, item in enumerate(indices.items):
        if isinstance(item, Scalar | ArrayValue):
            index = hoisted_bounds_checks.checked_index(fn, _as_int(fn, load(fn, item)), x.sizes[axis], node)
            data = memory.offset_address(e, data, index, x.strides[axis], itemsize)
            last = axis
    stays = [k for k in range(x.rep.rank) if k >= len(indices.items) or isinstance(indices.items[k], FixedValue)]
    rep = Array(x.rep.dtype, len(stays), min(x.rep.dense, x.rep.rank - 1 - last))
    return ArrayValue(rep, x.owner, data, _chosen(x.sizes, stays), _chosen(x.strides, stays))


def _chosen(items: Sequence[Register], positions: Sequence[int]) -> tuple[Register, ...]:
    return tuple([items[k] for k in positions])


def _as_int(fn: EmittedFunction, operand: Operand) -> Scalar:
    if operand.register.type == "i64":
        return Scalar(Int(), operand.register, operand.affine)
    return Scalar(Int(), fn.e.convert("sext", operand.register, "i64"))
