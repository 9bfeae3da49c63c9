"""Gradients of memory: a tensor that is written in place has a shadow, which holds the gradient of each element.

```
%v : Tensor = aten::select(%y, %0, %i)     a load of %v      →   select(%shadow_of_y, %0, %i).add_(gradient of %v)
%_ : Tensor = aten::copy_(%v, %s)          a store, back     →   gradient of %s: a copy of select(%shadow_of_y, %0, %i),
                                                                 which then is set to zero
```

A view of the tensor has the same view of the shadow, so that a loop over elements goes back as a loop over elements.
Tensors that are only read, but through views in a loop, have shadows too: to add one element costs no whole tensor.
"""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.proxies import TensorProxy
from flambeau.autodiff.scope import Saved, Scope
from flambeau.autodiff.writes import Writes, is_met, is_repeated, is_view, repeating_views, root_of, writes_first
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import ListType, TensorType

CARRIED = "%{name} is written in place, and may be one of several tensors"


class Memory:
    """The shadows of a graph's tensors."""

    def __init__(self, builder: Builder, saved: Saved, alias: Writes, relevant: set[Value]) -> None:
        self._builder = builder
        self._graph: Graph = builder.graph
        self._saved = saved
        self._relevant = relevant
        self._shadows: dict[Value, Value] = {}
        """Of each root, its shadow."""
        self._views: dict[Scope | None, dict[Value, Value]] = {}
        self._roots: dict[Value, Value] = {}
        """Of each value that has a shadow, or a view of one, the tensor whose memory it shows."""
        self.start: Node | None = None
        """Before it go the shadows of what the outermost block makes."""
        self._choose(alias)

    def __contains__(self, value: Value) -> bool:
        return value in self._roots

    def exists(self, value: Value) -> bool:
        """Whether the shadow that a value has, or has a view of, may be other than zero.

        Something was added to it, or will have been in a round of a loop that was gone back through before this one.
        """
        root = self._roots[value]
        return root in self._shadows or self._saved.scope_of(root) is not self._saved.scope

    def total(self, value: Value) -> Value | None:
        """The gradient of a tensor, where it is made; None of views, and where there is none."""
        return self._shadows.get(value)

    def add(self, value: Value, gradient: Value) -> None:
        """Add to the gradient of the elements that a value shows."""
        shown = TensorProxy(self._builder, self.shadow(value))
        self._builder.call("aten::add_", (shown, self._builder.proxy(gradient)), {})

    def shadow(self, value: Value) -> Value:
        """The gradient of the elements that a value shows, to be changed in place."""
        scope = self._saved.scope
        around: Scope | None = scope
        while True:
            known = self._views.get(around, {}).get(value)
            if known is not None:
                return known
            if around is None:
                break
            around = around.parent
        if self._roots[value] is value:
            return self._root(value)
        view = self._viewed(value)
        self._views.setdefault(scope, {})[value] = view
        self._builder.sizes.set(view, self._builder.sizes.of(value))
        return view

    def _root(self, value: Value) -> Value:
        """The shadow of a whole tensor, made where the way back through its block begins."""
        scope = self._saved.scope_of(value)
        insertion_point = self.start if scope is None else scope.marker
        assert insertion_point is not None
        with self._graph.inserting(insertion_point):
            like = TensorProxy(self._builder, self._saved.itself(value))
            zeros: Value = self._builder.operators.zeros_like(like).value
        self._views.setdefault(scope, {})[value] = self._shadows[value] = zeros
        self._builder.sizes.set(zeros, self._builder.sizes.of(value))
        return zeros

    def _viewed(self, value: Value) -> Value:
        node = value.defining_node
        assert node is not None
        base = self.shadow(node.operand(0))
        if not is_view(node):
            return base
        operands = [base, *map(self._saved.use, node.operands[1:])]
        copy = self._graph.insert(node.op, operands, [v.static_type for v in node.results], **node.attributes)
        return copy.results[value.index]

    def is_changed_in(self, node: Node) -> bool:
        """Whether something in the blocks of a node writes to what has a gradient by now."""
        return any(
            writes_first(inner) and inner.operand(0) in self and self.exists(inner.operand(0))
            for block in node.nested_blocks
            for inner in block.walk()
        )

    # -- which tensors ------------------------------------------------------------------------------------------------

    def _choose(self, alias: Writes) -> None:
        for value in self._relevant:
            if alias.has_writers(value):
                if isinstance(value.static_type, ListType):
                    continue
                if isinstance(value.static_type, TensorType) and not alias.is_written_in_use(value):
                    continue
                if not isinstance(value.static_type, TensorType):
                    raise NotDifferentiableError(f"%{value.name} is changed in place, and is no tensor")
                root = root_of(value)
                if is_met(root):
                    raise NotDifferentiableError(CARRIED.format(name=value.name))
                if not is_repeated(value):
                    self._roots[value] = root
        for root in {root_of(v) for v in _viewed_in_loops(self._graph.body, False)}:
            if root in self._relevant and root not in self._roots and isinstance(root.static_type, TensorType):
                self._take(root, root)

    def _take(self, value: Value, root: Value) -> None:
        """Give a value, and what shows its memory, views of a root's shadow."""
        self._roots[value] = root
        for use in value.uses():
            if use.offset == 0 and is_view(use.user) and use.user.op not in repeating_views:
                for result in use.user.results:
                    if isinstance(result.static_type, TensorType) and result in self._relevant:
                        self._take(result, root)


def _viewed_in_loops(block: Block, is_inside: bool) -> Iterable[Value]:
    """What views in loops show, if it was made before the loop."""
    for node in block:
        if is_inside and is_view(node):
            root = root_of(node.operand(0))
            if root.owner_block is not node.owner_block:
                yield root
        for inner in node.nested_blocks:
            yield from _viewed_in_loops(inner, is_inside or node.op == "prim::Loop")
