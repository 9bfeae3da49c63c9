"""What the declaration of an operator says of its results: the rules for dtypes and sizes, devices, need of gradients.

A rule is told what is known of each argument: of a tensor its type, of a list of tensors the types of its elements or,
if nobody knows how many there are, the list's own type; of a number of any kind its type, if not its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis import lattice
from flambeau.analysis.constant_evaluation import is_unmodified, known
from flambeau.analysis.lattice import holds_tensors, tensors_in
from flambeau.ir.graph import Node, Value
from flambeau.schema.device import Device
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.match import has_variables, substitute
from flambeau.schema.opdef import REFUSALS, UNKNOWN, OpDef
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    Type,
    VarType,
)
from flambeau.util.foreign import is_foreign

_NUMBER_TYPES = (BoolType, ComplexType, FloatType, IntType)
_CPU: Final = Device("cpu")


def result_types(node: Node, definition: OpDef, results: Sequence[Value]) -> list[Type]:
    """The types of those results of an operator that hold tensors."""
    schema = definition.schema
    if any(has_variables(r.type) for r in schema.returns):
        return _bound(node, schema, results)
    arguments = [_argument(v, a) for v, a in zip(node.operands, schema.arguments, strict=False)]
    dtypes = asked(definition.dtype, arguments, len(results))
    shapes = asked(definition.shape, arguments, len(results))
    device, requires_grad = _device(node, schema), _requires_grad(node, schema)
    types: list[Type] = []
    for value, dtype, sizes in zip(results, dtypes, shapes, strict=True):
        same = _written(node, schema, value)
        if same is not None:
            types.append(same)
            continue
        is_float = dtype is None or dtype.is_floating_point or dtype.is_complex
        needs = requires_grad if is_float else False
        tensor = TensorType(
            dtype=dtype, sizes=None if sizes is None else tuple(sizes), device=device, requires_grad=needs
        )
        types.append(ListType(tensor) if isinstance(value.static_type, ListType) else tensor)
    return types


def _written(node: Node, schema: FunctionSchema, value: Value) -> Type | None:
    """The type of the operand that a result is, if the operator writes to it and gives it back."""
    alias = schema.returns[value.index].alias if value.index < len(schema.returns) else None
    if alias is None or not alias.is_write:
        return None
    for operand, argument in zip(node.operands, schema.arguments, strict=False):
        if argument.alias is not None and argument.alias.is_write and argument.alias.before == alias.before:
            return operand.static_type
    return None


def _bound(node: Node, schema: FunctionSchema, results: Sequence[Value]) -> list[Type]:
    """The results of operators on containers of any type, by what stands for the variables of the schema."""
    variables: dict[str, Type] = {}
    for value, argument in zip(node.operands, schema.arguments, strict=False):
        lattice.bind(argument.type, value.static_type, variables)
    types = []
    for value in results:
        try:
            types.append(substitute(schema.returns[value.index].type, variables))
        except LookupError:
            types.append(value.static_type)
    return types


def asked(rule: Callable[..., Any] | None, arguments: Sequence[Any], count: int) -> Sequence[Any]:
    """The answer of a rule for each of `count` results; None where it has none, or refuses the arguments."""
    if rule is None:
        return (None,) * count
    try:
        answer = rule(*arguments)
    except REFUSALS as error:
        if is_foreign(error, besides=(getattr(rule, "__module__", ""),)):  # of a signal's handler
            raise
        return (None,) * count
    if count == 1 and not (isinstance(answer, tuple) and len(answer) == 1 and not isinstance(answer[0], int | None)):
        return (answer,)
    return answer if isinstance(answer, tuple) and len(answer) == count else (None,) * count


def _argument(value: Value, argument: Argument) -> Any:
    """What a rule is told of an operand."""
    if isinstance(value.static_type, TensorType):
        return value.static_type
    formal = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if isinstance(formal, ListType) and isinstance(formal.element, VarType):
        return _described(value)
    contents = known(value)
    if contents is not UNKNOWN:
        return contents
    if isinstance(value.static_type, ListType):
        return value.static_type if isinstance(value.static_type.element, TensorType) else UNKNOWN
    return (
        value.static_type
        if isinstance(formal, NumberType) and isinstance(value.static_type, _NUMBER_TYPES)
        else UNKNOWN
    )


def _described(value: Value) -> Any:
    """A list of any type: a literal, with types for elements that are not known; else its type."""
    node = value.defining_node
    if node is not None and node.op == "prim::ListConstruct" and is_unmodified(value):
        return [_described(v) for v in node.operands]
    contents = known(value)
    is_unknown = contents is UNKNOWN or (isinstance(contents, list) and UNKNOWN in contents)
    return value.static_type if is_unknown else contents


def _named(node: Node, schema: FunctionSchema, name: str) -> Any:
    """What is known of an argument; None if there is none of this name."""
    index = schema.index.get(name)
    return None if index is None or index >= len(node.operands) else known(node.operands[index])


def _operands(node: Node) -> list[TensorType]:
    return [t for v in node.operands if holds_tensors(v.static_type) for t in tensors_in(v.static_type)]


def _device(node: Node, schema: FunctionSchema) -> Device | None:
    """Where the results are: where the call says, else where all tensors among the operands are, else on the CPU."""
    wanted = _named(node, schema, "device")
    if wanted is not None:
        return wanted if isinstance(wanted, Device) else None
    devices = {t.device for t in _operands(node)}
    if not devices:
        return None if any(holds_tensors(v.static_type) for v in node.operands) else _CPU
    return devices.pop() if len(devices) == 1 else None


def _requires_grad(node: Node, schema: FunctionSchema) -> bool | None:
    """Whether the results need gradients: False where neither an operand does nor the call asks for it."""
    wanted = _named(node, schema, "requires_grad")
    needs = {t.requires_grad for t in _operands(node)}
    return False if wanted in (None, False) and needs <= {False} else None
