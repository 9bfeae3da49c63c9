"""Move out of a loop what is the same in every iteration.

```
%y = prim::Loop(%n, %true, %x)                    %c : int = aten::mul(%k, %k)
  block0(%i : int, %z : Tensor):                  %y = prim::Loop(%n, %true, %x)
    %c : int = aten::mul(%k, %k)           →        block0(%i : int, %z : Tensor):
    %w : Tensor = aten::add(%z, %c, %1)               %w : Tensor = aten::add(%z, %c, %1)
    -> (%true, %w)                                    -> (%true, %w)
```

What may fail moves only out of loops that certainly run, and not past anything the world sees or that may fail first.
What gives new memory moves only if nobody writes to it and it is not seen outside, where the result of each iteration
must be an object of its own. What asks for sizes or dtypes moves past writes to elements.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import has_effect, is_pure, looks_at_no_elements, may_raise, writes_memory
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.memory import any_overlap
from flambeau.analysis.shapes import may_resize
from flambeau.analysis.uninitialised import may_be_uninitialised
from flambeau.ir import constants
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import is_visible, nodes_within, operands_within


def do(graph: Graph) -> bool:
    """Hoist out of every loop, inner loops first, so that nodes may leave several."""
    loops = graph.find_all("prim::Loop")
    if not loops:
        return False
    aliases = alias_analysis(graph)
    nothing = may_be_uninitialised(graph)
    changed = False
    for loop in reversed(loops):
        changed = _hoist(loop, aliases, nothing) or changed
    return changed


def _hoist(loop: Node, aliases: AliasAnalysis, nothing: set[Value]) -> bool:
    changed = False
    runs = surely_runs(loop)
    body = loop.nested_blocks[0]
    written = aliases.writes(loop)
    resized = {p for n in nodes_within(loop) if may_resize(n) for p in aliases.writes(n)} if written else written
    for node in body:
        disturbing = resized if looks_at_no_elements(node) else written
        is_safe = runs or not (may_raise(node) or any(v in nothing for v in operands_within(node)))
        is_safe = is_safe and not any_overlap(disturbing, aliases.reads(node))
        if is_safe and _is_invariant(node, loop, aliases):
            node.move_before(loop)
            changed = True
        else:
            runs = runs and not (has_effect(node) or writes_memory(node) or may_raise(node))
    return changed


def _is_invariant(node: Node, loop: Node, aliases: AliasAnalysis) -> bool:
    inside = {v for block in node.nested_blocks for v in _defined_in(block)}
    if any(v not in inside and not is_visible(v, loop) for v in operands_within(node)):
        return False
    if not is_pure(node) or writes_memory(node) or node.op == "prim::CreateObject":
        return False
    if node.op == "prim::GetAttr":  # gives the same object in every iteration, whoever writes to what is in it
        return True
    return not any(aliases.locations(v) and (aliases.has_writers(v) or aliases.leaves(v)) for v in node.results)


def _defined_in(block: Block) -> list[object]:
    defined: list[object] = list(block.parameters)
    for node in block:
        defined += node.results
        for inner in node.nested_blocks:
            defined += _defined_in(inner)
    return defined


def surely_runs(loop: Node) -> bool:
    """Whether a loop runs at least one iteration, whatever happens."""
    trips, condition = loop.operands[:2]
    if not (constants.is_constant(trips) and constants.is_constant(condition)):
        return False
    return bool(constants.constant_value(trips) > 0 and constants.constant_value(condition))
