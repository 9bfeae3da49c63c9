"""What programs often want of Python's standard library and do not have: each with what to write instead."""

from __future__ import annotations

import copy
import heapq
import itertools
import random
import time
from types import ModuleType
from typing import Any, Final

from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead

OF_THE_PACKAGE = "flambeau.rand, flambeau.randn or flambeau.randint, which draw from this package's generator"
A_CLOCK = "the call outside of the program; fn.profile(*args) measures what is inside"

INSTEAD: Final[dict[str, tuple[ModuleType, dict[str, str]]]] = {
    "copy": (copy, {
        "copy": instead("{code} of a list or dict, ", "x.copy()", of="copy.copy(x)", given="x: list[int]")
        + instead("{code} of a tensor", "x.clone()", of="copy.copy(x)", given="x: Tensor"),
        "deepcopy": instead("{code} of a tensor, ", "x.clone()", of="copy.deepcopy(x)", given="x: Tensor")
        + "or what makes the object anew",
    }),
    "heapq": (heapq, {"merge": instead(
        "{code}", "sorted(a + b)", of="list(heapq.merge(sorted(a), sorted(b)))", given="a: list[int], b: list[int]",
    )}),
    "itertools": (itertools, {
        "count": "while True with a number that grows, or enumerate(x, start)",
        "combinations_with_replacement": "loops over indexes: for i in range(n), for j in range(i, n)",
        "zip_longest": "a loop over the indexes of the longer one",
    }),
    "random": (random, dict.fromkeys(
        ("random", "uniform", "randint", "randrange", "gauss", "normalvariate", "choice", "shuffle", "sample", "seed"),
        OF_THE_PACKAGE,
    )),
    "time": (time, dict.fromkeys(("time", "perf_counter", "monotonic", "process_time"), A_CLOCK)),
}  # fmt: skip
"""By module and name."""
NOT_HERE = "programs have no {name}: write {instead}"


def refusal(name: str, text: str) -> FormValue:
    """What is refused where it is called."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        raise CompileError(text, tree.callee.range)

    return FormValue(name, emit)


NOT_IN_PROGRAMS: Final[dict[Any, Sugared]] = {
    getattr(module, name): refusal(name, NOT_HERE.format(name=f"{title}.{name}", instead=instead))
    for title, (module, names) in INSTEAD.items()
    for name, instead in names.items()
}
