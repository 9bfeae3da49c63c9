"""What is known of every tensor: dtype, sizes, device and need of gradients, carried from the parameters on.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Float(*, 3), %y : Float(3)):
...   %2 : int = prim::Constant[value=1]()
...   %z : Tensor = aten::add(%x, %y, %2)
...   return (%z)''')
>>> propagate(graph)
True
>>> str(graph.outputs[0].type)
'Float(*, 3)'

The dtype and shape rules of the operators do the work; a rule that fails says nothing, because the operator will say
it better when it runs. Where control flow meets, what both ways agree on stays; loops are followed until nothing
changes. Types of values that something may resize keep no sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants, kinds
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.schema.function import Argument
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.types import (
    TENSOR,
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    NumberType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)

_RULE_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What rules raise for arguments that do not fit."""
_NUMBER_TYPES = (BoolType, ComplexType, FloatType, IntType)
_RESIZING = frozenset(
    f"aten::{name}_"
    for name in (
        "resize", "resize_as", "set", "squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims", "as_strided",
        "detach", "requires_grad", "rename",
    )
)  # fmt: skip
"""Operators that change what a tensor is, not only what is in it."""


def propagate(graph: Graph) -> bool:
    """Refine the types of all tensors but the parameters from theirs; whether any type changed.

    What the types of other values said before is forgotten: it may stem from an example.
    """
    before = [v.type for node in graph.all_nodes() for v in _defined(node)]
    erase(graph)
    _Propagation(graph).run()
    return before != [v.type for node in graph.all_nodes() for v in _defined(node)]


def erase(graph: Graph) -> None:
    """Forget everything about the tensors in a graph, parameters and constants excepted."""
    for node in graph.all_nodes():
        if node.kind == constants.CONSTANT:
            continue
        for value in _defined(node):
            if isinstance(value.type, TensorType):
                value.set_type(TENSOR)


def _defined(node: Node) -> list[Value]:
    return [*node.outputs, *(v for block in node.blocks for v in block.inputs)]


class _Propagation:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._unstable = self._resized_values()

    def run(self) -> None:
        for value in self._graph.inputs:
            if value in self._unstable and isinstance(value.type, TensorType):
                value.set_type(_without_sizes(value.type))
        self._block(self._graph.block)

    def _resized_values(self) -> set[Value]:
        resizing = [n for n in self._graph.all_nodes() if may_resize(n)]
        if not resizing:
            return set()
        facts = AliasAnalysis(self._graph)
        values = [*self._graph.inputs, *(v for n in self._graph.all_nodes() for v in _defined(n))]
        tensors = [v for v in values if isinstance(v.type, TensorType)]
        return {v for v in tensors if any(facts.writes_to(n, v) for n in resizing)}

    def _block(self, block: Block) -> None:
        for node in block:
            rule = _RULES.get(node.kind)
            if rule is not None:
                rule(self, node)
            elif node.kind in kinds.PASS:
                self._passed(node)
            elif (definition := node.definition) is not None:
                self._operator(node, definition)

    def _set(self, value: Value, type_: Type | None) -> None:
        """Give a value a refinement of its declared type; other types stay as they are."""
        if isinstance(value.type, TensorType) and isinstance(type_, TensorType):
            value.set_type(_without_sizes(type_) if value in self._unstable else type_)
        elif isinstance(value.type, TupleType) and isinstance(type_, TupleType):
            value.set_type(value.type.with_contained(type_.elements))

    # -- structure ----------------------------------------------------------------------------------------------------

    def _if(self, node: Node) -> None:
        for block in node.blocks:
            self._block(block)
        for result, a, b in zip(node.outputs, node.blocks[0].outputs, node.blocks[1].outputs, strict=True):
            self._set(result, _merged(a.type, b.type))

    def _loop(self, node: Node) -> None:
        (body,) = node.blocks
        parameters = body.inputs[1:]
        for parameter, start in zip(parameters, node.inputs[2:], strict=True):
            self._set(parameter, start.type)
        while True:
            self._block(body)
            merged = [_merged(p.type, r.type) for p, r in zip(parameters, body.outputs[1:], strict=True)]
            changed = [(p, m) for p, m in zip(parameters, merged, strict=True) if m is not None and m != p.type]
            if not changed:
                break
            for parameter, type_ in changed:
                parameter.set_type(type_)
        for result, parameter in zip(node.outputs, parameters, strict=True):
            self._set(result, parameter.type)

    def _passed(self, node: Node) -> None:
        for value, given in zip(node.outputs, node.inputs, strict=False):
            type_ = given.type
            self._set(value, type_.element if isinstance(type_, OptionalType) else type_)

    def _tuple(self, node: Node) -> None:
        self._set(node.output(), TupleType(tuple(v.type for v in node.inputs)))

    def _unpack(self, node: Node) -> None:
        type_ = node.input().type
        if isinstance(type_, TupleType):
            for value, element in zip(node.outputs, type_.elements, strict=True):
                self._set(value, element)

    def _index(self, node: Node) -> None:
        type_, index = node.input().type, _known(node.inputs[1]) if len(node.inputs) > 1 else UNKNOWN
        if (
            isinstance(type_, TupleType)
            and isinstance(index, int)
            and -len(type_.elements) <= index < len(type_.elements)
        ):
            self._set(node.output(), type_.elements[index])

    def _constant(self, node: Node) -> None:
        held = node.attributes.get("value")
        if constants.is_tensor(held) and not isinstance(held, constants.TensorLiteral):
            self._set(node.output(), constants.type_of(held))

    # -- operators ----------------------------------------------------------------------------------------------------

    def _operator(self, node: Node, definition: OpDef) -> None:
        tensors = [v for v in node.outputs if isinstance(v.type, TensorType)]
        if not tensors:
            return
        schema = definition.schema
        given = [_argument(v, a) for v, a in zip(node.inputs, schema.arguments, strict=False)]
        dtypes = _asked(definition.dtype, given, len(tensors))
        shapes = _asked(definition.shape, given, len(tensors))
        device, requires_grad = _placed(node.inputs)
        for value, dtype, sizes in zip(tensors, dtypes, shapes, strict=True):
            is_float = dtype is None or dtype.is_floating_point or dtype.is_complex
            needs = requires_grad if is_float else False
            known = None if sizes is None else tuple(sizes)
            self._set(value, TensorType(dtype=dtype, sizes=known, device=device, requires_grad=needs))


def _asked(rule: Callable[..., Any] | None, arguments: Sequence[Any], count: int) -> Sequence[Any]:
    """The answer of a rule for each of `count` results; None where it has none."""
    if rule is None:
        return (None,) * count
    try:
        answer = rule(*arguments)
    except _RULE_ERRORS:
        return (None,) * count
    if count == 1 and not (isinstance(answer, tuple) and len(answer) == 1 and not isinstance(answer[0], int | None)):
        return (answer,)
    return answer if isinstance(answer, tuple) and len(answer) == count else (None,) * count


def _argument(value: Value, argument: Argument) -> Any:
    """What a rule is told of an operand: a tensor's type, a constant's value, the type of a number, or nothing."""
    if isinstance(value.type, TensorType):
        return value.type
    known = _known(value)
    formal = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if known is UNKNOWN and isinstance(formal, NumberType) and isinstance(value.type, _NUMBER_TYPES):
        return value.type
    return known


def _known(value: Value) -> Any:
    """The Python value of a constant, a list of what is known of the elements of a literal list, else UNKNOWN."""
    node = value.node
    if node is None:
        return UNKNOWN
    if constants.is_constant(value):
        return constants.constant_value(value)
    if node.kind in ("prim::ListConstruct", "prim::TupleConstruct") and is_unmodified(value):
        elements = [v.type if isinstance(v.type, TensorType) else _known(v) for v in node.inputs]
        return elements if node.kind == "prim::ListConstruct" else tuple(elements)
    return UNKNOWN


def is_unmodified(value: Value) -> bool:
    """Whether a list is only ever given to operators that leave it as it is and return nothing of it."""
    for user, offset in value.uses:
        definition = user.definition
        if definition is None or offset >= len(definition.schema.arguments):
            return False
        if definition.schema.arguments[offset].alias is not None:
            return False
    return True


def _placed(inputs: Sequence[Value]) -> tuple[Any, bool | None]:
    """The device that all tensors among the operands share, and whether the results need gradients."""
    types = [v.type for v in inputs if isinstance(v.type, TensorType)]
    devices = {t.device for t in types}
    needs = {t.requires_grad for t in types}
    return devices.pop() if len(devices) == 1 else None, False if needs == {False} else None


def _merged(a: Type, b: Type) -> Type | None:
    """What holds of both types; None if that is nothing a tensor type can say."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.merge(b)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements):
        parts = [_merged(x, y) or x for x, y in zip(a.elements, b.elements, strict=True)]
        return a.with_contained(tuple(parts))
    return None


def _without_sizes(type_: TensorType) -> TensorType:
    return type_.refine(sizes=None, strides=None)


def may_resize(node: Node) -> bool:
    """Whether the node may change the sizes of a tensor that exists."""
    if node.kind in kinds.OPAQUE or node.kind.startswith("^") or node.kind in _RESIZING:
        return True
    definition = node.definition
    if definition is None:
        return not kinds.is_known(node.kind)
    return definition.schema.is_mutable and definition.family in ("view", "out")


_RULES: Mapping[str, Callable[[_Propagation, Node], None]] = {
    "prim::If": _Propagation._if,
    "prim::Loop": _Propagation._loop,
    "prim::Constant": _Propagation._constant,
    "prim::TupleConstruct": _Propagation._tuple,
    "prim::TupleUnpack": _Propagation._unpack,
    "prim::TupleIndex": _Propagation._index,
}
