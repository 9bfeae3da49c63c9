"""The native entry of programs on arrays: arguments may have names and defaults, tensors that come back are arrays.

What a callable serves is data (`layouts.ARRAY_CELL`): arguments of the classes that the program was compiled for, with
such contents (`entry_contents`), which go to the fast paths of the program, NumPy's scalars as arrays without
dimensions. It gives ``missed`` for others.
"""

from __future__ import annotations

from flambeau.codegen.layouts import ARRAY_CELL, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, new_module
from flambeau.codegen.llvm.entry_contents import add_holds
from flambeau.codegen.llvm.entry_forward import try_each
from flambeau.codegen.llvm.tensor_objects import plain_array


def arrays_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``arrays``, a function of the vectorcall signature."""
    m = new_module()
    _add_array_of_result(m, layouts)
    _add_tuple_of_result(m, layouts)
    _add_converted(m, layouts)
    _add_raise_error(m)
    _add_answer(m)
    _add_with_scalars(m)
    add_holds(m, layouts)
    f = m.function("ptr arrays", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
    self, _, nargsf, _ = f.parameters
    cell = f.get(self, layouts.callable, "cell")
    count = f.get(cell, ARRAY_CELL, "count")
    passed = f.op("and", nargsf, ARGUMENT_COUNT)
    f.require(f.compare("ule", passed, f.get(cell, ARRAY_CELL, "positional")), "miss")
    arguments = _by_place(f, cell, passed, count)
    with f.loop(count) as k:
        wanted = f.word_of(f.get(cell, ARRAY_CELL, "classes"), k, "ptr")
        actual = f.get(f.word_of(arguments, k, "ptr"), layouts.object, "type")
        f.require(f.op("or", f.is_null(wanted), f.compare("eq", wanted, actual)), "miss")
    contents = f.get(cell, ARRAY_CELL, "contents")
    with f.when(f.compare("ne", contents, NULL)), f.loop(count) as k:
        wanted = f.word_of(contents, k, "ptr")
        with f.when(f.compare("ne", wanted, NULL)):
            f.require(f.call("has_contents", wanted, f.word_of(arguments, k, "ptr")), "miss")
    with f.when(f.compare("ne", f.get(cell, ARRAY_CELL, "scalars"), NULL)):
        f.ret(f.call("with_scalars", cell, arguments, count))

    def answered(answer: Value) -> None:
        f.ret(f.call("answer", cell, answer))

    try_each(f, f.get(cell, ARRAY_CELL, "targets"), arguments, count, NULL, answered)
    f.start("miss")
    f.call("Py_IncRef", m.symbol("missed"))
    f.ret(m.symbol("missed"))
    return m


def _by_place(f: FunctionBuilder, cell: Value, passed: Value, count: Value) -> Value:
    """All arguments by place: those with names behind the others, and defaults for those that are missing."""
    _, args, _, names = f.parameters
    before, fill, ready = f.block, f.label("fill"), f.label("ready")
    f.branch_if(f.op("and", f.is_null(names), f.compare("eq", passed, count)), ready, fill)
    f.start(fill)
    filled = f.array("ptr", count)
    f.copy(filled, args, f.op("mul", passed, 8), 8)
    missing = f.op("sub", count, passed)
    defaults = f.at(f.get(cell, ARRAY_CELL, "defaults"), passed)
    rest = f.at(filled, passed)
    f.copy(rest, defaults, f.op("mul", missing, 8), 8)
    named = f.choose(f.is_null(names), lambda: word(0), lambda: f.call("PyTuple_Size", names))
    own_names = f.at(f.get(cell, ARRAY_CELL, "names"), passed)
    with f.loop(named) as j:
        name = f.call("PyTuple_GetItem", names, j)
        search = f.loop(missing, word(-1))
        with search as k:
            is_it = f.compare("eq", f.word_of(own_names, k, "ptr"), name)
            search.carry(f.pick(is_it, k, search.values[0]))
        f.require(f.compare("sge", search.values[0], 0), "miss")
        f.store(f.at(rest, search.values[0]), f.word_of(args, f.op("add", passed, j), "ptr"))
    with f.loop(missing) as k:
        f.require(f.compare("ne", f.word_of(rest, k, "ptr"), NULL), "miss")
    last = f.block
    f.start(ready)
    return f.joined_value([(args, before), (filled, last)])


def _add_array_of_result(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``array_of_result(value)``: a new reference to the array of a tensor with axes; null for what is none."""
    f = m.function("ptr array_of_result", "ptr value")
    (value,) = f.parameters
    f.require(f.compare("eq", f.get(value, layouts.object, "type"), m.symbol("tensor_type")), "other")
    array, is_plain = plain_array(f, layouts, value)
    f.require(is_plain, "other")
    f.require(f.compare("ne", f.get(array, layouts.array, "rank"), 0), "other")
    f.call("Py_IncRef", array)
    f.ret(array)
    f.start("other", falls_through=False)
    f.ret(NULL)


def _add_tuple_of_result(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``tuple_of_result(value)``: a new tuple of the items of one, arrays in the place of tensors; null where an item
    is a tensor that has none.
    """
    f = m.function("ptr tuple_of_result", "ptr value")
    (value,) = f.parameters
    count = f.call("PyTuple_Size", value)
    result = f.call("PyTuple_New", count)
    with f.when(f.is_null(result)):
        f.call("PyErr_Clear")
        f.ret(NULL)
    with f.loop(count) as k:
        item = f.call("PyTuple_GetItem", value, k)
        is_tensor = f.compare("eq", f.get(item, layouts.object, "type"), m.symbol("tensor_type"))

        def itself(item: Value = item) -> Value:
            f.call("Py_IncRef", item)
            return item

        own = f.choose(is_tensor, lambda item=item: f.call("array_of_result", item), itself)  # type: ignore[misc]
        f.require(f.compare("ne", own, NULL), "drop")
        f.call("PyTuple_SetItem", result, k, own)
    f.ret(result)
    f.start("drop", falls_through=False)
    f.call("Py_DecRef", result)
    f.ret(NULL)


def _add_converted(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``converted(cell, value)``: what a result is to users of arrays, in the place of the reference to it."""
    f = m.function("ptr converted", "ptr cell", "ptr value")
    cell, value = f.parameters
    conversion = f.get(cell, ARRAY_CELL, "conversion")
    f.return_if(f.is_null(conversion), value)
    forms = (("is_array", "tensor_type", "array_of_result"), ("is_tuple", "tuple_type", "tuple_of_result"))
    for form, class_, maker in forms:
        is_of_class = f.compare("eq", f.get(value, layouts.object, "type"), m.symbol(class_))
        with f.when(f.op("and", is_of_class, f.compare("ne", f.get(cell, ARRAY_CELL, form), 0))):
            own = f.call(maker, value)
            with f.when(f.compare("ne", own, NULL)):
                f.call("Py_DecRef", value)
                f.ret(own)
    own = f.call("PyObject_Vectorcall", conversion, f.variable(value, "ptr"), 1, NULL)
    f.call("Py_DecRef", value)
    f.ret(own)


def _add_raise_error(m: ModuleBuilder) -> None:
    """``raise_error(callable)``: the exception that is raised goes to a callable, which raises another."""
    f = m.function("ptr raise_error", "ptr callable")
    kind, value, trace = (f.slot("ptr", 8) for _ in range(3))
    f.call("PyErr_Fetch", kind, value, trace)
    f.call("PyErr_NormalizeException", kind, value, trace)
    with f.when(f.compare("ne", f.load(trace, "ptr"), NULL)):
        f.call("PyException_SetTraceback", f.load(value, "ptr"), f.load(trace, "ptr"))
        f.call("Py_DecRef", f.load(trace, "ptr"))
    f.call("PyObject_Vectorcall", f.parameters[0], value, 1, NULL)
    f.call("Py_DecRef", f.load(kind, "ptr"))
    f.call("Py_DecRef", f.load(value, "ptr"))
    f.ret(NULL)


def _add_answer(m: ModuleBuilder) -> None:
    """``answer(cell, value)``: what a call gives whose fast path gave this, null with an exception among it."""
    f = m.function("ptr answer", "ptr cell", "ptr value")
    cell, value = f.parameters
    with f.when(f.is_null(value)):
        f.ret(f.call("raise_error", f.get(cell, ARRAY_CELL, "error")))
    f.ret(f.call("converted", cell, value))


def _add_with_scalars(m: ModuleBuilder) -> None:
    """``with_scalars(cell, args, count)``: the call with arrays in the place of NumPy's scalars."""
    f = m.function("ptr with_scalars", "ptr cell", "ptr args", "i64 count")
    cell, args, count = f.parameters
    scalars, to_array = f.get(cell, ARRAY_CELL, "scalars"), f.get(cell, ARRAY_CELL, "to_array")
    arguments = f.array("ptr", count)
    f.copy(arguments, args, f.op("mul", count, 8), 8)

    def is_scalar(k: Value) -> Value:
        return f.compare("ne", f.word_of(scalars, k), 0)

    def drop_arrays() -> None:
        with f.loop(count) as k:
            array = f.word_of(arguments, k, "ptr")
            with f.when(f.op("and", is_scalar(k), f.compare("ne", array, NULL))):
                f.call("Py_DecRef", array)

    def answered(answer: Value) -> None:
        drop_arrays()
        f.ret(f.call("answer", cell, answer))

    with f.loop(count) as k, f.when(is_scalar(k)):
        array = f.call("PyObject_Vectorcall", to_array, f.at(args, k, "ptr"), 1, NULL)
        f.store(f.at(arguments, k, "ptr"), array)
    with f.loop(count) as k:
        f.require(f.compare("ne", f.word_of(arguments, k, "ptr"), NULL), "miss")
    try_each(f, f.get(cell, ARRAY_CELL, "targets"), arguments, count, NULL, answered)
    f.start("miss")
    f.call("PyErr_Clear")
    drop_arrays()
    f.call("Py_IncRef", m.symbol("missed"))
    f.ret(m.symbol("missed"))
