"""Where calls of a scripted function go: to the fast paths of its dispatch stub, or else to its slow function.

Nobody may be watching (tracers, interceptors of operators), there are no keywords that fast paths do not know, and one
of them serves the arguments: all else is for the slow function, which takes the callable itself before the arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.layouts import Layout
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE, NUMPY_INTERFACE
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT

FORWARDS = "forward", "forward_tensors", "forward_named"
"""The functions of the module."""


def forward_module(callable_: Layout, object_: Layout) -> ModuleBuilder:
    """A module with functions of the vectorcall signature on callables with these fields: ``cell``, the array of fast
    paths, which ends with 0; ``slow``; ``first``, what goes before the arguments, or 0. ``forward`` tries the fast
    paths for all arguments, ``forward_tensors`` where none is an array of NumPy, ``forward_named`` for arguments with
    names too; it is for callables that have nothing before the arguments.
    """
    m = ModuleBuilder(C_INTERFACE | NUMPY_INTERFACE)
    for name in FORWARDS:
        f = m.function(f"ptr {name}", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
        self, args, nargsf, names = f.parameters
        count = f.op("and", nargsf, ARGUMENT_COUNT)
        no_watchers = f.compare("eq", f.load(m.symbol("watchers", "i64")), 0)
        takes_names = name == "forward_named"
        with f.when(no_watchers if takes_names else f.op("and", no_watchers, f.is_null(names))):
            if name == "forward_tensors":
                with f.loop(count) as k:
                    kind = f.get(f.word_of(args, k, "ptr"), object_, "type")
                    f.require(f.compare("ne", kind, m.symbol("ndarray")), "slow")
            if takes_names:
                try_each(f, f.get(self, callable_, "cell"), args, count, names, f.ret)
            else:
                _try_fast_paths(f, self, callable_, args, count)
        if name == "forward_tensors":
            f.start("slow")
        _call_slow(f, callable_, count)
    return m


def _try_fast_paths(f: FunctionBuilder, self: Value, callable_: Layout, args: Value, count: Value) -> None:
    """Return what a fast path gives."""
    cell, first = f.get(self, callable_, "cell"), f.get(self, callable_, "first")
    before, shift, ready = f.block, f.label("shift"), f.label("ready")
    f.branch_if(f.is_null(first), ready, shift)
    f.start(shift)
    shifted_count = f.op("add", count, 1)
    shifted = _prepend(f, first, args, count, shifted_count)
    f.start(ready)
    arguments = f.joined_value([(args, before), (shifted, shift)])
    number = f.joined_value([(count, before), (shifted_count, shift)])
    try_each(f, cell, arguments, number, NULL, f.ret)


def try_each(
    f: FunctionBuilder, cell: Value, arguments: Value, count: Value, names: Value, answered: Callable[[Value], None]
) -> None:
    """Call the fast paths of a cell until one serves the arguments: `answered` ends the function with what it gives.
    There is a reference to a fast path during its call: another thread, or the call itself, may put another into its
    place.
    """
    before = f.block
    head, call, missed, after = f.label("next"), f.label("call"), f.label("missed"), f.label("no_fast_path")
    f.start(head)
    slot, following = Value(f.name("place"), "ptr", 1), Value(f.name("place"), "ptr", 1)
    f.phi(slot.text, slot, [(cell, before), (following, missed)])
    fast_path = f.load(slot, "ptr")
    f.branch_if(f.is_null(fast_path), after, call)
    f.start(call)
    f.call("Py_IncRef", fast_path)
    answer = f.call("PyObject_Vectorcall", fast_path, arguments, count, names)
    f.call("Py_DecRef", fast_path)
    served = f.label("served")
    f.branch_if(f.compare("eq", answer, f.module.symbol("missed")), missed, served)
    f.start(served)
    answered(answer)
    f.start(missed, falls_through=False)
    f.call("Py_DecRef", answer)
    f.raw(f"{following} = getelementptr ptr, ptr {slot}, i64 1")
    f.branch(head)
    f.start(after)


def _prepend(f: FunctionBuilder, first: Value, args: Value, count: Value, total: Value) -> Value:
    """An array of ``total`` objects: one before others, of which ``count`` are copied."""
    objects = f.array("ptr", total)
    f.store(objects, first)
    f.copy(f.at(objects, 1, "ptr"), args, f.op("mul", count, 8), 8)
    return objects


def _call_slow(f: FunctionBuilder, callable_: Layout, count: Value) -> None:
    """Return what the slow function makes of the callable and the arguments, those with names last."""
    self, args, _, names = f.parameters
    named = f.choose(f.is_null(names), lambda: word(0), lambda: f.call("PyTuple_Size", names))
    positional = f.op("add", count, 1)
    objects = _prepend(f, self, args, f.op("add", count, named), f.op("add", positional, named))
    slow = f.get(self, callable_, "slow")
    f.ret(f.call("PyObject_Vectorcall", slow, objects, positional, names))
