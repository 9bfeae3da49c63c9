"""Mixed precision made explicit: casts of operands in the place of `autocast` blocks.

```
%c : Any = ^autocast(%cpu, %bfloat16, %true)        %1 = aten::_autocast_to_reduced_precision(%x, %false, %true, ...)
%e : Any = prim::Enter(%c)                     →    %2 = aten::_autocast_to_reduced_precision(%w, %false, %true, ...)
%y = aten::mm(%x, %w)                               %y = aten::mm(%1, %2)
prim::Exit(%c)
```

Which operands are cast is what calls outside of programs do too (`flambeau.schema.cast_policies`). What the graph
cannot look into (Python functions, calls that are decided when they run, operators that call others) keeps a block,
around itself alone. Whether a block is on may be a value of the program. The casts of what is known to need none go
away with the other conversions (`flambeau.passes.peephole_autocast`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from flambeau.analysis import shapes
from flambeau.ir import constants
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.passes import inline
from flambeau.passes.autocast_operands import (
    CallWithin,
    holds_one,
    is_castable,
    is_untold,
    looks_itself,
    may_be_none,
    promotes,
)
from flambeau.program.batches import VMAP, as_call
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.program.tangents import TANGENTS
from flambeau.schema.cast_policies import CastPolicy, Policy, policies_of
from flambeau.schema.dtype import DType
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import ANY, BOOL, ListType, NoneType, TensorType
from flambeau.tensor.autocast import autocast
from flambeau.tensor.autocast_state import DTYPES, Precision
from flambeau.util.record import dataclass

CONTEXT: Final = "^autocast"
REDUCED: Final = "aten::_autocast_to_reduced_precision"
FULL: Final = "aten::_autocast_to_full_precision"
CALL: Final = "^autocast_call"
_BY_CALL: Final = frozenset({CastPolicy.PARTS, CastPolicy.REFUSED, CastPolicy.WIDEST})


_asks: Final = RuleTable[Callable[[], str]]("the kind of device that is asked about")


@_asks("aten::is_autocast_enabled")
def _cuda() -> str:
    return "cuda"


@_asks("aten::is_autocast_cpu_enabled")
def _cpu() -> str:
    return "cpu"


@dataclass(frozen=True, slots=True)
class _Setting:
    """Whether mixed precision is on for a kind of device, and its dtype: constants, or values of the program."""

    enabled: bool | Value
    dtype: int | Value


_Settings = Mapping[str, _Setting]
_Entered = tuple[tuple[Value, _Settings], ...]
"""The blocks around, the innermost last, each with what holds in it."""


def has_autocast(graph: Graph) -> bool:
    """Whether a graph has blocks in mixed precision, or asks whether there is any."""
    return any(_is_context(n) or n.op in _asks or _has_within(n) for n in graph.listed_nodes())


def _has_within(node: Node) -> bool:
    is_one = node.op in (GRADIENT, VMAP, TANGENTS) and "function" in node.attributes
    return is_one and has_autocast(node.attribute("function").graph)


def do(graph: Graph, within: Precision = ()) -> bool:
    """Write mixed precision out; `within` holds around the whole graph."""
    if not (within or has_autocast(graph)):
        return False
    if within:
        shapes.erase(graph)
    while batches := list(graph.find_all(VMAP)):
        for node in batches:  # of which each example runs by itself, in the precision around
            inline.expand_call(as_call(node))
    for node in graph.find_all(TANGENTS):
        inline.expand_call(as_call(node))
    _Writer(graph, within).write()
    return True


def _is_context(node: Node | None) -> bool:
    return node is not None and node.op == CONTEXT and node.attributes.get("callable") is autocast


class _Writer:
    """Goes through one graph."""

    def __init__(self, graph: Graph, within: Precision) -> None:
        self.graph = graph
        self.within = within
        self.base: _Settings = {name: _Setting(True, dtype.code) for name, dtype in within}
        self.left: list[Node] = []
        """The nodes that enter and leave blocks."""

    def write(self) -> None:
        self.block(self.graph.body, ())
        contexts = [n for n in self.graph.listed_nodes() if _is_context(n)]
        for node in self.left:
            if not any(value.uses() for value in node.results):
                node.erase()
        for node in contexts:
            if not node.result().uses():
                node.erase()

    def block(self, block: Block, entered: _Entered) -> _Entered:
        """Write out a block; what is entered at its end."""
        for node in list(block):
            entered = self.node(node, entered)
        return entered

    def node(self, node: Node, entered: _Entered) -> _Entered:
        settings = entered[-1][1] if entered else self.base
        if node.op == "prim::Enter" and _is_context(node.operand(0).defining_node):
            self.left.append(node)
            return (*entered, (node.operand(0), {**settings, **_said(node.operand(0))}))
        if node.op == "prim::Exit" and _is_context(node.operand(0).defining_node):
            self.left.append(node)
            return tuple(pair for pair in entered if pair[0] is not node.operand(0))
        if node.nested_blocks:
            ends = [self.block(inner, entered) for inner in node.nested_blocks]
            # a way that has left the block goes past the rest of it
            return max(ends, key=len)
        if node.op in _asks:
            asked = settings.get(_asks[node.op]())
            node.result().replace_uses_with(self.flag(node, asked))
            node.erase()
        elif node.op == GRADIENT:
            self.gradient(node, settings)
        elif any(s.enabled is not False for s in settings.values()):
            self.cast(node, settings)
        return entered

    def gradient(self, node: Node, settings: _Settings) -> None:
        """The function that is differentiated, in the mixed precision around it."""
        function = node.attribute("function")
        around = tuple(
            (name, dtype)
            for name, s in sorted(settings.items())
            for dtype in DTYPES[name]
            if s == _Setting(True, dtype.code)
        )
        if all(not isinstance(s.enabled, Value) for s in settings.values()):
            if around or has_autocast(function.graph):
                node.attributes["function"] = within_precision(function, around)
        else:
            self.keep_block(node, settings)

    def cast(self, node: Node, settings: _Settings) -> None:
        """Cast the operands of an operator, or have what looks itself see the block."""
        definition = node.definition
        policies = policies_of(definition.schema) if definition is not None else {}
        policies = {d: p for d, p in policies.items() if d in settings and settings[d].enabled is not False}
        if not policies:
            if looks_itself(node):
                self.keep_block(node, settings)
            return
        kinds = set(policies.values()) - ({CastPolicy.WIDEST} if promotes(node) else set())
        with self.graph.at_range(node.range):
            if any(k in _BY_CALL or isinstance(k, DType) for k in kinds) or not all(map(is_castable, node.operands)):
                self.call(node, settings)
            else:
                self.operands(node, {d: (p, settings[d]) for d, p in policies.items()})

    def operands(self, node: Node, policies: Mapping[str, tuple[Policy, _Setting]]) -> None:
        """Cast the operands of an operator."""
        is_product = not any(map(holds_one, node.operands))
        lower = {d: s for d, (p, s) in policies.items() if p is CastPolicy.LOWER and is_product}
        full = {d: s for d, (p, s) in policies.items() if p is CastPolicy.FULL or is_untold(node, p)}
        for index, value in enumerate(node.operands):
            if lower:
                value = self.operand(node, value, REDUCED, lower)
            if full:
                value = self.operand(node, value, FULL, full)
            node.replace_operand(index, value)

    def operand(self, insertion_point: Node | Block, value: Value, op: str, settings: _Settings) -> Value:
        """An operand, cast; a list of tensors with its elements cast, and what may be None if it is not."""
        type_ = value.static_type
        if isinstance(type_, ListType) and isinstance(type_.element, TensorType):
            assert value.defining_node is not None
            parts = [self.operand(insertion_point, part, op, settings) for part in value.defining_node.operands]
            with self.graph.inserting(insertion_point):
                return self.graph.insert("prim::ListConstruct", parts, (type_,)).result()
        if may_be_none(type_):
            return self.unless_none(insertion_point, value, op, settings)
        if not isinstance(type_, TensorType):
            return value
        flags = [self.flag(insertion_point, settings.get(device)) for device in ("cuda", "cpu")]
        dtypes = [self.dtype(insertion_point, d, settings.get(d)) for d in ("cuda", "cpu")] if op == REDUCED else []
        with self.graph.inserting(insertion_point):
            return self.graph.insert(op, (value, *flags, *dtypes), (TensorType(),)).result()

    def unless_none(self, insertion_point: Node | Block, value: Value, op: str, settings: _Settings) -> Value:
        """A tensor, cast, or None."""
        none = self.constant(insertion_point, None)
        with self.graph.inserting(insertion_point):
            is_there = self.graph.insert("aten::__isnot__", (value, none), (BOOL,)).result()
            branch = self.graph.insert("prim::If", (is_there,), (value.static_type,))
        then, otherwise = branch.add_block(), branch.add_block()
        with self.graph.inserting(then):
            tensor = self.graph.insert("prim::unchecked_cast", (value,), (TensorType(),)).result()
        then.add_return(self.operand(then, tensor, op, settings))
        otherwise.add_return(none)
        return branch.result()

    def flag(self, insertion_point: Node | Block, setting: _Setting | None) -> Value:
        """Whether mixed precision is on, as a value."""
        enabled = False if setting is None else setting.enabled
        return enabled if isinstance(enabled, Value) else self.constant(insertion_point, enabled)

    def dtype(self, insertion_point: Node | Block, device: str, setting: _Setting | None) -> Value:
        """What mixed precision computes in, as a value."""
        dtype = DTYPES[device][0].code if setting is None else setting.dtype
        return dtype if isinstance(dtype, Value) else self.constant(insertion_point, dtype)

    def constant(self, insertion_point: Node | Block, value: Any) -> Value:
        with self.graph.inserting(insertion_point):
            return constants.insert_constant(self.graph, value)

    def call(self, node: Node, settings: _Settings) -> None:
        """Have an operator called as calls outside of programs are: it sees the block, and no pass looks into it."""
        assert node.definition is not None
        devices = [device for device, setting in settings.items() if setting.enabled is not False]
        said = [v for d in devices for v in (self.flag(node, settings[d]), self.dtype(node, d, settings[d]))]
        called = CallWithin(node.definition, tuple(devices))
        with self.graph.inserting(node):
            types = [value.static_type for value in node.results]
            call_node = self.graph.insert(CALL, (*said, *node.operands), types, callable=called)
        call_node.copy_metadata(node)
        for old, new in zip(node.results, call_node.results, strict=True):
            old.replace_uses_with(new.copy_metadata(old))
        node.erase()

    def keep_block(self, node: Node, settings: _Settings) -> None:
        """Enter and leave a block around one node, for each kind of device for which it may be on."""
        entered: list[Value] = []
        with self.graph.inserting(node), self.graph.at_range(node.range):
            for device, setting in settings.items():
                if setting.enabled is False:
                    continue
                operands = [self.constant(node, device), self.dtype(node, device, setting), self.flag(node, setting)]
                context = self.graph.insert(CONTEXT, operands, (ANY,), callable=autocast).result()
                self.graph.insert("prim::Enter", (context,), (ANY,))
                entered.append(context)
        following = node
        for context in reversed(entered):
            following = self.graph.create("prim::Exit", (context,), ()).insert_after(following)


def _said(context: Value) -> dict[str, _Setting]:
    """What a block says: of which device, in which dtype, and whether it is on."""
    node = context.defining_node
    assert node is not None
    device, dtype, enabled = node.operands
    kind = constants.constant_value(device)
    usual = DTYPES[kind][0].code if kind in DTYPES else 0
    code = usual if isinstance(dtype.static_type, NoneType) else _plain(dtype)
    is_on = _plain(enabled) if kind in DTYPES else False
    return {kind: _Setting(is_on, code)} if kind in DTYPES else {}


def _plain(value: Value) -> Any:
    return constants.constant_value(value) if constants.is_constant(value) else value


def within_precision(function: Function, precision: Precision) -> Function:
    """A function as it is called within blocks of mixed precision."""
    graph = clone_graph(function.graph)
    do(graph, precision)
    return Function(function.name, graph, function.schema)
