"""Passes over graphs by the names that TorchScript's users run them by: `run_pass("dce", graph)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flambeau.analysis import shapes
from flambeau.interpreter.machine import interpret
from flambeau.ir import graph as graphs
from flambeau.ir.constants import TensorLiteral
from flambeau.ir.parser import parse_ir as parse
from flambeau.ir.verify import verify
from flambeau.jit.function import ScriptFunction
from flambeau.jit.torch_names.graph import Graph
from flambeau.jit.unit import create_function_from_graph
from flambeau.passes import (
    canonicalize,
    constant_pooling,
    constant_propagation,
    cse,
    dce,
    inline,
    inline_tasks,
    loop_unrolling,
    lower_tuples,
    peephole,
    remove_dropout,
    remove_mutation,
    run_decompositions,
)
from flambeau.schema.dtype import float32
from flambeau.schema.types import TENSOR, TensorType, Type
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor

TENSOR_CONSTANT = "the graph has a tensor constant, {text}: parse_ir(text, parse_tensor_constants=True) reads it"
NO_SIZES = "neither the tensor constant {text} nor its type says of which sizes it is"
IN_TRAINING = "Dropout removal module in training mode is not yet supported: call .eval() on it first"
UNKNOWN = "there is no pass '{name}' here; there are {names}"


def _peephole(graph: graphs.Graph, disable_shape_peepholes: bool = False, addmm_fusion_enabled: bool = False) -> bool:
    return peephole.do(graph)


def _values_only(graph: graphs.Graph) -> bool:
    return constant_propagation.do(graph, values_only=True)


def _all_tuples(graph: graphs.Graph) -> bool:
    return lower_tuples.do(graph, signature=True)


PASSES: Final[dict[str, Callable[..., Any]]] = {
    "canonicalize": canonicalize.do,
    "constant_pooling": constant_pooling.do,
    "constant_propagation": constant_propagation.do,
    "constant_propagation_immutable_types": _values_only,
    "cse": cse.do,
    "dce": dce.do,
    "erase_shape_information": shapes.erase,
    "inline": inline.do,
    "inline_fork_wait": inline_tasks.do,
    "lint": verify,
    "loop_unrolling": loop_unrolling.do,
    "lower_all_tuples": _all_tuples,
    "peephole": _peephole,
    "propagate_shapes": shapes.propagate,
    "remove_dropout": remove_dropout.do,
    "remove_mutation": remove_mutation.do,
    "run_decompositions": run_decompositions.do,
}
"""By TorchScript's names, without `_jit_pass_`."""


def run_pass(name: str, graph: Any, *options: Any) -> Any:
    """Run a pass over a graph, or over `forward` of a module's handle, which is given back. Raises RuntimeError, with the names, for a pass that is not here.

    >>> g = run_pass("dce", parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%x)"))
    >>> [n.kind() for n in g.nodes()]
    []
    """
    found = PASSES.get(name.removeprefix("_jit_pass_"))
    if found is None:
        raise RuntimeError(UNKNOWN.format(name=name, names=", ".join(PASSES)))
    if isinstance(graph, ModuleHandle):
        _run_on_module(name.removeprefix("_jit_pass_"), graph)
    else:
        found(graph.ours if isinstance(graph, Graph) else graph, *options)
    return graph


def _run_on_module(name: str, module: ModuleHandle) -> None:
    if name == "remove_dropout" and module.ours.training:
        raise RuntimeError(IN_TRAINING)
    function = module._get_method("forward").script_function
    copy = clone_graph(function.graph)
    if PASSES[name](copy):
        function.graph = copy
        attach(function)
        module.ours._methods.clear()


def parse_ir(text: str, parse_tensor_constants: bool = False) -> Graph:
    """The graph that a text is. Raises ParseError, and RuntimeError for tensor constants unless these are wanted.

    A text has no elements of tensors but those of a single number: other tensor constants are of the right dtype and
    sizes, their elements zero.
    """
    return Graph(parse(text, _tensor_like if parse_tensor_constants else _no_tensor))


def _tensor_like(literal: TensorLiteral, type_: Type) -> Tensor:
    known = type_ if isinstance(type_, TensorType) else TENSOR
    dtype = literal.dtype or known.dtype or float32
    if literal.value is not None:
        return tensor(literal.value if dtype.is_complex else literal.value.real, dtype=dtype)
    sizes = literal.shape if literal.shape is not None else known.sizes
    if sizes is None or None in sizes:
        raise RuntimeError(NO_SIZES.format(text=literal.text))
    return tensor(np.zeros(sizes), dtype=dtype)


def _no_tensor(literal: TensorLiteral, type_: Type) -> Tensor:
    raise RuntimeError(TENSOR_CONSTANT.format(text=literal.text))


def _create_function_from_graph(name: str, graph: Graph | graphs.Graph) -> ScriptFunction:
    """A function of a graph."""
    return create_function_from_graph(name, graph.ours if isinstance(graph, Graph) else graph)


def _jit_interpret_graph(graph: Graph | graphs.Graph, inputs: tuple[Any, ...]) -> Any:
    """Run a graph once: its result, or a tuple of several."""
    results = interpret(graph.ours if isinstance(graph, Graph) else graph, inputs)
    return results[0] if len(results) == 1 else results
