"""Functions of Python's library that programs have: those of `flambeau.frontend.library`, compiled for each use.

heapq.heappush(h, 3)    →    library.heaps.heappush, compiled for h : int[] and item : int
"""

from __future__ import annotations

import bisect
import heapq
import types
from typing import Any, Final

import numpy as np

from flambeau.frontend.closures.call_arguments import emit_all
from flambeau.frontend.closures.instantiation import instantiate
from flambeau.frontend.closures.template import TemplateResolver
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Sugared
from flambeau.frontend.library import (
    array_functions,
    bisection,
    heaps,
    numbers,
    order_statistics,
    places,
    polynomials,
    ranges,
    samples,
    signals,
    without_nans,
)
from flambeau.frontend.trees.tree_views import Apply, Def, Expr, FalseLit, TrueLit, Var
from flambeau.schema.array_type import holds_arrays
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace

_PAIRS: Final = (
    (heapq, heaps, ("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "nsmallest", "nlargest")),
    (bisect, bisection, ("bisect_left", "bisect_right", "insort_left", "insort_right")),
)
_OF_MATRICES: Final = ("lstsq",)
"""Functions of `np.linalg`."""
_OF_ARRAYS: Final = (
    (order_statistics, ("median", "quantile", "percentile", "unique", "unique_counts")),
    (samples, ("interp", "convolve", "correlate", "trapezoid", "gradient", "histogram", "meshgrid", "cov", "corrcoef")),
    (array_functions, (
        "append", "insert", "delete", "isin", "array_equal", "allclose", "digitize", "sinc", "heaviside", "polyval",
        "union1d", "intersect1d", "setdiff1d", "average", "split", "array_split", "fill_diagonal", "copyto",
        "atleast_1d", "atleast_2d", "ediff1d", "compress", "extract", "vdot", "fix", "putmask", "trim_zeros", "modf",
        "diagflat",
    )),
    (without_nans, ("nansum", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar", "nanprod", "nanmedian", "nancumsum",
        "nanargmax", "nanargmin", "nancumprod", "nanquantile", "nanpercentile")),
    (polynomials, ("polyadd", "polysub", "polymul", "polyder", "polyint", "polyfit", "roots", "vander")),
    (places, (
        "lexsort", "setxor1d", "put", "place", "hsplit", "vsplit", "diag_indices_from", "tril_indices_from",
        "triu_indices_from", "histogram2d", "histogram_bin_edges", "cbrt", "isneginf", "isposinf", "array_equiv",
        "choose",
    )),
    (signals, ("unwrap",)),
)  # fmt: skip
_OF_NUMBERS: Final = (
    (np, ranges, ("logspace", "geomspace", "tri", "tril_indices", "triu_indices", "diag_indices")),
    (np, signals, ("hanning", "hamming", "blackman", "bartlett")),
    (np.fft, signals, ("fftfreq", "rfftfreq")),
    (np, places, ("indices", "unravel_index", "ravel_multi_index")),
)
"""Functions that make arrays of numbers."""
LIBRARY: Final[dict[Any, types.FunctionType]] = {
    getattr(theirs, name): getattr(ours, name) for theirs, ours, names in _PAIRS for name in names
}
"""What stands for each function of Python's library."""
ARRAY_LIBRARY: Final[dict[Any, types.FunctionType]] = {
    getattr(np, name): getattr(ours, name) for ours, names in _OF_ARRAYS for name in names if hasattr(np, name)
} | {getattr(np.linalg, name): getattr(places, name) for name in _OF_MATRICES}
"""What stands for functions of NumPy, where they are given arrays."""
ARRAY_MAKERS: Final[dict[Any, types.FunctionType]] = {
    getattr(theirs, name): getattr(ours, name) for theirs, ours, names in _OF_NUMBERS for name in names
}
"""What stands for those that make arrays, where a program has arrays."""
_ROOMS: Final = (
    array_functions, heaps, bisection, numbers, order_statistics, places, polynomials, ranges, samples, signals,
    without_nans,
)  # fmt: skip
_OWN: Final = frozenset(
    value for ours in _ROOMS for value in vars(ours).values() if isinstance(value, types.FunctionType)
)
SPACED: Final[types.FunctionType] = vars(ranges)["spaced"]
"""`np.linspace` that is told whether the last number is in it."""
_MAKERS: Final = frozenset(ARRAY_MAKERS.values())
OUTSIDE: Final = "what it does with operators, or call it outside and pass the result in"
MAKES_ARRAY: Final = "np.{name} makes an array, and this program has none: write {instead}"
FOR_ARRAYS: Final = "np.{name} is for arrays: annotate what it is given as np.ndarray, or write {instead}"
REFUSED = "{name}: {reason}"
_WITH: Final[dict[Any, dict[frozenset[str], Any]]] = {
    order_statistics.median: {frozenset({"keepdims"}): order_statistics.median_kept},
    samples.histogram: {frozenset({"density"}): samples.histogram_density},
    order_statistics.unique: {
        frozenset({"return_counts"}): order_statistics.unique_counts,
        frozenset({"return_inverse"}): order_statistics.unique_inverse,
        frozenset({"return_index"}): order_statistics.unique_index,
        frozenset({"return_index", "return_inverse"}): order_statistics.unique_index_inverse,
        frozenset({"return_index", "return_counts"}): order_statistics.unique_index_counts,
        frozenset({"return_inverse", "return_counts"}): order_statistics.unique_inverse_counts,
        frozenset({"return_index", "return_inverse", "return_counts"}): order_statistics.unique_all,
    },
}  # fmt: skip
"""Functions that give something else where keywords are True, by these keywords."""
LITERAL_FLAGS: Final = "np.{name} takes {keywords} here as True or False, written out"


@dataclass(slots=True)
class LibraryFunction(Builtin):
    """A function whose parameters without a type of their own take whatever a call passes."""

    python: types.FunctionType
    is_of_arrays: bool = False
    instead: str = OUTSIDE
    """What a program without arrays is told to write."""
    room: str = ""
    """Where in NumPy users find it: `linalg.`."""

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A call of the function as compiled for the arguments. Raises CompileError where they do not fit."""
        assert isinstance(e.scope.resolver, TemplateResolver)
        python, tree = _with_more(self.python, tree)
        template = e.scope.resolver.template(python)
        assert template is not None
        template.tree = _open(template.tree)
        args, keywords = emit_all(e, tree)
        values = (*args, *keywords.values())
        makes = self.python in _MAKERS and not e.arrays
        if makes or (self.is_of_arrays and not any(a.is_value and holds_arrays(a.type) for a in values)):
            text = MAKES_ARRAY if makes else FOR_ARRAYS
            raise CompileError(text.format(name=self.room + python.__name__, instead=self.instead), tree.callee.range)
        try:
            return instantiate(e, tree.callee.range, template, args, keywords)
        except CompileError as error:
            text = REFUSED.format(name=self.python.__name__, reason=error.message)
            raise CompileError(text, tree.callee.range) from None


def _with_more(python: types.FunctionType, tree: Apply) -> tuple[types.FunctionType, Apply]:
    """What stands for a call with `return_counts=True`, and the call without the keyword."""
    variants = _WITH.get(python, {})
    known = frozenset[str]().union(*variants)
    said = [k for k in tree.keywords if k.name in known]
    if not all(isinstance(k.value, TrueLit | FalseLit) for k in said):
        text = LITERAL_FLAGS.format(name=python.__name__, keywords=", ".join(sorted(known)))
        raise CompileError(text, tree.callee.range)
    asked = frozenset(k.name for k in said if isinstance(k.value, TrueLit))
    rest = tuple(k for k in tree.keywords if k.name not in known)
    return (variants[asked] if asked else python), replace(tree, keywords=rest)


def array_library_function(value: Any) -> LibraryFunction | None:
    """What a function of NumPy is in a program that is written in the language; None for any other."""
    if value in ARRAY_MAKERS:
        return LibraryFunction(ARRAY_MAKERS[value])
    ours = ARRAY_LIBRARY.get(value)
    return None if ours is None else LibraryFunction(ours, True)


def library_function(value: Any) -> LibraryFunction | None:
    """What a function of Python's library is in a program; None for what programs do not have."""
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return None
    ours = value if value in _OWN else LIBRARY.get(value)
    return LibraryFunction(ours) if isinstance(ours, types.FunctionType) else None


def _open(tree: Def) -> Def:
    """The function with no types where it says Any."""
    decl = tree.decl
    params = tuple(replace(p, annotation=None) if _is_any(p.annotation) else p for p in decl.params)
    returned = None if _is_any(decl.returns) else decl.returns
    return replace(tree, decl=replace(decl, params=params, returns=returned))


def _is_any(annotation: Expr | None) -> bool:
    return isinstance(annotation, Var) and annotation.name == "Any"
