"""The native entry of callables that make an object with slots: each argument goes into a slot, constants into others.

What a callable makes is in a table of words: how many arguments there are and how many constants; the class; the offset
of each argument's slot; and of each constant its slot's offset and its address. It refers to what it names without
counting that: whoever has the table keeps it alive.
"""

from __future__ import annotations

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, call_slowly, new_module
from flambeau.util.made_objects import ARGUMENTS, CLASS, CONSTANTS, FIRST


def make_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``make``, a function of the vectorcall signature."""
    m = new_module()
    f = m.function("ptr make", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
    self, args, nargsf, names = f.parameters
    f.require(f.is_null(names), "slow")
    table = f.get(self, layouts.callable, "cell")
    n = f.word_of(table, ARGUMENTS)
    f.require(f.compare("eq", f.op("and", nargsf, ARGUMENT_COUNT), n), "slow")
    new_object = f.call("PyType_GenericAlloc", f.word_of(table, CLASS, "ptr"), 0)
    f.return_if(f.is_null(new_object), new_object)
    offsets = f.at(table, FIRST)
    with f.loop(n) as k:
        _put(f, new_object, f.word_of(offsets, k), f.word_of(args, k, "ptr"))
    constants = f.at(offsets, n)
    with f.loop(f.word_of(table, CONSTANTS)) as k:
        pair = f.at(constants, f.op("shl", k, 1))
        _put(f, new_object, f.word_of(pair, 0), f.word_of(pair, 1, "ptr"))
    f.ret(new_object)
    f.start("slow", falls_through=False)
    call_slowly(f, layouts)
    return m


def _put(f: FunctionBuilder, base: Value, offset: Value, value: Value) -> None:
    f.call("Py_IncRef", value)
    f.store(f.at(base, offset, "i8"), value)
