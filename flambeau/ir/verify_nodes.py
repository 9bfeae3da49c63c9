"""What a single node must satisfy: blocks of control flow, values of constants, types of operator calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flambeau.ir import constants, kinds, literals
from flambeau.ir.constant_text import type_text
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema import match, registry
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    FUNCTION,
    INT,
    NONE,
    AnyType,
    AwaitType,
    DictType,
    FutureType,
    ListType,
    NoneType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    without_refinement,
)


def check_node(node: Node, operators: bool) -> Iterator[str]:
    """What is wrong with a node, apart from how it is linked."""
    check = _CHECKS.get(node.op)
    if node.op in _OPERAND_COUNTS:
        yield from _check_operand_count(node)
    if check is not None:
        yield from check(node)
    elif isinstance(node.attributes.get(SUBGRAPH), Graph):
        yield from _check_subgraph(node, node.attributes[SUBGRAPH])
    elif operators:
        yield from _check_operator(node)


def _fits(type_: Type, wanted: Type) -> bool:
    """Subtyping that takes a less refined tensor for a more refined one: refinements are facts, not demands."""
    wanted = without_refinement(wanted)
    return is_subtype(without_refinement(type_), wanted) or is_subtype(_number(type_), wanted)


_NUMBERS: Mapping[str, Type] = {"bool": BOOL, "int64": INT, "float64": FLOAT, "complex128": COMPLEX}


def _number(type_: Type) -> Type:
    """The number that a tensor known to be without axes stands for: in graphs without numbers, all of them do."""
    if isinstance(type_, TensorType) and type_.sizes == () and type_.dtype is not None:
        return _NUMBERS.get(type_.dtype.name, type_)
    return type_


def _check_if(node: Node) -> Iterator[str]:
    if len(node.operands) != 1:
        yield f"prim::If has one operand, not {len(node.operands)}"
    elif _number(node.operand(0).static_type) != BOOL:
        yield f"the condition of prim::If is a bool, not {type_text(node.operand(0).static_type)}"
    if len(node.nested_blocks) != 2:
        yield f"prim::If has two blocks, not {len(node.nested_blocks)}"
        return
    for index, block in enumerate(node.nested_blocks):
        if block.parameters:
            yield f"block {index} of prim::If has parameters"
        yield from _check_returns(block.returns, node.results, f"block {index} of prim::If")


def _check_returns(returns: Sequence[Value], wanted: Sequence[Value], what: str) -> Iterator[str]:
    if len(returns) != len(wanted):
        yield f"{what} returns {len(returns)} values for {len(wanted)} results"
        return
    for returned, result in zip(returns, wanted, strict=True):
        if not _fits(returned.static_type, result.static_type):
            yield (
                f"{what} returns %{returned.name} of type {type_text(returned.static_type)}"
                f" for %{result.name} of type {type_text(result.static_type)}"
            )


def _check_loop(node: Node) -> Iterator[str]:
    if len(node.operands) < 2:
        yield f"prim::Loop takes a trip count and a condition, not {len(node.operands)} operands"
        return
    if [_number(v.static_type) for v in node.operands[:2]] != [INT, BOOL]:
        got = ", ".join(type_text(v.static_type) for v in node.operands[:2])
        yield f"prim::Loop takes a trip count of type int and a condition of type bool, not {got}"
    if len(node.nested_blocks) != 1:
        yield f"prim::Loop has one block, not {len(node.nested_blocks)}"
        return
    body, carried = node.nested_blocks[0], node.operands[2:]
    yield from _check_carried(body, carried)
    yield from _check_returns(carried, node.results, "the start of prim::Loop")
    if not body.returns or _number(body.returns[0].static_type) != BOOL:
        yield "the body of prim::Loop returns first whether to go on, a bool"
    yield from _check_returns(body.returns[1:], node.results, "the body of prim::Loop")


def _check_carried(body: Block, carried: Sequence[Value]) -> Iterator[str]:
    if len(body.parameters) != len(carried) + 1:
        count, wanted = len(body.parameters), len(carried) + 1
        yield f"the body of prim::Loop has {count} parameters, not {wanted}: the counter and what is carried"
    elif _number(body.parameters[0].static_type) != INT:
        yield f"the counter of prim::Loop is an int, not {type_text(body.parameters[0].static_type)}"
    else:
        yield from _check_returns(carried, body.parameters[1:], "the start of prim::Loop")


def _check_constant(node: Node) -> Iterator[str]:
    if node.operands or len(node.results) != 1 or node.nested_blocks:
        yield "prim::Constant has no operands, no blocks and one result"
        return
    type_ = node.result().static_type
    if type_ == FUNCTION:
        if "name" not in node.attributes:
            yield "a function constant has the attribute 'name'"
    elif "value" not in node.attributes:
        if not isinstance(type_, NoneType | OptionalType | TensorType) and not is_subtype(NONE, type_):
            yield f"a constant of type {type_text(type_)} has the attribute 'value'"
    else:
        yield from _check_constant_value(node.attributes["value"], type_)


def _check_constant_value(value: object, type_: Type) -> Iterator[str]:
    if isinstance(value, literals.Opaque | literals.EnumMember | literals.TensorLiteral):
        return
    try:
        own = constants.type_of(value)
    except TypeError:
        return
    is_container = isinstance(value, list | dict | tuple)
    if not is_container and not _fits(own, type_):
        yield f"a constant of type {type_text(type_)} holds a {type_text(own)}"


def _check_list(node: Node) -> Iterator[str]:
    if len(node.results) != 1 or not isinstance(type_ := node.result().static_type, ListType):
        yield "prim::ListConstruct has one result, a list"
        return
    for value in node.operands:
        yield from _check_item(value, type_.element, "a list")


def _check_item(value: Value, wanted: Type, container: str) -> Iterator[str]:
    if not _fits(value.static_type, wanted):
        yield f"%{value.name} of type {type_text(value.static_type)} is put into {container} of {type_text(wanted)}"


def _check_tuple(node: Node) -> Iterator[str]:
    if len(node.results) != 1 or not isinstance(type_ := node.result().static_type, TupleType):
        yield "prim::TupleConstruct has one result, a tuple"
    elif len(type_.elements) != len(node.operands):
        yield f"a tuple of {len(type_.elements)} is made of {len(node.operands)} values"
    else:
        for value, element in zip(node.operands, type_.elements, strict=True):
            yield from _check_item(value, element, "the place in a tuple")


def _check_unpack(node: Node) -> Iterator[str]:
    if len(node.operands) != 1 or not isinstance(type_ := node.operand(0).static_type, TupleType):
        yield "prim::TupleUnpack takes one tuple"
    elif len(type_.elements) != len(node.results):
        yield f"a tuple of {len(type_.elements)} is unpacked into {len(node.results)} values"


def _check_dict(node: Node) -> Iterator[str]:
    if len(node.operands) % 2:
        yield f"prim::DictConstruct takes keys and values in turn, not {len(node.operands)} operands"
    elif len(node.results) != 1 or not isinstance(type_ := node.result().static_type, DictType):
        yield "prim::DictConstruct has one result, a dict"
    else:
        for key, value in zip(node.operands[::2], node.operands[1::2], strict=True):
            yield from _check_item(key, type_.key, "a dict with keys")
            yield from _check_item(value, type_.value, "a dict with values")


def _check_wait(node: Node) -> Iterator[str]:
    if len(node.operands) == 1 and not isinstance(type_ := node.operand(0).static_type, _WAITED_FOR):
        yield f"{node.op} waits for what runs in another task, not for {type_text(type_)}"


_WAITED_FOR = (FutureType, AwaitType, AnyType)
_OPERAND_COUNTS: Mapping[str, int] = {
    "aten::wait": 1,
    "prim::ConstantChunk": 1,
    "prim::CreateObject": 0,
    "prim::Enter": 1,
    "prim::GetAttr": 1,
    "prim::ImplicitTensorToNum": 1,
    "prim::ListUnpack": 1,
    "prim::SetAttr": 2,
    "prim::TupleSlice": 1,
    "prim::Uninitialized": 0,
    "prim::awaitable_nowait": 1,
    "prim::awaitable_wait": 1,
    "prim::isinstance": 1,
}
"""How many operands kinds without a schema take, those apart whose number the checks below explain."""


def _check_operand_count(node: Node) -> Iterator[str]:
    count = _OPERAND_COUNTS[node.op]
    if len(node.operands) != count:
        yield f"{node.op} takes {count} operand{'s' * (count != 1)}, not {len(node.operands)}"


def _check_attribute(node: Node) -> Iterator[str]:
    if "name" not in node.attributes:
        yield f"{node.op} has the attribute 'name'"


def _check_subgraph(node: Node, subgraph: Graph) -> Iterator[str]:
    if node.op != "prim::Closure" and len(subgraph.parameters) != len(node.operands):  # whoever calls that has them
        yield f"the subgraph takes {len(subgraph.parameters)} inputs for {len(node.operands)} operands"
    if node.op in kinds.GROUPS and len(subgraph.returns) != len(node.results):
        yield f"the subgraph returns {len(subgraph.returns)} values for {len(node.results)} results"


def _check_operator(node: Node) -> Iterator[str]:
    definition = node.definition
    if definition is None:
        if registry.overloads(node.op):
            if match.find_overload(node.op, [_number(v.static_type) for v in node.operands]) is not None:
                return
            got = ", ".join(type_text(v.static_type) for v in node.operands)
            yield f"no overload of {node.op} takes ({got})"
        elif not kinds.is_known(node.op):
            yield f"unknown operator {node.op}"
        return
    schema = definition.schema
    if schema.is_varret or any(match.has_variables(r.type) for r in schema.returns):
        return
    if len(node.results) != len(schema.returns):
        yield f"{definition.full_name} returns {len(schema.returns)} values, not {len(node.results)}"
        return
    for value, declared in zip(node.results, schema.returns, strict=True):
        if not (_fits(value.static_type, declared.type) or _fits(declared.type, value.static_type)):
            yield f"{definition.full_name} returns {declared.type}, but %{value.name} is {type_text(value.static_type)}"


_CHECKS: Mapping[str, Callable[[Node], Iterator[str]]] = {
    "prim::If": _check_if,
    "prim::Loop": _check_loop,
    "prim::Constant": _check_constant,
    "prim::DictConstruct": _check_dict,
    "prim::ListConstruct": _check_list,
    "prim::TupleConstruct": _check_tuple,
    "prim::TupleUnpack": _check_unpack,
    "prim::GetAttr": _check_attribute,
    "prim::SetAttr": _check_attribute,
    "prim::CallMethod": _check_attribute,
    "aten::wait": _check_wait,
    "prim::awaitable_wait": _check_wait,
}
