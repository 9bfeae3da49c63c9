"""The native entry of programs on arrays: missing arguments are defaults, tensors that come back are arrays.

What a callable serves is data (`layouts.ARRAY_CELL`): arguments of the classes that the program was compiled for, which
go to the fast paths of the program. It gives ``missed`` for others.
"""

from __future__ import annotations

from flambeau.codegen.layouts import ARRAY_CELL, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, new_module
from flambeau.codegen.llvm.entry_forward import try_each
from flambeau.codegen.llvm.tensor_objects import plain_array


def arrays_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``arrays``, a function of the vectorcall signature."""
    m = new_module()
    _add_array_of_result(m, layouts)
    _add_tuple_of_result(m, layouts)
    _add_converted(m, layouts)
    _add_raise_error(m)
    f = m.function("ptr arrays", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
    self, args, nargsf, names = f.parameters
    cell = f.get(self, layouts.callable, "cell")
    count = f.get(cell, ARRAY_CELL, "count")
    passed = f.op("and", nargsf, ARGUMENT_COUNT)
    f.require(f.op("and", f.is_null(names), f.compare("ule", passed, count)), "miss")
    arguments = _with_defaults(f, cell, args, passed, count)
    with f.loop(count) as k:
        wanted = f.word_of(f.get(cell, ARRAY_CELL, "classes"), k, "ptr")
        actual = f.get(f.word_of(arguments, k, "ptr"), layouts.object, "type")
        f.require(f.op("or", f.is_null(wanted), f.compare("eq", wanted, actual)), "miss")

    def answered(answer: Value) -> None:
        with f.when(f.is_null(answer)):
            f.ret(f.call("raise_error", f.get(cell, ARRAY_CELL, "error")))
        f.ret(f.call("converted", cell, answer))

    try_each(f, f.get(cell, ARRAY_CELL, "targets", "ptr"), arguments, count, answered)
    f.start("miss")
    f.call("Py_IncRef", m.symbol("missed"))
    f.ret(m.symbol("missed"))
    return m


def _with_defaults(f: FunctionBuilder, cell: Value, args: Value, passed: Value, count: Value) -> Value:
    """The arguments, with defaults in the place of those that are missing."""
    before, fill, ready = f.block, f.label("fill"), f.label("ready")
    f.branch_if(f.compare("eq", passed, count), ready, fill)
    f.start(fill)
    filled = f.array("ptr", count)
    f.copy(filled, args, f.op("mul", passed, 8), 8)
    with f.loop(f.op("sub", count, passed)) as j:
        k = f.op("add", passed, j)
        default = f.word_of(f.get(cell, ARRAY_CELL, "defaults"), k, "ptr")
        f.require(f.compare("ne", default, NULL), "miss")
        f.store(f.at(filled, k, "ptr"), default)
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
