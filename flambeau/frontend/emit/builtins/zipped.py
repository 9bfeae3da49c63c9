"""`zip`: several things in step, with `strict=True` of one length; and `zip(*rows)`, the columns of a list.

zip(a, b)      →    JoinedValue, which a loop goes over
zip(*rows)     →    library.iterators.columns(%rows), lists; of tuples one list for each of their items
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.builtins.iterables import JoinedValue
from flambeau.frontend.emit.comprehensions import map_list
from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Iteration, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.library import iterators
from flambeau.frontend.trees.tree_views import Apply, FalseLit, Starred, TrueLit
from flambeau.schema.types import ListType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

SPREAD: Final = (
    "how many things zip goes over must be known while compiling, and a list may have any length: zip(*rows) takes the "
    "rows of one list, and nothing else"
)
NO_ROWS: Final = "zip(*points) of an empty list gives nothing: there have to be points"
ZIP_KEYWORD: Final = "zip has no keyword '{name}' but strict, which is True or False, written out"
STRICT: Final = "zip(strict=True) goes over what has a length: make lists of generators and counts first"


def emit_zip(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`zip(...)`, and with `strict=True` of what has one length, or the program raises ValueError."""
    is_strict = _is_strict(tree)
    if len(tree.args) == 1 and isinstance(tree.args[0], Starred) and not is_strict:
        transposed = _columns(e, tree.args[0])
        if transposed is not None:
            return transposed
    if not tree.args:
        raise CompileError("zip expected at least 1 arguments, got 0", tree.callee.range)
    parts: list[Iteration] = []
    for arg in tree.args:
        if isinstance(arg, Starred):
            parts += [item.iterate(e, arg.range) for item in _spread(e, arg)]
        else:
            parts.append(e.sugared(arg).iterate(e, arg.range))
    if is_strict:
        _check_lengths(e, tree.callee.range, parts)
    return JoinedValue("zip", parts)


def _columns(e: Emitter, tree: Starred) -> Sugared | None:
    """`zip(*rows)` of a list of lists, or of tuples, of which it takes one or more: lists; None for anything else."""
    source = e.sugared(tree.value)
    type_ = source.value.static_type if isinstance(source, SimpleValue) else None
    if not isinstance(source, SimpleValue) or not isinstance(type_, ListType):
        return None
    if not isinstance(type_.element, TupleType):
        rows = [Given(source.value, tree.range)]
        columns: Any = e.wrap(iterators.columns, tree.range)
        return FormValue(columns.kind, columns.call_tree).call(e, tree.range, rows, ())
    is_empty = call_operator(e, tree.range, "aten::eq", [source.length(e, tree.range), e.constant(0)])
    raise_when(e, is_empty, NO_ROWS)
    picks = [e.wrap(operator.itemgetter(k), tree.range) for k in range(len(type_.element.elements))]
    return TupleValue([SimpleValue(map_list(e, tree.range, source.value, pick)) for pick in picks])


def _is_strict(tree: Apply) -> bool:
    """Whether `strict=True` is said. Raises CompileError for other keywords, and where only the run tells."""
    for keyword in tree.keywords:
        if keyword.name != "strict" or not isinstance(keyword.value, TrueLit | FalseLit):
            raise CompileError(ZIP_KEYWORD.format(name=keyword.name), tree.callee.range)
    return any(isinstance(keyword.value, TrueLit) for keyword in tree.keywords)


def _check_lengths(e: Emitter, where: SourceRange, parts: Sequence[Iteration]) -> None:
    """Have the program raise Python's ValueError where something is longer or shorter than what comes before it."""
    first, *others = [part.trip_count(e, where) if part.unrolled is None else e.constant(len(part.unrolled))
                      for part in parts]  # fmt: skip
    for number, length in enumerate(others, 2):
        if first is None or length is None:
            raise CompileError(STRICT, where)
        before = "argument 1" if number == 2 else f"arguments 1-{number - 1}"
        for sign, word in (("gt", "longer"), ("lt", "shorter")):
            differs = call_operator(e, where, f"aten::{sign}", [length, first])
            raise_when(e, differs, f"zip() argument {number} is {word} than {before}")


def _spread(e: Emitter, tree: Starred) -> Sequence[Sugared]:
    source = e.sugared(tree.value)
    if isinstance(source, SimpleValue) and isinstance(source.value.static_type, ListType):
        raise CompileError(SPREAD, tree.range)
    return source.as_tuple(e, tree.range)
