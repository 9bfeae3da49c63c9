"""`no_grad()` and its like in archives: objects of classes that the archive brings along.

%c : Any = ^no_grad()        %c : __torch__.flambeau.tensor.grad_mode.no_grad = prim::CreateObject()
prim::Enter(%c)         →    prim::CallMethod[name="__init__"](%c)
...                          prim::Enter(%c)    ...

Of `strict_fusion()`, which looks at how a program was compiled and not at what it computes, nothing is left.
"""

from __future__ import annotations

from functools import cache

from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node
from flambeau.ir.walk import subgraphs
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import BOOL, INT, NONE, STRING
from flambeau.serialize.archive_format import AUTOCAST_CLASS
from flambeau.serialize.python_print_resolver import read_code
from flambeau.tensor.autocast import autocast
from flambeau.tensor.grad_mode import enable_grad, inference_block, no_grad, set_grad_enabled
from flambeau.util.names import qualified_name

MARK = "prim::StrictFusion"
_GRAD_MODES = {no_grad: ("", "False"), enable_grad: ("", "True"), set_grad_enabled: (", mode: bool", "mode"),
               inference_block: (", mode: bool=True", "torch.__not__(mode)")}  # fmt: skip
"""The parameters of `__init__`, and whether gradients are recorded inside."""
_GRAD_MODE = """
def __init__(self{parameters}) -> None:
  self.before = False
  self.inside = {inside}

def __enter__(self) -> None:
  self.before = torch.is_grad_enabled()
  torch.set_grad_enabled(self.inside)

def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
  torch.set_grad_enabled(self.before)
"""
_PRECISION = """
def __init__(self, device_type: str, dtype: Optional[int], enabled: bool) -> None:
  self.device = device_type
  self.fast_dtype = unchecked_cast(int, dtype)
  self._enabled = enabled

def __enter__(self) -> None:
  pass

def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
  pass
"""
"""A block in mixed precision does nothing by itself: who runs the program knows the class by its name, and its
attributes."""


def with_context_objects(graph: Graph) -> Graph:
    """The graph with objects in the place of Python's contexts; itself if it has none."""
    if not any(node.op == MARK or _replacement(node) for part in subgraphs(graph) for node in part.listed_nodes()):
        return graph
    copy = clone_graph(graph)
    for part in subgraphs(copy):
        for node in part.listed_nodes():
            definition = _replacement(node)
            if definition is not None:
                _replace(part, node, definition)
            elif node.op == MARK:
                node.erase()
    return copy


def _replacement(node: Node) -> ClassDefinition | None:
    """The class that stands for the context that a node makes; None for other nodes."""
    python = node.attributes.get("callable") if node.op.startswith("^") else None
    if python in _GRAD_MODES:
        return context_class(python)
    return context_class(python) if python is autocast else None


def _replace(graph: Graph, node: Node, definition: ClassDefinition) -> None:
    parameters = definition.methods["__init__"].schema.arguments[1:]
    operands = list(node.operands[: len(parameters)])
    with graph.inserting(node), graph.at_range(node.range):
        node_ = graph.insert("prim::CreateObject", (), (definition.type,)).result()
        operands += [insert_constant(graph, p.default) for p in parameters[len(operands) :]]
        graph.insert("prim::CallMethod", (node_, *operands), (NONE,), name="__init__")
    context = node.result()
    for user, _ in list(context.uses()):
        if user.op == "prim::Enter":
            user.result().set_type(NONE)
    context.replace_uses_with(node_)
    node.erase()


@cache
def context_class(python: type) -> ClassDefinition:
    """The class of the objects that stand for contexts of a Python class."""
    if python is autocast:
        definition = ClassDefinition(AUTOCAST_CLASS)
        for name, type_ in (("device", STRING), ("fast_dtype", INT), ("_enabled", BOOL)):
            definition.add_attribute(name, type_)
        text = _PRECISION
    else:
        definition = ClassDefinition(qualified_name(python))
        definition.add_attribute("before", BOOL)
        definition.add_attribute("inside", BOOL)
        parameters, inside = _GRAD_MODES[python]
        text = _GRAD_MODE.format(parameters=parameters, inside=inside)
    for method in read_code(text, self_type=definition.type):
        definition.add_method(method.short_name, method)
    return definition
