"""Parts and conjugates of complex tensors as pointwise operators, which kernels know, in the place of views.

```
%2 : ComplexDouble(*) = aten::conj(%z)          %2 : ComplexDouble(*) = aten::conj_physical(%z)
%3 : ComplexDouble(*) = aten::mul(%2, %z)   →   %3 : ComplexDouble(*) = aten::mul(%2, %z)
%4 : Double(*) = aten::real(%3)                 %4 : Double(*) = flambeau::real_part(%3)
%5 : Double() = aten::sum(%4, %none)            %5 : Double() = aten::sum(%4, %none)
```

A part is a copy only where kernels alone read it, and where nobody writes to its memory. A conjugate is one always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis, forget_analyses
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.fusible import COMPLEX, Fusible
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TensorType
from flambeau.util.record import replace

pointwise_forms: Final = RuleTable[Callable[["_Parts", Node, TensorType], Node | Value | None]](
    "parts and conjugates of tensors of known dtypes as pointwise operators"
)
"""What a rule gives, which is not inserted yet if it is a node, takes the place of the result; None: nothing does."""


def do(graph: Graph) -> bool:
    """Replace what is known to be of complex tensors, or of real ones."""
    return _Parts(graph).run()


class _Parts:
    """The work on one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._fusible = Fusible(graph)
        self._aliases: AliasAnalysis | None = None

    def run(self) -> bool:
        """Apply the rules; whether any did something."""
        rules = [(n, pointwise_forms[n.op]) for n in self.graph.listed_nodes() if n.op in pointwise_forms]
        forms = [
            (node, form) for node, rule in rules
            if (type_ := _known(node.operand(0))) is not None and (form := rule(self, node, type_)) is not None
        ]  # fmt: skip
        for node, form in forms:
            self._replace(node, form)
        if forms:
            forget_analyses(self.graph)
        return bool(forms)

    def may_be_copied(self, node: Node) -> bool:
        """Whether kernels alone read a part, and nobody writes to its memory."""
        users = [use.user for use in node.result().uses()]
        if not users or not all(map(self._fusible.is_fusible, users)):
            return False
        if self._aliases is None:
            self._aliases = alias_analysis(self.graph)
        return not self._aliases.has_writers(node.operand(0))

    def _replace(self, node: Node, form: Node | Value) -> None:
        old, name = node.result(), node.result().name if node.result().has_name else ""
        if isinstance(form, Node):
            form.copy_metadata(node)
            form.insert_before(node)
        old.replace_uses_with(form.result() if isinstance(form, Node) else form)
        node.erase()
        if name and isinstance(form, Node):
            self.graph.rename(form.result(), name)


def _known(value: Value) -> TensorType | None:
    """The type of a tensor whose dtype and rank are known."""
    type_ = value.static_type
    return type_ if isinstance(type_, TensorType) and type_.dtype is not None and type_.sizes is not None else None


@pointwise_forms("aten::real")
def _real(parts: _Parts, node: Node, type_: TensorType) -> Node | None:
    return _copied(parts, node, type_, "flambeau::real_part")


@pointwise_forms("aten::imag")
def _imag(parts: _Parts, node: Node, type_: TensorType) -> Node | None:
    return _copied(parts, node, type_, "flambeau::imag_part")


def _copied(parts: _Parts, node: Node, type_: TensorType, name: str) -> Node | None:
    """A copy of a part."""
    if type_.dtype not in COMPLEX or not parts.may_be_copied(node):
        return None
    return parts.graph.create(name, node.operands, [node.result().static_type])


@pointwise_forms("aten::conj", "aten::_conj")
def _conjugate(parts: _Parts, node: Node, type_: TensorType) -> Node | Value:
    """The conjugate; of a real tensor itself."""
    return _conjugated(parts, node, node.operand(0)) if type_.dtype in COMPLEX else node.operand(0)


@pointwise_forms("aten::mH", "aten::adjoint", "aten::matrix_H")
def _conjugate_transpose(parts: _Parts, node: Node, type_: TensorType) -> Node | None:
    """The conjugate of the transpose of complex matrices."""
    if type_.dtype not in COMPLEX or type_.sizes is None or len(type_.sizes) < 2:
        return None
    *outer, rows, columns = type_.sizes
    graph = parts.graph
    with graph.inserting(node), graph.at_range(node.range):
        axes = [insert_constant(graph, d) for d in (-2, -1)]
        transposed = replace(type_, sizes=(*outer, columns, rows), strides=None)
        source = graph.insert("aten::transpose", [node.operand(0), *axes], [transposed]).result()
    return _conjugated(parts, node, source)


def _conjugated(parts: _Parts, node: Node, source: Value) -> Node:
    return parts.graph.create("aten::conj_physical", (source,), [node.result().static_type])
