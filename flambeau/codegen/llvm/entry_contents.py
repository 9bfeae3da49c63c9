"""Whether lists, tuples and dicts hold what a program was compiled for: their classes, at any depth.

Native code that takes a list apart takes an int in a float's place; a program that is compiled for what a call brings
has another meaning for it, so that the classes are compared before.
"""

from __future__ import annotations

from flambeau.codegen.layouts import CONTENTS, HOLDS_EACH, HOLDS_ITEMS, HOLDS_NOTHING, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE
from flambeau.codegen.llvm.emitter import Value


def add_holds(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``has_contents(contents, object)``: whether an object holds what some `layouts.CONTENTS` say, each list and dict
    among it something somewhere; and ``holds(contents, object, filled)``, which notes in a word what does.
    """
    f = m.function("i1 holds", "ptr contents", "ptr object", "ptr filled")
    contents, object_, filled = f.parameters
    actual = f.get(object_, layouts.object, "type")
    f.return_unless(f.compare("eq", actual, f.get(contents, CONTENTS, "type")), FALSE)
    kind, parts = f.get(contents, CONTENTS, "kind"), f.get(contents, CONTENTS, "parts")
    f.return_if(f.compare("eq", kind, HOLDS_NOTHING), TRUE)
    with f.when(f.compare("eq", kind, HOLDS_EACH)):
        count = f.get(contents, CONTENTS, "count")
        f.return_unless(f.compare("eq", f.call("PyTuple_Size", object_), count), FALSE)
        with f.loop(count) as k:
            item = f.call("PyTuple_GetItem", object_, k)
            f.return_unless(f.call("holds", f.word_of(parts, k, "ptr"), item, filled), FALSE)
        f.ret(TRUE)
    with f.when(f.compare("eq", kind, HOLDS_ITEMS)):
        count = f.call("PyList_Size", object_)
        _note_filled(f, count)
        with f.loop(count) as k:
            _require_part(f, layouts, f.word_of(parts, 0, "ptr"), f.call("PyList_GetItem", object_, k))
        f.ret(TRUE)
    count = f.call("PyDict_Size", object_)
    _note_filled(f, count)
    position, key, value = f.variable(0), f.variable(NULL), f.variable(NULL)
    with f.loop(count):
        f.return_unless(f.compare("ne", f.call("PyDict_Next", object_, position, key, value), 0), FALSE)
        for index, part in enumerate((key, value)):
            _require_part(f, layouts, f.word_of(parts, index, "ptr"), f.load(part, "ptr"))
    f.ret(TRUE)
    f = m.function("i1 has_contents", "ptr contents", "ptr object")
    contents, object_ = f.parameters
    filled = f.variable(0)
    f.return_unless(f.call("holds", contents, object_, filled), FALSE)
    f.ret(f.compare("eq", f.load(filled), f.get(contents, CONTENTS, "bits")))


def _note_filled(f: FunctionBuilder, count: Value) -> None:
    """Note that a list or dict of so many items is not empty."""
    contents, _, filled = f.parameters
    bit = f.pick(f.compare("sgt", count, 0), f.get(contents, CONTENTS, "bit"), 0)
    f.store(filled, f.op("or", f.load(filled), bit))


def _require_part(f: FunctionBuilder, layouts: ObjectLayouts, part: Value, item: Value) -> None:
    """Return False unless an item holds a part: numbers and texts are looked at here."""
    actual = f.get(item, layouts.object, "type")
    f.return_unless(f.compare("eq", actual, f.get(part, CONTENTS, "type")), FALSE)
    with f.when(f.compare("ne", f.get(part, CONTENTS, "kind"), HOLDS_NOTHING)):
        f.return_unless(f.call("holds", part, item, f.parameters[2]), FALSE)
