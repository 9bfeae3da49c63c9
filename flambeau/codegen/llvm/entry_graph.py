"""The native entry of a whole-graph function, as LLVM text made for its signature.

``entry`` takes each argument apart into words, calls the function and makes objects of the words of its results. What
does not look as the signature says goes to the slow callable; an error code goes to the error callable, which raises.
Both, and the function's address, are data of the callable, so that functions of one signature share one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Element,
    Fixed,
    Float,
    Int,
    Listed,
    Optional,
    Representation,
    Tupled,
    word_count,
)
from flambeau.codegen.graph.signature import Parameter, Signature
from flambeau.codegen.layouts import BLOCK_DATA, ENTRY_CONTEXT, GRAPH_CELL, LEAF, LIST
from flambeau.codegen.llvm.entry_objects import EXPORTS, MUST_BE_ALIGNED, MUST_BE_WRITEABLE, declare
from flambeau.codegen.llvm.entry_plan import Offsets
from flambeau.schema.dtype import DType

WHOLE_IMPORTS = (
    "Py_IncRef", "Py_DecRef", "PyObject_Vectorcall", "PyLong_FromLongLong", "PyFloat_FromDouble", "PyTuple_New",
    "PyTuple_SetItem", "PyTuple_GetItem", "PyTuple_Size", "PyList_New", "PyList_SetItem", "PyList_GetItem",
    "PyList_Size", "PyEval_SaveThread",
)  # fmt: skip
WHOLE_OBJECTS = ("float_type", "tuple_type", "list_type", "true", "false", "none")
_DECLARED = {
    "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyLong_FromLongLong": "ptr (i64)", "PyFloat_FromDouble": "ptr (double)", "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyTuple_GetItem": "ptr (ptr, i64)", "PyTuple_Size": "i64 (ptr)",
    "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)", "PyList_GetItem": "ptr (ptr, i64)",
    "PyList_Size": "i64 (ptr)", "PyEval_SaveThread": "ptr ()",
}  # fmt: skip


def entry_text(signature: Signature, o: Offsets, float_value: int) -> tuple[str, tuple[DType, ...], tuple[object, ...]]:
    """LLVM text of ``entry`` for a signature; the dtypes and fixed values whose addresses it needs, in order.

    They are imported as ``flambeau_descr_0`` and ``flambeau_fixed_0``. ``float_value`` is where a float has its number.
    """
    writer = _Writer(o, float_value)
    entry = writer.entry(signature)
    declared = "".join(declare(name, kind) for name, kind in (_DECLARED | EXPORTS).items())
    names = (*WHOLE_OBJECTS, *(f"descr_{k}" for k in range(len(writer.dtypes))))
    names += tuple(f"fixed_{k}" for k in range(len(writer.fixed)))
    declared += "".join(f"@flambeau_{name} = external global i8\n" for name in names)
    return declared + "\n".join([*writer.functions, entry]), tuple(writer.dtypes), tuple(writer.fixed)


def leaves_of(r: Representation) -> int:
    """How many leaves a value needs beside those of items of lists."""
    match r:
        case Array():
            return 1
        case Tupled():
            return sum(map(leaves_of, r.items))
        case Optional():
            return leaves_of(r.inner)
        case _:
            return 0


def _key(r: Representation) -> tuple[str, tuple[int, ...]]:
    """What tells representations apart: equal fixed values may still be different objects."""
    return repr(r), tuple(map(id, _fixed_values(r)))


def _fixed_values(r: Representation) -> Iterator[object]:
    match r:
        case Fixed():
            yield r.value
        case Tupled():
            for item in r.items:
                yield from _fixed_values(item)
        case Optional():
            yield from _fixed_values(r.inner)
        case Listed():
            yield from _fixed_values(r.item)


class _Writer:
    def __init__(self, o: Offsets, float_value: int) -> None:
        self.o = o
        self.float_value = float_value
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.dtypes: list[DType] = []
        self.fixed: list[object] = []
        self._made: dict[tuple[str, str, tuple[int, ...]], str] = {}
        self._count = 0

    # -- lines --------------------------------------------------------------------------------------------------------

    def name(self, hint: str) -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def put(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        register = "%" + self.name("v")
        self.put(f"{register} = {text}")
        return register

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def go_if(self, condition: str, yes: str, no: str) -> None:
        self.put(f"br i1 {condition}, label %{yes}, label %{no}")

    def check(self, condition: str, failed: str) -> None:
        """Go on where the condition holds, to a label where not."""
        fine = self.name("fine")
        self.go_if(condition, fine, failed)
        self.label(fine)

    def at(self, base: str, place: int, kind: str = "i64") -> str:
        return base if place == 0 else self.let(f"getelementptr {kind}, ptr {base}, i64 {place}")

    def load(self, base: str, place: int, kind: str = "ptr") -> str:
        return self.let(f"load {kind}, ptr {self.at(base, place)}")

    def store(self, value: str, base: str, place: int) -> None:
        self.put(f"store {value}, ptr {self.at(base, place)}")

    def type_of(self, object_: str) -> str:
        return self.let(f"load ptr, ptr {self.let(f'getelementptr i8, ptr {object_}, i64 {self.o.type}')}")

    def descr(self, dtype: DType) -> str:
        if dtype not in self.dtypes:
            self.dtypes.append(dtype)
        return f"@flambeau_descr_{self.dtypes.index(dtype)}"

    def element(self, dtype: DType) -> str:
        """What functions are told of an element type."""
        return f"ptr {self.descr(dtype)}, i64 {dtype.itemsize}"

    def object(self, value: object) -> str:
        known = [k for k, other in enumerate(self.fixed) if other is value]
        if not known:
            self.fixed.append(value)
        return f"@flambeau_fixed_{known[0] if known else len(self.fixed) - 1}"

    def function(self, head: str, body: list[str]) -> None:
        self.functions.append("\n".join([f"define internal {head} {{", "entry:", *body, "}"]))

    # -- objects to words ---------------------------------------------------------------------------------------------

    def unbox(self, p: Parameter, object_: str, words: str, place: int, leaf: str, origin: str, no: str) -> None:
        """Words of an object, from a place on; goes to a label where it does not fit. ``leaf`` is its first leaf's."""
        r = p.representation
        match r:
            case Int():
                self.check(self.let(f"call i1 @flambeau_unbox_int(ptr {object_}, ptr {self.at(words, place)})"), no)
            case Float():
                self._unbox_float(object_, self.at(words, place), no)
            case Bool():
                is_true = self.let(f"icmp eq ptr {object_}, @flambeau_true")
                is_false = self.let(f"icmp eq ptr {object_}, @flambeau_false")
                self.check(self.let(f"or i1 {is_true}, {is_false}"), no)
                self.store(f"i64 {self.let(f'zext i1 {is_true} to i64')}", words, place)
            case Element():
                arguments = f"ptr {object_}, ptr {self.at(words, place)}, {self.element(r.dtype)}"
                self.check(self.let(f"call i1 @flambeau_unbox_element({arguments})"), no)
            case Array():
                self._unbox_array(p, r, object_, self.at(words, place), leaf, origin, no)
            case Fixed():
                self.check(self.let(f"icmp eq ptr {object_}, {self.object(r.value)}"), no)
            case Tupled():
                self._unbox_tuple(p, r, object_, words, place, leaf, origin, no)
            case Optional():
                self._unbox_optional(p, r, object_, words, place, leaf, origin, no)
            case Listed():
                reader = self._list_reader(r, p.is_written)
                block = self.let(f"call ptr @{reader}(ptr %context, ptr {object_}, i64 {origin})")
                self.check(self.let(f"icmp ne ptr {block}, null"), no)
                self.store(f"ptr {block}", words, place)

    def _unbox_float(self, object_: str, word: str, no: str) -> None:
        plain, other, done = self.name("plain"), self.name("other"), self.name("done")
        self.go_if(self.let(f"icmp eq ptr {self.type_of(object_)}, @flambeau_float_type"), plain, other)
        self.label(plain)
        value = self.let(f"load double, ptr {self.let(f'getelementptr i8, ptr {object_}, i64 {self.float_value}')}")
        self.put(f"store double {value}, ptr {word}")
        self.put(f"br label %{done}")
        self.label(other)
        self.go_if(self.let(f"call i1 @flambeau_unbox_float(ptr {object_}, ptr {word})"), done, no)
        self.label(done)

    def _unbox_array(self, p: Parameter, r: Array, object_: str, words: str, leaf: str, origin: str, no: str) -> None:
        flags = MUST_BE_ALIGNED | (MUST_BE_WRITEABLE if p.is_written else 0)
        ones = -1 if p.ones is None else sum(1 << k for k, is_one in enumerate(p.ones) if is_one)
        arguments = (
            f"ptr %context, ptr {object_}, ptr {words}, ptr {leaf}, i64 {origin}, ptr {self.descr(r.dtype)}, "
            f"i64 {r.rank}, i64 {r.dtype.itemsize}, i64 {flags}, i64 {r.dense}, i64 {ones}"
        )
        self.check(self.let(f"call i1 @flambeau_unbox_array({arguments})"), no)

    def _unbox_tuple(
        self, p: Parameter, r: Tupled, object_: str, words: str, place: int, leaf: str, origin: str, no: str
    ) -> None:
        kind = "List" if r.is_list else "Tuple"
        self.check(self.let(f"icmp eq ptr {self.type_of(object_)}, @flambeau_{kind.lower()}_type"), no)
        size = self.let(f"call i64 @flambeau_Py{kind}_Size(ptr {object_})")
        self.check(self.let(f"icmp eq i64 {size}, {len(r.items)}"), no)
        for k, item in enumerate(r.items):
            value = self.let(f"call ptr @flambeau_Py{kind}_GetItem(ptr {object_}, i64 {k})")
            self.unbox(p.item(k), value, words, place, leaf, origin, no)
            place += word_count(item)
            leaf = self.at(leaf, leaves_of(item) * LEAF.words)

    def _unbox_optional(
        self, p: Parameter, r: Optional, object_: str, words: str, place: int, leaf: str, origin: str, no: str
    ) -> None:
        absent, present, done = self.name("absent"), self.name("present"), self.name("done")
        self.go_if(self.let(f"icmp eq ptr {object_}, @flambeau_none"), absent, present)
        self.label(absent)
        for k in range(1 + word_count(r.inner)):
            self.store("i64 0", words, place + k)
        self.put(f"br label %{done}")
        self.label(present)
        self.store("i64 1", words, place)
        self.unbox(p.inner(), object_, words, place + 1, leaf, origin, no)
        self.put(f"br label %{done}")
        self.label(done)

    def _list_reader(self, r: Listed, is_written: bool) -> str:
        """A function of a context, an object and an origin: the block of a new list of the object's items, or null."""
        key = (f"read {is_written}", *_key(r))
        if key in self._made:
            return self._made[key]
        name = self._made[key] = self.name("read_list")
        kept, self.lines = self.lines, []
        width, leaves = word_count(r.item), leaves_of(r.item)
        head, one, done = self.name("head"), self.name("one"), self.name("done")
        size = self.let("call i64 @flambeau_length(ptr %object)")
        self.check(self.let(f"icmp sge i64 {size}, 0"), "no")
        block = self.let(f"call ptr @flambeau_new_list(ptr %context, i64 {size}, i64 {max(width, 1)})")
        self.check(self.let(f"icmp ne ptr {block}, null"), "no")
        first = self.let(f"getelementptr i8, ptr {self.load(block, LIST.word('items'))}, i64 {BLOCK_DATA}")
        carrier = "null"
        if leaves:
            bytes_ = self.let(f"mul i64 {size}, {8 * LEAF.words * leaves}")
            made = self.let(f"call ptr @flambeau_new_block(ptr %context, i64 {bytes_})")
            self.check(self.let(f"icmp ne ptr {made}, null"), "no")
            carrier = self.let(f"getelementptr i8, ptr {made}, i64 {BLOCK_DATA}")
        index = self.let("alloca i64")
        self.put(f"store i64 0, ptr {index}")
        self.put(f"br label %{head}")
        self.label(head)
        k = self.let(f"load i64, ptr {index}")
        self.go_if(self.let(f"icmp slt i64 {k}, {size}"), one, done)
        self.label(one)
        value = self.let(f"call ptr @flambeau_item(ptr %object, i64 {k})")
        words = self.let(f"getelementptr i64, ptr {first}, i64 {self.let(f'mul i64 {k}, {width}')}")
        leaf = "null"
        if leaves:
            leaf = self.let(f"getelementptr i64, ptr {carrier}, i64 {self.let(f'mul i64 {k}, {LEAF.words * leaves}')}")
        self.unbox(Parameter(r.item, is_written), value, words, 0, leaf, "%origin", "no")
        self.put(f"store i64 {self.let(f'add i64 {k}, 1')}, ptr {index}")
        self.put(f"br label %{head}")
        self.label(done)
        self.put(f"ret ptr {block}")
        self.label("no")
        self.put("ret ptr null")
        self.function(f"ptr @{name}(ptr %context, ptr %object, i64 %origin)", self.lines)
        self.lines = kept
        return name

    # -- words to objects ---------------------------------------------------------------------------------------------

    def box(self, r: Representation, words: str, place: int) -> str:
        """A new reference to the object of the words from a place on; null, with an exception, if there is none."""
        match r:
            case Int():
                return self.let(f"call ptr @flambeau_PyLong_FromLongLong(i64 {self.load(words, place, 'i64')})")
            case Float():
                return self.let(f"call ptr @flambeau_PyFloat_FromDouble(double {self.load(words, place, 'double')})")
            case Bool():
                is_true = self.let(f"icmp ne i64 {self.load(words, place, 'i64')}, 0")
                return self._held(self.let(f"select i1 {is_true}, ptr @flambeau_true, ptr @flambeau_false"))
            case Fixed():
                return self._held(self.object(r.value))
            case Element():
                arguments = f"ptr {self.at(words, place)}, {self.element(r.dtype)}"
                return self.let(f"call ptr @flambeau_box_element({arguments})")
            case Array():
                arguments = f"ptr {self.at(words, place)}, i64 {r.rank}, {self.element(r.dtype)}"
                return self.let(f"call ptr @flambeau_box_array({arguments})")
            case Tupled():
                maker = self._maker(r, lambda: self._make_tuple(r.items))
            case Optional():
                maker = self._maker(r, lambda: self._make_optional(r))
            case Listed():
                maker = self._maker(r, lambda: self._make_list(r))
            case _:
                raise CannotCompileError("a result that holds what is no number, tensor, tuple or list of those")
        return self.let(f"call ptr @{maker}(ptr {self.at(words, place)})")

    def _held(self, object_: str) -> str:
        self.put(f"call void @flambeau_Py_IncRef(ptr {object_})")
        return object_

    def _maker(self, r: Representation, body: Callable[[], None]) -> str:
        """A function of the address of the words: the object."""
        key = ("make", *_key(r))
        if key in self._made:
            return self._made[key]
        name = self._made[key] = self.name("make")
        kept, self.lines = self.lines, []
        body()
        self.function(f"ptr @{name}(ptr %words)", self.lines)
        self.lines = kept
        return name

    def _make_tuple(self, items: Sequence[Representation], words: str = "%words") -> None:
        made = self.let(f"call ptr @flambeau_PyTuple_New(i64 {len(items)})")
        self.check(self.let(f"icmp ne ptr {made}, null"), "failed")
        place = 0
        for k, item in enumerate(items):
            value = self.box(item, words, place)
            self.check(self.let(f"icmp ne ptr {value}, null"), "drop")
            self.let(f"call i32 @flambeau_PyTuple_SetItem(ptr {made}, i64 {k}, ptr {value})")
            place += word_count(item)
        self.put(f"ret ptr {made}")
        self._failing(made)

    def _failing(self, made: str) -> None:
        self.label("drop")
        self.put(f"call void @flambeau_Py_DecRef(ptr {made})")
        self.put("br label %failed")
        self.label("failed")
        self.put("ret ptr null")

    def _make_optional(self, r: Optional) -> None:
        present, absent = self.name("present"), self.name("absent")
        self.go_if(self.let(f"icmp ne i64 {self.load('%words', 0, 'i64')}, 0"), present, absent)
        self.label(present)
        self.put(f"ret ptr {self.box(r.inner, '%words', 1)}")
        self.label(absent)
        self.put(f"ret ptr {self._held('@flambeau_none')}")

    def _make_list(self, r: Listed) -> None:
        """A list that came up before among the results is the same list again: its block remembers it."""
        known, make, head, one, done = map(self.name, ("known", "make", "head", "one", "done"))
        block = self.load("%words", 0)
        room = self.load(block, LIST.word("capacity"), "i64")
        index = self.let("alloca i64")
        self.go_if(self.let(f"icmp slt i64 {room}, 0"), known, make)
        self.label(known)
        again = self.let(f"inttoptr i64 {self.let(f'xor i64 {room}, -1')} to ptr")
        self.put(f"ret ptr {self._held(again)}")
        self.label(make)
        size = self.load(block, LIST.word("length"), "i64")
        first = self.let(f"getelementptr i8, ptr {self.load(block, LIST.word('items'))}, i64 {BLOCK_DATA}")
        made = self.let(f"call ptr @flambeau_PyList_New(i64 {size})")
        self.check(self.let(f"icmp ne ptr {made}, null"), "failed")
        self.put(f"store i64 0, ptr {index}")
        self.put(f"br label %{head}")
        self.label(head)
        k = self.let(f"load i64, ptr {index}")
        self.go_if(self.let(f"icmp slt i64 {k}, {size}"), one, done)
        self.label(one)
        words = self.let(f"getelementptr i64, ptr {first}, i64 {self.let(f'mul i64 {k}, {word_count(r.item)}')}")
        value = self.box(r.item, words, 0)
        self.check(self.let(f"icmp ne ptr {value}, null"), "drop")
        self.let(f"call i32 @flambeau_PyList_SetItem(ptr {made}, i64 {k}, ptr {value})")
        self.put(f"store i64 {self.let(f'add i64 {k}, 1')}, ptr {index}")
        self.put(f"br label %{head}")
        self.label(done)
        address = self.let(f"ptrtoint ptr {made} to i64")
        self.store(f"i64 {self.let(f'xor i64 {address}, -1')}", block, LIST.word("capacity"))
        self.put(f"ret ptr {made}")
        self._failing(made)

    # -- the entry ----------------------------------------------------------------------------------------------------

    def entry(self, s: Signature) -> str:
        """The text of ``entry``."""
        representations = [p.representation for p in s.parameters]
        words = max(1, sum(map(word_count, representations)))
        results = max(1, sum(map(word_count, s.results)))
        leaves = max(1, sum(map(leaves_of, representations)))
        sizes = (ENTRY_CONTEXT.words, words, results, leaves * LEAF.words, max(1, s.record_words))
        for name, size in zip(("context", "words", "results", "leaves", "record"), sizes, strict=True):
            self.put(f"%{name} = alloca [{size} x i64], align 16")
        no_names = self.let("icmp eq ptr %names, null")
        given = self.let("and i64 %nargsf, 9223372036854775807")
        right = self.let(f"icmp eq i64 {given}, {len(representations)}")
        self.check(self.let(f"and i1 {no_names}, {right}"), "slow")
        cell = self.let(f"load ptr, ptr {self.let(f'getelementptr i8, ptr %self, i64 {self.o.cell}')}")
        self._start_context(cell)
        self._arguments(s.parameters)
        served = GRAPH_CELL.word("served")
        count = self.load(cell, served, "i64")
        self.store(f"i64 {self.let(f'add i64 {count}, 1')}", cell, served)
        self._let_others(cell)
        code = self.let(f"call i64 {self.load(cell, 0)}(ptr %context, ptr %words, ptr %results)")
        was_long = self.load("%context", ENTRY_CONTEXT.word("long"), "i64")
        self.store(f"i64 {was_long}", cell, GRAPH_CELL.word("long"))
        for k, p in enumerate(s.parameters):
            if p.is_written:
                self.put(f"call void @flambeau_bump(ptr %context, i64 {k + 1})")
        fine = self.name("fine")
        self.go_if(self.let(f"icmp eq i64 {code}, 0"), fine, "error")
        self.label(fine)
        answer = self._answer(s.results)
        self.put("call void @flambeau_finish(ptr %context)")
        self.put(f"ret ptr {answer}")
        self.label("error")
        error = self.load(cell, GRAPH_CELL.word("error"))
        raised = self.let(f"call ptr @flambeau_fail(ptr %context, i64 {code}, ptr {error})")
        self.put("call void @flambeau_finish(ptr %context)")
        self.put(f"ret ptr {raised}")
        self.label("give_up")
        self.put("call void @flambeau_finish(ptr %context)")
        self.put("br label %slow")
        self.label("slow")
        slow = self.let(f"load ptr, ptr {self.let(f'getelementptr i8, ptr %self, i64 {self.o.slow}')}")
        call = f"call ptr @flambeau_PyObject_Vectorcall(ptr {slow}, ptr %args, i64 %nargsf, ptr %names)"
        self.put(f"ret ptr {self.let(call)}")
        head = "define ptr @entry(ptr %self, ptr %args, i64 %nargsf, ptr %names) {"
        return "\n".join([head, "entry:", *self.lines, "}"])

    def _start_context(self, cell: str) -> None:
        for name in ("previous", "next"):
            self.store("ptr %context", "%context", ENTRY_CONTEXT.word(name))
        self.store("ptr %record", "%context", ENTRY_CONTEXT.word("record"))
        self.store("i64 0", "%context", ENTRY_CONTEXT.word("thread"))
        self.store("i64 0", "%context", ENTRY_CONTEXT.word("polled"))
        self.store("i64 0", "%context", ENTRY_CONTEXT.word("long"))
        self.store(f"i64 {self.load(cell, GRAPH_CELL.word('user'), 'i64')}", "%context", ENTRY_CONTEXT.word("user"))
        self.store("i64 0", "%context", ENTRY_CONTEXT.word("leaves"))

    def _let_others(self, cell: str) -> None:
        """Give up the GIL where the last call was a long one; the function takes it back."""
        others, on = self.name("others"), self.name("on")
        was_long = self.load(cell, GRAPH_CELL.word("long"), "i64")
        self.go_if(self.let(f"icmp eq i64 {was_long}, 0"), on, others)
        self.label(others)
        state = self.let("call ptr @flambeau_PyEval_SaveThread()")
        self.store(f"ptr {state}", "%context", ENTRY_CONTEXT.word("thread"))
        self.put(f"br label %{on}")
        self.label(on)

    def _arguments(self, parameters: Sequence[Parameter]) -> None:
        """All arguments taken apart."""
        place, leaf = 0, "%leaves"
        for k, p in enumerate(parameters):
            object_ = self.load("%args", k)
            self.unbox(p, object_, "%words", place, leaf, str(k + 1), "give_up")
            place += word_count(p.representation)
            leaf = self.at(leaf, leaves_of(p.representation) * LEAF.words)

    def _answer(self, results: Sequence[Representation]) -> str:
        if len(results) == 1:
            return self.box(results[0], "%results", 0)
        if not results:
            return self._held("@flambeau_none")
        maker = self._maker(Tupled(tuple(results)), lambda: self._make_tuple(results))
        return self.let(f"call ptr @{maker}(ptr %results)")
