"""`x[:, rows, columns]`: the parts of a tensor that tensors of integers name, broadcast together."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar
from flambeau.codegen.graph.representation import Array, Element, Fixed
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.routines.picked import PICK
from flambeau.codegen.graph.tensors.arrays import copy_elements, each_element, flattened, new, product
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

INTEGERS = frozenset({"int64", "int32"})
"""Dtypes of indexes; one of bools is a mask, and bytes may be one."""


def pick(fn: EmittedFunction, node: Node, x: ArrayValue, indices: Sequence[Native]) -> None:
    """The result of `aten::index`: the axes that indexes bring stay in place if neighbours, else they come first."""
    itemsize = memory.itemsize(x.rep.dtype)
    by = _named(fn, x, indices)
    common = broadcast(fn, node, list(by.values()))
    first = min(by) if max(by) - min(by) == len(by) - 1 else 0
    kept = [axis for axis in range(x.rep.rank) if axis not in by]
    before = sum(axis < first for axis in kept)
    sizes = [*(x.sizes[k] for k in kept[:before]), *common, *(x.sizes[k] for k in kept[before:])]

    def picked() -> ArrayValue:
        e, target = fn.e, new(fn, x.rep.dtype, sizes, node)
        if max(by) == len(by) - 1:
            _pick_here(fn, node, target, x, list(by.values()), common)
            return target
        own = target.strides[before : before + len(common)]
        rest = (*target.strides[:before], *target.strides[before + len(common) :])
        words = [number(len(by))]
        for axis, index in by.items():
            step = number(memory.itemsize(index.rep.dtype))
            words += [index.data, step, x.sizes[axis], x.strides[axis], memory.spilled(e, _steps(fn, index, common))]
        is_inside = call_routine(
            fn, PICK, target.data, x.data, memory.spilled(e, words),
            memory.spilled(e, [number(len(common)), memory.spilled(e, common), memory.spilled(e, own)]),
            memory.spilled(e, [number(len(kept)), *(
                memory.spilled(e, part) for part in ([x.sizes[k] for k in kept], rest, [x.strides[k] for k in kept])
            )]), number(itemsize),
        )  # fmt: skip
        fn.exits.fail_if(e.binary("xor", is_inside, Register("true", "i1", 1)), node)
        return target

    if len(by) == 1:
        fn.values.set_new(node.result(), picked())
    else:  # of indexes that name nothing together Python looks at each by itself
        some = fn.e.icmp("ne", product(fn, common), number(0))
        either(fn, node, some, Array(x.rep.dtype, len(sizes), len(sizes)), picked)


def _pick_here(
    fn: EmittedFunction, node: Node, target: ArrayValue, x: ArrayValue, by: Sequence[ArrayValue],
    common: Sequence[Register],
) -> None:  # fmt: skip
    """The parts that indexes of the first axes name, by a loop of the function; leaves it where one is outside."""
    e, kept, width = fn.e, x.rep.rank - len(by), memory.itemsize(x.rep.dtype)
    is_wrong = e.slot("i64", 8)
    fn.parts.element_loops += 1
    e.raw(f"store i64 0, ptr {is_wrong}")
    some = e.icmp("ne", product(fn, common), number(0))
    for size in x.sizes[: len(by)]:
        fn.exits.fail_if(e.binary("and", some, e.icmp("eq", size, number(0))), node)
    parts = Array(x.rep.dtype, kept, min(x.rep.dense, kept)), Array(x.rep.dtype, kept, kept)
    shape = x.sizes[len(by) :]

    def one(at: list[Register]) -> None:
        data = x.data
        for axis, (address, index) in enumerate(zip(at[1:], by, strict=True)):
            position, is_outside = _position(fn, memory.load_element(e, address, index.rep.dtype), x.sizes[axis])
            seen = e.define(f"load i64, ptr {is_wrong}", "i64", 1)
            e.raw(f"store i64 {e.binary('or', seen, e.convert('zext', is_outside, 'i64'))}, ptr {is_wrong}")
            data = memory.offset_address(e, data, position, x.strides[axis], width)
        if not kept and x.rep.dtype not in memory.MOVED:
            memory.move_element(e, at[0], data, x.rep.dtype)
            return
        source = ArrayValue(parts[0], x.owner, data, shape, x.strides[len(by) :])
        copy_elements(fn, ArrayValue(parts[1], target.owner, at[0], shape, target.strides[len(common) :]), source)

    steps = [
        ArrayValue(Array(a.rep.dtype, len(common), 0), a.owner, a.data, tuple(common), tuple(_steps(fn, a, common)))
        for a in by
    ]
    lines = [ArrayValue(Array(x.rep.dtype, len(common), 0), target.owner, target.data, tuple(common),
                        target.strides[: len(common)]), *steps]  # fmt: skip
    if not kept and all(a.rep.dense == a.rep.rank == len(common) for a in by) and len(by) == 1:
        lines = flattened(fn, [target, *by])
        common = lines[0].sizes
    each_element(fn, common, lines, one)
    any_outside = e.define(f"load i64, ptr {is_wrong}", "i64", 1)
    fn.exits.fail_if(e.icmp("ne", any_outside, number(0)), node)


def _position(fn: EmittedFunction, index: Register, size: Register) -> tuple[Register, Register]:
    """An index as a position of an axis, 0 where it is outside, and whether it is."""
    e = fn.e
    index = e.convert("sext", index, "i64") if index.type != "i64" else index
    position = e.select(e.icmp("slt", index, number(0)), e.binary("add", index, size), index)
    is_outside = e.icmp("uge", position, size)
    return e.select(is_outside, number(0), position), is_outside


def _named(fn: EmittedFunction, x: ArrayValue, indices: Sequence[Native]) -> dict[int, ArrayValue]:
    """The tensors of integers, by the axes that they name."""
    named = {axis: item for axis, item in enumerate(indices) if not _is_none(item)}
    if not named or len(indices) > x.rep.rank or fn.e.lanes > 1:
        raise CannotCompileError("an index that names no axis, or more than there are")
    for item in named.values():
        if not isinstance(item.rep, Array | Element) or item.rep.dtype.name not in INTEGERS:
            raise CannotCompileError("an index by other things than tensors of integers")
    return {axis: _in_memory(fn, item) for axis, item in named.items()}


def _is_none(native: Native) -> bool:
    return isinstance(native, FixedValue) and native.rep == Fixed(None)


def _in_memory(fn: EmittedFunction, native: Native) -> ArrayValue:
    """An index as a tensor in memory."""
    if isinstance(native, ArrayValue):
        return native
    assert isinstance(native, Scalar)
    slot = fn.e.slot("i64", 8)
    memory.store_element(fn.e, slot, native.register, native.dtype)
    return ArrayValue(Array(native.dtype, 0, 0), Register("null", "ptr", 1), slot, (), ())


def broadcast(fn: EmittedFunction, node: Node, arrays: Sequence[ArrayValue]) -> list[Register]:
    """The sizes that tensors have together; leaves the function where they have none."""
    e, rank = fn.e, max(a.rep.rank for a in arrays)
    common = [number(1)] * rank
    for a in arrays:
        for k, size in enumerate(a.sizes, rank - a.rep.rank):
            if memory.literal(common[k]) == 1:
                common[k] = size
                continue
            is_one, mine = e.icmp("eq", size, number(1)), e.icmp("eq", common[k], number(1))
            differs = e.icmp("ne", size, common[k])
            stretches = e.binary("or", is_one, mine)
            fn.exits.fail_if(e.binary("and", differs, e.binary("xor", stretches, e.like(stretches, 1))), node)
            common[k] = e.select(mine, size, common[k])
    return common


def _steps(fn: EmittedFunction, index: ArrayValue, common: Sequence[Register]) -> list[Register]:
    """The strides of an index along the common sizes: 0 where it is repeated."""
    e, missing = fn.e, len(common) - index.rep.rank
    steps = [number(0)] * missing
    for size, stride in zip(index.sizes, index.strides, strict=True):
        steps.append(e.select(e.icmp("eq", size, number(1)), number(0), stride))
    return steps
