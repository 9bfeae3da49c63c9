"""Which instruction a node becomes, apart from branches and loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from flambeau.interpreter import structural
from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.code import Op
from flambeau.interpreter.literals import python_function
from flambeau.interpreter.liveness import KERNEL
from flambeau.ir.graph import Node
from flambeau.program import instances
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ClassType, InterfaceType, NoneType
from flambeau.util.record import dataclass

SUBGRAPH = "Subgraph"
SITE = "site"
"""The attribute that holds what makes the tasks of a fork, where a plan has decided that."""
CALLABLE = "callable"
"""The attribute that holds what a `^python_function` node calls."""
FUNCTION = "function"
"""The attribute of a function constant."""

_INLINE = {"aten::add.int": Op.ADD}
"""Operators that the machine does itself."""


@dataclass(frozen=True, slots=True)
class Selected:
    """An operation, and what goes into its instruction beside registers."""

    op: Op
    f: Any = None
    b: Any = 0
    skip: int = 0
    """Leading operands that the instruction does not take."""
    is_python: bool = False


def select(node: Node) -> Selected:
    """The instruction of a node. Raises RuntimeError if nothing can run it."""
    attributes = node.attributes
    if KERNEL in attributes:
        return Selected(Op.CALL, attributes[KERNEL])
    if node.op.startswith("^"):
        return Selected(Op.CALL, structural.python_call(node, python_function(node)), is_python=True)
    special = _SPECIAL.get(node.op)
    if special is not None:
        return special(node)
    maker = structural.MAKERS.get(node.op)
    if maker is not None:
        return Selected(Op.CALL, maker(node))
    if SUBGRAPH in attributes:
        return Selected(Op.CALL_FUNCTION, _subroutine(node))
    definition = node.definition
    if definition is None:
        raise structural.missing(node)
    if definition.full_name in _INLINE:
        return Selected(_INLINE[definition.full_name], definition.kernel)
    return Selected(Op.CALL, _kernel(node, definition))


def _kernel(node: Node, definition: OpDef) -> Callable[..., Any]:
    """The kernel; of `is` and `is not` Python's own where an operand is None or an object, which are the very ones or
    not."""
    of_python = _IDENTITY.get(definition.traits.spelling or "")
    is_plain = of_python is not None and any(isinstance(v.static_type, NoneType | ClassType) for v in node.operands)
    return of_python if of_python is not None and is_plain else definition.kernel


_IDENTITY: Final = {"is": operator.is_, "is not": operator.is_not}


def _subroutine(node: Node) -> Function:
    name = node.op.rpartition("::")[2]
    return Function(name, node.attributes[SUBGRAPH], FunctionSchema(name, "", (), ()))


def _slot(node: Node) -> int | None:
    """Where the attribute is, if the class is known and its objects have slots."""
    type_ = node.operand(0).static_type
    if isinstance(type_, ClassType) and type_.definition is not None and not type_.definition.has_instances:
        slot: int = type_.definition.slot(node.attribute("name"))
        return slot
    return None


def _get(node: Node) -> Selected:
    name, slot = node.attribute("name"), _slot(node)
    if slot is None:
        return Selected(Op.CALL, instances.reader(name))
    return Selected(Op.GET_ATTR, name, slot)


def _set(node: Node) -> Selected:
    name, slot = node.attribute("name"), _slot(node)
    if slot is None:
        return Selected(Op.CALL, instances.writer(name))
    return Selected(Op.SET_ATTR, name, slot)


def _call_function(node: Node) -> Selected:
    constant = node.operand(0).defining_node
    callee = None
    if constant is not None and constant.op == "prim::Constant":
        callee = constant.attributes.get("function", constant.attributes.get(CALLABLE))
    if not isinstance(callee, Function) and callable(callee):
        return Selected(Op.CALL, structural.python_call(node, callee), skip=1, is_python=True)
    return Selected(Op.CALL_FUNCTION, callee, skip=0 if callee is None else 1)


def _unpack(node: Node) -> Selected:
    return Selected(Op.UNPACK, node.op, len(node.results))


def _fork(node: Node) -> Selected:
    return Selected(Op.FORK, node.attributes.get(SITE) or _subroutine(node))


def _context(method: str, otherwise: structural.Function) -> Callable[[Node], Selected]:
    """Entering or leaving a context: a method of a program's object, or of a Python one."""

    def selected(node: Node) -> Selected:
        if isinstance(node.operand(0).static_type, ClassType | InterfaceType):
            return Selected(Op.CALL_METHOD, method)
        return Selected(Op.CALL, otherwise)

    return selected


_SPECIAL: dict[str, Callable[[Node], Selected]] = {
    "prim::TupleConstruct": lambda node: Selected(Op.TUPLE, structural.tuple_maker(node)),
    "prim::ListConstruct": lambda node: Selected(Op.LIST),
    "prim::DictConstruct": lambda node: Selected(Op.DICT),
    "prim::TupleUnpack": _unpack,
    "prim::ListUnpack": _unpack,
    "prim::GetAttr": _get,
    "prim::SetAttr": _set,
    "prim::CallFunction": _call_function,
    "prim::CallMethod": lambda node: Selected(Op.CALL_METHOD, node.attribute("name")),
    "prim::Enter": _context("__enter__", structural.enter),
    "prim::Exit": _context("__exit__", structural.leave),
    "prim::fork": _fork,
    "prim::awaitable": lambda node: Selected(Op.AWAIT, _subroutine(node)),
    "prim::awaitable_nowait": lambda node: Selected(Op.CALL, Await.of),
    "prim::awaitable_wait": lambda node: Selected(Op.CALL, lambda later: later.wait()),
    "aten::wait": lambda node: Selected(Op.CALL, lambda future: future.wait()),
    "aten::warn": lambda node: Selected(Op.WARN),
    "python::warn": lambda node: Selected(Op.WARN),
}
