"""Functions that give back a reference to a list, a dict or an object, and with the last one those of what is in it.

Objects may refer to each other in chains of any length. So the release of one does not call that of the next: objects
that nobody holds any more are put on a list, linked through their counts, and taken apart one after the other.

    release_object(%node)      →    bury(%node)    →    destroy_Node(%node, %dead)    →    collect_object(%next, %dead)
"""

from __future__ import annotations

from flambeau.codegen.graph.objects.class_fields import Fields
from flambeau.codegen.graph.objects.object_pool import add_pool
from flambeau.codegen.graph.representation import (
    Array,
    Listed,
    Mapped,
    Object,
    Optional,
    Representation,
    Text,
    Tupled,
    Unlike,
    holds_blocks,
    holds_objects,
    word_count,
)
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, DICT, LIST, OBJECT, STACK
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value
from flambeau.program.classes import ClassDefinition

_OWN = {
    "let_go": "i1 (ptr)", "drop_block": "void (ptr)", "release": "void (ptr)", "bury": "void (ptr)",
    "collect_object": "void (ptr, ptr)", "free_object": "void (ptr)",
}  # fmt: skip
_DESTROY = "void (ptr, ptr)"


def release_function(functions: dict[str, str], rep: Representation) -> str:
    """The name of the function that gives back a reference to a block of values that look like this; its text is added
    to ``functions``.
    """
    match rep:
        case Object():
            _add_objects(functions)
            return "release_object"
        case Listed() | Mapped():
            return _container_function(functions, rep, collects=False)
        case _:
            return "release"


def destroy_function(functions: dict[str, str], definition: ClassDefinition, fields: Fields) -> str:
    """The same of the function that takes apart an object to which nobody has a reference any more."""
    _add_objects(functions)
    name = f"destroy_{mangled(Object(definition))}"
    if name not in functions:
        functions[name] = ""
        m = ModuleBuilder({}, own=dict(_OWN))
        f = m.function(f"void {name}", "ptr object", "ptr dead")
        block, dead = f.parameters
        for offset, field in fields.placed:
            for index, inner in block_words(field, offset):
                _give_back(f, functions, inner, f.word_of(block, index, "ptr"), dead)
        f.call("free_object", block)
        f.ret()
        functions[name] = m.text()
    return name


def _give_back(
    f: FunctionBuilder, functions: dict[str, str], rep: Representation, block: Value, dead: Value | None
) -> None:
    """Give back a reference to what is in something else; objects that nobody holds then are put on `dead`."""
    if dead is None or not holds_objects(rep):
        function = release_function(functions, rep)
        f.module.own(function, "void (ptr)")
        f.call(function, block)
        return
    function = "collect_object"
    if isinstance(rep, Listed | Mapped):
        function = _container_function(functions, rep, collects=True)
    f.module.own(function, _DESTROY)
    f.call(function, block, dead)


def _container_function(functions: dict[str, str], rep: Listed | Mapped, *, collects: bool) -> str:
    """The function for lists, or dicts, that look like this. `collects`: it is given a list of objects to destroy."""
    item = _item_of(rep)
    stem = "dict" if isinstance(rep, Mapped) else "stack" if rep.is_stack else "list"
    stem = f"{'collect' if collects else 'release'}_{stem}"
    name = f"{stem}_{mangled(item)}" if holds_blocks(item) else stem
    if name not in functions:
        functions[name] = ""
        holds = holds_objects(rep)
        if holds:
            _add_objects(functions)
        functions[name] = _burying_text(functions, name, rep) if holds and not collects else _text(functions, name, rep)
    return name


def _item_of(rep: Listed | Mapped) -> Representation:
    return rep.entry if isinstance(rep, Mapped) else rep.item


def mangled(rep: Representation) -> str:
    """A representation as part of a name."""
    text = "".join(c if c.isalnum() else "_" for c in repr(rep))
    return text.strip("_")


def _text(functions: dict[str, str], name: str, rep: Listed | Mapped) -> str:
    """A function that gives back a reference to a list; with the last one, those of its items to their blocks."""
    kind = _item_of(rep)
    m = ModuleBuilder({}, own=dict(_OWN))
    f = m.function(f"void {name}", "ptr list", *(("ptr dead",) if holds_objects(rep) else ()))
    block, dead = f.parameters[0], f.parameters[1] if holds_objects(rep) else None
    f.return_unless(f.call("let_go", block))
    items = f.get(block, LIST, "items")
    if holds_blocks(kind):
        first = f.at(items, BLOCK_DATA, "i8")
        with f.loop(f.get(block, LIST, "length")) as k:
            item = f.at(first, f.op("mul", k, word_count(kind)))
            for index, inner in block_words(kind):
                _give_back(f, functions, inner, f.word_of(item, index, "ptr"), dead)
    f.call("drop_block", items)
    if isinstance(rep, Mapped):
        f.call("release", f.get(block, DICT, "table"))
    elif rep.is_stack:
        f.call("release", f.get(block, STACK, "chunk"))
    f.call("drop_block", block)
    f.ret()
    return m.text()


def _burying_text(functions: dict[str, str], name: str, rep: Listed | Mapped) -> str:
    """The same of a list of objects, which destroys those that nobody holds then."""
    m = ModuleBuilder({}, own=dict(_OWN))
    f = m.function(f"void {name}", "ptr list")
    dead = f.variable(NULL, "ptr")
    _give_back(f, functions, rep, f.parameters[0], dead)
    f.call("bury", f.load(dead, "ptr"))
    f.ret()
    return m.text()


def _add_objects(functions: dict[str, str]) -> None:
    """``release_object(object)``; ``collect_object(object, dead)``, which puts it on a list if that was the last
    reference; ``bury(first)``, which destroys all objects of such a list, and those that they alone held.
    """
    if "release_object" in functions:
        return
    add_pool(functions)
    m = ModuleBuilder({}, own={"let_go": "i1 (ptr)"})
    f = m.function("void bury", "ptr first", attributes="noinline")
    dead = f.variable(f.parameters[0], "ptr")
    f.start("head")
    block = f.load(dead, "ptr")
    f.return_if(f.is_null(block))
    f.store(dead, f.convert("inttoptr", f.get(block, BLOCK, "references"), "ptr"))
    f.call_address(f.get(block, OBJECT, "destroy"), _DESTROY, block, dead)
    f.branch("head")
    f = m.function("void collect_object", "ptr object", "ptr dead")
    block, dead = f.parameters
    with f.when(f.call("let_go", block)):
        f.put(block, BLOCK, references=f.convert("ptrtoint", f.load(dead, "ptr"), "i64"))
        f.store(dead, block)
    f.ret()
    f = m.function("void release_object", "ptr object", attributes="alwaysinline")
    with f.when(f.call("let_go", f.parameters[0])):
        f.call("bury", f.parameters[0])
    f.ret()
    functions["release_object"] = m.text()


def block_words(rep: Representation, start: int = 0) -> list[tuple[int, Representation]]:
    """Where among an item's words the addresses of blocks are."""
    match rep:
        case Listed() | Mapped() | Object() | Array() | Text():
            return [(start, rep)]
        case Tupled():
            addresses = []
            for part in rep.items:
                addresses += block_words(part, start)
                start += word_count(part)
            return addresses
        case Optional():
            return block_words(rep.inner, start + 1)
        case Unlike():
            return [(start + 1, rep.longest)]
        case _:
            return []
