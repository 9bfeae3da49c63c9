"""Methods that call modules by an interface, for an object that says which classes they are of.

```
%op : InterfaceType<Op> = prim::GetAttr[name="op"](%self)          %op : Double = prim::GetAttr[name="op"](%self)
%y : Tensor = prim::CallMethod[name="forward"](%op, %x)      →     %y : Tensor = aten::mul(%x, %two)
```

Who calls such a function looks each time whether the modules are still those that it was made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.executor.inlined_graph import has_node, inlined_graph
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import inline
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import ClassType, InterfaceType
from flambeau.util.kept_on import KeptOn
from flambeau.util.locks import Lock
from flambeau.util.no_collection import no_collection
from flambeau.util.record import dataclass

MOST: Final = 8
"""Combinations of classes for which a method has a function of its own."""
Path = tuple[str, ...]
_READ: Final = "prim::GetAttr"


@dataclass(frozen=True, slots=True)
class _Known:
    """A function for objects whose attributes are of certain classes."""

    graph: Graph
    """The graph of the method, inlined."""
    classes: tuple[tuple[Path, ClassType], ...]
    function: Function

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the attributes are."""
        return tuple([path for path, _ in self.classes])

    def fits(self, graph: Graph, owner: ScriptObject) -> bool:
        """Whether it is the one for an object."""
        return self.graph is graph and all(
            (own_class := _class_of(owner, path)) is not None and own_class.definition is class_.definition
            for path, class_ in self.classes
        )


_known: KeptOn[Function, tuple[_Known, ...]] = KeptOn()
_lock = Lock()


def for_classes_of(function: Function, owner: ScriptObject) -> tuple[Function, tuple[Path, ...]]:
    """A method with the classes of what is in the object in the place of interfaces, and where in the object that is;
    itself where it has none, or has met too many classes.
    """
    if not has_node(function, "interfaces", _reads_interface, before_inlining=True):
        return function, ()
    graph = inlined_graph(function)
    with _lock:
        known = _known.get(function) or ()
        for one in known:
            if one.fits(graph, owner):
                return one.function, one.paths
        if len(known) >= MOST:
            return function, ()
        specialised = _made(function, graph, owner)
        _known[function] = (*known, specialised)
        return specialised.function, specialised.paths


def _reads_interface(node: Node) -> bool:
    return node.op == _READ and isinstance(node.result().static_type, InterfaceType)


@no_collection()
def _made(function: Function, graph: Graph, owner: ScriptObject) -> _Known:
    copy = clone_graph(graph)
    classes: dict[Path, ClassType] = {}
    while reads := [(n, p) for n in copy.all_nodes() if _reads_interface(n) and (p := _path(n.result())) is not None]:
        exact = [(node, path, class_) for node, path in reads if (class_ := _class_of(owner, path)) is not None]
        for node, path, class_ in exact:
            classes[path] = class_
            node.result().set_type(class_)
        if not exact or not inline.do(copy, is_folding=True):
            break
    specialised = Function(function.name, copy, function.schema, doc=function.doc)
    return _Known(graph, tuple(classes.items()), specialised)


def _path(value: Value) -> Path | None:
    """The names of attributes from the first parameter on to a value; None where it comes from elsewhere."""
    names: list[str] = []
    while value.defining_node is not None:
        node = value.defining_node
        if node.op != _READ:
            return None
        names.append(node.attribute("name"))
        value = node.operand(0)
    parameters: Sequence[Value] = value.owner_block.graph.parameters
    return tuple(reversed(names)) if parameters and value is parameters[0] else None


def _class_of(owner: ScriptObject, path: Path) -> ClassType | None:
    """The class of what is at the end of a path; None where there is no object."""
    value: Any = owner
    for name in path:
        if not isinstance(value, ScriptObject) or value.type.definition.attribute(name) is None:
            return None
        value = value.values[value.type.definition.slot(name)]
    return value.type if isinstance(value, ScriptObject) else None
