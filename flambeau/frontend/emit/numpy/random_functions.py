"""`np.random` in programs: numbers of NumPy's own generator, one at a time or as arrays.

np.random.normal(0.0, s)        →    python::np_random_float("normal", [0.0, %s])
np.random.rand(n, 3)            →    python::np_random_floats("random_sample", [], [%n, 3])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.closures.template import TemplateResolver
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_lists import as_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.library import distributions, drawn_vectors, inverted_distributions
from flambeau.ir.graph import Value
from flambeau.ops.language.numpy_random import COUNTS, FLOATS
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import DType, float64, int64
from flambeau.schema.types import FLOAT, INT, BoolType, FloatType, IntType, NoneType, TensorType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Bound = dict[str, Value]
BY_THEMSELVES: Final[dict[str, tuple[str, tuple[float, ...]]]] = {
    "random_sample": ("double", ()), "uniform": ("uniform", ()), "normal": ("normal", ()),
    "standard_normal": ("normal", (0.0, 1.0)), "exponential": ("exponential", ()),
    "standard_exponential": ("exponential", (1.0,)),
}  # fmt: skip
"""Distributions with an operator of their own for single numbers, which has a native form, and what it is given."""
IN_THE_LANGUAGE: Final[dict[str, FunctionType]] = {
    name: function
    for module in (distributions, inverted_distributions)
    for name, function in vars(module).items()
    if name in FLOATS or name in COUNTS
}
"""Distributions of which programs draw single numbers by functions of the language."""
DEFAULTS: Final[dict[str, bool | None]] = {"None": None, "True": True}
"""Defaults that are no numbers, as they are written in parameters."""
SIZED: Final = (FloatType, IntType, BoolType)
NUMBERS_ONLY: Final = (
    "np.random.{name} takes numbers for '{parameter}' here, not {found}: draw standard numbers, and compute with the "
    "array, as in mean + deviation * np.random.standard_normal(mean.shape)"
)
SIZE: Final = "np.random.{name} takes an int or a tuple of ints for its size here, not {found}"
MISSING: Final = "np.random.{name}() is missing '{parameter}'"
KEYWORD: Final = "np.random.{name} has no '{keyword}' in programs, where it takes {known}"
MANY: Final = "np.random.{name}() takes at most {count} arguments here"
FLAT: Final = "np.random.{name} takes an int or an array of one dimension here, not {found}"
VECTORS: Final = "np.random.{name} makes an array, and this program has none: annotate what it is given as np.ndarray"
WHOLE: Final = "np.random.seed takes an int here"


@dataclass(slots=True)
class RandomFunction(Sugared):
    """A function of `np.random`."""

    name: str
    parameters: tuple[str, ...]
    """Names, with defaults behind `=`."""
    emit: Callable[[Emitter, SourceRange, RandomFunction, Bound], Value]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.random.{self.name}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What is drawn."""
        if self.name in ("rand", "randn"):
            sizes = [pack_list(e, [a.value for a in args], INT)] if args else []
            args = [Given(s, where) for s in sizes]
        bound = self._bound(where, args, keywords)
        for name, default in (p.split("=") for p in self.parameters if "=" in p):
            if name not in bound:
                bound[name] = e.constant(DEFAULTS[default] if default in DEFAULTS else float(default))
        missing = [name for name in self.names if name not in bound]
        if missing:
            raise CompileError(MISSING.format(name=self.name, parameter=missing[0]), where)
        return SimpleValue(self.emit(e, where, self, {name: bound[name] for name in self.names}))

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [p.partition("=")[0] for p in self.parameters]

    def _bound(self, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Bound:
        """What a call gives, by name."""
        names = self.names
        if len(args) > len(names):
            raise CompileError(MANY.format(name=self.name, count=len(names)), where)
        bound = dict(zip(names, (a.value for a in args), strict=False))
        for keyword in keywords:
            if keyword.name not in names or keyword.name in bound:
                text = KEYWORD.format(name=self.name, keyword=keyword.name, known=", ".join(names) or "nothing")
                raise CompileError(text, keyword.where)
            bound[keyword.name] = keyword.value
        return bound


def is_none(value: Value) -> bool:
    """Whether an argument says nothing."""
    return isinstance(value.static_type, NoneType)


def float_of(e: Emitter, where: SourceRange, function: RandomFunction, name: str, value: Value) -> Value:
    """A number as a float. Raises CompileError for an array."""
    if not isinstance(value.static_type, SIZED):
        annotation = value.static_type.annotation
        raise CompileError(NUMBERS_ONLY.format(name=function.name, parameter=name, found=annotation), where)
    return value if value.static_type == FLOAT else call_operator(e, where, "aten::Float", [value])


def sizes_of(e: Emitter, where: SourceRange, function: RandomFunction, size: Value) -> tuple[Value, int | None]:
    """The sizes as a list, and how many they are, where that is known."""
    type_ = size.static_type
    if isinstance(type_, IntType):
        return pack_list(e, [size], INT), 1
    if isinstance(type_, TupleType) and all(isinstance(t, IntType) for t in type_.elements):
        return pack_list(e, unpack_tuple(e, size), INT), len(type_.elements)
    node = size.defining_node
    if str(type_) == "int[]" and node is not None and node.op == "prim::ListConstruct":
        return size, len(node.operands)
    raise CompileError(SIZE.format(name=function.name, found=type_.annotation), where)


def _made(
    e: Emitter, where: SourceRange, operator: str, operands: Sequence[Value], dtype: DType, rank: int | None
) -> Value:
    result = call_operator(e, where, f"python::np_random_{operator}", operands)
    result.set_type(array_of(dtype, rank) if e.arrays else TensorType())
    return result


def _distribution(operator: str, name: str, dtype: DType) -> Callable[..., Value]:
    """What emits a function that draws floats, or ints."""

    def emit(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
        own = [float_of(e, where, function, key, value) for key, value in bound.items() if key != "size"]
        python = IN_THE_LANGUAGE.get(name)
        if python is not None and is_none(bound["size"]) and isinstance(e.scope.resolver, TemplateResolver):
            if name == "binomial":
                own[0] = call_operator(e, where, "aten::Int", [own[0]])
            return call_library(e, where, python, [Argument(SimpleValue(v), where) for v in own], {}).as_value(e, where)
        if name in BY_THEMSELVES and is_none(bound["size"]):
            operator_of_one, constants = BY_THEMSELVES[name]
            return call_operator(e, where, f"python::np_random_{operator_of_one}", [*own, *map(e.constant, constants)])
        operands = [e.constant(name), pack_list(e, own, FLOAT)]
        if is_none(bound["size"]):
            return call_operator(e, where, f"python::np_random_{operator}", operands)
        sizes, rank = sizes_of(e, where, function, bound["size"])
        return _made(e, where, f"{operator}s", [*operands, sizes], dtype, rank)

    return emit


def _check_arrays(e: Emitter, where: SourceRange, function: RandomFunction) -> None:
    if not e.arrays:
        raise CompileError(VECTORS.format(name=function.name), where)


def _dirichlet(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    """A vector, or vectors in the last axis of an array."""
    _check_arrays(e, where, function)
    is_one = is_none(bound["size"])
    one = pack_list(e, [e.constant(1)], INT)
    sizes, rank = (one, 1) if is_one else sizes_of(e, where, function, bound["size"])
    arguments = [Argument(SimpleValue(v), where) for v in (as_array(e, where, bound["alpha"]), sizes)]
    rows = call_library(e, where, vars(drawn_vectors)["dirichlet"], arguments, {}).as_value(e, where)
    if is_one:
        return call_operator(e, where, "aten::select", [rows, e.constant(0), e.constant(0)])
    last = call_operator(e, where, "aten::size", [rows, e.constant(1)])
    shape = call_operator(e, where, "aten::add", [sizes, pack_list(e, [last], INT)])
    result = call_operator(e, where, "aten::reshape", [rows, shape])
    result.set_type(array_of(float64, None if rank is None else rank + 1))
    return result


def _multinomial(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    """How often each outcome comes up, in the last axis of an array."""
    _check_arrays(e, where, function)
    none = pack_list(e, [], INT), 0
    sizes, rank = none if is_none(bound["size"]) else sizes_of(e, where, function, bound["size"])
    operands = [bound["n"], as_array(e, where, bound["pvals"]), sizes]
    return _made(e, where, "counts", operands, int64, None if rank is None else rank + 1)


def _whole(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    low, high = bound["low"], bound["high"]
    low, high = (e.constant(0), low) if is_none(high) else (low, high)
    if is_none(bound["size"]):
        return call_operator(e, where, "python::np_random_integer", [low, high])
    sizes, rank = sizes_of(e, where, function, bound["size"])
    return _made(e, where, "integers", [low, high, sizes], int64, rank)


def _seed(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    if not isinstance(bound["seed"].static_type, IntType):
        raise CompileError(WHOLE, where)
    call_operator(e, where, "python::np_random_seed", [bound["seed"]])
    return e.constant(None)


def _shuffle(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    if not isinstance(bound["x"].static_type, ArrayType):
        raise CompileError(f"np.random.shuffle takes an array here, not {bound['x'].static_type.annotation}", where)
    call_operator(e, where, "python::np_random_shuffle", [bound["x"]])
    return e.constant(None)


def _permutation(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    x = bound["x"]
    type_ = x.static_type
    if isinstance(type_, IntType):
        x, type_ = call_operator(e, where, "aten::arange", [x]), array_of(int64, 1)
    elif not isinstance(type_, ArrayType):
        raise CompileError(FLAT.format(name="permutation", found=type_.annotation), where)
    result = call_operator(e, where, "python::np_random_permutation", [x])
    result.set_type(type_ if e.arrays else TensorType())
    return result


def _choice(e: Emitter, where: SourceRange, function: RandomFunction, bound: Bound) -> Value:
    a, p = (as_array(e, where, bound[name]) for name in ("a", "p"))
    type_ = a.static_type
    if not isinstance(type_, IntType) and not (isinstance(type_, ArrayType) and type_.rank == 1):
        raise CompileError(FLAT.format(name="choice", found=type_.annotation), where)
    count = a if isinstance(type_, IntType) else call_operator(e, where, "aten::len", [a])
    if is_none(bound["size"]):
        index = call_operator(e, where, "python::np_random_place", [count, p])
        return index if isinstance(type_, IntType) else SimpleValue(a).item(e, where, index).as_value(e, where)
    sizes, rank = sizes_of(e, where, function, bound["size"])
    indices = _made(e, where, "places", [count, sizes, bound["replace"], p], int64, rank)
    if isinstance(type_, IntType):
        return indices
    picked = call_operator(e, where, "aten::index", [a, pack_list(e, [indices], TensorType())])
    picked.set_type(array_of(type_.dtype, rank))
    return picked


def _functions() -> dict[Any, RandomFunction]:
    table: dict[Any, RandomFunction] = {}
    for names, operator, dtype in ((FLOATS, "float", float64), (COUNTS, "int", int64)):
        for name, parameters in names.items():
            emit = _distribution(operator, name, dtype)
            table[getattr(np.random, name)] = RandomFunction(name, (*parameters, "size=None"), emit)
    for name, other in (("random", "random_sample"), ("ranf", "random_sample"), ("sample", "random_sample"),
                        ("rand", "random_sample"), ("randn", "standard_normal")):  # fmt: skip
        if hasattr(np.random, name):
            emit = _distribution("float", other, float64)
            table[getattr(np.random, name)] = RandomFunction(name, ("size=None",), emit)
    return table | {
        np.random.randint: RandomFunction("randint", ("low", "high=None", "size=None"), _whole),
        np.random.seed: RandomFunction("seed", ("seed",), _seed),
        np.random.dirichlet: RandomFunction("dirichlet", ("alpha", "size=None"), _dirichlet),
        np.random.multinomial: RandomFunction("multinomial", ("n", "pvals", "size=None"), _multinomial),
        np.random.shuffle: RandomFunction("shuffle", ("x",), _shuffle),
        np.random.permutation: RandomFunction("permutation", ("x",), _permutation),
        np.random.choice: RandomFunction("choice", ("a", "size=None", "replace=True", "p=None"), _choice),
    }


RANDOM_FUNCTIONS: Final = _functions()
"""By NumPy's function."""
