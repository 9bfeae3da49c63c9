"""Simplify single nodes by what their operands are.

```
%2 : int = aten::mul(%n, %one)
%3 : bool = aten::eq(%2, %2)                 %3 : bool = prim::Constant[value=1]()
%4 : int = aten::dim(%x)               →     %4 : int = prim::Constant[value=2]()
```

A tensor is replaced by another only if no program could tell: the dtype stays (`x + 0` promotes bools; `x + 0.`
makes 0. of -0.), nobody writes to either, and not both are seen outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis, forget_analyses
from flambeau.analysis.memory import keys_of
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import (  # noqa: F401  (they register their rules)
    peephole_answers,
    peephole_arithmetic,
    peephole_autocast,
    peephole_containers,
    peephole_lists,
    peephole_tensors,
    peephole_types,
)
from flambeau.passes.peephole_outcomes import KEEP, Apart, Chain, Constant, Itself, Literal, Rule, rewrites


def do(graph: Graph, rules: Mapping[str, tuple[Rule, ...]] = rewrites) -> bool:
    """Apply the rules until none applies."""
    changed = False
    while _Peephole(graph, rules).run():
        changed = True
        forget_analyses(graph)
    return changed


class _Peephole:
    def __init__(self, graph: Graph, rules: Mapping[str, tuple[Rule, ...]]) -> None:
        self._graph, self._rules = graph, rules
        self._aliases: AliasAnalysis | None = None

    def run(self) -> bool:
        changed = False
        for node in self._graph.listed_nodes():
            for rule in self._rules.get(node.op, ()):
                rewritten = rule(node)
                if rewritten is not KEEP and self._replace(node, rewritten):
                    changed = True
                    break
        return changed

    def _replace(self, node: Node, rewritten: Any) -> bool:
        old = node.result()
        is_that = isinstance(rewritten, Itself) or (isinstance(rewritten, Literal) and rewritten.is_shallow)
        rewritten = rewritten.tensor if isinstance(rewritten, Itself) else rewritten
        rewritten = self._checked(rewritten)
        if rewritten is KEEP:
            return False
        if isinstance(rewritten, Chain):
            with self._graph.inserting(rewritten.insertion_point), self._graph.at_range(node.range):
                new = rewritten.make()
        elif isinstance(rewritten, Constant):
            with self._graph.inserting(node), self._graph.at_range(node.range):
                new = insert_constant(self._graph, rewritten.value)
        elif isinstance(rewritten, Node):
            new = rewritten.insert_before(node).result()
        else:
            assert isinstance(rewritten, Value)
            new = rewritten
            if not is_that and not self._may_stand_for(new, old):
                return False
        self._hand_name_on(old, new)
        self._note(rewritten, new, old)
        old.replace_uses_with(new)
        node.erase()
        return True

    def _hand_name_on(self, old: Value, new: Value) -> None:
        """Give the name of a value to what is there in its place, unless that has one or is a constant."""
        if old.has_name and not new.has_name and new.defining_node is not None and new.defining_node.op != CONSTANT:
            name = old.name
            self._graph.rename(old, "")
            self._graph.rename(new, name)

    def _checked(self, rewritten: Any) -> Any:
        """The replacement whose conditions hold, or `KEEP`."""
        if isinstance(rewritten, Literal):
            aliases = self._known_aliases()
            is_changed = aliases.is_written if rewritten.is_shallow else aliases.has_writers
            return KEEP if is_changed(rewritten.container) else self._checked(rewritten.replacement)
        if isinstance(rewritten, Apart):
            return KEEP if self._known_aliases().may_alias(*rewritten.tensors) else rewritten.replacement
        return rewritten

    def _note(self, rewritten: Any, new: Value, old: Value) -> None:
        """Keep the alias analysis where one value takes the place of another, or a number is had in another way."""
        if not keys_of(old.static_type):
            return
        if isinstance(rewritten, Value) and self._aliases is not None:
            self._aliases.note_merge([new], [old])
        else:
            self._aliases = None
            forget_analyses(self._graph)

    def _may_stand_for(self, new: Value, old: Value) -> bool:
        """Whether one value may replace the other, which had memory of its own."""
        aliases = self._known_aliases()
        if not aliases.locations(old) or (not aliases.is_new(old) and aliases.locations(old) <= aliases.locations(new)):
            return True
        return aliases.can_merge([new], [old])

    def _known_aliases(self) -> AliasAnalysis:
        if self._aliases is None:
            self._aliases = alias_analysis(self._graph)
        return self._aliases
