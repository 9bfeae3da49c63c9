"""Take ways again whose conditions became simple late: when lists stopped changing, and equal values became one.

```
%l : bool[] = prim::ListConstruct(%no, %no)
%c : bool = aten::any(%l)
%y : Tensor = prim::If(%c)                         %y : Tensor = aten::exp(%x)
  block0():                                  →
    %a : Tensor = aten::relu(%x)
    -> (%a)
  block1():
    %b : Tensor = aten::exp(%x)
    -> (%b)
```

Graphs without branches and dicts have nothing to gain, and are left alone.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.manager import alias_analysis, forget_analyses
from flambeau.ir.graph import Graph, Node
from flambeau.passes import constant_propagation, dce, peephole, remove_list_mutation, settle_identity
from flambeau.passes.peephole_answers import answers

_LIST: Final = "prim::ListConstruct"
KINDS: Final = ("prim::If", "prim::DictConstruct")
"""What is worth a round."""
MOST_ROUNDS: Final = 4
"""What a way gives may tell the next, but each round goes over the whole graph."""


def do(graph: Graph) -> bool:
    """Simplify and fold alternately, as long as that changes anything; then remove what nobody needs any more."""
    changed = False
    for _ in range(MOST_ROUNDS):
        if all(graph.find(kind) is None for kind in KINDS):
            break
        is_simpler = _unpack_literals(graph)
        is_simpler |= settle_identity.do(graph)
        if not (peephole.do(graph) or is_simpler):
            break
        changed = True
        if not constant_propagation.do(graph, by_types=True):
            break
    if changed:
        dce.do(graph)
    return changed


def answer_early(graph: Graph) -> bool:
    """Take ways before anything is known of tensors: what lists of constants and of unknown answers tell; then remove
    what nobody needs any more. Whether anything changed.
    """
    changed = False
    for _ in range(MOST_ROUNDS):
        is_simpler = remove_list_mutation.do(graph)
        if not (peephole.do(graph, answers) or is_simpler):
            break
        changed = True
        constant_propagation.do(graph, values_only=True)
    if changed:
        dce.do(graph)
    return changed


def _unpack_literals(graph: Graph) -> bool:
    """Put what a list was built of in the place of what is unpacked of it, where nobody changes the list."""
    unpacked = [n for n in graph.find_all("prim::ListUnpack") if _is_literal(n)]
    if not unpacked:
        return False
    aliases = alias_analysis(graph)
    unpacked = [n for n in unpacked if not aliases.has_writers(n.operand(0))]
    for node in unpacked:
        literal = node.operand(0).defining_node
        assert literal is not None
        for old, new in zip(node.results, literal.operands, strict=True):
            old.replace_uses_with(new)
        node.erase()
    if unpacked:
        forget_analyses(graph)
    return bool(unpacked)


def _is_literal(node: Node) -> bool:
    maker = node.operand(0).defining_node
    return maker is not None and maker.op == _LIST and len(maker.operands) == len(node.results)
