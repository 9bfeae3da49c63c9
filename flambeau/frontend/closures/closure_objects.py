"""Nested functions as values, which texts may return: a function of what it reads around it, beside those values.

def f(x: int):                    %back : Function = prim::Closure()      with the graph
    def back(g: int):             %around : (int) = prim::TupleConstruct(%x)
        return g * x         →    %pair : (Function, (int)) = prim::TupleConstruct(%back, %around)
    return x, back                graph(%context : (int), %g : int): …
"""

from __future__ import annotations

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.captured_parameters import captured_parameters
from flambeau.frontend.closures.captures import Closure
from flambeau.frontend.closures.template import Template
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.clone import insert_graph
from flambeau.ir.graph import Graph, Value
from flambeau.schema.types import FunctionType
from flambeau.util.source import SourceRange

ASSIGNS = "a function that assigns variables around it can be called, not held: '{name}'"


def holds_closures(e: Emitter) -> bool:
    """Whether nested functions are values of the graph here, as in functions compiled from a text."""
    return bool(getattr(e.scope.resolver, "holds_closures", False))


def closure_object(e: Emitter, where: SourceRange, closure: Closure, template: Template) -> Value:
    """The function and what it reads around it, as a tuple. Raises CompileError for one that assigns variables."""
    captured = captured_parameters(e, where, closure, {}, template.tree, ASSIGNS.format(name=template.tree.name))
    values, extra = list(captured.values.values()), captured.trees(where)
    bound = Bound(captured.types, captured.constants, extra, aliases=captured.aliases, symbols=closure.symbols)
    compiled = template.compile(template.tree, e.scope.resolver, defaults=template.defaults, bound=bound)
    context = pack_tuple(e, values)
    inner = Graph(template.tree.name)
    parameter = inner.add_parameter(context.static_type, "context")
    own = [
        inner.add_parameter(v.static_type, v.name if v.has_name else "")
        for v in compiled.graph.parameters[: -len(extra) or None]
    ]
    around = inner.insert("prim::TupleUnpack", (parameter,), [v.static_type for v in values]).results
    for result in insert_graph(inner, compiled.graph, [*own, *around]):
        inner.add_return(result)
    function = e.graph.insert("prim::Closure", (), (FunctionType(),), Subgraph=inner).result()
    return pack_tuple(e, [function, context])
