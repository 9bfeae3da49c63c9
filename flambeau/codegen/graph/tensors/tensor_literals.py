"""Tensors of numbers, and of lists of numbers: `tensor(n)`, `np.array([a, b])`, `torch.tensor([[a, b], [c, d]])`."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import result_type, values_by_name
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    ComplexValue,
    ListValue,
    Native,
    Scalar,
    TupleValue,
)
from flambeau.codegen.graph.numbers import complex_numbers
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.creation import refuse_what_does_not_fit, truncated
from flambeau.codegen.graph.tensors.pointwise import set_element
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType


def tensor(fn: EmittedFunction, node: Node) -> None:
    """`tensor(n)` and `scalar_tensor(n)` are an element; `tensor(list)` is memory of its own."""
    natives = [fn.values.get(v) for v in node.operands]
    tensor_type = result_type(node, natives)
    if tensor_type is None:
        raise CannotCompileError("a tensor whose dtype or rank is not known")
    if "requires_grad" in values_by_name(node) and literal_of(natives[-1]) is not False:
        raise CannotCompileError("a tensor that needs gradients")
    dtype, rank = tensor_type
    if dtype.is_complex:
        _complex(fn, node, natives[0], tensor_type)
    elif isinstance(natives[0], Scalar) and rank == 0:
        set_element(fn, node.result(), _converted(fn, node, natives[0], dtype))
    elif isinstance(natives[0], TupleValue | ListValue) and rank > 0:
        _of_list(fn, node, natives[0], dtype, rank)
    else:
        raise CannotCompileError("a tensor of other things than numbers")


def _complex(fn: EmittedFunction, node: Node, native: Native, tensor_type: tuple[DType, int]) -> None:
    dtype, rank = tensor_type
    if not rank:
        complex_numbers.tensor(fn, node, dtype)
    elif isinstance(native, TupleValue):
        _of_list(fn, node, native, dtype, rank)
    else:
        raise CannotCompileError("a tensor of a list of complex numbers that is not known")


def _converted(fn: EmittedFunction, node: Node, number_: Scalar, dtype: DType) -> Operand:
    """A number as an element of a dtype; leaves the function where it does not fit."""
    source = as_operand(number_)
    if source.dtype.is_floating_point and dtype.is_integral:
        return truncated(fn, node, source, dtype)
    refuse_what_does_not_fit(fn, node, source, dtype)
    return Registers(fn, node, is_exact=False).cast(source, dtype)


def _of_list(fn: EmittedFunction, node: Node, sequence: TupleValue | ListValue, dtype: DType, rank: int) -> None:
    """The numbers of a list, or of lists in a list, one after another."""
    if fn.e.lanes > 1:
        raise CannotCompileError("a list in each iteration of a loop")
    sizes = _sizes(fn, node, sequence, rank)
    result = arrays.new(fn, dtype, sizes, node)
    _store(fn, node, sequence, result, number(0))
    fn.values.set_new(node.result(), result)


def _sizes(fn: EmittedFunction, node: Node, sequence: Native, rank: int) -> tuple[Register, ...]:
    """The length of a list, and of those in it, which have to be equal."""
    if not isinstance(sequence, TupleValue | ListValue):
        raise CannotCompileError("a list of numbers and lists")
    size = lists.length(fn, sequence)
    if rank == 1:
        return (size,)
    if not isinstance(sequence, TupleValue) or not sequence.items:
        raise CannotCompileError("a list whose lists are not known when the code is made")
    inner = [_sizes(fn, node, item, rank - 1) for item in sequence.items]
    for other in inner[1:]:
        for first, second in zip(inner[0], other, strict=True):
            if first != second:
                fn.exits.fail_if(fn.e.icmp("ne", first, second), node)
    return (size, *inner[0])


def _store(fn: EmittedFunction, node: Node, sequence: Native, result: ArrayValue, start: Register) -> None:
    """Store all numbers of a list from the element ``start`` of the new tensor on."""
    e, dtype = fn.e, result.rep.dtype
    size = memory.itemsize(dtype)

    def put(at: Register, item: Native) -> None:
        if dtype.is_complex:
            there = ArrayValue(
                Array(dtype, 0, 0), result.owner, memory.offset_address(e, result.data, at, number(size), size), (), ()
            )
            complex_numbers.put(fn, there, item, node)
            return
        if not isinstance(item, Scalar):
            raise CannotCompileError("a tensor of other things than numbers")
        address = memory.offset_address(e, result.data, at, number(size), size)
        memory.store_element(e, address, _converted(fn, node, item, dtype).register, dtype)

    if isinstance(sequence, ListValue):
        listed = sequence
        each(fn, lists.length(fn, listed), lambda k: put(memory.add(e, start, k), lists.item(fn, listed, k)))
        return
    assert isinstance(sequence, TupleValue)
    for k, item in enumerate(sequence.items):
        if isinstance(item, Scalar | ComplexValue):
            put(memory.add(e, start, number(k)), item)
            continue
        assert isinstance(item, TupleValue | ListValue)
        inner = lists.length(fn, item)
        for axis in _inner_sizes(fn, item):
            inner = memory.multiply(e, inner, axis)
        _store(fn, node, item, result, memory.add(e, start, memory.multiply(e, number(k), inner)))


def _inner_sizes(fn: EmittedFunction, sequence: Native) -> list[Register]:
    """The lengths of the lists in a list, from outside in."""
    sizes: list[Register] = []
    while isinstance(sequence, TupleValue) and sequence.items:
        if isinstance(sequence.items[0], Scalar | ComplexValue):
            break
        sequence = sequence.items[0]
        sizes.append(lists.length(fn, sequence))
    return sizes
