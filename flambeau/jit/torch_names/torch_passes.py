"""Passes over graphs by the names that TorchScript's users run them by: `run_pass("dce", graph)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.autodiff.graph_gradient import Gradient, differentiate_graph
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.executor.executor import attach
from flambeau.interpreter.machine import interpret
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.frozen import opened
from flambeau.ir.graph import Graph, Node
from flambeau.ir.literals import TensorLiteral
from flambeau.ir.parser import parse_ir as parse
from flambeau.ir.torchscript.inferred_type import InferredType
from flambeau.ir.torchscript.types import Type as ScriptType
from flambeau.jit.compilation_unit import create_function_from_graph
from flambeau.jit.function import ScriptFunction
from flambeau.jit.infer import NoTypeError, shared_type
from flambeau.jit.symbolic_shapes.compute import ShapeComputeGraphMapping, build_compute
from flambeau.jit.symbolic_shapes.registry import register, shape_graph
from flambeau.jit.torch_names.handle import ModuleHandle
from flambeau.jit.torch_names.pass_table import CHANGES, CHANGES_MEANING, PASSES
from flambeau.passes import canonicalize, lower_graph, retype, rewrite_patterns
from flambeau.program.function import Function
from flambeau.program.instances import definition_of
from flambeau.schema.dtype import float32
from flambeau.schema.types import TENSOR, TensorType, Type
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor

TENSOR_CONSTANT = "the graph has a tensor constant, {text}: parse_ir(text, parse_tensor_constants=True) reads it"
NO_SIZES = "neither the tensor constant {text} nor its type says of which sizes it is"
IN_TRAINING = "Dropout removal module in training mode is not yet supported: call .eval() on it first"
NO_GRAPH = "_jit_pass_{name}(): incompatible function arguments: expected a Graph, but got a {kind}"
NO_TEXT = "parse_ir(): incompatible function arguments: expected the text of a graph, but got a {kind}"
UNKNOWN = "there is no pass '{name}' here; there are {names}"


def run_pass(name: str, graph: Any, *options: Any) -> Any:
    """Run a pass over a graph, or over `forward` of a module's handle, which is given back.

    Raises RuntimeError, with the names, for a pass that is not here.

    >>> g = run_pass("dce", parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%x)"))
    >>> [n.kind() for n in g.nodes()]
    []
    """
    name = name.removeprefix("_jit_pass_")
    if name not in PASSES:
        raise RuntimeError(UNKNOWN.format(name=name, names=", ".join(PASSES)))
    _run(name, graph, *options)
    return graph


def call_pass(name: str, graph: Any, *options: Any, **named: Any) -> bool | None:
    """Run a pass over a graph, or over `forward` of a module's handle: whether it changed anything, if it says that.

    What was compiled of a graph stays after passes which keep its meaning; after others the next call runs what they
    made.

    Raises TypeError for what is no graph, FrozenGraphError for the graph of a plan, which nothing would run then.

    >>> twice = "graph(%x):\\n  %y = aten::neg(%x)\\n  %z = aten::neg(%x)\\n"
    >>> g = parse_ir(twice + "  %w = aten::mul(%y, %z)\\n  return (%w)")
    >>> call_pass("cse", g), call_pass("cse", g), call_pass("dce", g)
    (True, False, None)
    """
    changed = _run(name, graph, *options, **named)
    return bool(changed) if name in CHANGES else None


def _run(name: str, graph: Any, *options: Any, **named: Any) -> Any:
    if isinstance(graph, ModuleHandle):
        return _run_on_module(name, graph)
    if not isinstance(graph, Graph):
        raise TypeError(NO_GRAPH.format(name=name, kind=type(graph).__name__))
    if name in CHANGES_MEANING:
        return PASSES[name](graph, *options, **named)
    with opened(graph):  # what was compiled of the graph means what the graph will
        return PASSES[name](graph, *options, **named)


def _run_on_module(name: str, module: ModuleHandle) -> bool:
    if name == "remove_dropout" and getattr(module.ours, "training", False):
        raise RuntimeError(IN_TRAINING)
    function = module._get_method("forward").script_function
    copy = clone_graph(function.graph)
    changed = bool(PASSES[name](copy))
    if changed:
        _put(module, function, copy)
    return changed


def _put(module: ModuleHandle, function: Function, graph: Graph) -> None:
    """Give a method of a module another graph."""
    function.graph = graph
    attach(function)
    module.ours._methods.clear()


def _jit_set_autocast_mode(mode: bool) -> bool:
    """True: programs have mixed precision written out, always. Raises ValueError for False.

    >>> _jit_set_autocast_mode(True)
    True
    """
    if not mode:
        raise ValueError(
            "_jit_set_autocast_mode(False): programs always compute in the mixed precision around them. "
            "Turn it off for a block: with flambeau.autocast('cpu', enabled=False)"
        )
    return True


def _jit_pass_custom_pattern_based_rewrite_graph(
    pattern: str, replacement: str, graph: Graph, value_name_pairs: Sequence[tuple[str, str]] = ()
) -> None:
    """Replace a pattern in a graph; both are texts. Pairs of a name in the replacement and one in the pattern say which
    node's place in the source goes to which. Raises RuntimeError for texts that do not fit each other.

    >>> g = parse_ir("graph(%x):\\n  %y = aten::mul(%x, %x)\\n  return (%y)")
    >>> square = "graph(%a):\\n  %b = aten::square(%a)\\n  return (%b)"
    >>> _jit_pass_custom_pattern_based_rewrite_graph(square.replace("square(", "mul(%a, "), square, g)
    >>> [n.kind() for n in g.nodes()]
    ['aten::square']
    """
    try:
        rewrite_patterns.do(graph, parse(pattern), parse(replacement), sources=value_name_pairs)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def _jit_pass_custom_pattern_based_rewrite(pattern: str, replacement: str, module: ModuleHandle) -> None:
    """Replace a pattern in all methods of a module, and so of all modules of its type: they share their methods.

    Raises RuntimeError for texts that do not fit each other.

    >>> import flambeau
    >>> class Squashed(flambeau.nn.Module):
    ...     def forward(self, x):
    ...         return flambeau.tanh(x)
    >>> m = flambeau.script(Squashed())
    >>> tanh = "graph(%x):\\n  %y = aten::tanh(%x)\\n  return (%y)"
    >>> _jit_pass_custom_pattern_based_rewrite(tanh, tanh.replace("tanh", "abs"), m._c)
    >>> m(flambeau.tensor([-2.0]))
    tensor([2.])
    """
    for method in module._get_methods():
        copy = clone_graph(method.script_function.graph)
        _jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, copy)
        _put(module, method.script_function, copy)


def _jit_pass_lower_graph(graph: Graph, module: ModuleHandle) -> tuple[Graph, list[Tensor]]:
    """A copy of a method's graph without its module, whose tensors come in as further inputs, and these tensors.

    Raises RuntimeError where the graph does more with the module than read it.

    >>> import flambeau
    >>> c = flambeau.script(flambeau.nn.Linear(2, 1))._c
    >>> lowered, tensors = _jit_pass_lower_graph(c._get_method("forward").graph, c)
    >>> [v.debugName() for v in lowered.inputs()], [t.dim() for t in tensors]
    (['input.1', 'weight', 'bias'], [2, 1])
    """
    return lower_graph.do(graph, module.ours.script_object)


def _jit_try_infer_type(obj: Any) -> InferredType:
    """The type of a value, or why there is none.

    >>> _jit_try_infer_type([1]).type(), _jit_try_infer_type(print).success()
    (List[int], False)
    """
    try:
        return InferredType(ScriptType.of(shared_type(obj)))
    except NoTypeError as error:
        return InferredType(str(error))


def _jit_differentiate(graph: Graph) -> Gradient:
    """The derivative of a graph whose types say what is known of its tensors; the graph stays as it is.

    Raises RuntimeError, with the reason, for what has no derivative as a graph.

    >>> graph = parse_ir("graph(%x : Float(3)):\\n  %y : Float(3) = aten::exp(%x)\\n  return (%y)")
    >>> gradient = _jit_differentiate(graph)
    >>> gradient.df_input_vjps, gradient.df_output_vjps
    ((0,), (0,))
    """
    try:
        return differentiate_graph(graph)
    except NotDifferentiableError as error:
        raise RuntimeError(f"the graph has no derivative: {error}") from None


def _propagate_shapes(graph: Graph, inputs: Sequence[Any], with_grad: bool = False) -> Graph:
    """A copy of a graph with the types that follow from example inputs."""
    copy = clone_graph(graph)
    retype.complete_shapes(copy, inputs, with_grad)
    return copy


def _jit_erase_non_input_shape_information(graph: Graph) -> None:
    """Forget what is known of tensors, parameters excepted."""
    retype.erase_shapes_inside(graph)


def parse_ir(text: str, parse_tensor_constants: bool = False) -> Graph:
    """The graph that a text is.

    Raises ParseError, TypeError for what is no text, and RuntimeError for tensor constants unless these are wanted.

    A text has no elements of tensors but those of a single number: other tensor constants are of the right dtype and
    sizes, their elements zero.
    """
    if not isinstance(text, str):
        raise TypeError(NO_TEXT.format(kind=type(text).__name__))
    return parse(text, _tensor_like if parse_tensor_constants else _no_tensor)


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


def _create_function_from_graph(name: str, graph: Graph) -> ScriptFunction:
    """A function of a graph."""
    return create_function_from_graph(name, graph)


def _jit_interpret_graph(graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """Run a graph once: its result, or a tuple of several."""
    results = interpret(graph, inputs)
    return results[0] if len(results) == 1 else results


def _jit_pass_propagate_shapes_on_graph_and_build_compute(graph: Graph) -> ShapeComputeGraphMapping | None:
    """The sizes of all tensors as a graph of those of the inputs, and symbols for them in the types of the graph; None
    where an operator has no shape function.

    >>> g = parse_ir("graph(%x : Tensor(*, 3), %y : Tensor(3, *)):\\n  %z = aten::mm(%x, %y)\\n  return (%z)")
    >>> mapping = _jit_pass_propagate_shapes_on_graph_and_build_compute(g)
    >>> next(g.outputs()).type().symbolic_sizes(), [n.kind() for n in mapping.partial_eval_shape_graph().nodes()][2:]
    ([-2, -3], ['aten::__getitem__', 'aten::__getitem__'])
    """
    with opened(graph):
        return build_compute(graph)


def _jit_register_shape_compute_graph_for_node(node: Node, graph: Graph) -> None:
    """Have a graph say the sizes of what the operator of a node gives: it takes what that takes, for tensors the lists
    of their sizes. Raises RuntimeError for a node that calls no operator, ValueError for another number of parameters
    or results.
    """
    register(node, graph)


def _jit_shape_compute_graph_for_node(node: Node) -> Graph | None:
    """The graph of the sizes of what a node gives; None where no shape function is known.

    >>> node = parse_ir("graph(%x, %y):\\n  %z = aten::mm(%x, %y)\\n  return (%z)").findNode("aten::mm")
    >>> sizes = _create_function_from_graph("sizes", _jit_shape_compute_graph_for_node(node))
    >>> sizes([2, 3], [3, 5])
    [2, 5]
    """
    return shape_graph(node)


def _jit_object_is_non_holding(node: Node) -> bool:
    """Whether the object that a constant is keeps nothing alive of what it was compiled in: no constant does.

    Raises RuntimeError for a node that is no constant, or whose value is no object of a program.
    """
    value = node.attributes.get("value") if node.op == CONSTANT else None
    if definition_of(value) is None:
        raise RuntimeError(f"expected a constant whose value is an object of a class, not a {node.op}")
    return True


def _jit_pass_canonicalize(graph: Graph, keep_unique_names: bool = True) -> Graph:
    """A copy whose values are numbered in order of definition; without `keep_unique_names` none has another name.

    >>> g = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
    >>> [v.debugName() for v in _jit_pass_canonicalize(g, False).inputs()], [v.debugName() for v in g.inputs()]
    (['0'], ['x'])
    """
    copy = clone_graph(graph)
    canonicalize.do(copy, keep_names=keep_unique_names)
    return copy
