"""The shape function of a node, as a graph: one that somebody registered, or one that comes with the house.

>>> from flambeau.jit.torch_names.torch_passes import parse_ir
>>> node = parse_ir("graph(%x, %y):\\n  %z = aten::mm(%x, %y)\\n  return (%z)").find("aten::mm")
>>> from flambeau.interpreter.machine import interpret
>>> interpret(shape_graph(node), ([2, 3], [3, 4]))
([2, 4],)
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node
from flambeau.jit.script import script
from flambeau.jit.symbolic_shapes.shape_functions import SHAPE_FUNCTIONS, broadcast, same
from flambeau.passes import inline
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import INT, ListType, OptionalType, TensorType, TupleType, Type
from flambeau.util.locks import Lock

SIZES: Final = ListType(INT)
NO_OPERATOR: Final = "a shape function is registered for a node that calls an operator; {op} is none"
PARAMETERS: Final = (
    "the shape function of {name} takes {wanted} parameters, as many as the operator (the list of its sizes for a "
    "tensor), not {got}"
)
RETURNS: Final = "a shape function returns lists of sizes, one for each tensor: {name} has {count}, this returns {got}"
NOT_NEW: Final = (
    "{name}: parameter {index} is returned as result {at}. Shape functions must return new unaliased lists: write "
    "[size for size in x], or list(x)"
)
TWICE: Final = "{name}: result {at} is returned twice. Shape functions must return new unaliased lists: write list(x)"
_registered: dict[str, Graph] = {}
_made: dict[str, Graph] = {}
_lock = Lock()


def register(node: Node, graph: Graph) -> None:
    """Have a graph compute the sizes that the operator of a node gives. Raises RuntimeError for a node that calls none,
    ValueError for a graph with other parameters or returns, or one that returns a list that it was given."""
    definition = node.definition
    if definition is None:
        raise RuntimeError(NO_OPERATOR.format(op=node.op))
    schema = definition.schema
    if len(graph.parameters) > len(schema.arguments):
        raise ValueError(
            PARAMETERS.format(name=schema.full_name, wanted=len(schema.arguments), got=len(graph.parameters))
        )
    returned = [v.static_type for v in graph.returns]
    if len(returned) == 1 and isinstance(returned[0], TupleType):
        returned = list(returned[0].elements)
    if returned != [SIZES] * len(schema.returns):
        got = ", ".join(map(str, returned)) or "nothing"
        raise ValueError(RETURNS.format(name=schema.full_name, count=len(schema.returns), got=got))
    copy = clone_graph(graph)
    inline.do(copy)
    _check_lists_are_new(schema.full_name, copy)
    with _lock:
        _registered[schema.full_name] = copy


def _check_lists_are_new(name: str, graph: Graph) -> None:
    aliases = AliasAnalysis(graph)
    for at, returned in enumerate(graph.returns):
        for index, parameter in enumerate(graph.parameters):
            if aliases.may_contain_alias(returned, parameter):
                raise ValueError(NOT_NEW.format(name=name, index=index, at=at))
        if any(aliases.may_contain_alias(returned, other) for other in graph.returns[:at]):
            raise ValueError(TWICE.format(name=name, at=at))


def shape_graph(node: Node) -> Graph | None:
    """A graph of the sizes of what a node gives: it takes what the operator takes, lists of sizes for tensors. None
    where no shape function is known."""
    definition = node.definition
    if definition is None:
        return None
    name = definition.schema.full_name
    known = _registered.get(name)
    if known is None:
        with _lock:
            known = _made.get(name)
        if known is None:
            known = _made_for(definition)
            if known is None:
                return None
            with _lock:
                _made[name] = known
    return clone_graph(known)


def is_registered(node: Node) -> bool:
    """Whether somebody has registered a shape function for the operator of a node."""
    return bool(_registered) and node.definition is not None and node.definition.schema.full_name in _registered


def forget(node: Node) -> None:
    """Take back what was registered for the operator of a node."""
    if node.definition is not None:
        with _lock:
            _registered.pop(node.definition.schema.full_name, None)


def type_of_sizes(type_: Type) -> Type:
    """What shape functions take in the place of a value of a type."""
    if isinstance(type_, TensorType):
        return SIZES
    if isinstance(type_, ListType | OptionalType):
        return type_.with_contained((type_of_sizes(type_.element),))
    return type_


def _made_for(definition: OpDef) -> Graph | None:
    schema = definition.schema
    if len(schema.returns) != 1 or not isinstance(schema.returns[0].type, TensorType) or schema.is_mutable:
        return None
    function = SHAPE_FUNCTIONS.get(schema.full_name)
    graph = Graph()
    values = {a.name: graph.add_parameter(type_of_sizes(a.type), a.name) for a in schema.arguments}
    if function is not None:
        scripted = script(function)
        inner, names = scripted.inlined_graph, [a.name for a in scripted.schema.arguments]
        first = schema.arguments[0].name
        arguments = [values[first if function is same else name] for name in names]
    elif definition.scalar is not None:
        tensors = [values[a.name] for a in schema.arguments if isinstance(a.type, TensorType)]
        if not tensors:
            return None
        inner, arguments = script(same).inlined_graph, tensors[:1]
        for other in tensors[1:]:
            [together] = insert_graph(graph, script(broadcast).inlined_graph, [arguments[0], other])
            arguments = [together]
    else:
        return None
    graph.add_return(insert_graph(graph, inner, arguments)[0])
    return graph
