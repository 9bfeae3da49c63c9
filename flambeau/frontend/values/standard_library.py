"""What programs often want of Python's standard library and do not have: each with what to write instead."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any, Final

from flambeau.frontend.trees.views import Apply
from flambeau.frontend.values.sugared import FormValue, Sugared
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

INSTEAD: Final[dict[Any, str]] = {
    collections.defaultdict: "a dict: d[k] = d.get(k, 0) + 1, or d.setdefault(k, []).append(v)",
    collections.Counter: "a dict: counts[k] = counts.get(k, 0) + 1",
    collections.deque: "a list: append and pop at the end, or an index that moves for the front",
    itertools.product: "a loop in a loop",
    itertools.chain: "one loop after the other, or a + b of two lists",
    itertools.islice: "a slice, x[a:b], or a loop with break",
    itertools.count: "while True with a number that grows",
    itertools.combinations: "loops over indexes: for i in range(n), for j in range(i + 1, n)",
    itertools.permutations: "loops over indexes, with a test that they differ",
    itertools.accumulate: "a loop that appends what it has so far",
    itertools.zip_longest: "a loop over the indexes of the longer one",
}
"""By class."""
NOT_HERE = "programs have no {module}.{name}: write {instead}"


def _refused(value: Any, instead: str) -> FormValue:
    text = NOT_HERE.format(module=value.__module__, name=value.__name__, instead=instead)

    def emit(e: Emission, tree: Apply, hint: Type | None) -> Sugared:
        raise CompileError(text, tree.callee.range)

    return FormValue(value.__name__, emit)


NOT_IN_PROGRAMS: Final[dict[Any, Sugared]] = {value: _refused(value, instead) for value, instead in INSTEAD.items()}
