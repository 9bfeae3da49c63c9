"""Functions of NumPy that make arrays, in programs: tensors, of the dtypes that NumPy gives.

np.zeros((2, n))    →    aten::zeros(%sizes, dtype=7)    (float64, where flambeau.zeros gives the default dtype)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.analysis.operator_rules import result_types
from flambeau.frontend.emit.builtins.library_functions import SPACED, LibraryFunction
from flambeau.frontend.emit.implicit_conversions import is_empty_literal, pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_lists import joined_list
from flambeau.frontend.emit.numpy.array_literals import ArrayLiteral, array_literal
from flambeau.frontend.emit.numpy.dtype_names import dtype_named
from flambeau.frontend.emit.numpy.element_arithmetic import filling
from flambeau.frontend.emit.numpy.method_calls import constant_int
from flambeau.frontend.emit.numpy.ndarray_methods import call_method
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.literal_value import literal_of
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, Const
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of, holds_arrays
from flambeau.schema.dtype import DType, bool_, by_code, complex128, float64, from_numpy_dtype, int64
from flambeau.schema.element_type import element_of, kinds_of
from flambeau.schema.types import (
    FLOAT,
    INT,
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

_DTYPES: Final[dict[type[Type], DType]] = {
    FloatType: float64, IntType: int64, BoolType: bool_, ComplexType: complex128,
}  # fmt: skip
MIXED: Final = instead(
    "numbers of Python and of NumPy make arrays of other dtypes: write {code}, or the one that is meant",
    "np.array([x[0], 0.5], dtype=np.float64)", of="np.array([x[0], 0.5])", given="x: np.ndarray",
    shown="dtype=np.float64",
)  # fmt: skip
KEYWORDS: Final = "np.{name} has no '{keyword}' in programs, where it takes {known}"
_SHAPED: Final = ("shape", "dtype")
PARAMETERS: Final[dict[Any, tuple[str, ...]]] = {
    np.zeros: _SHAPED, np.ones: _SHAPED, np.empty: _SHAPED, np.full: ("shape", "fill_value", "dtype"),
    np.eye: ("N", "M", "k", "dtype"), np.identity: ("n", "dtype"), np.arange: ("start", "stop", "step", "dtype"),
    np.linspace: ("start", "stop", "num", "dtype"), np.array: ("object", "dtype", "copy"),
    np.asarray: ("a", "dtype", "copy"), np.asanyarray: ("a", "dtype", "copy"),
}  # fmt: skip
"""Each function with the parameters that it has in programs; those of `linspace` after `num` by name only."""


@dataclass(slots=True)
class NumpyCreation(Sugared):
    """A function of NumPy that makes an array."""

    name: str
    parameters: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call whose dtype is one of Python's types, `np.zeros(3, dtype=int)`, or whose items are written out."""
        self._refuse_number_as_dtype(tree)
        spaced = _spaced(e, self.name, tree)
        if spaced is not None:
            return spaced
        named = {k.name: dtype_named(e, k.value) for k in tree.keywords if k.name == "dtype"}
        trees = list(tree.args)
        last = dtype_named(e, trees[-1]) if "dtype" in self.parameters[: len(trees)] else None
        code = named.get("dtype") or last
        items = array_literal(e, trees[0]) if self.name in ("array", "asarray") and trees else None
        if code is None and items is None:
            return None
        arguments = trees if last is None else trees[:-1]
        args = [Given(e.value(t), t.range) for t in arguments[items is not None :]]
        keywords = _with_code(e, tree, code)
        if items is None:
            return self.call(e, tree.callee.range, args, keywords)
        return self._of_literal(e, tree.callee.range, items, args, keywords)

    def _refuse_number_as_dtype(self, tree: Apply) -> None:
        """Refuse `np.ones(2, 3)`, whose 3 NumPy takes for a dtype as well."""
        index = self.parameters.index("dtype") if "dtype" in self.parameters else len(tree.args)
        if len(tree.args) > index and isinstance(tree.args[index], Const):
            sizes = ", ".join(t.range.text for t in tree.args)
            text = f"np.{self.name} takes a dtype here, not a number"
            hint = f": sizes are one tuple, np.{self.name}(({sizes}))" if self.parameters[0] == "shape" else ""
            raise CompileError(text + hint, tree.args[index].range)

    def _of_literal(
        self, e: Emitter, where: SourceRange, items: ArrayLiteral, args: Sequence[Given], keywords: Sequence[Given]
    ) -> Sugared:
        """`np.array` of literal lists."""
        code = next((k.value for k in [*args, *keywords] if k.name in ("", "dtype")), None)
        dtype = None
        if items.is_of_numbers():
            number = None if code is None else constant_int(code)
            dtype = by_code(number) if number is not None else items.dtype() if code is None else None
        if dtype is None:
            return self.call(e, where, [Given(items.as_written(e), items.where), *args], keywords)
        first = Given(items.as_list(e, dtype), items.where)
        return self.call(e, where, [first], [Given(e.constant(dtype.code, INT), where, "dtype")])

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The tensor."""
        bound = self._bound(where, args, keywords)
        dtype = bound.pop("dtype", None)
        if dtype is not None and isinstance(dtype.static_type, NoneType):
            dtype = None
        if e.arrays:
            return SimpleValue(_array_of(e, where, self.name, bound, dtype))
        return SimpleValue(_MAKERS[self.name](e, where, bound, dtype))

    def _bound(self, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> dict[str, Value]:
        if len(args) > len(self.parameters):
            raise CompileError(f"np.{self.name}() takes at most {len(self.parameters)} arguments here", where)
        bound = dict(zip(self.parameters, (a.value for a in args), strict=False))
        for keyword in keywords:
            if keyword.name not in self.parameters:
                known = ", ".join(self.parameters)
                raise CompileError(KEYWORDS.format(name=self.name, keyword=keyword.name, known=known), keyword.where)
            if keyword.name in bound:
                raise CompileError(f"np.{self.name}() got multiple values for '{keyword.name}'", keyword.where)
            bound[keyword.name] = keyword.value
        missing = self.parameters[0]
        if missing not in bound:
            raise CompileError(f"np.{self.name}() is missing '{missing}'", where)
        return bound


def _with_code(e: Emitter, tree: Apply, code: Value | None) -> list[Given]:
    """The keywords of a call, the dtype last: the one that a type or a text names, if there is one."""
    keywords = [Given(e.value(k.value), k.value.range, k.name) for k in tree.keywords if k.name != "dtype"]
    if code is not None:
        return [*keywords, Given(code, tree.range, "dtype")]
    return keywords + [Given(e.value(k.value), k.value.range, k.name) for k in tree.keywords if k.name == "dtype"]


def _spaced(e: Emitter, name: str, tree: Apply) -> Sugared | None:
    """`np.linspace` in a program on arrays, with NumPy's roundings, whole numbers rounded down; None for others."""
    named = {k.name for k in tree.keywords}
    has_ends = len(tree.args) + len(named & {"start", "stop"}) >= 2
    if name != "linspace" or not e.arrays or not has_ends or not named <= _SPACED:
        return None
    rest = tuple(k for k in tree.keywords if k.name != "dtype")
    numbers = LibraryFunction(SPACED).call_tree(e, replace(tree, keywords=rest), None)
    asked = next((k.value for k in tree.keywords if k.name == "dtype"), None)
    if asked is None or any(k.name == "retstep" for k in tree.keywords):
        return numbers
    where, value = tree.callee.range, numbers.as_value(e, tree.range)
    code = dtype_named(e, asked) or e.value(asked)
    number = constant_int(code)
    if number is not None and not by_code(number).is_floating_point:
        value = call_operator(e, where, "aten::floor", [value])
    return SimpleValue(call_method(e, where, "astype", value, [Given(code, asked.range)], ()))


_SPACED: Final = frozenset({"start", "stop", "num", "endpoint", "retstep", "dtype"})
Bound = dict[str, Value]


def _operator(
    e: Emitter, where: SourceRange, name: str, operands: Sequence[Value], dtype: Value | None, usual: DType | None
) -> Value:
    if dtype is None and usual is not None:
        dtype = e.constant(usual.code, INT)
    options = [] if dtype is None else [Given(dtype, where, "dtype")]
    return call_operator(e, where, f"aten::{name}", operands, options)


def _sizes(e: Emitter, shape: Value) -> Value:
    return pack_list(e, [shape], INT) if isinstance(shape.static_type, IntType) else shape


def _shaped(name: str) -> Callable[[Emitter, SourceRange, Bound, Value | None], Value]:
    return lambda e, where, bound, dtype: _operator(e, where, name, [_sizes(e, bound["shape"])], dtype, float64)


def _full(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    value = bound.get("fill_value")
    if value is None:
        raise CompileError("np.full() is missing 'fill_value'", where)
    usual, number = _usual(where, value.static_type, dtype), None if dtype is None else constant_int(dtype)
    value = value if number is None else filling(e, where, value, by_code(number))
    return _operator(e, where, "full", [_sizes(e, bound["shape"]), value], dtype, usual)


def _usual(where: SourceRange, type_: Type, dtype: Value | None) -> DType | None:
    """The dtype of an array of such numbers. Raises CompileError where it depends on the way which numbers they are."""
    own = _DTYPES.get(type(element_of(type_, None)))
    kinds = dict.fromkeys(kind or own for kind in kinds_of(type_))
    if dtype is None and (len(kinds) > 1 or isinstance(type_, UnionType | NumberType)):
        raise CompileError(MIXED, where)
    return next(iter(kinds))


def _eye(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    sizes = [v for k, v in bound.items() if k != "k" and not isinstance(v.static_type, NoneType)]
    if "k" not in bound or constant_int(bound["k"]) == 0:
        return _operator(e, where, "eye", sizes, dtype, float64)
    matrix = _operator(e, where, "ones", [pack_list(e, [sizes[0], sizes[-1]], INT)], dtype, float64)
    for triangle in ("tril", "triu"):
        matrix = call_operator(e, where, f"aten::{triangle}", [matrix, bound["k"]])
    return matrix


def _arange(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    values = [bound[name] for name in ("start", "stop", "step") if name in bound]
    usual = float64 if any(isinstance(v.static_type, FloatType) for v in values) else int64
    return _operator(e, where, "arange", _towards(e, where, values), dtype, usual)


def _towards(e: Emitter, where: SourceRange, values: list[Value]) -> list[Value]:
    """Bounds in the direction of the step: from others NumPy makes no numbers, and the operator raises."""
    if not all(isinstance(v.static_type, IntType | FloatType) for v in values):
        return values
    start, stop, *steps = values if len(values) > 1 else (e.constant(0), *values)
    if is_constant(start) and is_constant(stop) and not steps and constant_value(start) <= constant_value(stop):
        return values
    up, down = (call_operator(e, where, f"prim::{name}", [start, stop]) for name in ("max", "min"))
    if steps and not is_constant(steps[0]):
        is_up = call_operator(e, where, "aten::gt", [steps[0], e.constant(0)])
        node = e.graph.insert("prim::If", (is_up,), (up.static_type,))
        for chosen in (up, down):
            node.add_block().add_return(chosen)
        return [start, node.result(), *steps]
    return [start, down if steps and constant_value(steps[0]) < 0 else up, *steps]


def _linspace(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    if "stop" not in bound:
        raise CompileError("np.linspace() is missing 'stop'", where)
    operands = [bound["start"], bound["stop"], bound.get("num", e.constant(50))]
    return _operator(e, where, "linspace", operands, dtype, float64)


def _array(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    value = next(iter(bound.values()))
    return _operator(e, where, "tensor", [value], dtype, _usual(where, _innermost(value.static_type), dtype))


def _innermost(type_: Type) -> Type:
    """What nested lists and tuples hold at last."""
    match type_:
        case ListType(element) | TupleType((element, *_)):
            return _innermost(element)
    return type_


_MAKERS: Final[dict[str, Callable[[Emitter, SourceRange, Bound, Value | None], Value]]] = {
    "zeros": _shaped("zeros"), "ones": _shaped("ones"), "empty": _shaped("empty"), "full": _full, "eye": _eye,
    "identity": _eye, "arange": _arange, "linspace": _linspace, "array": _array, "asarray": _array,
}  # fmt: skip


def _array_again(e: Emitter, where: SourceRange, array: Value, dtype: Value | None, *, copies: bool) -> Value:
    """An array in a dtype, itself where it has that and nothing asks for a copy."""
    assert isinstance(array.static_type, ArrayType)
    if dtype is not None and (copies or not _names(dtype, array.static_type)):
        array = call_method(e, where, "astype", array, [Given(dtype, where)], ())
    return call_method(e, where, "copy", array, (), ()) if copies else array


COPY: Final = "np.{name} takes copy=True, copy=False or copy=None here, written out"


def _array_of(e: Emitter, where: SourceRange, name: str, bound: Bound, dtype: Value | None) -> Value:
    """What the function gives as an array, whose dtype and rank are known where the call says them."""
    copies = _copies(e, where, name, bound)
    if name in ("array", "asarray") and is_empty_literal(next(iter(bound.values()))):
        bound = {**bound, next(iter(bound)): pack_list(e, [], FLOAT)}
    first = next(iter(bound.values()))
    if isinstance(first.static_type, ArrayType):
        return _array_again(e, where, first, dtype, copies=copies)
    if name == "full" and isinstance(bound.get("fill_value", first).static_type, ArrayType):
        return _filled_by_array(e, where, bound, dtype)
    if isinstance(first.static_type, ListType | TupleType) and holds_arrays(first.static_type):
        stacked = joined_list(e, where, "stack", first, 0)
        return stacked if dtype is None else call_method(e, where, "astype", stacked, [Given(dtype, where)], ())
    result = _MAKERS[name](e, where, {k: _listed(e, v) for k, v in bound.items()}, dtype)
    node = result.defining_node
    assert node is not None
    assert node.definition is not None
    (inferred,) = result_types(node, node.definition, [result])
    element, rank = (inferred.dtype, inferred.rank) if isinstance(inferred, TensorType) else (None, None)
    if name in ("array", "asarray"):
        rank = _depth(first.static_type)
    elif name in ("zeros", "ones", "empty", "full"):
        rank = _count(bound["shape"].static_type, rank)
    result.set_type(array_of(element, rank))
    return result


def _filled_by_array(e: Emitter, where: SourceRange, bound: Bound, dtype: Value | None) -> Value:
    """`np.full` of an array, which is repeated as broadcasting does."""
    values, shape = bound["fill_value"], _listed(e, _sizes(e, bound["shape"]))
    wide = call_operator(e, where, "aten::expand", [values, shape])
    assert isinstance(values.static_type, ArrayType)
    wide.set_type(array_of(values.static_type.dtype, _count(bound["shape"].static_type, None)))
    return _array_again(e, where, wide, dtype, copies=True)


def _copies(e: Emitter, where: SourceRange, name: str, bound: Bound) -> bool:
    """Whether the call makes a copy of an array. Raises CompileError where only the run says it."""
    copies = literal_of(bound.pop("copy", e.constant(name == "array")))
    if copies is None:
        raise CompileError(COPY.format(name=name), where)
    return bool(copies.literal)


def _depth(type_: Type) -> int:
    """How deeply lists and tuples are nested."""
    match type_:
        case ListType(element) | TupleType((element, *_)):
            return 1 + _depth(element)
    return 0


def _count(shape: Type, rank: int | None) -> int | None:
    """How many axes a shape has: one for a number, those of a tuple; else what is known of the rank."""
    if isinstance(shape, IntType):
        return 1
    return len(shape.elements) if isinstance(shape, TupleType) else rank


def _names(dtype: Value, type_: ArrayType) -> bool:
    """Whether a dtype is the one that an array has: `np.asarray` gives the array itself."""
    return type_.dtype is not None and constant_int(dtype) == type_.dtype.code


def _listed(e: Emitter, value: Value) -> Value:
    """A tuple of ints as a list."""
    if (
        isinstance(value.static_type, TupleType)
        and value.static_type.elements
        and all(t == INT for t in value.static_type.elements)
    ):
        return pack_list(e, unpack_tuple(e, value), INT)
    return value


def numpy_creation(value: Any) -> NumpyCreation | None:
    """What a function of NumPy that makes arrays is in a program; None for other values."""
    try:
        parameters = PARAMETERS.get(value)
    except TypeError:
        return None
    if parameters is None:
        return None
    return NumpyCreation("asarray" if value is np.asanyarray else value.__name__, parameters)


def makes_array(value: Any) -> bool:
    """Whether it is one of these functions of NumPy."""
    return numpy_creation(value) is not None


NO_DTYPE: Final = "arrays have no elements of {dtype} here: {instead}"
_INSTEAD: Final = {
    "longdouble": "np.float64 is the widest",
    "clongdouble": "np.complex128 is the widest",
}  # fmt: skip
"""For dtypes of NumPy's that programs do not have: what to write."""


def numpy_dtype(value: Any, where: SourceRange) -> DType | None:
    """The dtype that `np.float32` or `np.dtype("float32")` is in a program; None for other values. Raises CompileError
    for a dtype that programs do not have.
    """
    if not isinstance(value, np.dtype) and not (isinstance(value, type) and issubclass(value, np.generic)):
        return None
    try:
        return from_numpy_dtype(np.dtype(value))
    except TypeError:
        dtype = np.dtype(value)
        instead = _INSTEAD.get(dtype.name) or _INSTEAD.get(dtype.type.__name__)
        if instead is None:
            return None
        raise CompileError(NO_DTYPE.format(dtype=dtype.name, instead=instead), where) from None
