"""Blocks in mixed precision of archives, as graphs that were never saved have them.

%o : __torch__.torch.amp.autocast_mode.autocast = prim::CreateObject()
%n : NoneType = prim::CallMethod[name="__init__"](%o, %cpu, %15, %true)    →    %c : Any = ^autocast(%cpu, %15, %true)
%e = prim::Enter(%o)    ...    prim::Exit(%o)                                   prim::Enter(%c)    ...    prim::Exit(%c)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import ANY, ClassType
from flambeau.serialize.archive_format import AUTOCAST_CLASS
from flambeau.tensor.autocast import autocast
from flambeau.util.names import in_root

_CLASSES: Final = {
    AUTOCAST_CLASS: ("", "device", "dtype", "enabled"),
    in_root("torch.cpu.amp.autocast_mode.autocast"): ("cpu", "enabled", "dtype"),
    in_root("torch.cuda.amp.autocast_mode.autocast"): ("cuda", "enabled", "dtype"),
}
"""Classes that are blocks in mixed precision: the device, if it goes without saying, and what `__init__` takes."""


def restore_contexts(graph: Graph) -> None:
    """Put blocks in mixed precision in the place of the objects that stand for them."""
    for node in graph.listed_nodes():
        type_ = node.result().static_type if node.op == "prim::CreateObject" else None
        if not isinstance(type_, ClassType):
            continue
        said = _CLASSES.get(type_.name)
        users = [use.user for use in node.result().uses()]
        are_known = all(u.op in ("prim::CallMethod", "prim::Enter", "prim::Exit") for u in users)
        inits = [user for user in users if user.op == "prim::CallMethod" and user.attribute("name") == "__init__"]
        if said is not None and are_known and len(inits) == 1:
            _restore(graph, node, inits[0], said)


def _restore(graph: Graph, node: Node, init: Node, said: Sequence[str]) -> None:
    device, *names = said
    arguments = dict(zip(names, init.operands[1:], strict=False))
    with graph.inserting(init), graph.at_range(init.range):

        def constant(name: str, value: object) -> Value:
            return arguments[name] if name in arguments else insert_constant(graph, value)

        operands = [constant("device", device), constant("dtype", None), constant("enabled", True)]
        context = graph.insert("^autocast", operands, (ANY,), callable=autocast).result()
    if not init.result().uses():
        init.erase()
    for use in list(node.result().uses()):
        if use.user.op == "prim::Enter":
            use.user.result().set_type(ANY)
    node.result().replace_uses_with(context)
    node.erase()
