"""The right-hand side that each kind of node is printed as.

`expression` is the whole: a table of kinds with a form of their own, and the call of an operator for all others. A form
takes the node and what its operands are printed as, and gives pieces of text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ir.constant_text import quoted, shows_type
from flambeau.ir.constants import CONSTANT, constant_value, is_constant, same_constant
from flambeau.ir.graph import Node, Value
from flambeau.ir.kinds import PYTHON_ARGUMENTS
from flambeau.program.batches import INSTEAD
from flambeau.program.gradients import GRADIENT
from flambeau.schema.function import FunctionSchema
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import FUNCTION, TENSOR, DictType, ListType, TupleType
from flambeau.serialize.python_print_literals import ConstantTable, literal, tuple_name
from flambeau.serialize.python_print_names import WORD_OF_KIND, is_identifier, is_plain_name
from flambeau.serialize.python_print_text import Tagged, separated
from flambeau.util.names import in_root
from flambeau.util.record import dataclass

Parts = list[str | Tagged]
Operands = Sequence[Tagged]
SchemaLookup = Callable[[Node], FunctionSchema | None]
"""Finds the operator schema of a node, which says what its arguments are called and default to."""

prints: Final = RuleTable[Callable[[Node, Operands], Parts]]("form in printed code")
"""Registers what a kind is printed as, if not as a call of an operator."""


def registered_schema(node: Node) -> FunctionSchema | None:
    """The schema of the registered operator that the operand types select."""
    return None if node.definition is None else node.definition.schema


@dataclass(frozen=True, slots=True)
class Context:
    """What expressions need besides the node."""

    constants: ConstantTable
    schema_of: SchemaLookup


def expression(node: Node, operands: Operands, context: Context) -> Tagged:
    """The node as an expression over its printed operands."""
    if node.op == CONSTANT:
        return Tagged.of(node.range, constant_text(node, context.constants))
    form = prints.get(node.op)
    if form is not None:
        return Tagged.of(node.range, *form(node, operands))
    if node.op.startswith("^"):
        arguments = node.attributes.get(PYTHON_ARGUMENTS, "")
        return Tagged.of(node.range, f"{node.op}({arguments})(", *separated(operands), ")")
    return Tagged.of(node.range, operator_name(node.op), "(", *_arguments(node, operands, context), ")")


def constant_text(node: Node, table: ConstantTable) -> str:
    """A constant: a literal, a place in the table, or the qualified name of a function."""
    type_ = node.result().static_type
    if type_ == FUNCTION:
        function = node.attributes.get("function", node.attributes.get("value"))
        name = getattr(function, "name", None) or node.attribute("name")
        return _qualified(str(name))
    return literal(node.attributes.get("value"), type_, table)


def _qualified(name: str) -> str:
    return name if "." in name else in_root(name)


def operator_name(kind: str) -> str:
    """How code calls an operator: `torch.add`, `ops.prim.min`, `ops.mylib.op`."""
    namespace, _, name = kind.rpartition("::")
    return f"torch.{name}" if namespace == "aten" else f"ops.{namespace}.{name}"


# -- calls of operators ------------------------------------------------------------------------------------------------


def _arguments(node: Node, operands: Operands, context: Context) -> Parts:
    schema = context.schema_of(node)
    if schema is None:
        return separated(operands)
    needed = needed_arguments(schema, node.operands)
    shown: Parts = []
    for index, operand in enumerate(operands):
        argument = schema.arguments[index] if index < len(schema.arguments) else None
        if argument is not None and index >= needed and not argument.is_out:
            continue
        is_named = argument is not None and argument.kwarg_only
        shown.append(Tagged.of(node.range, f"{argument.name}=", operand) if argument and is_named else operand)
    return separated(shown)


def needed_arguments(schema: FunctionSchema, inputs: Sequence[Value]) -> int:
    """How many leading arguments a call must give: those after have their defaults. Out arguments do not count."""
    if schema.is_vararg or len(inputs) != len(schema.arguments):
        return len(inputs)
    count = len(inputs)
    while count and schema.arguments[count - 1].is_out:
        count -= 1
    while count:
        argument, value = schema.arguments[count - 1], inputs[count - 1]
        if not argument.has_default or not is_constant(value):
            break
        if not _is_default(argument.default, constant_value(value)):
            break
        count -= 1
    return count


def _is_default(default: Any, value: Any) -> bool:
    if isinstance(default, list) and isinstance(value, list):
        return len(default) == len(value) and all(map(_is_default, default, value))
    return same_constant(default, value)


# -- forms -------------------------------------------------------------------------------------------------------------


def _prints_call(kind: str, name: str) -> None:
    """Have a kind printed as a call of a function."""

    @prints(kind)
    def call(node: Node, operands: Operands) -> Parts:
        return [f"{name}(", *separated(operands), ")"]

    if "." not in name:
        WORD_OF_KIND[kind] = name


_prints_call("prim::Print", "print")
_prints_call("aten::Int", "int")
_prints_call("aten::Float", "float")
_prints_call("aten::Bool", "bool")
_prints_call("aten::str", "str")
_prints_call("aten::sorted", "sorted")
_prints_call("aten::backward", "torch.autograd.backward")
_prints_call("aten::grad", "torch.autograd.grad")


@prints(GRADIENT)
def _gradient(node: Node, operands: Operands) -> Parts:
    """`ops.prim.Gradient(f, [0], False, False, x)`: which function, by which arguments, with the value, with more."""
    flags = [bool(node.attributes.get(name)) for name in ("with_value", "has_aux")]
    head = f"{operator_name(node.op)}({_qualified(node.attribute('function').name)}, {node.attribute('argnums')}, "
    return [head, f"{flags[0]}, {flags[1]}, ", *separated(operands), ")"]


@prints(*INSTEAD)
def _batch(node: Node, operands: Operands) -> Parts:
    """A call of what does the same in the language itself: that is what archives hold."""
    loop = node.attribute(INSTEAD[node.op])
    is_single = len(node.results) == 1 and isinstance(loop.schema.returns[0].type, TupleType)
    return [f"{_qualified(loop.name)}(", *separated(operands), ")[0]" if is_single else ")"]


@prints("prim::unchecked_cast", "prim::unchecked_unwrap_optional")
def _cast(node: Node, operands: Operands) -> Parts:
    return [f"unchecked_cast({node.result().static_type.annotation}, ", operands[0], ")"]


@prints(
    "prim::ImplicitTensorToNum",
    "aten::IntImplicit",
    "aten::FloatImplicit",
    "aten::ComplexImplicit",
    "aten::ScalarImplicit",
)
def _annotate(node: Node, operands: Operands) -> Parts:
    return [f"annotate({node.result().static_type.annotation}, ", operands[0], ")"]


@prints("prim::tolist")
def _tolist(node: Node, operands: Operands) -> Parts:
    return [f"annotate({node.result().static_type.annotation}, ", operands[0], ".tolist())"]


@prints("prim::Uninitialized")
def _uninitialized(node: Node, operands: Operands) -> Parts:
    return [f"uninitialized({node.result().static_type.annotation})"]


@prints("aten::__getitem__")
def _item(node: Node, operands: Operands) -> Parts:
    container: Parts = [operands[0]] if is_identifier(str(operands[0])) else ["(", operands[0], ")"]
    return [*container, "[", operands[1], "]"]


@prints("prim::TupleConstruct")
def _tuple(node: Node, operands: Operands) -> Parts:
    type_ = node.result().static_type
    name = tuple_name(type_) if isinstance(type_, TupleType) else ""
    return [f"{name}(", *separated(operands), ",)" if len(operands) == 1 else ")"]


@prints("prim::TupleIndex")
def _tuple_item(node: Node, operands: Operands) -> Parts:
    return ["(", operands[0], ")[", operands[1], "]"]


@prints("prim::TupleSlice")
def _tuple_slice(node: Node, operands: Operands) -> Parts:
    beginning, end = node.attribute("beg"), node.attribute("end")
    return ["(", operands[0], f")[{beginning}:{end}]"]


@prints("prim::ListConstruct")
def _list(node: Node, operands: Operands) -> Parts:
    type_ = node.result().static_type
    element = type_.element if isinstance(type_, ListType) else TENSOR
    inner: Parts = ["[", *separated(operands), "]"]
    return inner if operands and shows_type(element) else [f"annotate({type_.annotation}, ", *inner, ")"]


@prints("prim::DictConstruct")
def _dict(node: Node, operands: Operands) -> Parts:
    type_ = node.result().static_type
    assert isinstance(type_, DictType)
    pairs = [Tagged.of(node.range, k, ": ", v) for k, v in zip(operands[::2], operands[1::2], strict=True)]
    inner: Parts = ["{", *separated(pairs), "}"]
    if pairs and shows_type(type_.key) and shows_type(type_.value):
        return inner
    return [f"annotate({type_.annotation}, ", *inner, ")"]


@prints("prim::CreateObject")
def _new(node: Node, operands: Operands) -> Parts:
    name = node.result().static_type.annotation
    return [f"{name}.__new__({name})"]


@prints("prim::GetAttr")
def _attribute(node: Node, operands: Operands) -> Parts:
    name = node.attribute("name")
    if is_plain_name(name):
        return [operands[0], f".{name}"]
    return ["getattr(", operands[0], f", {quoted(name)})"]


def _trailing(operands: Operands) -> Parts:
    parts: Parts = []
    for operand in operands:
        parts += [operand, ", "]
    return parts


@prints("prim::CallFunction")
def _call_function(node: Node, operands: Operands) -> Parts:
    return [operands[0], "(", *_trailing(operands[1:]), ")"]


@prints("prim::CallMethod")
def _call_method(node: Node, operands: Operands) -> Parts:
    name = node.attribute("name")
    method: Parts = ["(", operands[0], f").{name}"]
    if not is_plain_name(name):
        method = ["getattr(", operands[0], f", {quoted(name)})"]
    return [*method, "(", *_trailing(operands[1:]), ")"]


@prints("prim::isinstance")
def _isinstance(node: Node, operands: Operands) -> Parts:
    types = [t.annotation for t in node.attribute("types")]
    shown = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return ["isinstance(", operands[0], f", {shown})"]


@prints("prim::EnumName", "prim::EnumValue")
def _of_enum(node: Node, operands: Operands) -> Parts:
    return ["(", operands[0], ").name" if node.op == "prim::EnumName" else ").value"]
