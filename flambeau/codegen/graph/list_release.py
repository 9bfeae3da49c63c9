"""Functions that give back a reference to a list, and with the last one those of its items."""

from __future__ import annotations

from flambeau.codegen.graph.representation import (
    Array,
    Listed,
    Optional,
    Representation,
    Tupled,
    holds_blocks,
    word_count,
)
from flambeau.codegen.layouts import BLOCK_DATA, LIST


def release_function(functions: dict[str, str], rep: Listed) -> str:
    """The function that lets go of a list, and of its items with the last hold on it."""
    if not holds_blocks(rep.item):
        name = "release_list"
        functions.setdefault(name, _RELEASE_PLAIN)
        return name
    name = "release_list_" + _mangled(rep.item)
    if name not in functions:
        functions[name] = ""
        functions[name] = _release_text(functions, name, rep)
    return name


def _mangled(rep: Representation) -> str:
    text = "".join(c if c.isalnum() else "_" for c in repr(rep))
    return text.strip("_")


_OPEN = f"""
  %last = call i1 @let_go(ptr %list)
  br i1 %last, label %drop, label %done
drop:
  %items.p = getelementptr i64, ptr %list, i64 {LIST.word("items")}
  %items = load ptr, ptr %items.p
"""
_CLOSE = """
  call void @drop_block(ptr %items)
  call void @drop_block(ptr %list)
  br label %done
done:
  ret void
}
"""
_RELEASE_PLAIN = f"""
define internal void @release_list(ptr %list) {{
entry:{_OPEN}{_CLOSE}"""


def _release_text(functions: dict[str, str], name: str, rep: Listed) -> str:
    """A loop over the items that lets go of each of their blocks."""
    calls, width = [], word_count(rep.item)
    for k, (place, inner) in enumerate(_block_places(rep.item)):
        function = release_function(functions, inner) if isinstance(inner, Listed) else "release"
        calls.append(
            f"  %p{k} = getelementptr i64, ptr %item, i64 {place}\n  %b{k} = load ptr, ptr %p{k}\n"
            f"  call void @{function}(ptr %b{k})\n"
        )
    return f"""
define internal void @{name}(ptr %list) {{
entry:{_OPEN}
  %length.p = getelementptr i64, ptr %list, i64 {LIST.word("length")}
  %length = load i64, ptr %length.p
  %first = getelementptr i8, ptr %items, i64 {BLOCK_DATA}
  br label %each
each:
  %k = phi i64 [0, %drop], [%k1, %one]
  %more = icmp slt i64 %k, %length
  br i1 %more, label %one, label %end
one:
  %place = mul i64 %k, {width}
  %item = getelementptr i64, ptr %first, i64 %place
{"".join(calls)}
  %k1 = add i64 %k, 1
  br label %each
end:{_CLOSE}"""


def _block_places(rep: Representation, start: int = 0) -> list[tuple[int, Representation]]:
    """Where among an item's words the addresses of blocks are."""
    match rep:
        case Listed() | Array():
            return [(start, rep)]
        case Tupled():
            found = []
            for part in rep.items:
                found += _block_places(part, start)
                start += word_count(part)
            return found
        case Optional():
            return _block_places(rep.inner, start + 1)
        case _:
            return []
