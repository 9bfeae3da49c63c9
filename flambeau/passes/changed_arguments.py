"""Whether functions that are differentiated, or run for batches, may change the containers that they are given."""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Node, Value
from flambeau.passes import inline
from flambeau.program.batches import VMAP
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.program.tangents import TANGENTS
from flambeau.schema.types import DictType, ListType
from flambeau.util.kept_on import KeptOn

FUNCTIONS: Final = {GRADIENT: ("function",), TANGENTS: ("function", "instead"), VMAP: ("function", "loop")}
"""The attributes that are functions of the operands; those of tangents have their own behind them, or not."""
_changing: Final[KeptOn[Function, bool]] = KeptOn()


def is_container(value: Value) -> bool:
    """Whether a value is a list or a dict."""
    return isinstance(value.static_type, ListType | DictType)


def is_written(value: Value, aliases: AliasAnalysis) -> bool:
    """Whether anything may write to a container itself, but for functions, which are asked themselves."""
    locations = aliases.locations(value)
    writers = [writer for writer in aliases.writers(value) if writer.op not in FUNCTIONS]
    return any(not locations.isdisjoint(aliases.writes(writer)) for writer in writers)


def changes_arguments(function: Function) -> bool:
    """Whether a function may write to a container that it is given."""
    known = _changing.get(function)
    if known is None:
        graph = clone_graph(function.frozen_graph)
        inline.do(graph, is_folding=True)
        aliases = AliasAnalysis(graph)
        inner = [n for op in FUNCTIONS for n in graph.find_all(op) if any(map(is_container, n.operands))]
        known = any(is_container(v) and is_written(v, aliases) for v in graph.parameters)
        known = known or any(changes_arguments(n.attribute("function")) for n in inner if "function" in n.attributes)
        _changing[function] = known
    return known


def only_reads(node: Node) -> bool:
    """Whether a node runs a function, and that leaves the containers that it is given as they are."""
    function = node.attributes.get("function") if node.op in FUNCTIONS else None
    return isinstance(function, Function) and not changes_arguments(function)
