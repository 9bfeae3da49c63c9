"""Functions of NumPy in programs: the operator each one is, with its keywords under their names here.

np.sum(x, axis=0)    →    aten::sum(%x, dim=0)
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.builtins.library_functions import FOR_ARRAYS, array_library_function
from flambeau.frontend.emit.builtins.standard_library import NOT_HERE, OF_THE_PACKAGE, refusal
from flambeau.frontend.emit.numpy.array_promotion import as_number
from flambeau.frontend.emit.numpy.dtype_functions import dtype_function
from flambeau.frontend.emit.numpy.dtype_names import with_dtype
from flambeau.frontend.emit.numpy.element_arithmetic import as_python
from flambeau.frontend.emit.numpy.element_functions import (
    OF_COMPLEX_NUMBERS,
    are_numbers,
    of_complex_number,
    of_numbers,
)
from flambeau.frontend.emit.numpy.index_tricks import index_trick
from flambeau.frontend.emit.numpy.number_forms import index_loop, of_numbers_alone, with_array
from flambeau.frontend.emit.numpy.numpy_advice import CLASSES, advice_on, name_of
from flambeau.frontend.emit.numpy.numpy_arrays import ARRAY_FUNCTIONS, array_call
from flambeau.frontend.emit.numpy.random_functions import RANDOM_FUNCTIONS
from flambeau.frontend.emit.numpy.random_generators import generator_maker
from flambeau.frontend.emit.numpy.reversed_views import FLIPS, flipped_view
from flambeau.frontend.emit.numpy.type_queries import type_query
from flambeau.frontend.emit.numpy.ufunc_at import SIGNS, UfuncAt
from flambeau.frontend.emit.numpy.ufunc_folds import UfuncFold, has_fold
from flambeau.frontend.emit.numpy.vectorized_functions import vectorized_function
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.region_contexts import ErrorState
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.array_type import holds_arrays
from flambeau.schema.types import TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

_SAME: Final = (
    "add", "arctan2", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isfinite", "isinf",
    "isnan", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "multiply", "positive", "reciprocal", "remainder", "sign", "sin", "sinh", "sqrt", "square", "subtract",
    "tan", "tanh", "trunc", "copysign", "float_power", "fmax", "fmin", "logaddexp", "logaddexp2", "signbit",
    "gcd", "lcm", "nextafter",
    "all", "any", "argmax", "argmin", "cumsum", "diag", "dot", "isclose", "matmul", "mean", "outer", "prod", "ravel",
    "reshape", "roll", "squeeze", "stack", "sum", "tril", "triu", "where", "zeros_like", "ones_like",
)  # fmt: skip
_RENAMED: Final = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "clip": "clamp", "concatenate": "cat", "conjugate": "conj", "deg2rad": "deg2rad",
    "degrees": "rad2deg", "radians": "deg2rad",
    "divide": "div", "equal": "eq", "expand_dims": "unsqueeze", "fabs": "abs", "floor_divide": "floor_divide",
    "greater": "gt", "greater_equal": "ge", "left_shift": "bitwise_left_shift", "less": "lt", "less_equal": "le",
    "multiply": "mul", "negative": "neg",
    "not_equal": "ne", "positive": "positive", "power": "pow", "rad2deg": "rad2deg", "rint": "round",
    "right_shift": "bitwise_right_shift", "subtract": "sub",
}  # fmt: skip
_LINALG: Final = (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "vecdot",
    "vector_norm",
)  # fmt: skip
_FFT: Final = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn", "fftshift", "ifftshift",
)
_METHODS: Final = (types.BuiltinMethodType, types.MethodType)
_REFUSED: Final = ("dtype", "where", "initial", "order", "casting", "out")
NO_METHOD: Final = "np.{name}.{method} has no form in programs, where a loop over the elements is native code"
OF_ARRAYS: Final = (
    "np.{name}: the keyword '{keyword}' is for arrays: annotate them as np.ndarray; of tensors, flambeau.{own} takes "
    "keywords of its own"
)
KEYWORDS: Final = {"axis": "dim", "keepdims": "keepdim", "a": "self", "a_min": "min", "a_max": "max"}

FUNCTIONS: Final[dict[Any, str]] = {
    getattr(np, name): f"aten::{_RENAMED.get(name, name)}" for name in (*_SAME, *_RENAMED) if hasattr(np, name)
} | {getattr(np.linalg, name): f"aten::linalg_{name}" for name in _LINALG if hasattr(np.linalg, name)}
FUNCTIONS.update({getattr(np.fft, name): f"aten::fft_{name}" for name in _FFT})
if hasattr(np.linalg, "matmul"):  # a function of its own, since NumPy 2
    FUNCTIONS[np.linalg.matmul] = "aten::matmul"
"""Each function of NumPy by the operator it is."""


_EXTREMES: Final = {"maximum": "max", "minimum": "min"}
_EITHER_ORDER: Final = frozenset({"add", "multiply", *_EXTREMES})


@dataclass(slots=True)
class ArrayFunctionValue(Sugared):
    """A function of NumPy that arrays alone have here: operators of its name mean something else."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call whose dtype is one of Python's types: `np.zeros_like(x, dtype=int)`."""
        return with_dtype(e, tree, self.call)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What the function gives for arrays. Raises CompileError for anything else."""
        if self.name in OF_COMPLEX_NUMBERS and not keywords and len(args) == 1 and are_numbers(args):
            return SimpleValue(of_complex_number(e, where, self.name, args[0].value))
        args = with_array(e, where, self.name, args)
        if not any(holds_arrays(g.value.static_type) for g in (*args, *keywords)):
            of_numbers_only = of_numbers_alone(e, where, self.name, args, keywords)
            if of_numbers_only is not None:
                return of_numbers_only
            raise CompileError(FOR_ARRAYS.format(name=self.name, instead=advice_on(f"np.{self.name}")), where)
        if self.name in FLIPS:
            return flipped_view(e, where, self.name, args, keywords)
        return SimpleValue(as_number(e, array_call(e, where, self.name, "", args, keywords)))


@dataclass(slots=True)
class NumpyFunction(Sugared):
    """A function of NumPy."""

    name: str
    operator: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call whose dtype is one of Python's types: `np.ones_like(x, dtype=int)`."""
        return with_dtype(e, tree, self.call)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The operator's result."""
        args = with_array(e, where, self.name, args)
        of_arrays = e.arrays and any(holds_arrays(g.value.static_type) for g in (*args, *keywords))
        if of_arrays:
            return SimpleValue(as_number(e, array_call(e, where, self.name, self.operator, args, keywords)))
        means_numbers = e.arrays or self.name == "where"
        if means_numbers and (of_numbers_only := of_numbers_alone(e, where, self.name, args, keywords)) is not None:
            return of_numbers_only
        self._refuse_keywords(keywords)
        function = getattr(np, self.name, None)
        if isinstance(function, np.ufunc) and not keywords and are_numbers(args):
            result = of_numbers(e, where, function, self.name, self.operator, [a.value for a in args])
            return SimpleValue(result if e.arrays else as_python(e, result))
        renamed = [replace(k, name=KEYWORDS.get(k.name, k.name)) for k in keywords]
        operator, operands, bounds = self.operator, list(args), list[Given]()
        if self.name in _EITHER_ORDER and len(operands) == 2:
            operator, operands, bounds = _in_order(self.name, operator, operands)
        return SimpleValue(call_operator(e, where, operator, operands, [*renamed, *bounds]))

    def _refuse_keywords(self, keywords: Sequence[Given]) -> None:
        refused = next((k for k in keywords if k.name in _REFUSED), None)
        if refused is not None:
            own = self.operator.removeprefix("aten::")
            raise CompileError(OF_ARRAYS.format(name=self.name, keyword=refused.name, own=own), refused.where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`at` of additions, and folds. Raises CompileError for any other."""
        if name == "at" and self.name in SIGNS:
            return UfuncAt(self.name)
        if has_fold(self.name, name):
            return UfuncFold(self.name, name, _by_name)
        if isinstance(getattr(np, self.name, None), np.ufunc) and hasattr(np.ufunc, name):
            raise CompileError(NO_METHOD.format(name=self.name, method=name), where)
        return Sugared.attribute(self, e, where, name)


def _by_name(
    e: Emitter, where: SourceRange, name: str, args: Sequence[Given], keywords: Sequence[Given]
) -> Value:
    return array_call(e, where, name, FUNCTIONS.get(getattr(np, name), ""), args, keywords)


def _in_order(name: str, operator: str, operands: list[Given]) -> tuple[str, list[Given], list[Given]]:
    """The operator, operands and keywords of a function whose operands may change places: tensors come first.

    An extreme of two numbers is Python's, that of a tensor and a number a clamp.
    """
    are_tensors = [isinstance(o.value.static_type, TensorType) for o in operands]
    if not any(are_tensors):
        return (f"prim::{_EXTREMES[name]}" if name in _EXTREMES else operator), operands, []
    if are_tensors == [False, True]:
        operands.reverse()
    if all(are_tensors) or name not in _EXTREMES:
        return operator, operands, []
    tensor, number = operands
    return "aten::clamp", [tensor], [replace(number, name="min" if name == "maximum" else "max")]


def numpy_function(value: Any) -> Sugared | None:
    """What a function of NumPy is in a program: one without an operator is refused; None for anything else."""
    try:
        operator = FUNCTIONS.get(value)
    except TypeError:
        return None
    if operator is not None:
        return NumpyFunction(value.__name__, operator)
    own = vectorized_function(value) or generator_maker(value) or dtype_function(value)
    own = own or type_query(value) or _of_tables(value)
    if own is not None:
        return own
    owner = type(getattr(value, "__self__", None)).__module__ if value.__class__ in _METHODS else ""
    module = getattr(value, "__module__", None) or owner
    known = _of_its_own(value)
    if known is not None:
        return known
    if isinstance(value, type) or not callable(value) or module.partition(".")[0] != "numpy":
        return None
    name = getattr(value, "__name__", "")
    if module.startswith("numpy.random"):
        return refusal(name, NOT_HERE.format(name=f"np.random.{name}", instead=OF_THE_PACKAGE))
    return _refused(name, name_of(value, module))


def _of_its_own(value: Any) -> Sugared | None:
    """What a class, or an object that is subscripted or looped over, is in a program; None for any other."""
    if value in CLASSES:
        return refusal(value.__name__, CLASSES[value])
    return ErrorState() if value is np.errstate else index_trick(value) or index_loop(value)


def _of_tables(value: Any) -> Sugared | None:
    """What a function that draws, is written in the language, or arrays alone have is; None for any other."""
    in_language = array_library_function(value)
    if in_language is not None:
        full_name = name_of(value, getattr(value, "__module__", "numpy"))  # ufuncs have none before NumPy 2.2
        room = full_name.removeprefix("np.").removesuffix(value.__name__)
        return replace(in_language, instead=advice_on(full_name), room=room)
    if value in RANDOM_FUNCTIONS:
        return RANDOM_FUNCTIONS[value]
    return ArrayFunctionValue(ARRAY_FUNCTIONS[value]) if value in ARRAY_FUNCTIONS else None


def _refused(name: str, full_name: str) -> FormValue:
    """A function that programs have not: a call says what to write, with arrays or with tensors."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        raise CompileError(NOT_HERE.format(name=full_name, instead=advice_on(full_name)), tree.callee.range)

    return FormValue(name, emit)
