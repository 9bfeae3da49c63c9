"""Losses that pick a class at each place, in native code: `nll_loss`, of rows and of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.numbers.scalars import Operand, constant
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, view_on
from flambeau.codegen.graph.tensors.pointwise import set_element
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType, float32, float64, int64, uint8

_NONE, _MEAN, _SUM = 0, 1, 2


@dataclass(frozen=True)
class _Loss:
    """The operands of a loss."""

    entries: ArrayValue
    """Logarithms of probabilities, by place: (batch, ...), the axis of the classes left out."""
    step: Register
    """Bytes from one class to the next."""
    classes: Register
    target: ArrayValue
    weight: ArrayValue | None
    ignored: Register

    @property
    def dtype(self) -> DType:
        """The dtype of the loss, which is that of the entries."""
        return self.entries.rep.dtype


def nll_loss(fn: EmittedFunction, node: Node) -> None:
    """The loss of every place, their sum or their mean; Python refuses classes that are not there and other sizes."""
    loss, reduction = _operands(fn, node), literal_of(operands_by_name(fn, node)["reduction"])
    if reduction == _NONE:
        _of_each(fn, node, loss)
    elif reduction in (_MEAN, _SUM):
        set_element(fn, node.result(), Operand(_folded(fn, node, loss, is_mean=reduction == _MEAN), loss.dtype))
    else:
        raise CannotCompileError("how losses are folded is not known")


def _operands(fn: EmittedFunction, node: Node) -> _Loss:
    """What is looked up where. Leaves the function for sizes that do not go together."""
    x, target = array(fn, node.operand(0)), array(fn, node.operand(1))
    if fn.e.lanes > 1 or x.rep.dtype not in (float32, float64) or target.rep.dtype not in (int64, uint8):
        raise CannotCompileError("losses of other dtypes, or in each iteration of a loop")
    if x.rep.rank < 1 or target.rep.rank != x.rep.rank - 1:
        raise CannotCompileError("targets of another rank")
    axis = min(1, x.rep.rank - 1)
    entries = view_on(x, x.data, _without(x.sizes, axis), _without(x.strides, axis), 0)
    for size, wanted in zip(target.sizes, entries.sizes, strict=True):
        fn.exits.fail_if(fn.e.icmp("ne", size, wanted), node)
    fn.exits.fail_if(fn.e.icmp("eq", x.sizes[axis], number(0)), node)
    weight = _weight(fn, node, x, axis)
    ignored = fn.values.scalar(node.operand(4)).register
    return _Loss(entries, x.strides[axis], x.sizes[axis], target, weight, ignored)


def _without(registers: tuple[Register, ...], axis: int) -> tuple[Register, ...]:
    return registers[:axis] + registers[axis + 1 :]


def _weight(fn: EmittedFunction, node: Node, x: ArrayValue, axis: int) -> ArrayValue | None:
    """The weights of the classes, if there are any."""
    if literal_of(operands_by_name(fn, node)["weight"]) is None:
        return None
    weight = array(fn, node.operand(2))
    if weight.rep.dtype is not x.rep.dtype or weight.rep.rank != 1:
        raise CannotCompileError("weights of another dtype or rank")
    fn.exits.fail_if(fn.e.icmp("ne", weight.sizes[0], x.sizes[axis]), node)
    return weight


def _of_each(fn: EmittedFunction, node: Node, loss: _Loss) -> None:
    """A tensor with the loss of each place."""
    result = arrays.new(fn, loss.dtype, loss.target.sizes, node)
    zero = constant(0, loss.dtype)

    def one(at: list[Register]) -> None:
        memory.store_element(fn.e, at[2], zero, loss.dtype)
        _where_counted(fn, node, loss, at, lambda value, _: memory.store_element(fn.e, at[2], value, loss.dtype))

    arrays.each_element(fn, result.sizes, [loss.entries, loss.target, result], one)
    fn.values.set_new(node.result(), result)


def _folded(fn: EmittedFunction, node: Node, loss: _Loss, *, is_mean: bool) -> Register:
    """The sum of all losses, or that divided by the sum of the weights, both added up in double precision."""
    e = fn.e
    total, weights = e.slot("double", 8), e.slot("double", 8)
    for slot in (total, weights):
        e.raw(f"store double 0.0, ptr {slot}")

    def add(slot: Register, value: Register) -> None:
        wide = e.convert("fpext", value, "double") if loss.dtype is float32 else value
        before = e.define(f"load double, ptr {slot}", "double", 1)
        e.raw(f"store double {e.define(f'fadd double {before}, {wide}', 'double', 1)}, ptr {slot}")

    def both(value: Register, weight: Register) -> None:
        add(total, value)
        add(weights, weight)

    arrays.each_element(
        fn, loss.target.sizes, [loss.entries, loss.target], lambda at: _where_counted(fn, node, loss, at, both)
    )
    folded = e.define(f"load double, ptr {total}", "double", 1)
    if is_mean:
        divisor = e.define(f"load double, ptr {weights}", "double", 1)
        folded = e.define(f"fdiv double {folded}, {divisor}", "double", 1)
    return e.convert("fptrunc", folded, "float") if loss.dtype is float32 else folded


def _where_counted(
    fn: EmittedFunction, node: Node, loss: _Loss, at: list[Register], use: Callable[[Register, Register], None]
) -> None:
    """Use the loss and the weight of one place, unless its class is ignored; leave where that class is not there."""
    e, dtype = fn.e, loss.dtype
    picked = memory.load_element(e, at[1], loss.target.rep.dtype)
    picked = picked if picked.type == "i64" else e.convert("zext", picked, "i64")
    counted, after = e.label("counted"), e.label("after")
    e.branch_if(e.icmp("ne", picked, loss.ignored), counted, after)
    e.start(counted)
    fn.exits.fail_if(e.icmp("uge", picked, loss.classes), node)
    address = memory.offset_address(e, at[0], picked, loss.step, memory.itemsize(dtype))
    value = e.fneg(memory.load_element(e, address, dtype))
    weight = constant(1, dtype)
    if loss.weight is not None:
        weight = memory.load_element(e, arrays.selected(fn, loss.weight, 0, picked).data, dtype)
        value = e.fmul(value, weight)
    use(value, weight)
    e.branch(after)
    e.start(after)
