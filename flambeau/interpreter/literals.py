"""The run-time value of a `prim::Constant`."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flambeau.ir.graph import Node
from flambeau.ir.literals import EnumMember, Opaque, TensorLiteral
from flambeau.schema.types import EnumType, FunctionType
from flambeau.tensor.tensor import wrap


def literal(node: Node) -> Any:
    """What the node stands for. Raises RuntimeError for constants that text could not carry."""
    type_ = node.result().static_type
    if isinstance(type_, FunctionType):
        return _function(node)
    value = node.attributes.get("value")
    if isinstance(value, TensorLiteral):
        return _tensor(value)
    if isinstance(value, list | tuple) and any(isinstance(v, TensorLiteral) for v in value):
        return type(value)(_tensor(v) if isinstance(v, TensorLiteral) else v for v in value)
    if isinstance(value, EnumMember):
        return _member(value, type_)
    if isinstance(value, Opaque):
        raise RuntimeError(f"the constant {value.text} has no value: it was read from text, which does not carry it")
    return value


ONLY_A_NAME: Final = (
    "function '{name}' is only a name in this graph, which was read from text: text does not carry functions. Read the "
    "text of a graph that has what it calls in it: print `fn.inlined_graph` in place of `fn.graph`"
)


def _function(node: Node) -> Any:
    """The function of a program, or of Python, that a constant stands for."""
    for name in ("function", "callable"):
        if name in node.attributes:
            return node.attribute(name)
    raise RuntimeError(ONLY_A_NAME.format(name=node.attributes.get("name", "?")))


def python_function(node: Node) -> Callable[..., Any]:
    """What a `^function` node calls. Raises RuntimeError where text did not carry it."""
    function: Callable[..., Any] | None = node.attributes.get("callable")
    if function is None:
        raise RuntimeError(ONLY_A_NAME.format(name=node.op))
    return function


def _tensor(value: TensorLiteral) -> Any:
    if value.dtype is None or value.shape is None:
        raise RuntimeError(f"the tensor constant {value.text} has no dtype or sizes in its text")
    if value.value is not None:
        return wrap(np.full(value.shape, value.value, value.dtype.numpy))
    shown = value.text.rpartition("[ ")[0].split()
    is_plain = len(shown) == math.prod(value.shape) and all(map(_INTEGER.fullmatch, shown))
    if not is_plain or value.dtype.is_floating_point or value.dtype.is_complex:
        raise RuntimeError(
            f"the tensor constant {value.text.strip()} has not all its digits in its text; give the graph a parameter "
            "for it"
        )
    numbers = [int(_BOOLS.get(text, text)) for text in shown]
    return wrap(np.array(numbers, value.dtype.numpy).reshape(value.shape))


_INTEGER = re.compile(r"-?\d+|true|false")
_BOOLS = {"true": "1", "false": "0"}


def _member(value: EnumMember, type_: Any) -> enum.Enum:
    if isinstance(type_, EnumType):
        python = type_.python or enum.Enum(type_.name.rpartition(".")[2], dict(type_.members))
        member = getattr(python, value.name, None)
        if isinstance(member, enum.Enum):
            return member
    raise RuntimeError(f"{value.class_name} has no attribute '{value.name}'")
