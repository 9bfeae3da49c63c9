"""Gradients and tangents of values that have their own (`program.own_gradients`): what the user's functions give.

`prepared` is the graph of such a function for operands like those at hand, which is put where gradients go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis import shapes
from flambeau.analysis.gradients import is_real
from flambeau.autodiff.fitting import fitted
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import zeros
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_gradients import Gradients, node_gradients
from flambeau.autodiff.operator_tangents import Flow, Tangents, node_tangents
from flambeau.autodiff.proxies import UntraceableError
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import inline, pipeline
from flambeau.program.function import Function
from flambeau.program.own_gradients import OWN_GRADIENT, arguments_of, kept_by
from flambeau.schema.types import BOOL, INT, NONE, TensorType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.kept_on import KeptOn

MOST: Final = 16
"""For how many kinds of operands graphs of a function are kept."""
SIZES: Final = (
    "a custom function returned an invalid gradient: its size along dimension {axis} is not that of the argument, "
    "which is not 1 either"
)
CHOSEN: Final = "a custom function chooses which tuple of gradients it gives"
_graphs: Final[KeptOn[Function, SpecialisationCache[Sequence[Type], Graph]]] = KeptOn()


@node_gradients(OWN_GRADIENT)
def _gradients(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """What `backward` gives for the arguments."""
    complete = [zeros(builder, v) if g is None else g for v, g in zip(node.results, gradients, strict=True)]
    values = _inserted(builder, node.attribute("backward"), complete, kept_by(node))
    arguments = arguments_of(node)
    own: list[Value | None] = [None] * len(node.operands)
    for index, (value, argument) in enumerate(zip(values, arguments, strict=True), len(node.results)):
        if value.static_type != NONE:
            own[index] = _fitted(builder, value, argument)
    return own


@node_tangents(OWN_GRADIENT)
def _tangents(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """What `jvp` gives for the results."""
    jvp = node.attributes.get("jvp")
    if not isinstance(jvp, Function):
        raise NotDifferentiableError("a custom function has no jvp")
    first = len(node.results)
    arguments = arguments_of(node)
    complete = [flow.zeros(v) if t is None else t for v, t in zip(arguments, operands[first:], strict=False)]
    values = _inserted(flow.builder, jvp, complete, kept_by(node))
    return [_fitted(flow.builder, value, result) for value, result in zip(values, node.results, strict=True)]


def _inserted(builder: Builder, function: Function, first: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
    """What a function of the user's gives, inserted here."""
    operands = [*first, *[builder.use(value) for value in kept]]
    return insert_graph(builder.graph, prepared(function, [v.static_type for v in operands]), operands)


def prepared(function: Function, types: Sequence[Type]) -> Graph:
    """The graph of a function that gives a tuple, for operands of some types: it returns the items of the tuple.

    Raises NotDifferentiableError where nobody can tell which those are.
    """
    known = _graphs.get(function)
    if known is None:
        known = _graphs[function] = SpecialisationCache("custom functions' gradients", MOST, describe=str)
    plain = tuple([t.refine(strides=None, requires_grad=None) if isinstance(t, TensorType) else t for t in types])
    return known.get_or_make(plain, lambda cause: _prepared(function, plain))


def _prepared(function: Function, types: Sequence[Type]) -> Graph:
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for parameter, type_ in zip(graph.parameters, types, strict=True):
        parameter.set_type(type_)
    pipeline.prepare(graph)
    graph.analyses = None
    [result] = graph.returns
    maker = result.defining_node
    if not isinstance(result.static_type, TupleType) or maker is None or maker.op != "prim::TupleConstruct":
        raise NotDifferentiableError(CHOSEN)
    graph.body.remove_return(0)
    for part in maker.operands:
        graph.add_return(part)
    if not result.is_used:
        maker.erase()
    shapes.propagate(graph)
    return graph


def _fitted(builder: Builder, value: Value, like: Value) -> Value:
    """A gradient or a tangent in the sizes and the dtype of what it belongs to; the run refuses others. Raises
    NotDifferentiableError where these are not known."""
    wanted, actual = like.static_type, value.static_type
    assert isinstance(wanted, TensorType)
    if not isinstance(actual, TensorType) or None in (wanted.dtype, wanted.rank, actual.dtype, actual.rank):
        raise NotDifferentiableError("the dtype or the rank of what a custom function gives is not known")
    if not is_real(wanted):
        raise NotDifferentiableError("a custom function gives a gradient of integers")
    if actual.dtype.is_complex and not wanted.dtype.is_complex:  # type: ignore[union-attr]
        raise NotDifferentiableError("a custom function gives a complex gradient of a real argument")
    have, want = builder.sizes.of(value), builder.sizes.of(like)
    try:
        result = fitted(builder, builder.proxy(value), like)
    except UntraceableError as error:
        raise NotDifferentiableError(str(error)) from None
    assert have is not None
    assert want is not None
    pairs = zip(have[len(have) - len(want) :], want, strict=True)
    for axis in [n for n, (is_there, size) in enumerate(pairs) if is_there is not size]:
        _check(builder, result, like, axis)
    return result


def _check(builder: Builder, value: Value, like: Value, axis: int) -> None:
    """Have the run raise RuntimeError where two tensors differ in a size."""
    graph = builder.graph
    dim = builder.constant(axis)
    sizes = [graph.insert("aten::size", [builder.use(v), dim], [INT]).result() for v in (value, like)]
    branch = graph.insert("prim::If", [graph.insert("aten::ne", sizes, [BOOL]).result()], 0)
    with graph.inserting(branch.add_block()):
        text, kind = builder.constant(SIZES.format(axis=axis)), builder.constant("builtins.RuntimeError")
        graph.insert("prim::RaiseException", [text, kind], 0)
    branch.add_block()
