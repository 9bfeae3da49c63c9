"""Results of a compiled graph from words to objects, by the signature that its entry stub is made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation, word_count
from flambeau.codegen.layouts import BLOCK_DATA, LIST
from flambeau.codegen.llvm.builder import FunctionBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_constants import StubConstants
from flambeau.program.named_tuples import maker_of_fields


class Marshalling:
    """Makes objects in one function."""

    def __init__(self, f: FunctionBuilder, constants: StubConstants) -> None:
        self.f, self.constants = f, constants

    def marshal(self, r: Representation, words: Value) -> Value:
        """A new reference to the object of words; null, with an exception, if there is none."""
        f, m = self.f, self.f.module
        match r:
            case forms.Int():
                return f.call("PyLong_FromLongLong", f.load(words))
            case forms.Float():
                return f.call("PyFloat_FromDouble", f.load(words, "double"))
            case forms.Complex():
                parts = f.load(words, "double"), f.load(f.at(words, 1), "double")
                return f.call("PyComplex_FromDoubles", *parts)
            case forms.Bool():
                is_true = f.compare("ne", f.load(words), 0)
                return self.reference(f.pick(is_true, m.symbol("true"), m.symbol("false"), "ptr"))
            case forms.Text():
                code_points, count = f.load(f.at(words, 1), "ptr"), f.load(f.at(words, 2))
                return f.call("PyUnicode_FromKindAndData", 4, code_points, count)
            case forms.Fixed():
                return self.reference(self.constants.object(r.value))
            case forms.OneOf():
                return self.reference(self._chosen(r.values, f.load(words)))
            case forms.Element():
                return f.call("marshal_element", words, self.constants.descr(r.dtype), r.dtype.itemsize)
            case forms.Array():
                return f.call("marshal_array", words, r.rank, self.constants.descr(r.dtype), r.dtype.itemsize)
            case forms.Tupled():
                return f.call(self._maker(r, lambda marshalling, source: marshalling.make_container(r, source)), words)
            case forms.Optional():
                return f.call(self._maker(r, lambda marshalling, source: marshalling.make_optional(r, source)), words)
            case forms.Listed() | forms.Mapped():
                return f.call(self._maker(r, lambda marshalling, source: marshalling.make_of_block(r, source)), words)
            case forms.Unlike():
                return f.call(self._maker(r, lambda marshalling, source: marshalling.make_unlike(r, source)), words)
            case _:
                raise CannotCompileError("a result that holds what is no number, tensor, tuple or list of those")

    def marshal_all(self, results: Sequence[Representation], words: Value) -> Value:
        """One object of all results: a tuple of several, None for none."""
        if len(results) == 1:
            return self.marshal(results[0], words)
        if not results:
            return self.reference(self.f.module.symbol("none"))
        return self.marshal(forms.Tupled(tuple(results)), words)

    def _chosen(self, values: Sequence[object], index: Value) -> Value:
        """The object of some fixed values that an index names."""
        f, object_ = self.f, self.constants.object(values[0])
        for k, value in enumerate(values[1:], 1):
            object_ = f.pick(f.compare("eq", index, k), self.constants.object(value), object_, "ptr")
        return object_

    def reference(self, object_: Value) -> Value:
        """A new reference to an object."""
        self.f.call("Py_IncRef", object_)
        return object_

    def _maker(self, r: Representation, build: Callable[[Marshalling, Value], None]) -> str:
        """A function of the address of words: the object."""
        name, is_new = self.constants.function_for("make", r)
        if is_new:
            f = self.constants.m.function(f"ptr {name}", "ptr words")
            build(Marshalling(f, self.constants), f.parameters[0])
        return name

    def make_container(self, r: forms.Tupled, words: Value) -> None:
        """Return what Python has of items: a tuple, perhaps with names, a list or a dict."""
        if r.names is not None:
            self.make_named(r, words)
        elif r.keys is not None:
            self.make_dict(r, words)
        else:
            self.make_tuple(r, words)

    def make_tuple(self, r: forms.Tupled, words: Value) -> None:
        """Return a tuple, or a list, of items whose words follow one another."""
        f, kind = self.f, "List" if r.is_list else "Tuple"
        result = f.call(f"Py{kind}_New", len(r.items))
        f.return_if(f.is_null(result), NULL)
        for k, item in enumerate(r.items):
            value = self.marshal(item, words)
            f.require(f.compare("ne", value, NULL), "drop")
            f.call(f"Py{kind}_SetItem", result, k, value)
            words = f.at(words, word_count(item))
        f.ret(result)
        self._drop(result)

    def make_named(self, r: forms.Tupled, words: Value) -> None:
        """Return a named tuple of items whose words follow one another."""
        f = self.f
        assert r.names is not None
        items = self.marshal(forms.Tupled(r.items), words)
        f.return_if(f.is_null(items), NULL)
        maker = self.constants.object(maker_of_fields(*r.names))
        result = f.call("PyObject_Vectorcall", maker, f.variable(items), 1, NULL)
        f.call("Py_DecRef", items)
        f.ret(result)

    def make_dict(self, r: forms.Tupled, words: Value) -> None:
        """Return a dict of items whose words follow one another, by its keys."""
        f = self.f
        assert r.keys is not None
        values = self.marshal(forms.Tupled(r.items), words)
        f.return_if(f.is_null(values), NULL)
        result = f.call("PyDict_New")
        f.require(f.compare("ne", result, NULL), "drop_values")
        for key, index in r.keys:
            value = f.call("PyTuple_GetItem", values, index)
            failed = f.call("PyDict_SetItem", result, self.constants.object(key), value)
            f.require(f.compare("eq", failed, 0), "drop")
        f.call("Py_DecRef", values)
        f.ret(result)
        f.start("drop", falls_through=False)
        f.call("Py_DecRef", result)
        f.branch("drop_values")
        f.start("drop_values", falls_through=False)
        f.call("Py_DecRef", values)
        f.ret(NULL)

    def _drop(self, result: Value) -> None:
        """Where an item could not be made."""
        self.f.start("drop", falls_through=False)
        self.f.call("Py_DecRef", result)
        self.f.ret(NULL)

    def make_optional(self, r: forms.Optional, words: Value) -> None:
        """Return a value, or None."""
        f = self.f
        with f.when(f.compare("ne", f.load(words), 0)):
            f.ret(self.marshal(r.inner, f.at(words, 1)))
        f.ret(self.reference(f.module.symbol("none")))

    def make_unlike(self, r: forms.Unlike, words: Value) -> None:
        """Return a tensor of the kind that the first word names."""
        f = self.f
        kind, own = f.load(words), f.at(words, 1)
        for k, each in enumerate(r.kinds[:-1]):
            with f.when(f.compare("eq", kind, k)):
                f.ret(self.marshal(each, own))
        f.ret(self.marshal(r.kinds[-1], own))

    def make_of_block(self, r: forms.Listed | forms.Mapped, words: Value) -> None:
        """Return a list, a dict or a set."""
        if isinstance(r, forms.Listed):
            self.make_list(r, words)
        else:
            self.make_mapping(r, words)

    def make_list(self, r: forms.Listed, words: Value) -> None:
        """Return a list; one that came up before among the results is the same list again: its block remembers it."""
        f = self.f
        block = f.load(words, "ptr")
        room = f.get(block, LIST, "capacity")
        with f.when(f.compare("slt", room, 0)):
            f.ret(self.reference(f.convert("inttoptr", f.op("xor", room, -1), "ptr")))
        count = f.get(block, LIST, "length")
        first = f.at(f.get(block, LIST, "items"), BLOCK_DATA, "i8")
        result = f.call("PyList_New", count)
        f.return_if(f.is_null(result), NULL)
        with f.loop(count) as k:
            value = self.marshal(r.item, f.at(first, f.op("mul", k, word_count(r.item))))
            f.require(f.compare("ne", value, NULL), "drop")
            f.call("PyList_SetItem", result, k, value)
        f.put(block, LIST, capacity=f.op("xor", f.convert("ptrtoint", result, "i64"), -1))
        f.ret(result)
        self._drop(result)

    def make_mapping(self, r: forms.Mapped, words: Value) -> None:
        """Return a dict, or a set; one that came up before among the results is the same again, as lists are."""
        f = self.f
        block = f.load(words, "ptr")
        room = f.get(block, LIST, "capacity")
        with f.when(f.compare("slt", room, 0)):
            f.ret(self.reference(f.convert("inttoptr", f.op("xor", room, -1), "ptr")))
        first = f.at(f.get(block, LIST, "items"), BLOCK_DATA, "i8")
        result = f.call("PySet_New", NULL) if r.is_set else f.call("PyDict_New")
        f.return_if(f.is_null(result), NULL)
        with f.loop(f.get(block, LIST, "length")) as k:
            entry = f.at(first, f.op("mul", k, word_count(r.entry)))
            with f.when(f.compare("ne", f.load(entry), 0)):
                self._put_entry(r, result, f.at(entry, 1))
        f.put(block, LIST, capacity=f.op("xor", f.convert("ptrtoint", result, "i64"), -1))
        f.ret(result)
        self._drop(result)

    def _put_entry(self, r: forms.Mapped, result: Value, words: Value) -> None:
        """Put the key and the value of an entry into what becomes the result."""
        f = self.f
        key = self.marshal(r.key, words)
        f.require(f.compare("ne", key, NULL), "drop")
        if r.is_set:
            failed = f.call("PySet_Add", result, key)
        else:
            value = self.marshal(r.value, f.at(words, word_count(r.key)))
            with f.when(f.is_null(value)):
                f.call("Py_DecRef", key)
                f.branch("drop")
            failed = f.call("PyDict_SetItem", result, key, value)
            f.call("Py_DecRef", value)
        f.call("Py_DecRef", key)
        f.require(f.compare("eq", failed, 0), "drop")
