"""`np.vectorize` and `np.fromfunction` in programs: a function of numbers that is called for each element, in a loop.

scale = np.vectorize(lambda a, b: a if a > b else b)
scale(x, 2.0)            →    library.vectorized.each_of_two, compiled for the function, x and 2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument, emit_all
from flambeau.frontend.emit.builtins.library_functions import MAKES_ARRAY, OUTSIDE, call_library
from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, FormValue, Sugared
from flambeau.frontend.library import vectorized
from flambeau.frontend.trees.tree_views import Apply
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

_LOOPS: Final = ("each_of_one", "each_of_two", "each_of_three")
COUNT: Final = "functions of np.vectorize take one to three arguments here, not {count}: write a loop over the elements"
NUMBERS: Final = "a function of np.vectorize gives an array without axes for numbers alone: call the function itself"
OF_TENSORS: Final = "functions of np.vectorize take arrays: annotate them as np.ndarray"
DTYPES: Final = "np.fromfunction takes a shape, and dtype=int or dtype=float, written out"
OPTIONS: Final = "np.vectorize takes the function alone here, not {options}: write a loop over the elements"
_OPTIONS: Final = {"otypes": None, "excluded": set[Any](), "signature": None, "cache": False}


@dataclass(slots=True)
class VectorizedFunction(Builtin):
    """A function of numbers, for elements side by side."""

    python: Any = None
    """The object of `np.vectorize` outside of the program."""
    function: Sugared | None = None
    """The function, of one that the program makes."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function of np.vectorize"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """The array of what it gives for each element. Raises CompileError for keywords, and for numbers alone."""
        args, keywords = emit_all(e, tree)
        where = tree.callee.range
        function = self.function or e.wrap(_plain(self.python, where), where)
        if keywords or not 1 <= len(args) <= len(_LOOPS):
            raise CompileError(COUNT.format(count=len(args) + len(keywords)), where)
        if not any(a.is_value and is_array(a.value(e)) for a in args):
            raise CompileError(NUMBERS if e.arrays else OF_TENSORS, where)
        python = vars(vectorized)[_LOOPS[len(args) - 1]]
        return call_library(e, where, python, [Argument(function, where), *args], {})


def _emit_vectorize(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    if len(tree.args) != 1 or tree.keywords:
        _refuse([k.name for k in tree.keywords] or ["so many arguments"], tree.callee.range)
    return VectorizedFunction(function=e.sugared(tree.args[0]))


def _emit_fromfunction(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """A function of where each element is, in floats unless ints are asked for."""
    dtypes = [k.value for k in tree.keywords if k.name == "dtype"]
    dtype = e.python_value(dtypes[0]) if dtypes else float
    if len(tree.args) != 2 or len(tree.keywords) > len(dtypes) or dtype not in (int, float, np.int64, np.float64):
        raise CompileError(DTYPES, tree.callee.range)
    if not e.arrays:
        raise CompileError(MAKES_ARRAY.format(name="fromfunction", instead=OUTSIDE), tree.callee.range)
    args, _ = emit_all(e, Apply(tree.range, tree.callee, tree.args, ()))
    is_whole = dtype in (int, np.int64)
    python = vars(vectorized)["fromfunction" if is_whole else "fromfunction_of_floats"]
    return call_library(e, tree.callee.range, python, args, {})


def _plain(value: Any, where: SourceRange) -> Any:
    """The function of an object of `np.vectorize`. Raises CompileError for one with options."""
    options = [name for name, usual in _OPTIONS.items() if getattr(value, name) != usual]
    if options:
        _refuse(options, where)
    return value.pyfunc


def vectorized_function(value: Any) -> Sugared | None:
    """What `np.vectorize`, an object of it and `np.fromfunction` are in a program; None for anything else."""
    if isinstance(value, np.vectorize):
        return VectorizedFunction(python=value)
    forms = ((np.vectorize, "vectorize", _emit_vectorize), (np.fromfunction, "fromfunction", _emit_fromfunction))
    return next((FormValue(name, emit) for theirs, name, emit in forms if value is theirs), None)


def _refuse(options: Sequence[str], where: SourceRange) -> None:
    raise CompileError(OPTIONS.format(options=", ".join(options)), where)
