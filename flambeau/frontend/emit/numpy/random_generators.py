"""`np.random.default_rng` in programs: generators that draw the numbers that NumPy's draw.

rng = np.random.default_rng(42)    →    %words = python::np_generator(42)
rng.random()                       →    python::generator_random(%words)
rng.normal(0.0, 1.0, size=n)       →    python::generator_floats(%words, "normal", [0.0, 1.0], [%n])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.numpy.array_lists import as_array
from flambeau.frontend.emit.numpy.random_functions import Bound, RandomFunction, float_of, is_none, sizes_of
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.constants import is_constant
from flambeau.ir.graph import Value
from flambeau.ops.language.numpy_generators import COUNTS, FLOATS
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import DType, float64, int64
from flambeau.schema.types import FLOAT, BoolType, IntType, TensorType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

SEED: Final = "np.random.default_rng takes an int, or nothing, here: make a generator of anything else outside"
NO_METHOD: Final = "generators of NumPy have no '{name}' in programs, where they have {known}"
STAYS: Final = (
    "a generator of NumPy stays in the function that makes it, and in functions without annotations that it calls: "
    "return what it drew"
)
ARRAYS: Final = "rng.{name} takes {what} here, not {found}"
INT_DTYPE: Final = "rng.integers draws int64s here: write rng.integers(low, high, size).astype(np.int32), or the like"


@dataclass(slots=True)
class GeneratorMaker(Sugared):
    """`np.random.default_rng`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function np.random.default_rng"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A new generator. Raises CompileError for a seed that is no int."""
        values = [*args, *(k for k in keywords if k.name == "seed")]
        if len(values) != len(args) + len(keywords) or len(values) > 1:
            raise CompileError(SEED, where)
        seed = values[0].value if values else e.constant(None)
        if not is_none(seed) and not isinstance(seed.static_type, IntType):
            raise CompileError(SEED, where)
        words = call_operator(e, where, "python::np_generator", [seed])
        words.set_type(array_of(int64, 1) if e.arrays else TensorType())
        return GeneratorValue(words)


@dataclass(slots=True)
class GeneratorValue(Sugared):
    """A generator, whose words are a tensor."""

    words: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "generator of NumPy"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Generators are no values: they stay where they are made."""
        raise CompileError(STAYS, where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A method that draws. Raises CompileError for one that programs do not have."""
        method = _METHODS.get(name)
        if method is None:
            raise CompileError(NO_METHOD.format(name=name, known=", ".join(_METHODS)), where)
        parameters, emit = method

        def of_words(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
            return emit(e, where, function, self.words, bound)

        return RandomFunction(name, parameters, of_words)


Emit = Callable[[Emitter, SourceRange, RandomFunction, Value, Bound], Value]


def _array(e: Emitter, where: SourceRange, name: str, operands: Sequence[Value], dtype: DType, rank: Any) -> Value:
    result = call_operator(e, where, f"python::generator_{name}", operands)
    result.set_type(array_of(dtype, rank) if e.arrays else TensorType())
    return result


def _distribution(kind: str, dtype: DType) -> Emit:
    """What emits a method that draws floats, or ints."""

    def emit(e: Emitter, where: SourceRange, function: RandomFunction, words: Value, bound: Bound) -> Value:
        own = [float_of(e, where, function, key, value) for key, value in bound.items() if key != "size"]
        is_one = is_none(bound["size"])
        if is_one and (function.name == "random" or (function.name == "uniform" and all(map(is_constant, own)))):
            number = call_operator(e, where, "python::generator_random", [words])
            return number if not own else _between(e, where, own[0], own[1], number)
        if is_one:
            return call_operator(e, where, f"python::generator_{function.name}", [words, *own])
        operands = [words, e.constant(function.name), pack_list(e, own, FLOAT)]
        sizes, rank = sizes_of(e, where, function, bound["size"])
        return _array(e, where, f"{kind}s", [*operands, sizes], dtype, rank)

    return emit


def _between(e: Emitter, where: SourceRange, low: Value, high: Value, number: Value) -> Value:
    span = call_operator(e, where, "aten::sub", [high, low])
    return call_operator(e, where, "aten::add", [low, call_operator(e, where, "aten::mul", [span, number])])


def _integers(e: Emitter, where: SourceRange, function: RandomFunction, words: Value, bound: Bound) -> Value:
    low, high, endpoint = bound["low"], bound["high"], bound["endpoint"]
    low, high = (e.constant(0), low) if is_none(high) else (low, high)
    for value in (low, high):
        if not isinstance(value.static_type, IntType):
            raise CompileError(ARRAYS.format(name="integers", what="ints", found=value.static_type.annotation), where)
    if not is_none(bound["dtype"]):
        raise CompileError(INT_DTYPE, where)
    if not is_none(endpoint):
        more = call_operator(e, where, "aten::Int", [endpoint])
        high = call_operator(e, where, "aten::add", [high, more])
    if is_none(bound["size"]):
        return call_operator(e, where, "python::generator_integer", [words, low, high])
    sizes, rank = sizes_of(e, where, function, bound["size"])
    return _array(e, where, "integers", [words, low, high, sizes], int64, rank)


def _shuffle(e: Emitter, where: SourceRange, function: RandomFunction, words: Value, bound: Bound) -> Value:
    x = bound["x"]
    if not isinstance(x.static_type, ArrayType):
        raise CompileError(ARRAYS.format(name="shuffle", what="an array", found=x.static_type.annotation), where)
    call_operator(e, where, "python::generator_shuffle", [words, x])
    return e.constant(None)


def _permutation(e: Emitter, where: SourceRange, function: RandomFunction, words: Value, bound: Bound) -> Value:
    x = bound["x"]
    type_ = x.static_type
    if isinstance(type_, IntType):
        x, type_ = call_operator(e, where, "aten::arange", [x]), array_of(int64, 1)
    if not isinstance(type_, ArrayType):
        raise CompileError(ARRAYS.format(name="permutation", what="an int or an array", found=type_.annotation), where)
    result = call_operator(e, where, "python::generator_permutation", [words, x])
    result.set_type(type_ if e.arrays else TensorType())
    return result


def _choice(e: Emitter, where: SourceRange, function: RandomFunction, words: Value, bound: Bound) -> Value:
    a, p, replace = as_array(e, where, bound["a"]), as_array(e, where, bound["p"]), bound["replace"]
    type_ = a.static_type
    if not isinstance(type_, IntType) and not (isinstance(type_, ArrayType) and type_.rank == 1):
        what = "an int or an array of one dimension"
        raise CompileError(ARRAYS.format(name="choice", what=what, found=type_.annotation), where)
    count = a if isinstance(type_, IntType) else call_operator(e, where, "aten::len", [a])
    if is_none(bound["size"]):
        index = call_operator(e, where, "python::generator_place", [words, count, p])
        return index if isinstance(type_, IntType) else SimpleValue(a).item(e, where, index).as_value(e, where)
    sizes, rank = sizes_of(e, where, function, bound["size"])
    if not isinstance(replace.static_type, BoolType):
        raise CompileError(ARRAYS.format(name="choice", what="True or False for 'replace'", found="that"), where)
    indices = _array(e, where, "places", [words, count, sizes, replace, p], int64, rank)
    if isinstance(type_, IntType):
        return indices
    picked = call_operator(e, where, "aten::index", [a, pack_list(e, [indices], TensorType())])
    picked.set_type(array_of(type_.dtype, rank))
    return picked


_METHODS: Final[dict[str, tuple[tuple[str, ...], Emit]]] = {
    **{name: ((*parameters, "size=None"), _distribution("float", float64)) for name, parameters in FLOATS.items()},
    **{name: ((*parameters, "size=None"), _distribution("int", int64)) for name, parameters in COUNTS.items()},
    "integers": (("low", "high=None", "size=None", "dtype=None", "endpoint=None"), _integers),
    "shuffle": (("x",), _shuffle), "permutation": (("x",), _permutation),
    "choice": (("a", "size=None", "replace=True", "p=None"), _choice),
}  # fmt: skip


def generator_maker(value: Any) -> Sugared | None:
    """What `np.random.default_rng` is in a program; None for anything else."""
    return GeneratorMaker() if value is np.random.default_rng else None
