"""Methods and attributes of arrays, each with NumPy's meaning: what would be another in operators of its name.

x.std(axis=0)    →    aten::std(%x, [0], correction=0, keepdim=False)        x.sort()    →    sort, then copy_ into %x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_products import product
from flambeau.frontend.emit.numpy.array_promotion import as_number, dtype_and_rank
from flambeau.frontend.emit.numpy.bounds import bound
from flambeau.frontend.emit.numpy.complex_extremes import complex_extreme
from flambeau.frontend.emit.numpy.dtype_names import dtype_named, with_dtype
from flambeau.frontend.emit.numpy.dtype_values import dtype_value
from flambeau.frontend.emit.numpy.element_arithmetic import filling
from flambeau.frontend.emit.numpy.folds import fold, scan, spread
from flambeau.frontend.emit.numpy.memory_layout import ArrayFlags, strides_of
from flambeau.frontend.emit.numpy.method_calls import Call, Method, constant_int, constant_text
from flambeau.frontend.emit.numpy.rounding import rounded
from flambeau.frontend.emit.numpy.sorting import argsort, sort
from flambeau.frontend.emit.numpy.spectra import ORDERING, ordered
from flambeau.frontend.emit.numpy.taken_elements import compress, take
from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.literal_value import literal_of
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Iteration, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import by_code, int64
from flambeau.schema.types import INT, IntType, ListType, NoneType, TupleType, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NOT_HERE: Final = "arrays have no {name} in programs: {instead}"
INSTEAD: Final = {
    "resize": "write x = np.zeros(...), and copy what is kept",
    "partition": instead("write {code}", "x.sort()", of="np.partition(x, (0, 1, 2))", given="x: np.ndarray", gives="x"),
    "tobytes": "return the array, and call it outside",
    "put": instead(
        "write {code}", "x[np.array([0, 1])] = 5.0", given="x: np.ndarray", gives="x", shown="x[places] = value",
    ),
    "ptp": instead("write {code}", "x.max() - x.min()", of="np.ptp(x)", given="x: np.ndarray"),
}
VIEWED: Final = (
    "view takes a dtype that is written out: x.view(np.int64) reads the same bytes, x.astype(np.int64) converts"
)
FLAT: Final = "x.flat is gone over by loops and read by places here: write x.ravel() for the array of all elements"
OUTSIDE: Final = "call it outside and pass the result in"
_NUMPYS_KEYWORDS: Final = {"dim": "axis", "keepdim": "keepdims", "unbiased": "ddof", "correction": "ddof"}
"""Keywords of PyTorch, and what NumPy calls them."""
NO_KEYWORD: Final = "{name}: the keyword '{keyword}' has no form for arrays in programs"
SQUEEZED: Final = "cannot select an axis to squeeze out which has size not equal to one"
UNPACKED: Final = "expected {size} items to unpack: the array has more or fewer"


def _index_of(name: str) -> Method:
    def emit(c: Call) -> Value:
        axis, keeps = c.number("axis"), c.arguments.get("keepdims")
        if keeps is not None:
            return c.op(name, c.array, axis, keeps)
        return c.op(name, c.array) if axis is None else c.op(name, c.array, axis)

    return emit


def _reshape(c: Call) -> Value:
    sizes = _sizes(c, c.arguments["shape"])
    maker = sizes.defining_node
    if not _is_by_columns(c):
        return c.op("reshape", c.array, sizes)
    if maker is None or maker.op != "prim::ListConstruct":
        raise CompileError("reshape with order='F' takes sizes that are written out here", c.where)
    turned = c.op("reshape", _turned(c, c.array), pack_list(c.e, list(reversed(maker.operands)), INT))
    return _turned(c, turned)


def _is_by_columns(c: Call) -> bool:
    """Whether elements are taken column by column: order "F". Raises CompileError for orders but that and "C"."""
    order = c.arguments.get("order")
    text = "C" if order is None else constant_text(order)
    if text not in ("C", "F"):
        raise CompileError(f"{c.name} takes order='C' or order='F' here, written out", c.where)
    return text == "F"


def _turned(c: Call, array: Value) -> Value:
    _, rank = dtype_and_rank(array, c.where)
    return c.op("permute", array, list(reversed(range(rank))))


def _ravel(c: Call) -> Value:
    return c.op("reshape", _turned(c, c.array) if _is_by_columns(c) else c.array, [-1])


def _sizes(c: Call, shape: Value) -> Value:
    if isinstance(shape.static_type, TupleType):
        return pack_list(c.e, unpack_tuple(c.e, shape), INT)
    return pack_list(c.e, [shape], INT) if isinstance(shape.static_type, IntType) else shape


def _copy(c: Call) -> Value:
    return c.op("clone", c.array, memory_format=0)


def _flatten(c: Call) -> Value:
    return c.op("clone", _ravel(c))


def _transpose(c: Call) -> Value:
    _, rank = dtype_and_rank(c.array, c.where)
    return c.op("permute", c.array, c.axes("axes") or list(reversed(range(rank))))


def _matrix_transpose(c: Call) -> Value:
    """Each matrix with its rows as columns. Raises CompileError where there are none."""
    if dtype_and_rank(c.array, c.where)[1] < 2:
        raise CompileError("x.mT is of arrays of two axes or more", c.where)
    return c.op("transpose", c.array, -2, -1)


_TURNED: Final[dict[str, Method]] = {"T": _transpose, "mT": _matrix_transpose}
"""Attributes that are views with axes exchanged."""


def _fill(c: Call) -> Value:
    dtype, _ = dtype_and_rank(c.array, c.where)
    value = filling(c.e, c.where, c.arguments["value"], dtype)
    in_dtype = Given(c.e.constant(dtype.code, INT), c.where, "dtype")
    c.op("copy_", c.array, call_operator(c.e, c.where, "aten::tensor", [value], [in_dtype]))
    return c.value(None)


def _nonzero(c: Call) -> Value:
    _, rank = dtype_and_rank(c.array, c.where)
    indices = c.op("nonzero", c.array)
    indices.set_type(array_of(int64, 2))
    return pack_tuple(c.e, [c.op("select", indices, 1, k) for k in range(rank)])


def _repeat(c: Call) -> Value:
    axis = c.number("axis")
    array = c.op("reshape", c.array, [-1]) if axis is None else c.array
    repeats = c.arguments["repeats"]
    if isinstance(repeats.static_type, ListType):  # of each element so many
        repeats = c.op("tensor", repeats)
        repeats.set_type(array_of(int64, 1))
    return c.op("repeat_interleave", array, repeats, 0 if axis is None else axis)


def _clip(c: Call) -> Value:
    bounds = [c.arguments.get(name, c.value(None)) for name in ("min", "max")]
    present = [b for b in bounds if not isinstance(b.static_type, NoneType)]
    array, *converted = arrays.promoted(c.e, c.where, [c.array, *present])
    left = iter(converted)
    low, high = (b if isinstance(b.static_type, NoneType) else next(left) for b in bounds)
    dtype, _ = arrays.dtype_and_rank(array, c.where)
    low, high = bound(c.e, c.where, low, dtype, "max"), bound(c.e, c.where, high, dtype, "min")
    if isinstance(low.static_type, NoneType) and isinstance(high.static_type, NoneType):
        return c.op("clone", array)
    return c.op("clamp", array, low, high)


def _astype(c: Call) -> Value:
    code = c.arguments["dtype"]
    constant = constant_int(code)
    if constant is None:
        raise CompileError("astype needs a dtype that is written out: x.astype(np.float64)", c.where)
    copies = literal_of(c.arguments.get("copy", c.value(True)))
    if copies is None:
        raise CompileError("astype takes copy=True or copy=False here, written out", c.where)
    if not copies.literal and dtype_and_rank(c.array, c.where)[0].code == constant:
        return c.array
    result = c.op("to", c.array, code, False, True)
    result.set_type(array_of(by_code(constant), arrays.known_rank(c.array)))
    return result


def _view(c: Call) -> Value:
    """The same memory, read as another dtype where one is given."""
    code = c.arguments.get("dtype")
    if code is None:
        return c.op("alias", c.array)
    constant = constant_int(code)
    if constant is None or not is_number(code.static_type):
        raise CompileError(VIEWED, c.where)
    result = call_operator(c.e, c.where, "aten::view", [c.array], [Given(code, c.where, "dtype")])
    result.set_type(array_of(by_code(constant), dtype_and_rank(c.array, c.where)[1]))
    return result


def _dot(c: Call) -> Value:
    other = c.arguments["b"]
    dtype = arrays.dtype_of(c.where, np.dot, c.array, other) if is_number(other.static_type) else None
    left, right = arrays.promoted(c.e, c.where, [c.array, other], dtype)  # a number is an array to this function
    ranks = [0 if is_number(v.static_type) else dtype_and_rank(v, c.where)[1] for v in (left, right)]
    if 0 in ranks:
        return c.op("mul", *((left, right) if ranks[0] else (right, left)))
    if ranks[1] > 2:  # each with each: `matmul` would pair the leading axes
        axes = [pack_list(c.e, [c.e.constant(axis)], INT) for axis in (-1, -2)]
        return product(c.e, c.where, "tensordot", [left, right], *axes)
    return product(c.e, c.where, "matmul", [left, right])


def _tolist(c: Call) -> Value:
    dtype, rank = dtype_and_rank(c.array, c.where)
    element = arrays.element_type(dtype)
    result: Type = element
    for _ in range(rank):
        result = ListType(result)
    codes = {"int": 0, "float": 1, "complex": 2, "bool": 3}
    return c.e.emit("prim::tolist", (c.array, c.value(rank), c.value(codes[element.annotation])), result)


def _item(c: Call) -> Value:
    dtype, rank = dtype_and_rank(c.array, c.where)
    indices = c.given("args")
    if indices is not None:
        return _element(c, unpack_tuple(c.e, indices) if isinstance(indices.static_type, TupleType) else [indices])
    array = c.op("reshape", c.array, []) if rank else c.array
    array.set_type(array_of(dtype, 0))
    return array


def _element(c: Call, indices: Sequence[Value]) -> Value:
    """`x.item(i, j)`, or `x.item(i)` of all elements in order."""
    _, rank = dtype_and_rank(c.array, c.where)
    if len(indices) not in (1, rank):
        raise CompileError(f"item() takes one place, or {rank} for an array with {rank} dimension(s)", c.where)
    array = c.array if len(indices) == rank else c.op("reshape", c.array, [-1])
    for index in indices:
        array = c.op("select", array, 0, index)
    return array


def _searchsorted(c: Call) -> Value:
    """The first place of equals, or with side="right" the one behind the last."""
    side = "left" if "side" not in c.arguments else constant_text(c.arguments["side"])
    if side not in ("left", "right"):
        raise CompileError('searchsorted takes side="left" or side="right", written out', c.where)
    keywords = [Given(c.e.constant(side == "right"), c.where, "right")]
    return call_operator(c.e, c.where, "aten::searchsorted", [c.array, c.arguments["v"]], keywords)


def _squeeze(c: Call) -> Value:
    axes = c.axes()
    if axes is None:
        squeezed = c.op("squeeze", c.array)
        squeezed.set_type(array_of(dtype_and_rank(c.array, c.where)[0], None))
        return squeezed
    array, rank = c.array, dtype_and_rank(c.array, c.where)[1]
    for axis in sorted((axis % rank if -rank <= axis < rank else axis for axis in axes), reverse=True):
        check_size(c.e, c.where, array, axis, 1, SQUEEZED)
        array = c.op("select", array, axis, 0)
    return array


def _diagonal(c: Call) -> Value:
    defaults = (("offset", 0), ("axis1", 0), ("axis2", 1))
    return c.op("diagonal", c.array, *(c.arguments.get(name, c.value(default)) for name, default in defaults))


def _trace(c: Call) -> Value:
    lines = {"axis": c.value(-1)}
    if c.given("dtype") is not None:
        lines["dtype"] = c.arguments["dtype"]
    return fold("sum")(Call(c.e, c.where, "sum", _diagonal(c), lines))


def _conj(c: Call) -> Value:
    """A new array of complex numbers; of others the array itself."""
    dtype, _ = dtype_and_rank(c.array, c.where)
    return c.op("conj_physical", c.array) if dtype.is_complex else c.array


_SUMMED: Final = ("axis", "dtype", "keepdims", "initial", "where")
_SPREAD: Final = ("axis", "dtype", "ddof", "keepdims", "where", "mean", "correction")
_EXTREME: Final = ("axis", "keepdims", "initial", "where")
METHODS: Final[dict[str, tuple[tuple[str, ...], Method]]] = {
    "sum": (_SUMMED, fold("sum")), "prod": (_SUMMED, fold("prod")),
    "mean": (("axis", "dtype", "keepdims", "where"), fold("mean", floats=True)),
    "any": (("axis", "keepdims", "where"), fold("any")), "all": (("axis", "keepdims", "where"), fold("all")),
    "max": (_EXTREME, fold("amax", "max")), "min": (_EXTREME, fold("amin", "min")),
    "std": (_SPREAD, spread("std")), "var": (_SPREAD, spread("var")),
    "argmax": (("axis", "out", "keepdims"), _index_of("argmax")),
    "argmin": (("axis", "out", "keepdims"), _index_of("argmin")),
    "cumsum": (("axis", "dtype"), scan("cumsum")), "cumprod": (("axis", "dtype"), scan("cumprod")),
    "reshape": (("shape", "order"), _reshape), "copy": ((), _copy), "flatten": (("order",), _flatten),
    "ravel": (("order",), _ravel),
    "transpose": (("axes",), _transpose), "sort": (("axis", "kind"), sort),
    "argsort": (("axis", "kind"), argsort),
    "swapaxes": (("axis1", "axis2"), lambda c: c.op("transpose", c.array, c.arguments["axis1"], c.arguments["axis2"])),
    "fill": (("value",), _fill), "nonzero": ((), _nonzero), "repeat": (("repeats", "axis"), _repeat),
    "round": (("decimals",), rounded), "clip": (("min", "max"), _clip), "astype": (("dtype", "copy"), _astype),
    "dot": (("b",), _dot), "tolist": ((), _tolist), "item": (("args",), _item), "squeeze": (("axis",), _squeeze),
    "trace": (("offset", "axis1", "axis2", "dtype"), _trace), "diagonal": (("offset", "axis1", "axis2"), _diagonal),
    "compress": (("condition", "axis"), compress),
    "conj": ((), _conj), "conjugate": ((), _conj),
    "searchsorted": (("v", "side"), _searchsorted),
    "take": (("indices", "axis", "out", "mode"), take), "view": (("dtype",), _view),
}  # fmt: skip
"""Each method with its parameters in order, and what it is."""
_REQUIRED: Final = frozenset({"reshape", "fill", "repeat", "astype", "dot", "take", "searchsorted", "compress"})
"""Methods that need their first argument."""
_PACKED: Final = {"reshape": "shape", "transpose": "axes", "item": "args"}
"""Methods that take what is one argument also as several."""


@dataclass(slots=True)
class ArrayMethod(Builtin):
    """A method of an array."""

    wrap: Callable[[Value], Sugared]
    array: Value
    name: str

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """`x.astype(float)`, `x.view("int32")`, `x.sum(dtype=int)`: Python's types name dtypes."""
        if any(k.name == "dtype" for k in tree.keywords):
            return with_dtype(e, tree, self.call)
        if self.name not in ("astype", "view") or len(tree.args) != 1 or tree.keywords:
            return None
        code = dtype_named(e, tree.args[0])
        return None if code is None else self.call(e, tree.callee.range, [Given(code, tree.args[0].range)], ())

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What the method gives."""
        return self.wrap(as_number(e, call_method(e, where, self.name, self.array, args, keywords)))


def call_method(
    e: Emitter, where: SourceRange, name: str, array: Value, args: Sequence[Given], keywords: Sequence[Given]
) -> Value:
    """The call of a method of `METHODS`. Raises CompileError for arguments that it has not."""
    array = ordered(e, where, array) if name in ORDERING else array
    of_complex = complex_extreme(e, where, name, [Given(array, where), *args], keywords)
    if of_complex is not None:
        return call_operator(e, where, "aten::copy_", [array, of_complex]) if name == "sort" else of_complex
    parameters, emit = METHODS[name]
    values = [a.value for a in args]
    if name in _PACKED and len(values) > 1:
        values = [pack_tuple(e, values)]
    if len(values) > len(parameters):
        raise CompileError(f"{name}() takes at most {len(parameters)} argument(s) here", where)
    by_name = dict(zip(parameters, values, strict=False))
    for keyword in keywords:
        if keyword.name not in parameters:
            text = NO_KEYWORD.format(name=name, keyword=keyword.name)
            known = _NUMPYS_KEYWORDS.get(keyword.name)
            raise CompileError(text + (f". NumPy calls it {known}" if known in parameters else ""), keyword.where)
        by_name[keyword.name] = keyword.value
    required = parameters[0] if name in _REQUIRED else None
    if required is not None and required not in by_name:
        raise CompileError(f"{name}() is missing '{required}'", where)
    return emit(Call(e, where, name, array, by_name))


def shape_of(e: Emitter, where: SourceRange, array: Value) -> Value:
    """The sizes as a tuple, whose length is known; a list where the rank is not."""
    rank = array.static_type.rank if isinstance(array.static_type, ArrayType) else None
    if rank is None:
        return e.emit("aten::size", (array,), ListType(INT))
    return pack_tuple(e, [call_operator(e, where, "aten::size", [array, e.constant(k)]) for k in range(rank)])


def check_size(e: Emitter, where: SourceRange, array: Value, axis: int, size: int, text: str) -> None:
    """The program raises ValueError where the array is not as long as that along an axis."""
    count = call_operator(e, where, "aten::size", [array, e.constant(axis)])
    raise_when(e, call_operator(e, where, "aten::ne", [count, e.constant(size)]), text)


def unpacked(e: Emitter, where: SourceRange, array: Value, size: int) -> list[Value]:
    """The items of `r, g, b = x`. The program raises ValueError where there are more or fewer."""
    check_size(e, where, array, 0, size, UNPACKED.format(size=size))
    operand_lists = [(array, e.constant(0), e.constant(k)) for k in range(size)]
    return [as_number(e, call_operator(e, where, "aten::select", operands)) for operands in operand_lists]


def part_of(e: Emitter, where: SourceRange, array: Value, name: str) -> Value:
    """`x.real` or `x.imag`: a view of a complex array's."""
    dtype, rank = dtype_and_rank(array, where)
    if not dtype.is_complex:
        return array if name == "real" else call_operator(e, where, "aten::zeros_like", [array])
    result = call_operator(e, where, f"aten::{name}", [array])
    result.set_type(array_of(dtype.to_real(), rank))
    return result


@dataclass(slots=True)
class FlatArray(Sugared):
    """`x.flat`: the elements in order, to read."""

    elements: Sugared

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "x.flat"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Never a value, which would be an iterator."""
        raise CompileError(FLAT, where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """A loop over the elements."""
        return self.elements.iterate(e, where)

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """One of the elements."""
        return self.elements.item(e, where, index)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many there are."""
        return self.elements.length(e, where)


def array_attribute(
    e: Emitter, where: SourceRange, wrap: Callable[[Value], Sugared], array: Value, name: str
) -> Sugared | None:
    """A method or attribute of an array, as NumPy has it; None for what arrays of NumPy do not have, and other values.

    Raises CompileError for what they have and programs do not.
    """
    if not isinstance(array.static_type, ArrayType):
        return None
    if name in METHODS:
        return ArrayMethod(wrap, array, name)
    if name == "shape":
        return wrap(shape_of(e, where, array))
    if name == "size":
        return wrap(call_operator(e, where, "aten::numel", [array]))
    if name == "flat":
        return FlatArray(wrap(Call(e, where, name, array, {}).op("reshape", array, [-1])))
    if name == "ndim":
        return wrap(e.constant(dtype_and_rank(array, where)[1]))
    if name in _TURNED:
        return wrap(_TURNED[name](Call(e, where, name, array, {})))
    if name == "dtype":
        return wrap(dtype_value(e, dtype_and_rank(array, where)[0]))
    if name in ("real", "imag"):
        return wrap(part_of(e, where, array, name))
    if name == "strides":
        return wrap(strides_of(e, where, array))
    if name == "flags":
        return ArrayFlags(wrap, array)
    if name in ("itemsize", "nbytes"):
        return None
    if hasattr(np.ndarray, name) and not name.startswith("__"):
        raise CompileError(NOT_HERE.format(name=name, instead=INSTEAD.get(name, OUTSIDE)), where)
    return None
