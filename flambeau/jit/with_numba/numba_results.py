"""What scripted functions give to functions compiled by Numba: words made numbers, tuples and arrays.

An array is on the memory that the script made for its tensor, and frees it; one that shows a part of an argument holds
that argument's memory.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from flambeau.codegen import native_call
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Element,
    Float,
    Int,
    Representation,
    Tupled,
    word_count,
)
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.engine import engine


@functools.cache
def _free() -> int:
    """The address of what frees a script's memory when Numba has no more use for it."""
    m = ModuleBuilder(C_INTERFACE)
    f = m.function("void free_kept", "ptr kept", "i64 size", "ptr nothing", exported=True)
    f.call("PyMem_RawFree", f.load(f.parameters[0], "ptr"))
    f.ret()
    code = engine().link(m.text(), ("free_kept",), native_call.imports_of(m), is_glue=True)
    return native_call.keep(code).addresses["free_kept"]


def kind_of(rep: Representation, *, is_read_only: bool = False) -> Any:
    """Numba's type of values that look so."""
    types: Any = importlib.import_module("numba.core.types")
    match rep:
        case Tupled():
            return types.Tuple([kind_of(r, is_read_only=is_read_only) for r in rep.items])
        case Array() | Element():
            element = importlib.import_module("numba").from_dtype(rep.dtype.numpy)
            if isinstance(rep, Element):
                return types.Array(element, 0, "C")
            return types.Array(element, rep.rank, "C" if rep.dense == rep.rank else "A", readonly=is_read_only)
    numbers: dict[type[Any], Any] = {Int: types.int64, Float: types.float64, Bool: types.boolean}
    return numbers.get(type(rep), types.none)


def made(
    context: Any, builder: Any, signature: Any, arguments: Sequence[Any], words: Any, reps: Sequence[Representation]
) -> Any:
    """The value of a call from the words of its results; ``arguments`` and the signature's begin with the callee."""
    maker = _Maker(context, builder, signature.args[1:], arguments[1:], words)
    if len(reps) != 1:
        return context.get_dummy_value()
    return maker.value(signature.return_type, reps[0])


class _Maker:
    """Emits the values of one call's results, word by word."""

    def __init__(self, context: Any, builder: Any, kinds: Sequence[Any], arguments: Sequence[Any], words: Any) -> None:
        self.context, self.builder = context, builder
        self.words, self.word_index = words, 0
        self.arrays: Any = importlib.import_module("numba.np.arrayobj")
        self.cgutils: Any = importlib.import_module("numba.core.cgutils")
        self.ir: Any = importlib.import_module("llvmlite.ir")
        types: Any = importlib.import_module("numba.core.types")
        self.holders = [
            (self.ir.IntType(64)(number + 1), kind, value)
            for number, (kind, value) in enumerate(zip(kinds, arguments, strict=True))
            if isinstance(kind, types.Array)
        ]
        """The owner, type and value of each array so far: of the arguments, then of results."""

    def next(self) -> Any:
        """The next word."""
        address = self.cgutils.gep_inbounds(self.builder, self.words, 0, self.word_index)
        self.word_index += 1
        return self.builder.load(address)

    def value(self, kind: Any, rep: Representation) -> Any:
        """The value of the next words."""
        builder = self.builder
        match rep:
            case Int():
                return self.next()
            case Float():
                return builder.bitcast(self.next(), self.ir.DoubleType())
            case Bool():
                return builder.trunc(self.next(), self.ir.IntType(1))
            case Tupled():
                parts = [self.value(k, r) for k, r in zip(kind.types, rep.items, strict=True)]
                return self.context.make_tuple(builder, kind, parts)
            case Element():
                return self.element(kind)
            case Array():
                return self.array(kind, rep)
        return self.context.get_dummy_value()

    def element(self, kind: Any) -> Any:
        """An array without axes, with memory of its own."""
        scalar = self.arrays._empty_nd_impl(self.context, self.builder, kind, ())
        bits = self.cgutils.alloca_once(self.builder, self.ir.IntType(64))
        self.builder.store(self.next(), bits)
        element = self.context.get_data_type(kind.dtype)
        self.builder.store(self.builder.load(self.builder.bitcast(bits, element.as_pointer())), scalar.data)
        return scalar._getvalue()

    def array(self, kind: Any, rep: Array) -> Any:
        """An array on the memory of the next words."""
        context, builder = self.context, self.builder
        words = [self.next() for _ in range(word_count(rep))]
        array = context.make_array(kind)(context, builder)
        holder = self.holder(words[0])
        data = builder.inttoptr(words[1], context.get_data_type(kind.dtype).as_pointer())
        shape, strides = words[2 : 2 + rep.rank], words[2 + rep.rank :]
        self.arrays.populate_array(array, data, shape, strides, rep.dtype.itemsize, holder)
        value = array._getvalue()
        self.holders.append((words[0], kind, value))
        return value

    def holder(self, owner: Any) -> Any:
        """What holds an array's memory, held once more: an argument's, an earlier result's, or a new one."""
        builder = self.builder
        address = self.cgutils.alloca_once(builder, self.ir.IntType(8).as_pointer())
        after = builder.append_basic_block("held")
        for its_owner, kind, value in self.holders:
            same, other = builder.append_basic_block("same"), builder.append_basic_block("other")
            builder.cbranch(builder.icmp_unsigned("==", owner, its_owner), same, other)
            builder.position_at_end(same)
            self.context.nrt.incref(builder, kind, value)
            builder.store(self.context.make_array(kind)(self.context, builder, value).meminfo, address)
            builder.branch(after)
            builder.position_at_end(other)
        builder.store(self.new_holder(owner), address)
        builder.branch(after)
        builder.position_at_end(after)
        return builder.load(address)

    def new_holder(self, owner: Any) -> Any:
        """Something that frees the memory in the end."""
        nrt, word = self.context.nrt, self.ir.IntType(64)
        free = self.context.add_dynamic_addr(self.builder, _free(), "flambeau_free_kept")
        meminfo = nrt.meminfo_alloc_dtor(self.builder, word(8), free)
        self.builder.store(owner, self.builder.bitcast(nrt.meminfo_data(self.builder, meminfo), word.as_pointer()))
        return meminfo
