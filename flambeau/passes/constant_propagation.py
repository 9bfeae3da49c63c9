"""Run now what depends on constants alone.

```
%1 : int = prim::Constant[value=2]()
%2 : int = aten::mul(%1, %1)           →     %2 : int = prim::Constant[value=4]()
```

Only operators without effects are run, never random ones. One that fails stays, to fail when and if the program
comes to it. A result that is memory (a tensor, a list) becomes a constant only if nobody writes to it and it is not
seen outside: a constant is the same object in every call. Control flow whose way has become known is folded.
"""

from __future__ import annotations

from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.constant_evaluation import Knowledge
from flambeau.analysis.effects import own_effect, own_writes
from flambeau.analysis.manager import alias_analysis, forget_analyses, kept_alias_analysis
from flambeau.analysis.memory import keys_of
from flambeau.analysis.points_to import memory_key
from flambeau.ir import constants, literals
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import fold_control
from flambeau.passes.evaluate import NOT_FOLDED, evaluate
from flambeau.schema.opdef import Effect
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import Type

_CONTAINERS = ("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct")
_CONSTANT_OR_CONTAINER = frozenset({constants.CONSTANT, *_CONTAINERS})
_FAMILIES_NOT_RUN = frozenset({"random", "in_place", "out"})


def do(graph: Graph, *, values_only: bool = False, by_types: bool = False) -> bool:
    """Fold until nothing more folds; with `values_only` only what takes and gives numbers, strings and the like, which
    needs no look at who shares memory; with `by_types` control flow too whose way the types of tensors tell.
    """
    changed = False
    # What needs no look at who shares memory goes first: that look takes longest, and less of the graph is left for it.
    # A run in program order folds all that follows from what it folds, so that only other ways give it more to do.
    is_open = True
    while is_open:
        changed |= _Folder(graph, True).run(by_types)
        is_open = fold_control.do(graph, by_types=by_types)
        changed |= is_open
    if values_only:
        return changed
    folder = _Folder(graph, False)
    is_open = True
    while is_open:
        is_folded = folder.run(by_types)
        is_open = is_folded and fold_control.do(graph, by_types=by_types)
        folder.is_stale |= is_open
        changed |= is_folded
        is_open = is_open or folder.look_again()
    return changed


class _Folder:
    def __init__(self, graph: Graph, values_only: bool) -> None:
        self._graph = graph
        self._values_only = values_only
        self._aliases: AliasAnalysis | None = None
        self._settled: set[Value] = set()
        """Constants that were made, of which the alias analysis knows nothing: nobody writes to them."""
        self.is_stale = False
        """Whether ways have gone since the alias analysis, on which memory was shared, written or seen outside."""
        self._is_refused = False
        """Whether the alias analysis forbade anything."""

    def run(self, by_types: bool) -> bool:
        """Fold in program order; a branch that is taken for certain takes the place of its `prim::If` on the way, and
        what both branches give alike that of its results, so that what follows is folded as well.
        """
        changed = False
        known = Knowledge() if by_types else None
        entered: set[Node] = set()
        for node in _with_ends(self._graph):
            if node.is_erased:
                continue
            if node.op == "prim::If":
                fold = fold_control.fold_if if node in entered else fold_control.take_known_way
                entered.add(node)
                if fold(node, known):
                    changed = self.is_stale = True
            elif node.op != constants.CONSTANT and not node.nested_blocks and all(map(_may_be_known, node.operands)):
                changed = (self._may_run(node) and self._fold(node)) or changed
        return changed

    @property
    def aliases(self) -> AliasAnalysis:
        """Aliasing as it was: folding only takes memory and writers away, so what it says holds, if not the most."""
        if self._aliases is None:
            self._aliases, self.is_stale = alias_analysis(self._graph), False
        return self._aliases

    def look_again(self) -> bool:
        """Forget an alias analysis that forbade something, and could allow it by now; whether there was one."""
        if not self._is_refused or not self.is_stale:
            return False
        self._aliases, self._is_refused = None, False
        forget_analyses(self._graph)
        return True

    def _is_written(self, value: Value) -> bool:
        is_written = self.aliases.has_writers(value)
        self._is_refused |= is_written
        return is_written

    def _may_run(self, node: Node) -> bool:
        if not node.results or own_effect(node) is not Effect.NONE or own_writes(node):
            return False
        definition = node.definition
        if definition is not None and definition.family in _FAMILIES_NOT_RUN:
            return False
        if self._values_only and any(keys_of(v.static_type) for v in (*node.operands, *node.results)):
            return False
        return all(self._is_known(v) for v in node.operands)

    def _is_known(self, value: Value) -> bool:
        """Whether the value is a constant that stays as it is, or a container built of such."""
        node = value.defining_node
        if node is None:
            return False
        if constants.is_constant(value):
            if value in self._settled or not constants.is_mutable(constants.constant_value(value)):
                return True
            return not self._is_written(value)
        if node.op in _CONTAINERS:
            return all(map(self._is_known, node.operands)) and not self._is_written(value)
        return False

    def _fold(self, node: Node) -> bool:
        if not node.operands and node.op not in _CONTAINERS:
            return False
        results = evaluate(node)
        if results is NOT_FOLDED or not self._may_be_constant(node, results):
            return False
        with self._graph.inserting(node), self._graph.at_range(node.range):
            new = [
                insert_constant(self._graph, r, _type(v.static_type, r))
                for v, r in zip(node.results, results, strict=True)
            ]
        kept = kept_alias_analysis(self._graph)
        for old, value in zip(node.results, new, strict=True):
            if kept is not None:
                kept.note_replaced(old, value)
            if old.has_name:
                self._graph.rename(value, old.name)
            old.replace_uses_with(value)
        node.erase()
        self._settled.update(new)
        return True

    def _may_be_constant(self, node: Node, results: tuple[Any, ...]) -> bool:
        """Whether nobody could tell: what a constant shows of another constant's memory is as good as that one."""
        known: set[int] | None = None
        for value, result in zip(node.results, results, strict=True):
            try:
                constants.type_of(result)
            except TypeError:
                return False
            if not constants.is_mutable(result):
                continue
            if self._is_written(value):
                return False
            if self.aliases.leaves(value):
                known = _memory_of_operands(node) if known is None else known
                if memory_key(result) not in known:
                    self._is_refused = True
                    return False
        return True


def _with_ends(graph: Graph) -> list[Node]:
    """All nodes as the graph is now, in program order; those with blocks once more behind these."""
    nodes: list[Node] = []
    waiting = [(node, False) for node in reversed(graph.body.own_nodes())]
    while waiting:
        node, is_end = waiting.pop()
        nodes.append(node)
        if node.nested_blocks and not is_end:
            waiting.append((node, True))
            for block in reversed(node.nested_blocks):
                waiting += [(inner, False) for inner in reversed(block.own_nodes())]
    return nodes


def _may_be_known(value: Value) -> bool:
    """Whether a value is a constant, or a container that may be built of such: what `_is_known` needs, at a glance."""
    return value.defining_node is not None and value.defining_node.op in _CONSTANT_OR_CONTAINER


def _memory_of_operands(node: Node) -> set[int]:
    """What the constant operands of a node are, and what is in them."""
    waiting = [constants.constant_value(v) for v in node.operands if constants.is_constant(v)]
    memory: set[int] = set()
    while waiting:
        item = waiting.pop()
        if constants.is_mutable(item):
            memory.add(memory_key(item))
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
    return memory


def _type(declared: Type, result: Any) -> Type:
    """The declared type, or that of the value where it says more: a constant None is of type NoneType."""
    own = constants.type_of(result)
    if literals.is_tensor(result) or (not isinstance(result, list | dict | tuple) and is_subtype(own, declared)):
        return own
    return declared
