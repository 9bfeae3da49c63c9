"""The text of trees: s-expressions, on one line where they are short.

    (return (variable (ident x)))        a tree narrower than `WIDTH`, its indentation included
    (+                                   a wider one: every part on its own line
      (variable (ident x))
      (const 1))

The layout is that of TorchScript's tree views. It works without recursion, so that trees of any depth print.
"""

from __future__ import annotations

from typing import Any, Protocol

WIDTH = 40
INDENT = 2

Shape = tuple[str, tuple[Any, ...]]
"""A head and its parts; a part is a text, a tree, or another shape."""


class Shaped(Protocol):
    """What can be printed."""

    def shape(self) -> Shape:
        """Head and parts."""


class _Item:
    """One node of the text: its head, its parts, and how wide it is on one line."""

    __slots__ = ("head", "parts", "width")

    def __init__(self, head: str) -> None:
        self.head = head
        self.parts: list[_Item | str] = []
        self.width = len(head.encode()) + 2


def layout(tree: Shaped) -> str:
    """The s-expression of a tree, with a newline at its end."""
    out: list[str] = []
    pending: list[tuple[_Item | str, int, bool]] = [(_measured(tree), 0, False)]
    while pending:
        item, indent, flat = pending.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        flat = flat or indent + item.width < WIDTH
        separator = " " if flat else "\n" + " " * (indent + INDENT)
        out.append("(" + item.head)
        pending.append((")", 0, True))
        for part in reversed(item.parts):
            pending.append((part, indent + INDENT, flat))
            pending.append((separator, 0, True))
    return "".join(out) + "\n"


def _measured(tree: Shaped) -> _Item:
    """Heads, parts and widths of a whole tree. Widths count UTF-8 bytes, as the layout's origin does."""
    root = _Item("")
    order: list[tuple[_Item, _Item]] = []
    pending: list[tuple[Any, _Item]] = [(tree, root)]
    while pending:
        part, parent = pending.pop()
        if isinstance(part, str):
            parent.parts.append(part)
            parent.width += len(part.encode()) + 1
            continue
        head, parts = part if isinstance(part, tuple) else part.shape()
        item = _Item(head)
        parent.parts.append(item)
        order.append((item, parent))
        pending.extend((child, item) for child in reversed(parts))
    for item, parent in reversed(order):
        parent.width += item.width + 1
    whole = root.parts[0]
    assert isinstance(whole, _Item)
    return whole
