"""Functions of Python's library that programs have: those of `flambeau.frontend.library`, compiled for each use.

heapq.heappush(h, 3)    →    library.heaps.heappush, compiled for h : int[] and item : int
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import types
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument, emit_all
from flambeau.frontend.closures.instantiation import instantiate
from flambeau.frontend.closures.template import TemplateResolver
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.numpy.array_promotion import array_of_list, array_of_number, dtype_of, known_rank
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.literal_value import LiteralValue, literal_of
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Sugared
from flambeau.frontend.library import (
    array_api,
    array_functions,
    bisection,
    bits,
    complex_order,
    distinct_lines,
    extremes,
    heaps,
    iterators,
    numbers,
    order_statistics,
    paddings,
    parts,
    places,
    polynomials,
    power_series,
    ranges,
    samples,
    signals,
    ufunc_loops,
    vectorized,
    without_nans,
)
from flambeau.frontend.trees.tree_views import Apply, Def, Expr, FalseLit, TrueLit, Var
from flambeau.schema.array_type import holds_arrays
from flambeau.schema.types import INT, NumberType, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

_PAIRS: Final = (
    (heapq, heaps, ("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "nsmallest", "nlargest")),
    (bisect, bisection, ("bisect_left", "bisect_right", "insort_left", "insort_right")),
    (itertools, iterators, (
        "accumulate", "pairwise", "groupby", "islice", "takewhile", "dropwhile", "filterfalse", "compress",
    )),
    (itertools.chain, iterators, ("from_iterable",)),
)
_OF_MATRICES: Final = (
    (places, ("lstsq",)),
    (array_api, ("diagonal", "trace", "outer", "cross", "matrix_transpose", "tensorsolve")),
)
"""Functions of `np.linalg`."""
_OF_ARRAYS: Final = (
    (order_statistics, ("median", "quantile", "percentile", "unique", "unique_counts", "partition", "argpartition")),
    (samples, ("interp", "convolve", "correlate", "trapezoid", "gradient", "histogram", "meshgrid", "cov", "corrcoef")),
    (array_functions, (
        "append", "insert", "delete", "isin", "array_equal", "allclose", "digitize", "sinc", "heaviside", "polyval",
        "union1d", "intersect1d", "setdiff1d", "average", "fill_diagonal", "copyto",
        "atleast_1d", "atleast_2d", "atleast_3d", "ediff1d", "compress", "extract", "vdot", "fix", "putmask",
        "trim_zeros", "modf", "diagflat", "block", "bitwise_count", "spacing", "real_if_close",
        "asarray_chkfinite",
    )),
    (without_nans, ("nansum", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar", "nanprod", "nanmedian", "nancumsum",
        "nanargmax", "nanargmin", "nancumprod", "nanquantile", "nanpercentile")),
    (polynomials, ("polyadd", "polysub", "polymul", "polyder", "polyint", "polyfit", "roots", "vander", "poly",
        "polydiv",
    )),
    (parts, (
        "split", "array_split", "hsplit", "vsplit", "dsplit", "apply_along_axis", "resize", "piecewise",
    )),
    (places, (
        "lexsort", "setxor1d", "put", "place", "diag_indices_from", "tril_indices_from",
        "triu_indices_from", "histogram2d", "histogram_bin_edges", "cbrt", "isneginf", "isposinf", "array_equiv",
        "choose",
    )),
    (signals, ("unwrap",)),
    (array_api, (
        "astype", "matrix_transpose", "unstack", "vecdot", "matvec", "vecmat", "cumulative_sum", "cumulative_prod",
    )),
    (bits, ("packbits", "unpackbits")),
)  # fmt: skip
_OF_NUMBERS: Final = (
    (np, ranges, ("logspace", "geomspace", "tri", "tril_indices", "triu_indices", "diag_indices")),
    (np, signals, ("hanning", "hamming", "blackman", "bartlett", "kaiser")),
    (np.fft, signals, ("fftfreq", "rfftfreq")),
    (np, places, ("indices", "unravel_index", "ravel_multi_index")),
    (np, vectorized, ("fromfunction",)),
)
"""Functions that make arrays of numbers."""
LIBRARY: Final[dict[Any, types.FunctionType]] = {
    getattr(theirs, name): getattr(ours, name) for theirs, ours, names in _PAIRS for name in names
}
"""What stands for each function of Python's library."""
ARRAY_LIBRARY: Final[dict[Any, types.FunctionType]] = {
    getattr(np, name): getattr(ours, name) for ours, names in _OF_ARRAYS for name in names if hasattr(np, name)
} | {
    getattr(np.linalg, name): getattr(ours, name)
    for ours, names in _OF_MATRICES
    for name in names
    if hasattr(np.linalg, name)
} | {getattr(np.polynomial.polynomial, name): getattr(power_series, name) for name in (
    "polyval", "polyadd", "polysub", "polymul", "polydiv", "polyder", "polyint",
)}  # fmt: skip
"""What stands for functions of NumPy, where they are given arrays."""
ARRAY_MAKERS: Final[dict[Any, types.FunctionType]] = {
    getattr(theirs, name): getattr(ours, name) for theirs, ours, names in _OF_NUMBERS for name in names
}
"""What stands for those that make arrays, where a program has arrays."""
_ROOMS: Final = (
    array_api, array_functions, heaps, bisection, bits, complex_order, distinct_lines, extremes, iterators, numbers,
    order_statistics, paddings, parts, places, polynomials, power_series, ranges, samples, signals, ufunc_loops,
    vectorized, without_nans,
)  # fmt: skip
_OWN: Final = frozenset(
    value for ours in _ROOMS for value in vars(ours).values() if isinstance(value, types.FunctionType)
)
SPACED: Final[types.FunctionType] = vars(ranges)["spaced"]
"""`np.linspace` that is told whether the last number is in it."""
_OF_LINES: Final = frozenset({
    *(ours for theirs, ours in ARRAY_LIBRARY.items() if ours.__module__ == without_nans.__name__),
    *(vars(order_statistics)[name] for name in ("median", "quantile", "percentile", "unique", "unique_counts")),
})  # fmt: skip
"""Functions to which a number, or an array without dimensions, is an array of one element."""
_OF_LISTS: Final[frozenset[Any]] = frozenset({array_functions.block, samples.meshgrid})
"""Functions to which a list is no array."""
_MAKERS: Final = frozenset(ARRAY_MAKERS.values())
OUTSIDE: Final = "what it does with operators, or call it outside and pass the result in"
MAKES_ARRAY: Final = "np.{name} makes an array, and this program has none: write {instead}"
FOR_ARRAYS: Final = "np.{name} is for arrays: annotate what it is given as np.ndarray, or write {instead}"
REFUSED = "{name}: {reason}"
_WITH: Final[dict[Any, dict[frozenset[str], Any]]] = {
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
        python, tree = _with_more(self.python, tree)
        args, keywords = emit_all(e, tree)
        makes = self.python in _MAKERS and not e.arrays
        if e.arrays and self.is_of_arrays and args and python not in _OF_LISTS:
            first = _listed(e, args[0])
            args = [_line(e, first) if python in _OF_LINES else first, *args[1:]]
        brings = any(a.is_value and holds_arrays(a.type) for a in (*args, *keywords.values()))
        if makes or (self.is_of_arrays and not e.arrays and not brings):
            text = MAKES_ARRAY if makes else FOR_ARRAYS
            raise CompileError(text.format(name=self.room + python.__name__, instead=self.instead), tree.callee.range)
        try:
            return call_library(e, tree.callee.range, python, args, keywords)
        except CompileError as error:
            text = REFUSED.format(name=self.python.__name__, reason=error.message)
            raise CompileError(text, tree.callee.range) from None


def _listed(e: Emitter, argument: Argument) -> Argument:
    """An argument; a list of numbers as an array."""
    if not argument.is_value:
        return argument
    value = argument.value(e)
    array = array_of_list(e, argument.where, value)
    return argument if array is value else replace(argument, sugared=SimpleValue(array))


def _line(e: Emitter, argument: Argument) -> Argument:
    """An argument; a number, or an array without dimensions, as an array of one element."""
    if not argument.is_value:
        return argument
    assert isinstance(argument.sugared, SimpleValue)
    value = argument.sugared.value
    if is_number(value.static_type) and not isinstance(value.static_type, NumberType):
        value = array_of_number(e, value, dtype_of(argument.where, np.asarray, value))
    if known_rank(value) != 0:
        return argument
    line = call_operator(e, argument.where, "aten::reshape", [value, pack_list(e, [e.constant(1)], INT)])
    return replace(argument, sugared=SimpleValue(line))


def call_library(
    e: Emitter,
    where: SourceRange,
    python: types.FunctionType,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
) -> Sugared:
    """A call of a function of the library, as compiled for what it is given. Raises CompileError where that does not
    fit.
    """
    assert isinstance(e.scope.resolver, TemplateResolver)
    template = e.scope.resolver.template(python)
    assert template is not None
    template.tree = _open(template.tree)
    return instantiate(e, where, template, *_with_literals(python, template.defaults, args, keywords))


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
    """What a function of Python's library, or a class that makes iterators, is in a program; None for what programs do
    not have.
    """
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType | type):
        return None
    ours = value if value in _OWN else LIBRARY.get(value)
    return LibraryFunction(ours) if isinstance(ours, types.FunctionType) else None


def _with_literals(
    python: types.FunctionType, defaults: Mapping[str, Any], args: Sequence[Argument], keywords: Mapping[str, Argument]
) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments, those of parameters that say `Static` as literals where they are known, or left out."""
    names = python.__code__.co_varnames[: python.__code__.co_argcount + python.__code__.co_kwonlyargcount]
    static = [name for name in names if python.__annotations__.get(name) == "Static"]
    by_place = [_literal(a) if name in static else a for name, a in zip(names, args, strict=False)]
    by_name = {name: _literal(a) if name in static else a for name, a in keywords.items()}
    where = args[0].where if args else None
    for name in static:
        if name not in by_name and name not in names[: len(args)] and where is not None:
            by_name[name] = Argument(LiteralValue(defaults[name]), where)
    return [*by_place, *args[len(by_place) :]], by_name


def _literal(argument: Argument) -> Argument:
    if not argument.is_value:
        return argument
    assert isinstance(argument.sugared, SimpleValue)
    literal = literal_of(argument.sugared.value)
    return argument if literal is None else Argument(literal, argument.where)


def _open(tree: Def) -> Def:
    """The function with no types where it says Any or Static."""
    decl = tree.decl
    params = tuple(replace(p, annotation=None) if _is_any(p.annotation) else p for p in decl.params)
    returned = None if _is_any(decl.returns) else decl.returns
    return replace(tree, decl=replace(decl, params=params, returns=returned))


def _is_any(annotation: Expr | None) -> bool:
    return isinstance(annotation, Var) and annotation.name in ("Any", "Static")
