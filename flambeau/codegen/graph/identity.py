"""`is`, `is not`, and what is known to be there: of lists, dicts, objects, arguments and what may be None."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    DictValue,
    FixedValue,
    ListValue,
    Native,
    ObjectValue,
    OptionalValue,
    Scalar,
    constant_of,
)
from flambeau.codegen.graph.representation import Bool
from flambeau.codegen.layouts import LEAF
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

_BLOCKS = (ListValue, DictValue, ObjectValue)


def is_(fn: EmittedFunction, node: Node) -> None:
    """`aten::__is__`."""
    fn.values.set(node.result(), Scalar(Bool(), _are_same(fn, node)))


def is_not(fn: EmittedFunction, node: Node) -> None:
    """`aten::__isnot__`."""
    fn.values.set(node.result(), Scalar(Bool(), _negated(fn, _are_same(fn, node))))


def unwrap(fn: EmittedFunction, node: Node) -> None:
    """`aten::_unwrap_optional`: leaves the function where nothing is there."""
    optional = fn.values.get(node.operand(0))
    if isinstance(optional, OptionalValue):
        fn.exits.fail_if(_negated(fn, optional.present), node)
        optional = optional.inner
    elif _is_none(optional):
        raise CannotCompileError("None is unwrapped")
    fn.values.set_view(node.result(), optional)


def _negated(fn: EmittedFunction, condition: Register) -> Register:
    known = {"true": "false", "false": "true"}.get(condition.text)
    if known is not None:
        return Register(known, "i1", 1)
    return fn.e.binary("xor", condition, fn.e.like(condition, 1))


def _are_same(fn: EmittedFunction, node: Node) -> Register:
    """Whether two values are one object."""
    a, b = (fn.values.get(v) for v in node.operands[:2])
    if _is_none(a) or _is_none(b):
        return _is_absent(fn, b if _is_none(a) else a)
    if isinstance(a, ArrayValue) and isinstance(b, ArrayValue):
        return _are_one_argument(fn, node, a, b)
    return _are_one_block(fn, a, b)


def _is_none(native: Native) -> bool:
    return isinstance(native, FixedValue) and native.rep.value is None


def _is_absent(fn: EmittedFunction, native: Native) -> Register:
    """Whether a value is None."""
    if isinstance(native, OptionalValue):
        return _negated(fn, native.present)
    return _truth(is_true=_is_none(native))


def _truth(*, is_true: bool) -> Register:
    constant = constant_of(is_true)
    assert isinstance(constant, Scalar)
    return constant.register


def _are_one_argument(fn: EmittedFunction, node: Node, a: ArrayValue, b: ArrayValue) -> Register:
    """Whether two tensors among the arguments are the same object."""
    if not fn.has_arguments or not all(v in fn.graph.parameters for v in node.operands[:2]):
        raise CannotCompileError("identity of tensors that the function made")
    return fn.e.icmp("eq", *(memory.load_word(fn.e, n.owner, LEAF.word("object"), "ptr") for n in (a, b)))


def _object_or_itself(native: Native) -> Native:
    return native.inner if isinstance(native, OptionalValue) and isinstance(native.inner, ObjectValue) else native


def _are_one_block(fn: EmittedFunction, a: Native, b: Native) -> Register:
    """Whether two lists, dicts or objects are the same, or both are not there."""
    first, second = map(_object_or_itself, (a, b))
    if not isinstance(first, _BLOCKS) or not isinstance(second, _BLOCKS):
        raise CannotCompileError("identity of values")
    is_one = fn.e.icmp("eq", first.block, second.block)
    present = [n.present if isinstance(n, OptionalValue) else _truth(is_true=True) for n in (a, b)]
    if all(p.text == "true" for p in present):
        return is_one
    both, either = (fn.e.binary(name, *present) for name in ("and", "or"))
    return fn.e.binary("or", fn.e.binary("and", is_one, both), _negated(fn, either))
