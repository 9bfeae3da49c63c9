"""Which results of a graph depend on parameters that ask for gradients: a walk over values until nothing changes.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Tensor, %y : Tensor):
...   %z : Tensor = aten::mul(%x, %y)
...   %i : Tensor = aten::detach(%x)
...   return (%z, %i)''')
>>> flow = flow_of(graph, (True, False))
>>> flow.results, flow.written, flow.is_open
((True, False), (False, False), False)

Where control flow meets, a result depends on what either way depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import hidden_writes, may_draw, own_effect
from flambeau.ir import kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.opdef import Effect
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.traits import Role
from flambeau.schema.types import ComplexType, FloatType, NumberType, TensorType, Type
from flambeau.util.record import dataclass

Marks = bool | tuple["Marks", ...]
"""Of a result whether it depends on what asks for gradients; of a tuple or list that the graph makes, item by item."""


made_of_numbers: RuleTable[Callable[[], tuple[str, ...]]] = RuleTable(
    "its result has derivatives by these numbers alone"
)


@made_of_numbers("aten::full", "aten::full_like", "aten::new_full")
def _filled() -> tuple[str, ...]:
    return ("fill_value",)


@made_of_numbers("aten::scalar_tensor")
def _of_number() -> tuple[str, ...]:
    return ("s",)


@made_of_numbers("aten::linspace", "aten::logspace", "aten::arange", "aten::range")
def _between() -> tuple[str, ...]:
    return ("start", "end", "step")


def carried(node: Node, values: Container[Value]) -> list[Value]:
    """The results of an operator that have derivatives by some of the values."""
    definition = node.definition
    numbers = made_of_numbers.get(node.op)
    if numbers is not None and definition is not None:
        index = definition.schema.index
        sources = [node.operand(index[name]) for name in numbers() if name in index]
        return [v for v in node.results if is_real(v.static_type)] if any(v in values for v in sources) else []
    flows = True if definition is None else definition.differentiable
    if flows is False or not any(v in values for v in node.operands):
        return []
    which = [True] * len(node.results) if flows is True else [*flows]
    return [v for v, one in zip(node.results, which, strict=False) if one and is_real(v.static_type)]


@dataclass(frozen=True, slots=True)
class Replay:
    """Why a second run of a graph would not be like the first: random numbers, and writes to parameters that ask for
    nothing. With the generator's state of then and copies of these it is."""

    draws: bool
    """Whether it draws random numbers."""
    rewritten: tuple[int, ...]
    """Which parameters it writes, by number."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a graph does with parameters that ask for gradients."""

    results: tuple[Marks, ...]
    """The marks of each result."""
    parameters: tuple[bool, ...]
    """Which parameters the graph writes something to that depends on one that asks."""
    written: tuple[bool, ...]
    """Which of the parameters that ask may be written."""
    is_open: bool
    """Whether the graph itself looks at the need of gradients, or runs what nobody sees through."""
    attributes: tuple[tuple[str, ...], ...] = ()
    """Which attributes of the first parameter the graph assigns something to that depends on one that asks."""
    is_repeatable: bool = False
    """Whether a second run on the same arguments gives the same and changes nothing: no effects but an exception, no
    random numbers, no writes to what was there before.
    """
    replay: Replay | None = None
    """What a second run of one that is not repeatable has to put back; None where it cannot be done."""

    @property
    def marks(self) -> Marks:
        """Whether the result depends on what asks; of several, one by one."""
        return self.results[0] if len(self.results) == 1 else self.results

    @property
    def is_recorded(self) -> bool:
        """Whether anything that leaves the graph depends on what asks, or it may be written."""
        return _any(self.results) or True in self.parameters or True in self.written or bool(self.attributes)


def _any(marks: Marks) -> bool:
    return marks if isinstance(marks, bool) else any(_any(one) for one in marks)


def flow_of(graph: Graph, asking: Sequence[bool], attributes: Sequence[Value] = ()) -> Flow:
    """The dependence of a graph without calls on those of its parameters that ask for gradients, and on attributes of
    objects that do."""
    return _Walk(graph, asking, attributes).flow()


def asking_values(graph: Graph, asking: Sequence[bool], others: Sequence[Value] = ()) -> set[Value]:
    """The values that depend on those of the parameters that ask for gradients, and on others that may; these
    too."""
    walk = _Walk(graph, asking, others)
    walk.settle()
    return walk.needs


_OF_OBJECTS = ("prim::GetAttr", "prim::SetAttr")


class _Walk:
    def __init__(self, graph: Graph, asking: Sequence[bool], attributes: Sequence[Value]) -> None:
        self._graph = graph
        self._asking = [v for v, asks in zip(graph.parameters, asking, strict=True) if asks]
        self._needs = {*self._asking, *attributes}
        self._assigned: set[Node] = set()
        self._nodes = graph.listed_nodes()
        self._writers = [n for n in self._nodes if n.definition is not None and n.definition.schema.is_mutable]
        self._alias = AliasAnalysis(graph, apart=True) if self._writers else None
        self._reached = {} if self._alias is None else self._values_written(self._alias)
        self._changed = {v for values in self._reached.values() for v in values}
        """What is written after it was made: a list's items are then not the operands of the node that makes it."""

    @property
    def needs(self) -> set[Value]:
        """The values that depend on what asks, as far as that is settled."""
        return self._needs

    def settle(self) -> None:
        """Go over the nodes until no further value depends on what asks."""
        size = -1
        while size < len(self._needs) + len(self._assigned):
            size = len(self._needs) + len(self._assigned)
            for node in self._nodes:
                self._visit(node)

    def flow(self) -> Flow:
        """What follows of the settled graph."""
        self.settle()
        parameters = self._graph.parameters
        elements = [n for n in self._writers if not is_about_tensor(n)]
        written = {v for n in elements for v in self._written(n)}
        return Flow(
            tuple(map(self._marks, self._graph.returns)),
            tuple(v in self._needs and v not in self._asking for v in parameters),
            tuple(v in self._asking and v in written for v in parameters),
            any(map(is_open, self._nodes)),
            tuple(path for path in map(_path, self._assigned) if path is not None),
            repeatable := self._is_repeatable(),
            None if repeatable else self._replay(),
        )

    def _is_repeatable(self) -> bool:
        if not all(own_effect(n) is Effect.NONE or n.op == "prim::RaiseException" or _is_idle(n) for n in self._nodes):
            return False  # a run that raised has no second one
        if any(n.op == "prim::SetAttr" or hidden_writes(n) for n in self._nodes):
            return False
        written = {v for n in self._writers for v in self._written(n)}
        return not any(v in written for v in self._graph.parameters) and not any(
            v.defining_node is not None and v.defining_node.op == "prim::GetAttr" for v in written
        )

    def _replay(self) -> Replay | None:
        """How a run is done again. None where it has effects on the world or on objects, writes what depends on what
        asks, or where a result that does shows memory of a parameter or of another: that is known when it has run.
        """
        effects = {own_effect(n) for n in self._nodes if n.op != "prim::RaiseException"}
        is_about_more = any(n.op in _OF_OBJECTS for n in self._nodes) or any(map(is_about_tensor, self._writers))
        if not effects <= {Effect.NONE, Effect.RANDOM} or is_about_more:
            return None
        alias = self._alias or AliasAnalysis(self._graph, apart=True)
        rewritten = {v: n for n, v in enumerate(self._graph.parameters) if _is_written(v, alias)}
        if any(v in self._needs or not isinstance(v.static_type, TensorType) for v in rewritten):
            return None
        return Replay(Effect.RANDOM in effects, tuple(rewritten.values())) if self._are_apart(alias) else None

    def _are_apart(self, alias: AliasAnalysis) -> bool:
        """Whether no result that depends on what asks shows memory of a parameter, a constant or another result."""
        results = [v for v in self._graph.returns if v in self._needs and holds_tensors(v.static_type)]
        outside = [*self._graph.parameters, *(n.result() for n in self._nodes if n.op == "prim::Constant")]
        return not any(
            value in results[:number] or alias.may_contain_alias(shown, [*outside, *results[:number]])
            for number, value in enumerate(results)
            for shown in _handed_on(value)
        )

    def _marks(self, value: Value) -> Marks:
        node = value.defining_node
        is_built = node is not None and node.op == "prim::ListConstruct" and value in self._changed
        if node is not None and node.op in ("prim::TupleConstruct", "prim::ListConstruct") and not is_built:
            return tuple(map(self._marks, node.operands))
        return value in self._needs and holds_tensors(value.static_type)

    def _visit(self, node: Node) -> None:
        if node.op == "prim::If":
            for block in node.nested_blocks:
                self._passed(block.returns, node.results)
        elif node.op == "prim::Loop":
            (body,) = node.nested_blocks
            for source in (node.operands[2:], body.returns[1:]):
                self._passed(source, body.parameters[1:])
                self._passed(source, node.results)
        elif node.op == "prim::GetAttr":
            if node.attribute("name") in {n.attribute("name") for n in self._assigned}:
                self._needs.add(node.result())
        elif node.op == "prim::SetAttr":
            if node.operand(1) in self._needs:
                self._assigned.add(node)
        elif any(v in self._needs for v in node.operands):
            self._operator(node)

    def _passed(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        self._needs.update(t for s, t in zip(sources, targets, strict=True) if s in self._needs)

    def _operator(self, node: Node) -> None:
        definition = node.definition
        if definition is not None and definition.differentiable is False and node.op not in made_of_numbers:
            return
        self._needs.update(carried(node, self._needs))
        if definition is not None and definition.schema.is_mutable:
            read = [
                v for v, a in zip(node.operands, definition.schema.arguments, strict=False)
                if a.alias is None or not a.alias.is_write
            ]  # fmt: skip
            if any(v in self._needs for v in read):
                self._needs.update(self._written(node))

    def _written(self, node: Node) -> list[Value]:
        """The values that a node may write to."""
        return self._reached.get(node, [])

    def _values_written(self, alias: AliasAnalysis) -> dict[Node, list[Value]]:
        """Of each node that writes, the values that it may write to."""
        values = [*self._graph.parameters]
        for node in self._nodes:
            values += [*node.results, *(v for block in node.nested_blocks for v in block.parameters)]
        by_node: dict[Node, list[Value]] = {}
        for value in values:
            if is_real(value.static_type):
                for writer in alias.writers(value):
                    by_node.setdefault(writer, []).append(value)
        return by_node


def is_real(type_: Type) -> bool:
    """Whether a value may be, or hold, numbers that have derivatives: a tensor's, or one by itself."""
    for part in type_.walk():
        if isinstance(part, TensorType):
            if part.dtype is None or part.dtype.is_floating_point or part.dtype.is_complex:
                return True
        elif isinstance(part, FloatType | NumberType | ComplexType):
            return True
    return False


def holds_tensors(type_: Type) -> bool:
    """Whether a value is, or may hold, a tensor."""
    return any(isinstance(part, TensorType) for part in type_.walk())


def _is_written(value: Value, alias: AliasAnalysis) -> bool:
    """Whether a graph may write a parameter, or a tensor in it."""
    return alias.has_writers(value) or (
        not isinstance(value.static_type, TensorType) and alias.has_tensor_writers(value)
    )


def is_about_tensor(node: Node) -> bool:
    """Whether a node tells a parameter from a plain tensor on the same memory, or changes more than its elements."""
    return node.definition is not None and node.definition.is_about_tensor


def _is_idle(node: Node) -> bool:
    """Whether an operator that may draw random numbers does not: a dropout outside of training."""
    definition = node.definition
    return definition is not None and definition.effect is Effect.RANDOM and not may_draw(node, definition)


def _path(assignment: Node) -> tuple[str, ...] | None:
    """The names from the first parameter on to an attribute that is assigned; None if it is of another object."""
    names = [assignment.attribute("name")]
    owner = assignment.operand(0)
    while owner.defining_node is not None and owner.defining_node.op == "prim::GetAttr":
        names.append(owner.defining_node.attribute("name"))
        owner = owner.defining_node.operand(0)
    return tuple(reversed(names)) if owner is assignment.graph.parameters[0] else None


def is_open(node: Node) -> bool:
    """Whether a node looks at the need of gradients, says whether they are recorded, or runs what nobody sees
    through."""
    if node.definition is not None:
        return is_about_tensor(node)
    return node.op in kinds.OPAQUE or node.op.startswith("^") or SUBGRAPH in node.attributes


def _handed_on(value: Value) -> Iterator[Value]:
    """A value, and what it may be as it is: dropouts give back what they are given where they leave nothing out."""
    yield value
    node = value.defining_node
    while node is not None and node.definition is not None and node.definition.traits.role is Role.DROPOUT:
        yield node.operand(0)
        node = node.operand(0).defining_node
