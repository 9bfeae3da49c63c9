"""Methods of modules as functions of what they read: `self.layer.weight` becomes a parameter that nobody passes.

    graph(%self : Net, %x : Tensor):                       graph(%x : Tensor, %layer_weight : Tensor):
      %layer = prim::GetAttr[name="layer"](%self)      →     %y = aten::matmul(%x, %layer_weight)
      %weight = prim::GetAttr[name="weight"](%layer)         return (%y)
      %y = aten::matmul(%x, %weight)
      return (%y)

Native code knows no objects; this way it serves whole methods. What a method assigns, gives away, or reads as a list
stays where it is: such a method keeps its object. Bools, texts, members of enums and None are written into the graph,
one function for each combination met (`training` decides what a dropout is). Whether a parameter asks for gradients is
such a bool as well, where the method looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.gradients import is_about_tensor
from flambeau.executor.assigned import READ, WRITE, changes_nothing_else, make_variables, may_be_variable
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.executor.stored import place_of
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation
from flambeau.program.function import Function
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.types import (
    BOOL,
    BoolType,
    ClassType,
    DeviceType,
    EnumType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.kept_on import KeptOn
from flambeau.util.locks import Lock
from flambeau.util.no_collection import no_collection
from flambeau.util.record import dataclass, replace

Path = tuple[str, ...]
"""Names of attributes, from the object on: submodules, then the attribute that is read."""
MAX_VARIANTS: Final = 8
"""Combinations of bools and texts for which a method has a function of its own."""
ASKS: Final = "requires_grad"
"""The last name of a path that ends at what is known of a tensor."""
_ASKING: Final = "prim::requires_grad"
_WRITTEN_IN = (BoolType, StringType, NoneType, EnumType, DeviceType)


class Promotion:
    """A method without its object: which attributes its functions take, and the functions."""

    def __init__(
        self, function: Function, make: Callable[[], Graph], paths: Sequence[Path], hidden: Sequence[Type],
        returned: Type, assigned: int = 0,
    ) -> None:  # fmt: skip
        """`make` gives the graph when a function of it has to be made; `hidden` are the types of its last parameters,
        `returned` that of its result, which depend on no attribute's value.
        """
        # The function itself is not kept: it is the key under which this is found.
        self._name, self._schema, self._doc = function.name, function.schema, function.doc
        self.paths = tuple(paths)
        """What is read, in the order of the hidden parameters."""
        self.assigned = assigned
        """How many of them, the last ones, are assigned: what they become are further results."""
        self._graph = _once(make)
        self._hidden, self._returned, self._provenance = tuple(hidden), returned, function.provenance
        read = len(hidden) - assigned
        self.is_written_in = tuple(k < read and isinstance(t, _WRITTEN_IN) for k, t in enumerate(hidden))
        """Which of the attributes are constants of a function."""
        self.variants_cache: SpecialisationCache[Hashable, Function] = SpecialisationCache(
            f"functions of {function.short_name} without its object", MAX_VARIANTS, describe=str
        )

    def variant(self, values: Sequence[Any]) -> Function | None:
        """The function for attributes of these values, which takes those that are not written in.

        None where there are functions for too many combinations already.
        """
        key = tuple([
            v if fixed else len(v) for v, fixed in zip(values, self.is_written_in, strict=True)
            if fixed or isinstance(v, list)
        ])  # fmt: skip
        variant = self.variants_cache.get(key)
        if variant is None and len(self.variants_cache) < MAX_VARIANTS:
            variant = self.variants_cache.get_or_make(key, lambda cause: self._function(key, values))
        return variant

    @no_collection()
    def _specialised(self, values: Sequence[Any]) -> Graph:
        """The graph of a variant: `values` are those written in, and for each list a tuple of its length."""
        graph = clone_graph(self._graph())
        first = len(graph.parameters) - len(values)
        for number in range(len(values) - 1, -1, -1):
            value, place = values[number], first + number
            if self.is_written_in[number]:
                _write_in(graph, place, value)
            elif isinstance(value, tuple):
                _take_apart(graph, place, len(value))
        constant_propagation.do(graph, values_only=True)
        return graph

    def _function(self, key: tuple[Any, ...], values: Sequence[Any]) -> Function:
        schema = self._schema
        taken: list[Argument] = []
        for path, own, fixed, value in zip(self.paths, self._hidden, self.is_written_in, values, strict=True):
            name = ".".join(path)
            if isinstance(value, list):
                taken += [Argument(f"{name}.{k}", own.contained[0]) for k in range(len(value))]
            elif not fixed:
                taken.append(Argument(name, own))
        arguments = (*(replace(a, kwarg_only=False) for a in schema.arguments[1:]), *taken)
        returns = (Argument("", self._returned),) if self.assigned else schema.returns
        shapes = [v if fixed else (None,) * len(v) if isinstance(v, list) else None
                  for v, fixed in zip(values, self.is_written_in, strict=True)]  # fmt: skip
        own_schema = FunctionSchema(schema.name, "", arguments, returns)
        function = Function(self._name, _once(lambda: self._specialised(shapes)), own_schema, doc=self._doc)
        if self._provenance is not None:
            function.provenance = self._provenance.part("variant", repr(key))
        return function


def _once(make: Callable[[], Graph]) -> Callable[[], Graph]:
    """What makes a graph, once for all threads that ask."""
    lock = Lock()
    graphs: list[Graph] = []

    def graph() -> Graph:
        with lock:
            if not graphs:
                graphs.append(make())
            return graphs[0]

    return graph


def _write_in(graph: Graph, index: int, value: Any) -> None:
    parameter = graph.parameters[index]
    with graph.inserting(graph.body.first or graph.body):
        attributes = {} if value is None else {"value": value}
        constant = graph.insert("prim::Constant", (), (parameter.static_type,), **attributes).result()
    parameter.replace_uses_with(constant)
    graph.body.remove_parameter(index)


def _take_apart(graph: Graph, index: int, count: int) -> None:
    """A list that comes in becomes one that is made, of as many values that come in."""
    parameter = graph.parameters[index]
    name = parameter.name if parameter.has_name else "list"
    element = parameter.static_type.contained[0]
    parts = [graph.add_parameter(element, f"{name}_{k}", index + k) for k in range(count)]
    with graph.inserting(graph.body.first or graph.body):
        list_value = graph.insert("prim::ListConstruct", parts, (parameter.static_type,)).result()
    parameter.replace_uses_with(list_value)
    graph.body.remove_parameter(index + count)


_known: KeptOn[Function, tuple[Promotion | None]] = KeptOn()
_lock = Lock()


def promotion_of(function: Function) -> Promotion | None:
    """How a method runs without its object; None for one that cannot."""
    with _lock:
        promotion = _known.get(function)
        if promotion is None:
            _known[function] = promotion = (_found(function),)
        return promotion[0]


def _found(function: Function) -> Promotion | None:
    """The promotion of a function, from the cache on disk if an earlier process made it."""
    place, graph_place = place_of(function, "promotion"), place_of(function, "promoted graph")
    if place is None or graph_place is None:
        lifted = _lift(function)
        return None if lifted is None else lifted.promotion(function)

    def graph() -> Graph:
        known = graph_place.read()
        if isinstance(known, Graph):
            return known
        lifted = _lift(function)
        assert lifted is not None  # as it was when its entry was made
        return lifted.graph

    known = place.read()
    if known is None:
        lifted = _lift(function)
        place.keep(("promotion", *(() if lifted is None else lifted.about)))
        if lifted is None:
            return None
        graph_place.keep(lifted.graph)
        return lifted.promotion(function)
    if len(known) == 1:
        return None
    _, paths, hidden, returned, assigned = known
    return Promotion(function, graph, paths, hidden, returned, assigned)


@dataclass(frozen=True, slots=True)
class _Lifted:
    """A graph in which parameters stand for what was read of an object."""

    graph: Graph
    paths: tuple[Path, ...]
    assigned: int

    @property
    def about(self) -> tuple[tuple[Path, ...], tuple[Type, ...], Type, int]:
        """What is known of it without the graph, as `Promotion` takes it."""
        count = len(self.graph.parameters) - len(self.paths)
        hidden = tuple(v.static_type for v in self.graph.parameters[count:])
        returned = self.graph.returns[0].static_type if self.graph.returns else NoneType()
        return self.paths, hidden, returned, self.assigned

    def promotion(self, function: Function) -> Promotion:
        """How the function whose graph it was runs."""
        return Promotion(function, lambda: self.graph, *self.about)


@no_collection()
def _lift(function: Function) -> _Lifted | None:
    if not function.graph.parameters or not _is_module(function.graph.parameters[0].static_type):
        return None
    graph = clone_graph(inlined_graph(function))
    owner, count = graph.parameters[0], len(graph.parameters) - 1
    reads: dict[Path, list[Node]] = {}
    types: dict[Path, Type] = {}
    objects: list[Node] = []
    if not _collect(owner, (), reads, types, objects) or any(map(_tells_apart, graph.all_nodes())):
        return None
    if types and not changes_nothing_else(graph):
        return None
    assigned = {path: reads.pop(path) for path in types}
    origins: dict[Value, Path] = {}
    for path, nodes in reads.items():
        value = graph.add_parameter(nodes[0].result().static_type, "_".join(path))
        origins[value] = path
        for node in nodes:
            node.result().replace_uses_with(value)
            node.erase()
    flags = _answer_about(graph, origins)
    if flags is None:
        return None
    if assigned and not make_variables(graph, assigned, types):
        return None
    for node in reversed(objects):
        node.erase()
    graph.body.remove_parameter(0)
    if _gives_away(graph, graph.parameters[count : len(graph.parameters) - len(types)]):
        return None
    return _Lifted(graph, (*reads, *flags, *types), len(types))


def _answer_about(graph: Graph, origins: dict[Value, Path]) -> list[Path] | None:
    """Parameters in the place of questions whether what was read of the object asks for gradients; their paths.

    Calls get plain tensors in the place of what asks, and so need the answers. What is computed answers by itself. None
    where one value may be either.
    """
    flags: dict[Path, Value] = {}
    alias: AliasAnalysis | None = None
    for node in [n for n in graph.all_nodes() if n.op == _ASKING]:
        tensor = node.operand(0)
        path = origins.get(_uncast(tensor))
        if path is None:
            alias = AliasAnalysis(graph, apart=True) if alias is None else alias
            if alias.may_contain_alias(tensor, origins):
                return None
        else:
            if path not in flags:
                flags[path] = graph.add_parameter(BOOL, "_".join((*path, ASKS)))
            node.result().replace_uses_with(flags[path])
            node.erase()
    return [(*path, ASKS) for path in flags]


def _tells_apart(node: Node) -> bool:
    """Whether a node may do something else where plain tensors stand in the place of parameters: it looks at more than
    whether they ask for gradients, or from it on gradients are recorded although they were not.
    """
    if node.op != "prim::Enter":
        return is_about_tensor(node) and node.op != _ASKING
    made = node.operand(0).defining_node
    name = "" if made is None else str(made.result().static_type) if made.op == "prim::CreateObject" else made.op[1:]
    return name.rpartition(".")[2] not in ("no_grad", "inference_mode")


def _uncast(value: Value) -> Value:
    """The value whose type was refined to this one's."""
    while value.defining_node is not None and value.defining_node.op == "prim::unchecked_cast":
        value = value.defining_node.operand(0)
    return value


def _collect(
    owner: Value, path: Path, reads: dict[Path, list[Node]], types: dict[Path, Type], objects: list[Node]
) -> bool:
    """Find what is read and assigned of an object, and the types of what is assigned.

    False if it is used in any other way, or what is read could change.
    """
    for use in owner.uses():
        node = use.user
        if node.op not in (READ, WRITE):
            return False
        attribute_path = (*path, node.attribute("name"))
        if node.op == WRITE:
            class_ = owner.static_type.definition if isinstance(owner.static_type, ClassType) else None
            declared = None if class_ is None else class_.attribute(attribute_path[-1])
            if use.offset or declared is None or not may_be_variable(declared.type):
                return False
            types[attribute_path] = declared.type
            reads.setdefault(attribute_path, []).append(node)
        elif _is_module(node.result().static_type):
            objects.append(node)
            if not _collect(node.result(), attribute_path, reads, types, objects):
                return False
        elif _is_lasting(node.result().static_type):
            reads.setdefault(attribute_path, []).append(node)
        else:
            return False
    return True


def _is_module(type_: Type) -> bool:
    return isinstance(type_, ClassType) and bool(getattr(type_.definition, "is_module", False))


def _is_lasting(type_: Type) -> bool:
    """Whether a value of the type stays what it is while a method runs, its elements aside, or may be seen to."""
    match type_:
        case TensorType() | IntType() | FloatType() | BoolType() | StringType() | NoneType():
            return True
        case EnumType() | DeviceType():
            return True
        case OptionalType():
            return isinstance(type_.element, TensorType | IntType | FloatType)
        case ListType():
            return isinstance(type_.element, TensorType | IntType | FloatType)
        case TupleType():
            return type_.name is None and all(isinstance(t, IntType | FloatType | BoolType) for t in type_.elements)
        case _:
            return False


def _gives_away(graph: Graph, hidden: Sequence[Value]) -> bool:
    """Whether a tensor that is read may be a result itself: its user would miss what makes it a parameter.

    Lists are taken apart, so that nobody may change or keep them.
    """
    tensors = [v for v in hidden if isinstance(v.static_type, TensorType | OptionalType | ListType)]
    if not tensors:
        return False
    facts = AliasAnalysis(graph, apart=True)
    if any(map(facts.is_returned, tensors)):
        return True
    lists = [v for v in tensors if isinstance(v.static_type, ListType)]
    return bool(lists) and any(map(AliasAnalysis(graph).is_written, lists))  # under whatever name
