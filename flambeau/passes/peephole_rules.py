"""The rules of `peephole`: per kind, functions from a node to what its result is, or `KEEP`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from flambeau.analysis.constant_evaluation import is_none, never_none
from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.ir.walk import is_visible
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.dtype import Category, DType
from flambeau.schema.rule_tables import RuleLists
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    AnyType,
    BoolType,
    FloatType,
    IntType,
    ListType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    UnionType,
)
from flambeau.util.record import dataclass

KEEP: Final = object()
"""No rule applies."""
Rule = Callable[[Node], Any]
rewrites: Final = RuleLists[Rule]("rewrite of single nodes")
"""Registers what may apply to a kind: a function from a node to what its result is, or `KEEP`."""


@dataclass(frozen=True)
class Constant:
    """The result is this value."""

    value: Any


@dataclass(frozen=True)
class Chain:
    """The result is what `make` gives, which inserts the nodes for it before `place`."""

    make: Callable[[], Value]
    place: Node


@dataclass(frozen=True)
class Literal:
    """The result is `replacement` if nobody writes to a container or a tensor that the graph builds."""

    container: Value
    replacement: Any
    is_shallow: bool = False
    """Whether writes to what is in the container make no difference: which things are in it is asked."""


@dataclass(frozen=True)
class Itself:
    """The result is that very tensor: who looks at one looks at the other."""

    tensor: Value


@dataclass(frozen=True)
class Apart:
    """The result is `replacement` if the two tensors surely share no memory."""

    tensors: tuple[Value, Value]
    replacement: Any


def _constant(value: Value) -> Any:
    """The number that a value is; None if it is none."""
    if not constants.is_constant(value):
        return None
    constant = constants.constant_value(value)
    return constant if isinstance(constant, int | float) else None


def _is(value: Value, number: float) -> bool:
    """Whether a value is this number, sign of zero included; bools are no numbers here."""
    constant = _constant(value)
    if constant is None or isinstance(constant, bool):
        return False
    if isinstance(constant, int) and isinstance(number, int):
        return constant == number
    is_same_int = isinstance(constant, int) and constant == number != 0
    return constants.same_constant(float(constant), float(number)) or is_same_int


def _keeps_dtype(tensor: Value, number: Value, *, is_division: bool = False) -> bool:
    """Whether arithmetic with the number gives a tensor of the same dtype."""
    type_ = tensor.static_type
    if not isinstance(type_, TensorType) or type_.dtype is None or type_.dtype.is_complex:
        return False
    least = Category.FLOAT if is_division or isinstance(number.static_type, FloatType) else Category.INTEGER
    return type_.dtype.category >= least


def _is_integral(value: Value) -> bool:
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return type_.dtype is not None and type_.dtype.is_integral
    return isinstance(type_, IntType)


def _plain_alpha(node: Node) -> bool:
    return len(node.operands) < 3 or _is(node.operand(2), 1)


def _same_kind(node: Node) -> bool:
    """Whether the result has the type of the first operand, both numbers."""
    return (
        isinstance(node.operand(0).static_type, IntType | FloatType)
        and node.operand(0).static_type == node.result().static_type
    )


@rewrites("aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floordiv")
def _neutral(node: Node) -> Any:
    """x + 0, x - 0, x * 1, x / 1, x // 1 for tensors and numbers; 0 + x and 1 * x for numbers."""
    if len(node.operands) < 2 or not _plain_alpha(node):
        return KEEP
    x, y = node.operands[:2]
    name = node.op.partition("::")[2]
    if isinstance(x.static_type, TensorType):
        fits = not isinstance(y.static_type, TensorType) and _keeps_dtype(x, y, is_division=name == "div")
        return x if fits and len(node.operands) < 4 and _is_neutral(name, x, y) else KEEP
    if _same_kind(node) and isinstance(y.static_type, IntType | FloatType) and _is_neutral(name, x, y):
        return x
    if (
        name in ("add", "mul")
        and y.static_type == node.result().static_type
        and isinstance(x.static_type, IntType | FloatType)
    ):
        return y if _is_neutral(name, y, x) else KEEP
    return KEEP


def _is_neutral(name: str, x: Value, y: Value) -> bool:
    """Whether the operator of this name gives x for x and y. A sum with 0. does not, for x = -0.; nor does x - -0."""
    if name == "add":
        return _is(y, 0) if _is_integral(x) else _is(y, -0.0)
    if name == "sub":
        return _is(y, 0) if _is_integral(x) else _is(y, 0.0) or (isinstance(y.static_type, IntType) and _is(y, 0))
    if name == "floordiv":
        return _is_integral(x) and _is(y, 1)
    return _is(y, 1)


@rewrites("aten::add", "aten::mul")
def _wrapped_number(node: Node) -> Any:
    """n * x and x + n, where a constant tensor stands for the number n, as a trace has it: operators of numbers."""
    if len(node.operands) not in (2, 3) or not _plain_alpha(node):
        return KEEP
    for number, x in (node.operands[:2], node.operands[1::-1]):
        constant = constants.constant_value(number) if constants.is_constant(number) else None
        is_open = isinstance(x.static_type, TensorType) and not constants.is_constant(x)
        plain = constant.item() if constant is not None and getattr(constant, "is_wrapped_number", False) else None
        if not is_open or plain is None or isinstance(plain, bool | complex):
            continue

        def make(x: Value = x, plain: float = plain) -> Value:
            operands = [x, constants.insert_constant(node.graph, plain), *node.operands[2:]]
            return node.graph.insert(node.op, operands, (node.result().static_type,)).result()

        return Chain(make, node)
    return KEEP


@rewrites("aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge")
def _compare_same(node: Node) -> Any:
    """x == x, x < x of ints, bools, strings and lists of them; floats may be nan."""
    x, y = node.operands[:2]
    plain = x.static_type.element if isinstance(x.static_type, ListType) else x.static_type
    if x is not y or not isinstance(plain, IntType | BoolType | StringType):
        return KEEP
    return Constant(bool(getattr(operator, node.op.removeprefix("aten::"))(0, 0)))


@rewrites("aten::__is__", "aten::__isnot__")
def _identity(node: Node) -> Any:
    """Comparison with None, where types and the ways taken decide; of a value with itself, of tensors made apart."""
    x, y = node.operands[:2]
    is_ = node.op == "aten::__is__"
    if x.static_type == NONE and y.static_type == NONE:
        return Constant(is_)
    if (x.static_type == NONE and is_none(y) is False) or (y.static_type == NONE and is_none(x) is False):
        return Constant(not is_)
    if x is y:
        return Constant(is_)
    are_tensors = isinstance(x.static_type, TensorType) and isinstance(y.static_type, TensorType)
    return Apart((x, y), Constant(not is_)) if are_tensors else KEEP


@rewrites("prim::isinstance")
def _is_instance(node: Node) -> Any:
    """Where the types of numbers, text and lists of them decide."""
    answers = [_is_of(v.static_type, node.attribute("types")) for v in node.operands]
    if None in answers:
        return KEEP
    return Constant(all(answers))


def _is_of(type_: Type, others: list[Type]) -> bool | None:
    """Whether a value of a type is of one of the others; None where only the value tells."""
    plain = type_.element if isinstance(type_, ListType) else type_
    if not isinstance(plain, IntType | FloatType | BoolType | StringType):
        return None
    if any(is_subtype(type_, other) for other in others):
        return True
    return None if any(is_subtype(other, type_) for other in others) else False


_OPPOSITES: Final = (("==", "!="), ("is", "is not"))
"""Comparisons of which always exactly one holds: of two floats that may be nan, neither < nor >= might."""


def _opposite(kind: str) -> str:
    """The operator that gives the opposite truth; empty if there is none."""
    for pair in _OPPOSITES:
        names = [registry.spelled(symbol) for symbol in pair]
        if kind in names:
            return names[1 - names.index(kind)]
    return ""


@rewrites("aten::__not__")
def _negation(node: Node) -> Any:
    """not not x; not (a == b)."""
    inner = node.operand(0).defining_node
    if inner is None or len(inner.results) != 1:
        return KEEP
    if inner.op == "aten::__not__":
        return inner.operand(0)
    opposite = _opposite(inner.op)
    if opposite and inner.result().static_type == node.result().static_type:
        new = node.graph.create(opposite, inner.operands, [node.result().static_type])
        new.copy_metadata(node)
        return new
    return KEEP


@rewrites("aten::_unwrap_optional", "prim::unchecked_unwrap_optional")
def _unwrap(node: Node) -> Any:
    """Unwrapping what cannot be None."""
    return node.operand(0) if never_none(node.operand(0).static_type) else KEEP


@rewrites("prim::unchecked_cast")
def _cast(node: Node) -> Any:
    """A cast to the type that the value has, or to one that says less."""
    own, wanted = node.operand(0).static_type, node.result().static_type
    is_wider = isinstance(wanted, OptionalType | UnionType | AnyType) and never_none(own) and is_subtype(own, wanted)
    return node.operand(0) if own == wanted or is_wider else KEEP


_EXACT: Final[dict[Type, DType]] = {INT: dtypes.int64, FLOAT: dtypes.float64, BOOL: dtypes.bool_}
"""The dtypes in which a number made a tensor is what it was, by the number's type."""


@rewrites("aten::Int", "aten::Float", "aten::Bool")
def _number_cast(node: Node) -> Any:
    """int(n) of an int; int(t) of a number made a tensor."""
    x = node.operand(0)
    if x.static_type == node.result().static_type:
        return x
    source = x.defining_node
    if source is None or not source.operands or source.operand(0).static_type != node.result().static_type:
        return KEEP
    keeps_number = source.op == "prim::NumToTensor"
    if source.op == "aten::tensor":
        keeps_number = (
            isinstance(x.static_type, TensorType) and x.static_type.dtype is _EXACT[node.result().static_type]
        )
    return Literal(x, source.operand(0)) if keeps_number else KEEP


@rewrites("aten::dim")
def _dim(node: Node) -> Any:
    type_ = node.operand(0).static_type
    return Constant(type_.rank) if isinstance(type_, TensorType) and type_.rank is not None else KEEP


@rewrites("aten::size")
def _size(node: Node) -> Any:
    """size(x, d) of a known size."""
    type_ = node.operand(0).static_type
    if len(node.operands) != 2 or not isinstance(type_, TensorType) or type_.sizes is None:
        return KEEP
    dim = _constant(node.operand(1))
    if not isinstance(dim, int) or not -len(type_.sizes) <= dim < len(type_.sizes):
        return KEEP
    size = type_.sizes[dim]
    return Constant(size) if size is not None and size >= 0 else KEEP


@rewrites("prim::dtype")
def _dtype(node: Node) -> Any:
    type_ = node.operand(0).static_type
    return Constant(type_.dtype.code) if isinstance(type_, TensorType) and type_.dtype is not None else KEEP


@rewrites("aten::result_type")
def _result_type(node: Node) -> Any:
    """The dtype of a tensor, which that of a number of its kind or of a lesser one does not change."""
    tensor, number = (v.static_type for v in node.operands)
    if not isinstance(tensor, TensorType) or tensor.dtype is None:
        return KEEP
    known = ((IntType, Category.INTEGER), (FloatType, Category.FLOAT), (BoolType, Category.BOOL))
    category = next((category for kind, category in known if isinstance(number, kind)), None)
    return Constant(tensor.dtype.code) if category is not None and tensor.dtype.category >= category else KEEP


@rewrites("aten::is_floating_point", "aten::is_complex")
def _is_kind(node: Node) -> Any:
    """is_floating_point and is_complex of a known dtype."""
    type_ = node.operand(0).static_type
    if not isinstance(type_, TensorType) or type_.dtype is None:
        return KEEP
    return Constant(type_.dtype.is_complex if node.op == "aten::is_complex" else type_.dtype.is_floating_point)


@rewrites("prim::device")
def _device(node: Node) -> Any:
    type_ = node.operand(0).static_type
    return Constant(type_.device) if isinstance(type_, TensorType) and type_.device is not None else KEEP


@rewrites("prim::is_cpu", "prim::is_cuda")
def _is_on(node: Node) -> Any:
    """Whether a tensor whose device is known is on devices of that kind."""
    type_ = node.operand(0).static_type
    if not isinstance(type_, TensorType) or type_.device is None:
        return KEEP
    return Constant(type_.device.type == node.op.rpartition("_")[2])


@rewrites("prim::If")
def _truth_of_condition(node: Node) -> Any:
    """True if the condition holds and else False: the condition."""
    if len(node.results) != 1 or any(len(list(block)) for block in node.nested_blocks):
        return KEEP
    ways = [block.returns[0] for block in node.nested_blocks]
    if not all(map(constants.is_constant, ways)):
        return KEEP
    is_condition = [constants.constant_value(v) for v in ways] == [True, False]
    return node.operand(0) if is_condition and all(isinstance(v.static_type, BoolType) for v in ways) else KEEP


def _built(value: Value, kind: str) -> tuple[Value, ...] | None:
    return value.defining_node.operands if value.defining_node is not None and value.defining_node.op == kind else None


def _entries(value: Value) -> dict[Any, Value] | None:
    """The entries of a dict that the graph builds with keys that are known; None for any other value."""
    flat = _built(value, "prim::DictConstruct")
    if flat is None or not all(constants.is_constant(key) for key in flat[::2]):
        return None
    keys = [constants.constant_value(key) for key in flat[::2]]
    return dict(zip(keys, flat[1::2], strict=True)) if all(isinstance(key, str | int) for key in keys) else None


@rewrites("aten::len")
def length_of_literal(node: Node) -> Any:
    """len of a list or dict the graph builds, of the sizes of a tensor of known rank, and of a tensor's known size."""
    type_ = node.operand(0).static_type
    if isinstance(type_, TensorType):
        size = type_.sizes[0] if type_.sizes else None
        return Constant(size) if size is not None and size >= 0 else KEEP
    elements, entries = _built(node.operand(0), "prim::ListConstruct"), _entries(node.operand(0))
    asked = _built(node.operand(0), "aten::size")
    count = None if elements is None else len(elements)
    if asked is not None and len(asked) == 1 and isinstance(asked[0].static_type, TensorType):
        count = asked[0].static_type.rank
    if entries is not None:
        count = len(entries)
    return KEEP if count is None else Literal(node.operand(0), Constant(count), is_shallow=True)


@rewrites("aten::__getitem__")
def item_of_literal(node: Node) -> Any:
    """[a, b][1] and {"k": a}["k"], where the container is built by the graph."""
    elements, index = _built(node.operand(0), "prim::ListConstruct"), _constant(node.operand(1))
    entries = _entries(node.operand(0))
    if entries is not None and constants.is_constant(node.operand(1)):
        found = entries.get(constants.constant_value(node.operand(1)))
        return KEEP if found is None else _item_of(node, found)
    if elements is None:
        return _one_size(node, index)
    if not isinstance(index, int) or not -len(elements) <= index < len(elements):
        return KEEP
    return _item_of(node, elements[index])


def _item_of(node: Node, found: Value) -> Any:
    is_known = found.static_type == node.result().static_type
    return Literal(node.operand(0), found, is_shallow=True) if is_known else KEEP


def _one_size(node: Node, index: Any) -> Any:
    """size(x)[1], where there is such a dimension: asked for where all sizes were."""
    sizes = node.operand(0).defining_node
    asked = _built(node.operand(0), "aten::size")
    type_ = asked[0].static_type if asked is not None and len(asked) == 1 else None
    if sizes is None or not isinstance(type_, TensorType) or type_.rank is None or not isinstance(index, int):
        return KEEP
    if not -type_.rank <= index < type_.rank:
        return KEEP

    def make() -> Value:
        where = node.operand(1) if is_visible(node.operand(1), sizes) else constants.insert_constant(node.graph, index)
        return node.graph.insert("aten::size", (sizes.operand(0), where), (node.result().static_type,)).result()

    return Literal(node.operand(0), Chain(make, sizes))


@rewrites("prim::abs")
def _absolute(node: Node) -> Any:
    """`abs(x)` of a tensor: the operator, about which more is known."""
    x = node.operand(0)
    if not isinstance(x.static_type, TensorType):
        return KEEP
    return Chain(lambda: node.graph.insert("aten::abs", (x,), (TENSOR,)).result(), node)


@rewrites("prim::min", "prim::max")
def _extreme(node: Node) -> Any:
    """min and max of a list the graph builds: of two numbers at a time, a later one against the best before it."""
    elements = _built(node.operand(0), "prim::ListConstruct") if len(node.operands) == 1 else None
    type_ = node.result().static_type
    if not elements or len(elements) > _LONGEST or not isinstance(type_, IntType | FloatType):
        return KEEP

    def make() -> Value:
        best = elements[0]
        for element in elements[1:]:
            best = node.graph.insert(node.op, (element, best), (type_,)).result()
        return best

    return Literal(node.operand(0), Chain(make, node))


@rewrites("aten::__derive_index")
def _derived_index(node: Node) -> Any:
    """The counter of a range with the step 1."""
    index, start, step = node.operands
    if not _is(step, 1):
        return KEEP
    if _is(start, 0):
        return index
    new = node.graph.create("aten::add", (index, start), (node.result().static_type,))
    new.copy_metadata(node)
    return new


@rewrites("aten::masked_fill")
def _masked_fill(node: Node) -> Any:
    """masked_fill(x, mask, number) as a choice, which kernels know, where the number is one of x's dtype."""
    x, mask, number = node.operands[:3]
    constant = _constant(number)
    if constant is None or not isinstance(x.static_type, TensorType) or not isinstance(mask.static_type, TensorType):
        return KEEP
    if (
        mask.static_type.dtype is not dtypes.bool_
        or x.static_type.dtype not in _CHOSEN
        or isinstance(number.static_type, BoolType)
    ):
        return KEEP
    if isinstance(constant, float) and isfinite(constant) and abs(constant) > _LARGEST:
        return KEEP
    new = node.graph.create("aten::where", (mask, number, x), (node.result().static_type,))
    new.copy_metadata(node)
    return new


_CHOSEN: Final = frozenset({dtypes.float32, dtypes.float64})
"""Dtypes that a number does not change."""
_LARGEST: Final = 3.4e38
"""Beyond it a number may be none of float32."""
_LONGEST: Final = 8
"""Lists of more elements are not taken apart."""
