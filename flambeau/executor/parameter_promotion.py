"""Methods of modules as functions of what they read: `self.layer.weight` becomes a parameter that nobody passes.

    graph(%self : Net, %x : Tensor):                       graph(%x : Tensor, %layer_weight : Tensor):
      %layer = prim::GetAttr[name="layer"](%self)      →     %y = aten::matmul(%x, %layer_weight)
      %weight = prim::GetAttr[name="weight"](%layer)         return (%y)
      %y = aten::matmul(%x, %weight)
      return (%y)

Native code knows no objects; this way it serves whole methods. What a method assigns, gives away, or reads as a list
stays where it is: such a method keeps its object. Bools, texts, members of enums and None are written into the graph,
one function for each combination met (`training` decides what a dropout is), and so are numbers that alone decide
which way a method takes, as long as few come. Whether a parameter asks for gradients, and whether they are recorded at
all, are such bools as well, where the method looks at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.autodiff.writes import writes_first
from flambeau.executor.assigned import READ, WRITE, changes_nothing_else, make_variables, may_be_variable
from flambeau.executor.inlined_graph import own_graph
from flambeau.executor.promoted_answers import Path, answer_about, answer_mode, asks_of_computed, deciding, tells_apart
from flambeau.executor.promoted_containers import (
    arguments_of,
    is_constant_dict,
    is_lasting_dict,
    is_only_looked_into,
    key_of,
    may_raise_at_writes,
    raise_at_writes,
    shape_of,
    take_apart,
    write_in,
)
from flambeau.executor.stored import entry_of
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import (
    constant_pooling,
    constant_propagation,
    dce,
    lower_dicts,
    narrow_tasks,
    remove_dropout,
    settle_ways,
)
from flambeau.program.function import Function
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.types import (
    BoolType,
    ClassType,
    DeviceType,
    DictType,
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

PROMOTION: Final = "promotion"
"""What the cache keeps of each method that a plan was made of."""
MAX_VARIANTS: Final = 8
"""Combinations of bools and texts for which a method has a function of its own."""
MAX_WITH_NUMBERS: Final = 4
"""Combinations up to which the numbers that decide are written in too; from then on they are arguments."""
MOST_ITEMS: Final = 64
"""Items of a dict that a function takes apart, at most."""
_WRITTEN_IN = (BoolType, StringType, NoneType, EnumType, DeviceType)


class Promotion:
    """A method without its object: which attributes its functions take, and the functions."""

    def __init__(
        self, function: Function, make: Callable[[], Graph], paths: Sequence[Path], hidden: Sequence[Type],
        returned: Type, deciding: Sequence[int] = (), assigned: int = 0,
    ) -> None:  # fmt: skip
        """`make` gives the graph when a function of it has to be made; `hidden` are the types of its last parameters,
        `returned` that of its result, which depend on no attribute's value. `deciding` are the hidden parameters that
        are numbers by which alone the method chooses ways.
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
        always = tuple([
            k < read and (isinstance(t, _WRITTEN_IN) or is_constant_dict(t)) for k, t in enumerate(hidden)
        ])  # fmt: skip
        with_numbers = tuple([fixed or k in deciding for k, fixed in enumerate(always)])
        self._choices = ((with_numbers, MAX_WITH_NUMBERS),) * bool(deciding) + ((always, MAX_VARIANTS),)
        """Which of the attributes are constants of a function, and how many functions there may be that way."""
        self._has_dicts = DictType in map(type, hidden)
        self._is_checked = self._has_dicts or assigned > 0
        self._needing: dict[Function, bool] = {}
        """Of functions of methods with dicts, or that assign, whether the object is needed after all."""
        self.variants_cache: SpecialisationCache[Hashable, Function] = SpecialisationCache(
            f"functions of {function.short_name} without its object", MAX_VARIANTS, describe=str
        )

    def variant(self, values: Sequence[Any]) -> tuple[Function, tuple[bool, ...]] | None:
        """The function for attributes of these values, and which of them are written in: it takes the others.

        None where there are functions for too many combinations already, and where a dict has more than
        `MOST_ITEMS`: a graph would have a value for each.
        """
        if max([len(v) for v in values if isinstance(v, dict)], default=0) > MOST_ITEMS:
            return None
        for is_written_in, most in self._choices:
            known = zip(values, is_written_in, strict=True)
            key = (is_written_in, *[key_of(v, is_written_in=fixed) for v, fixed in known])
            variant = self.variants_cache.get(key)
            if variant is None and len(self.variants_cache) < most:
                function = partial(self._function, key, values, is_written_in)
                variant = self.variants_cache.get_or_make(key, lambda _: function())  # noqa: B023  (called at once)
            if variant is not None:
                return None if self._is_checked and self._needs_object(variant) else (variant, is_written_in)
        return None

    def _needs_object(self, variant: Function) -> bool:
        """Whether a function gives a tensor of a dict away, or cannot be run again once it fails or comes to change a
        dict: a dropout in training draws.
        """
        if variant not in self._needing:
            entry = entry_of(variant, "needs object")
            known = None if entry is None else entry.read()
            if known is None:
                known = self._finds_need(variant.graph)
                if entry is not None:
                    entry.keep(known)
            self._needing[variant] = known
        return self._needing[variant]

    def _finds_need(self, graph: Graph) -> bool:
        """What `_needs_object` says, from the graph of the function."""
        own = graph.parameters[len(self._schema.arguments) - 1 :]
        is_run_again = self.assigned or may_raise_at_writes(graph)
        gives_away = self._has_dicts and _gives_away(graph, own)
        return gives_away or (bool(is_run_again) and not _may_run_again(graph))

    @no_collection()
    def _specialised(self, values: Sequence[Any], is_written_in: Sequence[bool]) -> Graph:
        """The graph of a variant: `values` are those written in, and of lists and dicts what `shape_of` says."""
        graph = clone_graph(self._graph())
        first = len(graph.parameters) - len(values)
        for number in range(len(values) - 1, -1, -1):
            value, index = values[number], first + number
            if is_written_in[number]:
                write_in(graph, index, value)
            elif isinstance(value, tuple | dict):
                take_apart(graph, index, value)
        constant_propagation.do(graph, values_only=True)
        lower_dicts.do(graph)
        if asks_of_computed(graph):
            settle_ways.answer_early(graph)
        dce.do(graph, keeps_writes=True)
        constant_pooling.do(graph)
        return graph

    def _function(self, key: tuple[Any, ...], values: Sequence[Any], is_written_in: Sequence[bool]) -> Function:
        schema = self._schema
        taken: list[Argument] = []
        for path, own, fixed, value in zip(self.paths, self._hidden, is_written_in, values, strict=True):
            if not fixed:
                taken += arguments_of(".".join(path), own, value)
        arguments = (*(replace(a, kwarg_only=False) for a in schema.arguments[1:]), *taken)
        returns = (Argument("", self._returned),) if self.assigned else schema.returns
        shapes = [shape_of(v, is_written_in=fixed) for v, fixed in zip(values, is_written_in, strict=True)]
        own_schema = FunctionSchema(schema.name, "", arguments, returns)
        make = partial(self._specialised, shapes, is_written_in)
        function = Function(self._name, _once(make), own_schema, doc=self._doc)
        if self._provenance is not None:
            function.provenance = self._provenance.part("variant", repr(key))
        return function


def _may_run_again(graph: Graph) -> bool:
    """Whether a graph draws nothing, writes nothing and prints nothing: of its dropouts none is in training."""
    copy = clone_graph(graph)
    remove_dropout.do_checked(copy)
    return changes_nothing_else(copy)


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
    entry, graph_entry = entry_of(function, PROMOTION), entry_of(function, "promoted graph")
    if entry is None or graph_entry is None:
        promoted = _promote(function)
        return None if promoted is None else promoted.promotion(function, promoted.about())

    def graph() -> Graph:
        known = graph_entry.read()
        if isinstance(known, Graph):
            return known
        promoted = _promote(function)
        assert promoted is not None  # as it was when its entry was made
        return promoted.graph

    known = entry.read()
    if known is None:
        promoted = _promote(function)
        about: tuple[Any, ...] = () if promoted is None else promoted.about()
        entry.keep(("promotion", *about))
        if promoted is None:
            return None
        graph_entry.keep(promoted.graph)
        return promoted.promotion(function, about)
    if len(known) == 1:
        return None
    _, paths, hidden, returned, decide, assigned = known
    return Promotion(function, graph, paths, hidden, returned, decide, assigned)


@dataclass(frozen=True, slots=True)
class _Promoted:
    """A graph in which parameters stand for what was read of an object."""

    graph: Graph
    paths: tuple[Path, ...]
    assigned: int

    def about(self) -> tuple[tuple[Path, ...], tuple[Type, ...], Type, tuple[int, ...], int]:
        """What is known of it without the graph, as `Promotion` takes it."""
        count = len(self.graph.parameters) - len(self.paths)
        hidden = tuple(v.static_type for v in self.graph.parameters[count:])
        returned = self.graph.returns[0].static_type if self.graph.returns else NoneType()
        decide = deciding(self.graph, self.graph.parameters[count : count + len(self.paths) - self.assigned])
        return self.paths, hidden, returned, decide, self.assigned

    def promotion(self, function: Function, about: tuple[Any, ...]) -> Promotion:
        """How the function whose graph it was runs; `about` is what `self.about()` gave."""
        return Promotion(function, lambda: self.graph, *about)


@no_collection()
def _promote(function: Function) -> _Promoted | None:
    if not function.graph.parameters or not _is_module(function.graph.parameters[0].static_type):
        return None
    graph = own_graph(function)
    narrow_tasks.do(graph)
    owner, count = graph.parameters[0], len(graph.parameters) - 1
    _drop_idle_assignments(graph)
    reads: dict[Path, list[Node]] = {}
    types: dict[Path, Type] = {}
    objects: list[Node] = []
    if not _collect(owner, (), reads, types, objects) or any(map(tells_apart, graph.listed_nodes())):
        return None
    if types and not changes_nothing_else(graph, dropouts_too=True):
        return None
    assigned = {path: reads.pop(path) for path in types}
    origins = _make_parameters(graph, reads)
    raise_at_writes(graph, [v for v in origins if isinstance(v.static_type, DictType)])
    aliases: list[AliasAnalysis] = []
    flags = answer_about(graph, origins, aliases)
    if flags is None:
        return None
    modes = answer_mode(graph)
    if assigned and not make_variables(graph, assigned, types):
        return None
    for node in reversed(objects):
        node.erase()
    graph.body.remove_parameter(0)
    if _gives_away(graph, graph.parameters[count : len(graph.parameters) - len(types)], [] if types else aliases):
        return None
    return _Promoted(graph, (*reads, *flags, *modes, *types), len(types))


def _drop_idle_assignments(graph: Graph) -> None:
    """Erase assignments of what an attribute is already: `self.count += 1` writes a tensor in place, and assigns it.

    Only where nothing else assigns an attribute of that name.
    """
    names = Counter(node.attribute("name") for node in graph.find_all(WRITE))
    idle = [node for node in graph.find_all(WRITE) if _is_idle(node)]
    idle_counts = Counter(node.attribute("name") for node in idle)
    for node in idle:
        if idle_counts[node.attribute("name")] == names[node.attribute("name")]:
            node.erase()


def _is_idle(assignment: Node) -> bool:
    """Whether what is assigned was read of the same attribute, and written in place since."""
    value = assignment.operand(1)
    while value.defining_node is not None and writes_first(value.defining_node):
        value = value.defining_node.operand(0)
    node = value.defining_node
    return (
        node is not None
        and node.op == READ
        and node.operand(0) is assignment.operand(0)
        and node.attribute("name") == assignment.attribute("name")
    )


def _make_parameters(graph: Graph, reads: Mapping[Path, Sequence[Node]]) -> dict[Value, Path]:
    """New parameters in the place of what is read, and which of them is what."""
    origins: dict[Value, Path] = {}
    for path, nodes in reads.items():
        value = graph.add_parameter(nodes[0].result().static_type, "_".join(path))
        origins[value] = path
        for node in nodes:
            node.result().replace_uses_with(value)
            node.erase()
    return origins


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
        elif is_lasting_dict(node.result().static_type):
            if not is_only_looked_into(node.result()):
                return False
            reads.setdefault(attribute_path, []).append(node)
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


def _gives_away(graph: Graph, hidden: Sequence[Value], known: Sequence[AliasAnalysis] = ()) -> bool:
    """Whether a tensor that is read may be a result itself: its user would miss what makes it a parameter. `known` may
    hold what is known of a graph whose parameters share nothing.

    Lists are taken apart, so that nobody may change or keep them.
    """
    tensors = [v for v in hidden if isinstance(v.static_type, TensorType | OptionalType | ListType)]
    if not tensors:
        return False
    aliases = known[0] if known else AliasAnalysis(graph, apart=True)
    if any(map(aliases.is_returned, tensors)):
        return True
    lists = [v for v in tensors if isinstance(v.static_type, ListType)]
    return bool(lists) and any(map(AliasAnalysis(graph).is_written, lists))  # under whatever name
