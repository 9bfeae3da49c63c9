"""Replace operators by graphs that somebody gave for them.

```
%y : Tensor = aten::square(%x)        →        %two : int = prim::Constant[value=2]()
                                               %y : Tensor = aten::pow(%x, %two)
```

What a graph computes for an operator is an equal way to say it; no pass of the pipeline uses the table, only who runs
this one. Of its own the table has a variance, as a mean of squares.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.schema import registry
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import without_refinement

UNKNOWN = "there is no operator {name}; similar: {similar}"
OTHER_COUNT = "the graph for {name} has {actual} {what}, but the operator has {wanted}"
OTHER_TYPE = "the graph for {name} takes a {actual} as parameter {index}, but the operator is given a {wanted}"

_graphs: dict[str, Graph] = {}
"""By full name, `aten::square` or `aten::add.Tensor`."""
_SQUARES: Final = """
  %yes : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %least : float = prim::Constant[value=0.]()
  %mean : Tensor = aten::mean(%x, %dim, %yes, %none)
  %off : Tensor = aten::sub(%x, %mean, %one)
  %size : Tensor = aten::abs(%off)
  %square : Tensor = aten::mul(%size, %size)
  %total : Tensor = aten::sum(%square, %dim, %keepdim, %none)
  %all : int = aten::numel(%x)
  %found : int = aten::numel(%mean)
  %groups : int = prim::max(%found, %one)
  %each : int = aten::floordiv(%all, %groups)
  %count : float = aten::Float(%each)
  %free : float = aten::sub(%count, %lost)
  %over : float = prim::max(%free, %least)
  %result : Tensor = aten::div(%total, %over)
  return (%result)
"""
_LOST: Final = """
  %usual : float = prim::Constant[value=1.]()
  %absent : NoneType = prim::Constant()
  %is_absent : bool = aten::__is__(%correction, %absent)
  %lost : float = prim::If(%is_absent)
    block0():
      -> (%usual)
    block1():
      %given : Scalar = prim::unchecked_cast(%correction)
      %number : float = aten::Float(%given)
      -> (%number)
"""
_UNBIASED: Final = """
  %lost : float = aten::Float(%unbiased)
"""
_OF_ALL: Final = f"""
  %dim : int[]? = prim::Constant()
  %keepdim : bool = prim::Constant[value=0]()
{_UNBIASED}"""
_texts: dict[str, str] = {}
"""What is there from the start, by full name; read when something first asks."""


def _state(name: str, parameters: str, body: str) -> None:
    _texts[name] = f"graph({parameters}):{body}"


_state("aten::var", "%x, %unbiased : bool", _OF_ALL + _SQUARES)
_state("aten::var.dim", "%x, %dim : int[]?, %unbiased : bool, %keepdim : bool", _UNBIASED + _SQUARES)
_state("aten::var.correction", "%x, %dim : int[]?, %correction : Scalar?, %keepdim : bool", _LOST + _SQUARES)


def register(name: str, graph: Graph) -> None:
    """Let `graph` stand for an operator, `aten::add.Tensor`, wherever this pass is run from now on.

    Raises KeyError for an unknown operator, ValueError for a graph with other parameters or results.
    """
    definition = registry.find(name)
    if definition is None:
        similar = ", ".join(registry.similar(name.partition(".")[0])) or "none"
        raise KeyError(UNKNOWN.format(name=name, similar=similar))
    verify(graph)
    schema = definition.schema
    for what, actual, wanted in (
        ("parameters", len(graph.parameters), len(schema.arguments)),
        ("results", len(graph.returns), len(schema.returns)),
    ):
        if actual != wanted:
            raise ValueError(OTHER_COUNT.format(name=name, what=what, actual=actual, wanted=wanted))
    for index, (value, argument) in enumerate(zip(graph.parameters, schema.arguments, strict=True)):
        if not is_subtype(argument.type, without_refinement(value.static_type)):
            raise ValueError(OTHER_TYPE.format(name=name, index=index, actual=value.static_type, wanted=argument.type))
    _graphs[schema.full_name] = clone_graph(graph)


def do(graph: Graph) -> bool:
    """Replace every operator that there is a graph for, at every depth; what comes in by that is left as it is."""
    pairs = []
    for node in graph.all_nodes():
        body = graph_for(node)
        if body is not None:
            pairs.append((node, body))
    for node, body in pairs:
        with graph.inserting(node), graph.at_range(node.range):
            results = insert_graph(graph, body, node.operands)
        for old, new in zip(node.results, results, strict=True):
            name = old.name if old.has_name else ""
            old.replace_uses_with(new)
            graph.rename(old, "")
            if name:
                new.set_name(name)
        node.erase()
    return bool(pairs)


def graph_for(node: Node) -> Graph | None:
    """The graph that stands for the operator of a node; None where there is none."""
    if node.definition is None:
        return None
    name = node.definition.schema.full_name
    if name not in _graphs and name in _texts:
        register(name, parse_ir(_texts[name]))
    return _graphs.get(name)
