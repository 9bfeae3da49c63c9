"""`itertools.product`, `combinations`, `permutations` and `chain` in programs: generators of the library.

for i, j in product(range(n), range(m))     →    library.index_loops.ndindex_2(n, m), inlined where the loop is
for a, b in combinations(x, 2)              →    library.combinatorics.combinations_2 of a list of the items
for p in permutations(x)                    →    library.combinatorics.permutation_lists, whose items are lists
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, Final

from flambeau.frontend.closures.call_arguments import emit_all
from flambeau.frontend.emit.builtins.iterables import RangeValue
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library import combinatorics, index_loops, iterators
from flambeau.frontend.trees.tree_views import Apply, Const, Expr, Starred
from flambeau.ir.graph import Value
from flambeau.schema.types import ListType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

MOST: Final = 3
_OF_SOME: Final = frozenset({"combinations", "permutations"})
"""Functions that give tuples of two or three items."""
_OF_ANY: Final = {
    "combinations": "combination_lists", "permutations": "permutation_lists",
    "combinations_with_replacement": "repeated_combination_lists",
}  # fmt: skip
ARGUMENTS: Final = "itertools.{name} takes {wanted} in programs: write loops within each other"
_SEVERAL: Final = f"one to {MOST} things to go over, or repeat=2 of one, written out,"
_CHAINED: Final = f"one to {MOST} things to go over, written out,"
_SUBSETS: Final = "what it picks from, and how many,"


def _emit_product(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    where = tree.callee.range
    repeat = next((k.value for k in tree.keywords if k.name == "repeat"), None)
    if len(tree.args) == len(tree.keywords) == 1 and repeat is not None and _literal(repeat, 1) not in (1, 2, MOST):
        pool = _pool(e, where, e.sugared(tree.args[0]))
        return _generator(e, where, "product_lists", [pool, e.value(repeat)])
    times = _times(tree)
    sources = [e.sugared(a) for a in tree.args] * times
    ends = [end for end in map(_end, sources) if end is not None]
    if len(ends) == len(sources):
        return _generator(e, where, f"ndindex_{len(ends)}", ends)
    pools = [_pool(e, a.range, source) for a, source in zip(tree.args, sources, strict=False)]
    return _generator(e, where, f"product_{len(sources)}", pools * times)


def _times(tree: Apply) -> int:
    """How often a product goes over its arguments. Raises CompileError where these are not written out."""
    keywords = {k.name: k.value for k in tree.keywords}
    repeat = _literal(keywords.pop("repeat", None), 1)
    is_written = not keywords and not any(isinstance(a, Starred) for a in tree.args)
    if repeat is None or not is_written or not 1 <= len(tree.args) * repeat <= MOST:
        raise CompileError(ARGUMENTS.format(name="product", wanted=_SEVERAL), tree.callee.range)
    return repeat


class ChainFunction(FormValue):
    """`itertools.chain`, and `from_iterable` of it."""

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """Its one method. Raises CompileError for any other name."""
        if name != "from_iterable":
            return FormValue.attribute(self, e, where, name)
        return e.wrap(itertools.chain.from_iterable, where)


def _emit_chain(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    where = tree.callee.range
    is_written = not tree.keywords and not any(isinstance(a, Starred) for a in tree.args)
    if not is_written or not 1 <= len(tree.args) <= MOST:
        raise CompileError(ARGUMENTS.format(name="chain", wanted=_CHAINED), where)
    args, _ = emit_all(e, tree)
    return call_library(e, where, getattr(iterators, f"chain_{len(args)}"), args, {})


def _emit_subsets(name: str, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    where, keywords = tree.callee.range, {k.name: k.value for k in tree.keywords}
    counted = tree.args[1] if len(tree.args) == 2 else keywords.pop("r", None)
    is_written = len(tree.args) in (1, 2) and not any(isinstance(a, Starred) for a in tree.args)
    if keywords or not is_written or (counted is None and name != "permutations"):
        raise CompileError(ARGUMENTS.format(name=name, wanted=_SUBSETS), where)
    source, count = e.sugared(tree.args[0]), _literal(counted, None)
    end = _end(source)
    if name not in _OF_SOME or count is None or not 2 <= count <= MOST:
        pool = _pool(e, tree.args[0].range, source)
        picked = call_operator(e, where, "aten::len", [pool]) if counted is None else e.value(counted)
        return _generator(e, where, _OF_ANY[name], [pool, picked])
    if end is not None and name == "combinations":
        return _generator(e, where, f"index_combinations_{count}", [end])
    return _generator(e, where, f"{name}_{count}", [_pool(e, tree.args[0].range, source)])


def _literal(tree: Expr | None, absent: int | None) -> int | None:
    """The int that a tree is; None for another tree."""
    if tree is None:
        return absent
    return tree.value if isinstance(tree, Const) and type(tree.value) is int else None


def _end(source: Sugared) -> Value | None:
    """Where a range from 0 by 1 ends; None for anything else."""
    return source.stop if isinstance(source, RangeValue) and source.start is None and source.step is None else None


def _pool(e: Emitter, where: SourceRange, source: Sugared) -> Value:
    """The items as they are now, in a list of their own."""
    items = listed(e, where, source)
    assert isinstance(items.static_type, ListType)
    is_own = not isinstance(source, SimpleValue) or source.value is not items
    return items if is_own else call_operator(e, where, "aten::list", [items])


def _generator(e: Emitter, where: SourceRange, name: str, values: list[Value]) -> Sugared:
    python: Any = getattr(combinatorics, name, None) or getattr(index_loops, name)
    result: Sugared = e.wrap(python, where).call(e, where, [Given(v, where) for v in values], ())
    return result


COMBINATORICS: Final[dict[Any, Sugared]] = {
    itertools.product: FormValue("product", _emit_product),
    itertools.chain: ChainFunction("chain", _emit_chain),
    itertools.combinations: FormValue("combinations", partial(_emit_subsets, "combinations")),
    itertools.combinations_with_replacement: FormValue(
        "combinations_with_replacement", partial(_emit_subsets, "combinations_with_replacement")
    ),
    itertools.permutations: FormValue("permutations", partial(_emit_subsets, "permutations")),
}
"""What these are in a program."""
