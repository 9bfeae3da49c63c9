"""Rules of `peephole` for questions that types answer."""

from __future__ import annotations

from typing import Any

from flambeau.analysis.constant_evaluation import never_none
from flambeau.ir.graph import Node
from flambeau.passes.peephole_outcomes import KEEP, Constant, number_of, rewrites
from flambeau.schema.dtype import Category
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import BoolType, FloatType, IntType, ListType, StringType, TensorType, Type


@rewrites("prim::isinstance")
def _is_instance(node: Node) -> Any:
    """Where the types of numbers, text and lists of them decide."""
    answers = [_is_of(v.static_type, node.attribute("types")) for v in node.operands]
    if None in answers:
        return KEEP
    return Constant(all(answers))


def _is_of(type_: Type, others: list[Type]) -> bool | None:
    """Whether a value of a type is of one of the others; None where only the value tells."""
    if isinstance(type_, ListType) and all(isinstance(other, TensorType) for other in others):
        return False
    plain = type_.element if isinstance(type_, ListType) else type_
    if not isinstance(plain, IntType | FloatType | BoolType | StringType):
        return None
    if any(is_subtype(type_, other) for other in others):
        return True
    return None if any(is_subtype(other, type_) for other in others) else False


@rewrites("aten::_unwrap_optional", "prim::unchecked_unwrap_optional")
def _unwrap(node: Node) -> Any:
    """Unwrapping what cannot be None."""
    return node.operand(0) if never_none(node.operand(0).static_type) else KEEP


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
    dim = number_of(node.operand(1))
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
