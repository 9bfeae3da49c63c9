"""Arguments of a compiled graph into words, by the signature that its entry stub is made for."""

from __future__ import annotations

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.containers.dict_tables import FEW
from flambeau.codegen.graph.entry.signature import Parameter
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation, word_count
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, DICT, FOREVER, LEAF, LIST, WORD
from flambeau.codegen.llvm.builder import FunctionBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, WRITEABLE
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_constants import StubConstants
from flambeau.codegen.llvm.entry_objects import ASKING


def leaves_of(r: Representation) -> int:
    """How many leaves a value needs beside those of items of lists."""
    match r:
        case forms.Array():
            return 1
        case forms.Tupled():
            return sum(map(leaves_of, r.items))
        case forms.Optional():
            return leaves_of(r.inner)
        case _:
            return 0


class Unmarshalling:
    """Takes objects apart in one function, which goes to a label where one does not fit."""

    def __init__(
        self, f: FunctionBuilder, constants: StubConstants, context: Value, origin: Value, failed: str
    ) -> None:
        self.f, self.constants = f, constants
        self.context, self.origin, self.failed = context, origin, failed

    def require(self, condition: Value) -> None:
        """Go on where a condition holds."""
        self.f.require(condition, self.failed)

    def unmarshal(self, p: Parameter, object_: Value, words: Value, leaf: Value) -> None:
        """Put the words of an object to an address; ``leaf`` is that of its first leaf."""
        f, m, r = self.f, self.f.module, p.representation
        match r:
            case forms.Int():
                self.require(f.call("unmarshal_int", object_, words))
            case forms.Float():
                self._unmarshal_float(object_, words)
            case forms.Bool():
                is_true = f.compare("eq", object_, m.symbol("true"))
                self.require(f.op("or", is_true, f.compare("eq", object_, m.symbol("false"))))
                f.store(words, f.convert("zext", is_true, "i64"))
            case forms.Complex():
                self.require(f.compare("eq", self.type_of(object_), m.symbol("complex_type")))
                f.store(words, f.call("PyComplex_RealAsDouble", object_))
                f.store(f.at(words, 1), f.call("PyComplex_ImagAsDouble", object_))
            case forms.Element():
                descr = self.constants.descr(r.dtype)
                self.require(f.call("unmarshal_element", object_, words, descr, r.dtype.itemsize))
            case forms.Array():
                self._unmarshal_array(p, r, object_, words, leaf)
            case forms.Text():
                self.require(f.call("unmarshal_text", self.context, object_, words))
            case forms.Fixed():
                self.require(f.compare("eq", object_, self.constants.object(r.value)))
            case forms.Tupled():
                self._unmarshal_tuple(p, r, object_, words, leaf)
            case forms.Optional():
                self._unmarshal_optional(p, r, object_, words, leaf)
            case forms.Listed():
                block = f.call(_list_reader(self.constants, r, p.is_written), self.context, object_, self.origin)
                self.require(f.compare("ne", block, NULL))
                f.store(words, block)
            case forms.Mapped():
                block = f.call(_dict_reader(self.constants, r, p.is_written), self.context, object_, self.origin)
                self.require(f.compare("ne", block, NULL))
                f.store(words, block)

    def type_of(self, object_: Value) -> Value:
        """The type of an object."""
        return self.f.get(object_, self.constants.layouts.object, "type")

    def _unmarshal_float(self, object_: Value, words: Value) -> None:
        f = self.f
        plain, other, done = f.label("plain"), f.label("other"), f.label("done")
        f.branch_if(f.compare("eq", self.type_of(object_), f.module.symbol("float_type")), plain, other)
        f.start(plain)
        f.store(words, f.get(object_, self.constants.layouts.float, "value"))
        f.branch(done)
        f.start(other)
        self.require(f.call("unmarshal_float", object_, words))
        f.start(done)

    def _unmarshal_array(self, p: Parameter, r: forms.Array, object_: Value, words: Value, leaf: Value) -> None:
        asking = ASKING if self.constants.takes_asking else 0
        flags = ALIGNED | (WRITEABLE if p.is_written else 0) | asking
        ones = -1 if p.ones is None else sum(1 << k for k, is_one in enumerate(p.ones) if is_one)
        looks = (self.constants.descr(r.dtype), r.rank, r.dtype.itemsize, flags, r.dense, ones)
        self.require(self.f.call("unmarshal_array", self.context, object_, words, leaf, self.origin, *looks))

    def _unmarshal_tuple(self, p: Parameter, r: forms.Tupled, object_: Value, words: Value, leaf: Value) -> None:
        f, kind = self.f, "List" if r.is_list else "Tuple"
        self._require_sequence(self.type_of(object_), f.module.symbol(f"{kind.lower()}_type"), exactly=r.is_list)
        self.require(f.compare("eq", f.call(f"Py{kind}_Size", object_), len(r.items)))
        for k, item in enumerate(r.items):
            value = f.call(f"Py{kind}_GetItem", object_, k)
            if isinstance(item, forms.Float | forms.Int) and not r.is_list:
                # Programs on arrays have another meaning for an int in a float's place, and for NumPy's numbers.
                plain = "float_type" if isinstance(item, forms.Float) else "int_type"
                self.require(f.compare("eq", self.type_of(value), f.module.symbol(plain)))
            self.unmarshal(p.item(k), value, words, leaf)
            words, leaf = f.at(words, word_count(item)), f.at(leaf, leaves_of(item) * LEAF.words)

    def _require_sequence(self, type_: Value, wanted: Value, *, exactly: bool) -> None:
        """Require a type, or, unless exactly that is wanted, a subclass: named tuples hold items as tuples do."""
        f = self.f
        if exactly:
            self.require(f.compare("eq", type_, wanted))
            return
        other, done = f.label("other"), f.label("done")
        f.branch_if(f.compare("eq", type_, wanted), done, other)
        f.start(other)
        self.require(f.compare("ne", f.call("PyType_IsSubtype", type_, wanted), 0))
        f.branch(done)
        f.start(done)

    def _unmarshal_optional(self, p: Parameter, r: forms.Optional, object_: Value, words: Value, leaf: Value) -> None:
        f = self.f
        absent, present, done = f.label("absent"), f.label("present"), f.label("done")
        f.branch_if(f.compare("eq", object_, f.module.symbol("none")), absent, present)
        f.start(absent)
        for k in range(1 + word_count(r.inner)):
            f.set_word(words, k, 0)
        f.branch(done)
        f.start(present)
        f.store(words, 1)
        self.unmarshal(p.inner(), object_, f.at(words, 1), leaf)
        f.start(done)


def _list_reader(constants: StubConstants, r: forms.Listed, is_written: bool) -> str:
    """A function of a context, an object and an origin: the block of a new list of the object's items, or null."""
    name, is_new = constants.function_for(f"read_list {is_written}", r)
    if is_new:
        f = constants.m.function(f"ptr {name}", "ptr context", "ptr object", "i64 origin")
        _build_list_reader(Unmarshalling(f, constants, f.parameters[0], f.parameters[2], "no"), r, is_written)
    return name


def _build_list_reader(unmarshalling: Unmarshalling, r: forms.Listed, is_written: bool) -> None:
    f, context, object_ = unmarshalling.f, unmarshalling.context, unmarshalling.f.parameters[1]
    width, leaves = word_count(r.item), leaves_of(r.item)
    count = f.call("length", object_)
    unmarshalling.require(f.compare("sge", count, 0))
    block = f.call("new_list", context, count, max(width, 1))
    unmarshalling.require(f.compare("ne", block, NULL))
    first = f.at(f.get(block, LIST, "items"), BLOCK_DATA, "i8")
    first_leaf = NULL
    if leaves:
        memory = f.call("new_block", context, f.op("mul", count, 8 * LEAF.words * leaves))
        unmarshalling.require(f.compare("ne", memory, NULL))
        first_leaf = f.at(memory, BLOCK_DATA, "i8")
    with f.loop(count) as k:
        leaf = f.at(first_leaf, f.op("mul", k, LEAF.words * leaves)) if leaves else NULL
        words = f.at(first, f.op("mul", k, word(width)))
        unmarshalling.unmarshal(Parameter(r.item, is_written), f.call("item", object_, k), words, leaf)
    f.ret(block)
    f.start("no", falls_through=False)
    f.ret(NULL)


def _dict_reader(constants: StubConstants, r: forms.Mapped, is_written: bool) -> str:
    """A function of a context, an object and an origin: the block of a new dict of the object's entries, or null."""
    name, is_new = constants.function_for(f"read_dict {is_written}", r)
    if is_new:
        f = constants.m.function(f"ptr {name}", "ptr context", "ptr object", "i64 origin")
        _build_dict_reader(Unmarshalling(f, constants, f.parameters[0], f.parameters[2], "no"), r, is_written)
    return name


def _build_dict_reader(unmarshalling: Unmarshalling, r: forms.Mapped, is_written: bool) -> None:
    f, context, object_ = unmarshalling.f, unmarshalling.context, unmarshalling.f.parameters[1]
    if leaves_of(r.value):
        raise CannotCompileError("a dict of tensors, which Python takes apart")
    kind = "set" if r.is_set else "dict"
    unmarshalling.require(f.compare("eq", unmarshalling.type_of(object_), f.module.symbol(f"{kind}_type")))
    count = f.call(f"Py{kind.title()}_Size", object_)
    room = f.pick(f.compare("sgt", count, FEW), count, FEW)
    items = f.call("new_block", context, f.op("mul", room, WORD * word_count(r.entry)))
    unmarshalling.require(f.compare("ne", items, NULL))
    block = f.call("new_block", context, WORD * (DICT.words - LIST.words))
    unmarshalling.require(f.compare("ne", block, NULL))
    f.put(block, BLOCK, references=FOREVER)
    first = f.at(items, BLOCK_DATA, "i8")
    if r.is_set:
        read = f.call(_set_items_reader(unmarshalling.constants, r), context, object_, unmarshalling.origin, first)
        unmarshalling.require(f.compare("eq", read, count))
    else:
        _read_entries(unmarshalling, r, first, count, is_written)
    f.put(block, DICT, length=count, capacity=room, items=items, table=NULL, bits=0, live=count, filled=0)
    f.ret(block)
    f.start("no", falls_through=False)
    f.ret(NULL)


def _read_entries(unmarshalling: Unmarshalling, r: forms.Mapped, first: Value, count: Value, is_written: bool) -> None:
    """Write the entries of a dict."""
    f, object_ = unmarshalling.f, unmarshalling.f.parameters[1]
    position, key, value = f.variable(0), f.variable(NULL), f.variable(NULL)
    with f.loop(count) as k:
        unmarshalling.require(f.compare("ne", f.call("PyDict_Next", object_, position, key, value), 0))
        entry = f.at(first, f.op("mul", k, word_count(r.entry)))
        f.store(entry, 1)
        unmarshalling.unmarshal(Parameter(r.key), f.load(key, "ptr"), f.at(entry, 1), NULL)
        part = f.at(entry, 1 + word_count(r.key))
        unmarshalling.unmarshal(Parameter(r.value, is_written), f.load(value, "ptr"), part, NULL)


def _set_items_reader(constants: StubConstants, r: forms.Mapped) -> str:
    """A function of a context, a set, an origin and an address: its items go there, in Python's order; how many."""
    name, is_new = constants.function_for("read_set_items", r)
    if is_new:
        f = constants.m.function(f"i64 {name}", "ptr context", "ptr object", "i64 origin", "ptr first")
        context, object_, origin, first = f.parameters
        unmarshalling = Unmarshalling(f, constants, context, origin, "end")
        count, item = f.variable(0), f.variable(NULL)
        items = f.call("PyObject_GetIter", object_)
        f.return_if(f.is_null(items), -1)
        with f.loop(f.call("PySet_Size", object_)) as k:
            following = f.call("PyIter_Next", items)
            f.store(item, following)
            unmarshalling.require(f.compare("ne", following, NULL))
            entry = f.at(first, f.op("mul", k, word_count(r.entry)))
            f.store(entry, 1)
            unmarshalling.unmarshal(Parameter(r.key), following, f.at(entry, 1), NULL)
            f.call("Py_DecRef", following)
            f.store(item, NULL)
            f.store(count, f.op("add", k, 1))
        f.branch("end")
        f.start("end", falls_through=False)
        last = f.load(item, "ptr")
        with f.when(f.negated(f.is_null(last))):
            f.call("Py_DecRef", last)
        f.call("Py_DecRef", items)
        f.ret(f.load(count))
    return name

