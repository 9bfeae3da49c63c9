"""Instructions that are not in the machine's own loop, as functions of the registers; and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from flambeau.interpreter.code import Code, Op
from flambeau.program import protected
from flambeau.util.source import SourceRange

Registers = list[Any]


def _call0(regs: Registers, d: int, f: Any, a: Any, b: Any) -> None:
    regs[d] = f()


def _call_many(regs: Registers, d: tuple[int, ...], f: Any, a: tuple[int, ...], b: Any) -> None:
    for i, value in zip(d, f(*[regs[i] for i in a]), strict=True):
        regs[i] = value


def _do(regs: Registers, d: Any, f: Any, a: tuple[int, ...], b: Any) -> None:
    f(*[regs[i] for i in a])


def _moves(regs: Registers, d: tuple[int, ...], f: Any, a: tuple[int, ...], b: Any) -> None:
    for i, value in zip(d, [regs[i] for i in a], strict=True):
        regs[i] = value


def _list(regs: Registers, d: int, f: Any, a: tuple[int, ...], b: Any) -> None:
    regs[d] = [regs[i] for i in a]


def _tuple(regs: Registers, d: int, f: Any, a: tuple[int, ...], b: Any) -> None:
    items = [regs[i] for i in a]
    regs[d] = tuple(items) if f is None else f(*items)


def _dict(regs: Registers, d: int, f: Any, a: tuple[int, ...], b: Any) -> None:
    regs[d] = {regs[key]: regs[value] for key, value in zip(a[::2], a[1::2], strict=True)}


def unpacked(items: Sequence[Any], count: int) -> Sequence[Any]:
    """Items of which there must be as many. Raises RuntimeError where there are more or fewer."""
    if len(items) != count:
        raise RuntimeError(f"Expected {count} elements in a list but found {len(items)}")
    return items


def _unpack(regs: Registers, d: tuple[int, ...], f: Any, a: int, b: int) -> None:
    for i, value in zip(d, unpacked(regs[a], b), strict=True):
        regs[i] = value


def _set_attribute(regs: Registers, d: int, f: Any, a: int, b: int) -> None:
    regs[a].values[b] = regs[d]


REGISTER_OPERATIONS: Final[dict[Op, Callable[[Registers, Any, Any, Any, Any], None]]] = {
    Op.CALL0: _call0, Op.CALL_MANY: _call_many, Op.DO: _do, Op.MOVES: _moves, Op.LIST: _list, Op.TUPLE: _tuple,
    Op.DICT: _dict, Op.UNPACK: _unpack, Op.SET_ATTR: _set_attribute,
}  # fmt: skip


def warn(text: str, category: object, calls: tuple[Hashable, ...], warned: set[tuple[Hashable, ...]]) -> None:
    """Warn, unless this run has come to this place by the same calls before. `calls` ends in the code and the site."""
    *callers, code, site_index = calls
    assert isinstance(code, Code)
    assert isinstance(site_index, int)
    site = code.sites[site_index]
    # Copies that unrolling makes of a node are one place, inlined calls of one function are as many as the calls.
    written = site_index if site.range is None else (site.range, site.call_chain)
    warn_once(text, category, site.range, (*callers, code, written), warned)


def warn_once(text: str, category: object, where: SourceRange | None, calls: Hashable, warned: set[Any]) -> None:
    """Warn of what stands at a place, unless `warned` has these calls; a text is the name of a class of warnings."""
    if calls in warned:
        return
    warned.add(calls)
    named = protected.named_class(category) if isinstance(category, str) else None
    shown = named if named is not None and issubclass(named, Warning) else UserWarning
    filename, line = (where.source.shown_name, where.file_line_col()[1]) if where is not None else ("<script>", 0)
    warnings.warn_explicit(text, shown, filename, max(line, 1), registry={})
