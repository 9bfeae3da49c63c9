"""Graphs of Python code: traced from functions and modules, changed, and run as modules; see `docs/fx.md`.

>>> import flambeau
>>> from flambeau import fx
>>> fx.symbolic_trace(lambda x: x.relu() + 1)(flambeau.tensor([-1.0, 1.0]))
tensor([1., 2.])
"""

from __future__ import annotations

from flambeau.fx.being_traced import compatibility as compatibility
from flambeau.fx.being_traced import is_fx_tracing as is_fx_tracing
from flambeau.fx.concrete_arguments import PH
from flambeau.fx.concrete_arguments import PHBase as PHBase
from flambeau.fx.functionalize import functionalize, functionalized
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.interpreter import Interpreter, Transformer
from flambeau.fx.make_fx import make_fx
from flambeau.fx.node import Node, has_side_effect, map_arg
from flambeau.fx.proxy import Proxy, TraceError, TracerBase
from flambeau.fx.python_code import PythonCode
from flambeau.fx.rewriter import Match, replace_pattern, replace_pattern_with_filters
from flambeau.fx.rewriter import ReplacedPatterns as ReplacedPatterns
from flambeau.fx.tracer import Tracer, symbolic_trace, wrap
from flambeau.fx.tree_code_generation import tree_flatten_spec as tree_flatten_spec
from flambeau.util.import_paths import provide as _provide

__getattr__ = _provide(
    __name__,
    {
        "_compatibility": "compatibility",
        "_pytree": "tree_flatten_spec",
        "_symbolic_trace": "PH PHBase Tracer is_fx_tracing symbolic_trace wrap",
        "subgraph_rewriter": "Match ReplacedPatterns replace_pattern replace_pattern_with_filters",
    },
)

__all__ = [
    "PH",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Match",
    "Node",
    "Proxy",
    "PythonCode",
    "TraceError",
    "Tracer",
    "TracerBase",
    "Transformer",
    "functionalize",
    "functionalized",
    "has_side_effect",
    "make_fx",
    "map_arg",
    "replace_pattern",
    "replace_pattern_with_filters",
    "symbolic_trace",
    "wrap",
]
