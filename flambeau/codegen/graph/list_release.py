"""Functions that give back a reference to a list or a dict, and with the last one those of what is in it."""

from __future__ import annotations

from flambeau.codegen.graph.representation import (
    Array,
    Listed,
    Mapped,
    Optional,
    Representation,
    Text,
    Tupled,
    Unlike,
    holds_blocks,
    word_count,
)
from flambeau.codegen.layouts import BLOCK_DATA, DICT, LIST, STACK
from flambeau.codegen.llvm.builder import ModuleBuilder


def release_function(functions: dict[str, str], rep: Listed | Mapped) -> str:
    """The name of the function for lists, or dicts, that look like this; its text is added to ``functions``."""
    item = _item_of(rep)
    stem = "release_dict" if isinstance(rep, Mapped) else "release_stack" if rep.is_stack else "release_list"
    name = f"{stem}_{mangled(item)}" if holds_blocks(item) else stem
    if name not in functions:
        functions[name] = ""
        functions[name] = _release_text(functions, name, rep)
    return name


def _item_of(rep: Listed | Mapped) -> Representation:
    return rep.entry if isinstance(rep, Mapped) else rep.item


def mangled(rep: Representation) -> str:
    """A representation as part of a name."""
    text = "".join(c if c.isalnum() else "_" for c in repr(rep))
    return text.strip("_")


def _release_text(functions: dict[str, str], name: str, rep: Listed | Mapped) -> str:
    """A function that gives back a reference to a list; with the last one, those of its items to their blocks."""
    kind = _item_of(rep)
    own = {"let_go": "i1 (ptr)", "drop_block": "void (ptr)", "release": "void (ptr)"}
    m = ModuleBuilder({}, own=own)
    f = m.function(f"void {name}", "ptr list")
    (block,) = f.parameters
    f.return_unless(f.call("let_go", block))
    items = f.get(block, LIST, "items")
    if holds_blocks(kind):
        first = f.at(items, BLOCK_DATA, "i8")
        with f.loop(f.get(block, LIST, "length")) as k:
            item = f.at(first, f.op("mul", k, word_count(kind)))
            for index, inner in block_words(kind):
                function = release_function(functions, inner) if isinstance(inner, Listed | Mapped) else "release"
                m.own(function, "void (ptr)")
                f.call(function, f.word_of(item, index, "ptr"))
    f.call("drop_block", items)
    if isinstance(rep, Mapped):
        f.call("release", f.get(block, DICT, "table"))
    elif rep.is_stack:
        f.call("release", f.get(block, STACK, "chunk"))
    f.call("drop_block", block)
    f.ret()
    return m.text()


def block_words(rep: Representation, start: int = 0) -> list[tuple[int, Representation]]:
    """Where among an item's words the addresses of blocks are."""
    match rep:
        case Listed() | Mapped() | Array() | Text():
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
