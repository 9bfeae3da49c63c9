"""The derivative of a graph as TorchScript has it: a graph that keeps what the way back needs, and the way back.

```
graph(%x : Float(*), %y : Float(*)):       f:  graph(%x : Float(*), %y : Float(*)):
  %m : Tensor = aten::mm(%x, %y)                 %m : Tensor = aten::mm(%x, %y)
  %z : Tensor = aten::exp(%m)          →         %z : Tensor = aten::exp(%m)
  return (%z)                                    return (%z, %m)
                                           df: graph(%grad_0 : Tensor, %x : Tensor, %y : Tensor, %m : Tensor):
                                                 ...
                                                 return (%gradient of x, %gradient of y)
```

Where gradients come together, `df` has `prim::AutogradAdd`; `undefined_gradients` makes of it what goes back from some
results only, and of these sums `aten::add`.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.gradients import is_real
from flambeau.autodiff.derivatives import cleaned, ready, settled
from flambeau.autodiff.differentiate import Derivative, differentiate
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.scope import is_cheap
from flambeau.autodiff.split import split
from flambeau.autodiff.writes import Writes
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes import dce
from flambeau.passes.create_autodiff_subgraphs import GROUP
from flambeau.passes.inline_autodiff_subgraphs import REVERSE
from flambeau.passes.specialize_autogradzero import ADD
from flambeau.schema.types import TensorType
from flambeau.util.record import dataclass

NO_TENSORS = (
    "nothing in the graph can be differentiated: no parameter is a tensor of real numbers that asks for gradients"
)


@dataclass(frozen=True, slots=True)
class Gradient:
    """A function and its derivative, by the names that they have in TorchScript."""

    f: Graph
    """Gives the results of the function, then what is kept for the way back."""
    f_real_outputs: int
    """How many results the function itself has."""
    df: Graph
    """Takes gradients of results, parameters of `f`, and what was kept; gives gradients of parameters."""
    df_input_vjps: tuple[int, ...]
    """Which results of `f` the first parameters of `df` are the gradients of."""
    df_input_captured_inputs: tuple[int, ...]
    """Which parameters of `f` follow."""
    df_input_captured_outputs: tuple[int, ...]
    """Which results of `f` come last."""
    df_output_vjps: tuple[int, ...]
    """Which parameters of `f` the results of `df` are the gradients of."""
    joint: Graph
    """Takes gradients of results and all parameters of `f`; gives what `df` gives: to differentiate again."""

    def __repr__(self) -> str:
        lines = [f"{name}: {getattr(self, name)}" for name in _SHOWN]
        return "\n".join(["Gradient", *(line.rstrip() for line in lines)])


_SHOWN = (
    "f", "f_real_outputs", "df", "df_input_vjps", "df_input_captured_inputs", "df_input_captured_outputs",
    "df_output_vjps",
)  # fmt: skip


def differentiate_graph(graph: Graph) -> Gradient:
    """The derivative of a graph by the parameters that ask: tensors of real numbers whose types do not say otherwise.

    The graph stays as it is; its types say what is known of its tensors. Raises NotDifferentiableError, with the
    reason, for what has no derivative as a graph.

    >>> import flambeau.ops
    >>> from flambeau.ir import parse_ir
    >>> gradient = differentiate_graph(parse_ir('''graph(%x : Float(3), %y : Float(3, requires_grad=0)):
    ...   %z : Float(3) = aten::mul(%x, %y)
    ...   return (%z)'''))
    >>> gradient.df_input_captured_inputs, gradient.df_output_vjps
    ((1,), (0,))
    >>> print(gradient.df, end="")
    graph(%grad_0 : Tensor,
          %y : Tensor):
      %2 : Float(3) = aten::mul(%grad_0, %y)
      return (%2)
    """
    copy = clone_graph(graph)
    sources = [v for v in copy.parameters if _asks(v)]
    if not sources:
        raise NotDifferentiableError(NO_TENSORS)
    settled(copy)
    ready(copy, sources)
    results = [v for v in copy.returns if isinstance(v.static_type, TensorType) and is_real(v.static_type)]
    return gradient_of_graph(copy, sources, results)


def _asks(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, TensorType) and type_.requires_grad is not False and is_real(type_)


def gradient_of_graph(graph: Graph, sources: Sequence[Value], results: Sequence[Value]) -> Gradient:
    """The derivative of a graph that is ready for it (`derivatives.ready`), by `sources`; it is changed.

    Args:
        graph: its types say what is known of its tensors.
        sources: the parameters that ask for gradients.
        results: the values of the body that gradients come from, returned or in what is returned.
    """
    result_indices = [_result_index(graph, value) for value in results]
    real_outputs = len(graph.returns)
    derivative = differentiate(graph, sources, results)
    count = len(graph.parameters) - len(derivative.seeds)
    numbers = {v: n for n, v in enumerate(graph.parameters[:count])}
    targets = [numbers[s] for s, g in zip(sources, derivative.gradients, strict=True) if g is not None]
    derivative = cleaned(derivative)
    mark_sums(derivative)
    gradients = [g for g in derivative.gradients if g is not None]
    writes = Writes(AliasAnalysis(graph, apart=True))
    halves = split(derivative, gradients, lambda node: is_cheap(node, writes))
    return Gradient(
        halves.forward,
        real_outputs,
        halves.backward,
        tuple(result_indices),
        halves.parameters,
        tuple(range(real_outputs, real_outputs + halves.kept)),
        tuple(targets),
        _joint(derivative, gradients),
    )


def _result_index(graph: Graph, value: Value) -> int:
    """Which result of a graph a value is, or is an item of."""
    for number, returned in enumerate(graph.returns):
        if value is returned or _holds(returned, value):
            return number
    raise ValueError(f"%{value.name} is no result of the graph")


def _holds(container: Value, value: Value) -> bool:
    node = container.defining_node
    return node is not None and any(v is value or _holds(v, value) for v in node.operands)


def mark_sums(derivative: Derivative) -> None:
    """Have sums of gradients be `prim::AutogradAdd`."""
    for position, node in enumerate(derivative.sums):
        graph, (old,) = derivative.graph, node.results
        with graph.inserting(node), graph.at_range(node.range):
            total = graph.insert(ADD, node.operands[:2], [old.static_type])
        old.replace_uses_with(total.result())
        derivative.gradients[:] = [total.result() if g is old else g for g in derivative.gradients]
        node.erase()
        derivative.sums[position] = total


def _joint(derivative: Derivative, gradients: Sequence[Value]) -> Graph:
    copies: dict[Value, Value] = {}
    graph = clone_graph(derivative.graph, copies)
    while graph.returns:
        graph.body.remove_return(0)
    for value in gradients:
        graph.add_return(copies[value])
    dce.do(graph)
    seeds, count = len(derivative.seeds), len(graph.parameters)
    graph.body.permute_parameters([*range(count - seeds, count), *range(count - seeds)])
    for value in graph.parameters:
        if isinstance(value.static_type, TensorType):
            value.set_type(TensorType())
    return graph


def pack_gradient(gradient: Gradient, node: Node) -> None:
    """Put a derivative onto the `prim::DifferentiableGraph` that it is the derivative of.

    Raises ValueError if the node has another number of operands or results than the function.
    """
    if node.op != GROUP:
        raise ValueError(f"a derivative belongs onto a {GROUP}, not onto a {node.op}")
    if (len(node.operands), len(node.results)) != (len(gradient.f.parameters), gradient.f_real_outputs):
        raise ValueError(
            f"the node takes {len(node.operands)} values and gives {len(node.results)}, the function of the derivative "
            f"takes {len(gradient.f.parameters)} and gives {gradient.f_real_outputs}"
        )
    node.attributes.update(
        {
            SUBGRAPH: gradient.f,
            REVERSE: gradient.df,
            "f_real_outputs": gradient.f_real_outputs,
            "df_input_vjps": list(gradient.df_input_vjps),
            "df_input_captured_inputs": list(gradient.df_input_captured_inputs),
            "df_input_captured_outputs": list(gradient.df_input_captured_outputs),
            "df_output_vjps": list(gradient.df_output_vjps),
        }
    )
