"""Tensors of random numbers in native code: `rand`, `randn`, `randint`, `randperm`, `exponential_` and their like.

The numbers are those of the default generator, in the order of the program; what has a generator of its own, or another
order in memory, Python draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name, refuse_options, result_type
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Int
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import product
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.tensor_draws import FILL, KINDS, bits_of
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType

_OPTIONS = ("generator", "layout", "memory_format", "pin_memory")


@lowers("aten::rand", "aten::rand_like")
def _uniform(fn: EmittedFunction, node: Node) -> None:
    _drawn(fn, node, "uniform", operands_by_name(fn, node))


@lowers("aten::randn", "aten::randn_like")
def _normal(fn: EmittedFunction, node: Node) -> None:
    _drawn(fn, node, "normal", operands_by_name(fn, node))


@lowers("aten::randint", "aten::randint_like")
def _integers(fn: EmittedFunction, node: Node) -> None:
    operands = operands_by_name(fn, node)
    low = _int(operands["low"]) if "low" in operands else number(0)
    high = _int(operands["high"])
    fn.exits.fail_if(fn.e.icmp("sge", low, high), node)
    _drawn(fn, node, "integers", operands, low, high)


@lowers("aten::randperm")
def _permutation(fn: EmittedFunction, node: Node) -> None:
    operands = operands_by_name(fn, node)
    _drawn(fn, node, "permutation", operands, sizes=[_int(operands["n"])])


@lowers("aten::exponential_")
def _exponential(fn: EmittedFunction, node: Node) -> None:
    """Where a tensor is that lies in one piece, at a rate that is known."""
    operands = operands_by_name(fn, node)
    x, rate = arrays.array(fn, node.operand(0)), literal_of(operands["lambd"])
    refuse_options(operands, _OPTIONS, "a generator")
    if type(rate) is not float or not rate > 0 or x.rep.dense != x.rep.rank or fn.e.lanes > 1:
        raise CannotCompileError("a rate or an order in memory that is not known")
    kind = _kind("exponential", x.rep.dtype)
    call_routine(fn, FILL, number(kind), x.data, product(fn, x.sizes), number(bits_of(rate)), number(0))
    fn.values.set_view(node.result(), x)


def _int(native: Native) -> Register:
    if not isinstance(native, Scalar) or native.rep != Int():
        raise CannotCompileError("a bound that is no int")
    return native.register


def _drawn(
    fn: EmittedFunction, node: Node, name: str, operands: Mapping[str, Native], low: Register | None = None,
    high: Register | None = None, *, sizes: Sequence[Register] | None = None,
) -> None:  # fmt: skip
    """A new tensor of numbers of a kind; what is wrong of its sizes Python says."""
    refuse_options(operands, _OPTIONS, "a generator, a layout or a format")
    if "device" in operands and not isinstance(operands["device"], FixedValue):
        raise CannotCompileError("the device is not known")
    tensor_type = result_type(node, operands.values())
    if tensor_type is None or fn.e.lanes > 1:
        raise CannotCompileError("its dtype or rank is not known, or it is one of several")
    kind = _kind(name, tensor_type[0])
    sizes = _sizes(operands) if sizes is None else sizes
    for size in sizes if "self" not in operands else ():
        fn.exits.fail_if(fn.e.icmp("slt", size, number(0)), node)
    tensor = arrays.new(fn, tensor_type[0], sizes, node)
    zero = number(0)
    call_routine(fn, FILL, number(kind), tensor.data, product(fn, sizes), low or zero, high or zero)
    fn.values.set_new(node.result(), tensor)


def _kind(name: str, dtype: DType) -> int:
    kind = KINDS.get((name, dtype))
    if kind is None:
        raise CannotCompileError(f"random numbers in {dtype.name}")
    return kind


def _sizes(operands: Mapping[str, Native]) -> Sequence[Register]:
    sizes = operands.get("size")
    if sizes is None:
        like = operands["self"]
        if isinstance(like, ArrayValue) and like.rep.dense != like.rep.rank:
            raise CannotCompileError("random numbers in an order in memory that is not known")
        return like.sizes if isinstance(like, ArrayValue) else ()
    if not isinstance(sizes, TupleValue) or not all(isinstance(i.rep, Int) for i in sizes.items):
        raise CannotCompileError("the number of sizes is not known")
    return [i.register for i in sizes.items if isinstance(i, Scalar)]
