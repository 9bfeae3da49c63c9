"""What the nodes that are no operators do: a function of values for each, made from the node's attributes and types.

`prim::If`, `prim::Loop` and calls are not here; they are jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flambeau.autodiff import gradient_nodes
from flambeau.interpreter import batched_products, own_gradients
from flambeau.interpreter.conform import conforms, kind_of
from flambeau.interpreter.guards import RequiresGradCheck, TypeCheck
from flambeau.ir.graph import Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.lower_grad_of import GRAD_OF
from flambeau.program import instances
from flambeau.program.batches import INSTEAD
from flambeau.program.function import Function as CompiledFunction
from flambeau.program.named_tuples import tuple_class
from flambeau.program.object import ScriptObject
from flambeau.program.signature import schema_of
from flambeau.schema import registry
from flambeau.schema.dtype import Category
from flambeau.schema.types import (
    BoolType,
    ClassType,
    ComplexType,
    FloatType,
    IntType,
    ListType,
    NamedType,
    TupleType,
    Type,
)
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import TRY_RUNNER

Function = Callable[..., Any]
SUBCLASS = (
    "isinstance of {wanted} was asked of a {found}, a subclass: a program knows the methods of one class only. Test "
    "for {found} first"
)

NOT_LOWERED = (
    "prim::GradOf says what goes back through an operator and does not run by itself: lower_grad_of.do(graph) asks "
    "first whether there are gradients (flambeau.passes.lower_grad_of)"
)


def method_of(values: list[Any], name: str) -> Any:
    """The method of an object that is called with `values`, to which defaults of further parameters are added."""
    definition = instances.definition_of(values[0])
    if definition is None:
        raise RuntimeError(f"a value of type {kind_of(values[0])} has no method '{name}'")
    method = definition.method(name)
    values += [a.default for a in method.schema.arguments[len(values) :]]
    return method


def create(node: Node) -> Function:
    """`prim::CreateObject`: an instance with nothing assigned."""
    type_ = node.result().static_type
    assert isinstance(type_, ClassType)
    return partial(instances.create, type_.definition)


def is_instance(node: Node) -> Function:
    """`prim::isinstance`: whether the value has one of the types in the node."""
    types: tuple[Type, ...] = tuple(node.attribute("types"))
    classes = [t.definition for t in types if isinstance(t, ClassType) and t.definition.has_instances]

    def test(*values: Any) -> bool:
        if all(any(conforms(value, t) for t in types) for value in values):
            return True
        for definition in classes:
            for value in values:
                if isinstance(value, definition.python) and type(value) is not definition.python:
                    raise RuntimeError(SUBCLASS.format(found=type(value).__name__, wanted=definition.python.__name__))
        return False

    return test


def closure(node: Node) -> Function:
    """`prim::Closure`: the function in the node, which takes what it reads around it first."""
    graph = node.attributes[SUBGRAPH]
    function = CompiledFunction(graph.name, graph, schema_of(graph.name, graph))
    if TRY_RUNNER.is_provided:
        TRY_RUNNER.implementation(function)
    return lambda: function


def tuple_slice(node: Node) -> Function:
    """`prim::TupleSlice`: the part from `beg` to `end`."""
    start, end = node.attribute("beg"), node.attribute("end")
    return lambda value: tuple(value[start:end])


def tuple_maker(node: Node) -> Function | None:
    """What makes the tuple of a `prim::TupleConstruct`, if that has named fields."""
    type_ = node.result().static_type
    if isinstance(type_, TupleType) and type_.name is not None:
        maker: Function = tuple_class(type_)
        return maker
    return None


def python_call(node: Node, fn: Function) -> Function:
    """A call of a Python function: its results have to be of the types that were declared.

    None is what a function without results gives.
    """
    types = tuple(value.static_type for value in node.results)

    def call(*values: Any) -> Any:
        result = fn(*values)
        if len(types) == 1 and not conforms(result, types[0]):
            raise TypeError(
                f"{node.op.lstrip('^')}() was declared to return {types[0].annotation} but instead got value of type "
                f"{type(result).__name__}"
            )
        return result

    call.__name__ = node.op.lstrip("^")
    return call


def enter(value: Any) -> Any:
    """`prim::Enter` of a context manager written in Python. Raises TypeError for what is none."""
    if not hasattr(type(value), "__enter__"):
        raise TypeError(f"'{type(value).__name__}' object does not support the context manager protocol")
    return value.__enter__()


def leave(value: Any, *error: None) -> None:
    """`prim::Exit` of a context manager written in Python."""
    value.__exit__(*error)


def to_list(node: Node) -> Function:
    """`prim::tolist`: a tensor as nested lists of the type the program declared, or as a number."""
    depth, element = 0, node.result().static_type
    while isinstance(element, ListType):
        depth, element = depth + 1, element.element
    categories: dict[type[Type], Category] = {
        IntType: Category.INTEGER, FloatType: Category.FLOAT, BoolType: Category.BOOL, ComplexType: Category.COMPLEX,
    }  # fmt: skip
    wanted = categories.get(type(element))
    if wanted is None:
        raise RuntimeError(f"{element.annotation} is not one of the supported element types for tolist")

    def convert(tensor: Tensor, *_: Any) -> Any:
        if tensor.ndim != depth:
            raise RuntimeError("Output annotation list dimension and runtime tensor dimension must match")
        if tensor.dtype.category is not wanted:
            raise RuntimeError("Output annotation element type and runtime tensor element type must match")
        return tensor.tolist()

    return convert


def chunk(node: Node) -> Function:
    """`prim::ConstantChunk`: a tensor cut along a dimension into pieces, their number known."""
    chunks, dim = node.attribute("chunks"), node.attribute("dim")
    return lambda tensor: tuple(dispatch.call("aten::chunk", tensor, chunks, dim))


def container_item(node: Node) -> Function:
    """`prim::ModuleContainerIndex`: a module of a container, by position or key."""

    def item(owner: ScriptObject, index: Any) -> Any:
        names = [a.name for a in owner.type.definition.attributes if isinstance(a.type, NamedType)]
        if isinstance(index, str):
            if index not in names:
                raise KeyError(index)
            return owner.get(index)
        if not -len(names) <= index < len(names):
            raise IndexError(f"Index {index} out of range of length {len(names)}")
        return owner.get(names[index])

    return item


def sum_of_gradients(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """`prim::AutogradAdd`: a gradient that is not there is None, and adds nothing."""
    if first is None or second is None:
        return second if first is None else first
    total: Tensor = dispatch.call("aten::add", first, second)
    return total


NO_LOOP = (
    "a {op} that was read from text does not say which function's: archives do (jit.save), and Graph.copy() "
    "keeps it"
)


def one_by_one(node: Node) -> Function:
    """What runs a batch, or tangents, that were not expanded: one example after the other, or by gradients. Raises
    RuntimeError for one that was read from text, which does not hold the function."""
    if INSTEAD[node.op] not in node.attributes:
        raise RuntimeError(NO_LOOP.format(op=node.op))
    loop: CompiledFunction = node.attribute(INSTEAD[node.op])
    is_single = len(node.results) == 1 and isinstance(loop.schema.returns[0].type, TupleType)
    return (lambda *values: loop(*values)[0]) if is_single else loop


MAKERS: dict[str, Callable[[Node], Function]] = {
    "prim::CreateObject": create,
    "prim::isinstance": is_instance,
    "prim::TupleSlice": tuple_slice,
    "prim::tolist": to_list,
    "prim::ModuleContainerIndex": container_item,
    "prim::ConstantChunk": chunk,
    "prim::TypeCheck": TypeCheck.of,
    "prim::RequiresGradCheck": RequiresGradCheck.of,
    "prim::MMTreeReduce": lambda node: batched_products.sum_of_products,
    "prim::MMBatchSide": batched_products.products_with,
    "prim::Closure": closure,
    "prim::Gradient": gradient_nodes.kernel,
    "prim::OwnGradient": own_gradients.kernel,
    "prim::Vmap": one_by_one,
    "prim::Tangents": one_by_one,
    "prim::AutogradZero": lambda node: lambda: None,
    "prim::AutogradAdd": lambda node: sum_of_gradients,
    "prim::AutogradAnyNonZero": lambda node: lambda *gradients: any(g is not None for g in gradients),
}
"""Nodes whose function is made from their attributes."""


def missing(node: Node) -> RuntimeError:
    """The refusal of a node that nothing can run."""
    if node.op == GRAD_OF:
        return RuntimeError(NOT_LOWERED)
    types = ", ".join(str(v.static_type) for v in node.operands)
    known = registry.overloads(node.op)
    if known:
        schemas = "".join(f"\n    {d.schema}" for d in known)
        return RuntimeError(f"no overload of {node.op} takes ({types}); there are:{schemas}")
    close = registry.similar(node.op)
    hint = f"; similar: {', '.join(close)}" if close else ""
    return RuntimeError(f"Unknown builtin op: {node.op} of ({types}){hint}")
