"""One compiled function for a transform at arguments of certain sizes: the operators of whole batches, recorded once.

A transform of a function runs its operators on tensors that stand for more than their elements. Which operators these
are depends on sizes, dtypes and on what is no tensor; where nothing else decides, they are recorded for such arguments
and compiled as one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.effects import own_effect
from flambeau.executor.executor import attach
from flambeau.ir import kinds
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node
from flambeau.jit.function import ScriptFunction
from flambeau.jit.own_gradients.expansion import expanded_graph
from flambeau.jit.tracing.baking import KINDS
from flambeau.jit.tracing.run import Call, Run
from flambeau.passes import lower_objects
from flambeau.program.batches import VMAP
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.program.signature import schema_of
from flambeau.program.tangents import TANGENTS
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.types import BOOL, FLOAT, INT, NUMBER, ComplexType, TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor
from flambeau.util.kept_on import KeptOn
from flambeau.util.trees import Structure, flatten

MOST_OPERATORS: Final = 4000
"""A recording with more is given up: compiling it would take longer than it saves."""
_ABOUT: Final = ("metadata", "query", "composite", "view")
_SUMMARIES: KeptOn[Function, tuple[bool, bool, bool]] = KeptOn()


class NotStagedError(Exception):
    """What a transform does is not a matter of sizes and dtypes alone."""


def goes_by_elements(function: Function) -> bool:
    """Whether a function looks at elements: to branch, or as numbers."""
    return _known(function)[0]


def has_effects(function: Function) -> bool:
    """Whether a function does more than computing its results, so that recording it once would not do."""
    return _known(function)[1]


def runs_whole(function: Function) -> bool:
    """Whether a call within a transform is one of the function's own program: it looks at elements, or has loops, which
    would run an operator at a time."""
    return goes_by_elements(function) or has_loops(function)


def has_loops(function: Function) -> bool:
    """Whether a function has loops, those of custom functions too, which a recording would unroll."""
    return _known(function)[2]


def _known(function: Function) -> tuple[bool, bool, bool]:
    known = _SUMMARIES.get(function)
    if known is None:
        nodes = list(_without_own_objects(expanded_graph(function)).all_nodes())
        looks, effects, loops = (any(map(ask, nodes)) for ask in (_looks_at_elements, _has_effect, _is_loop))
        known = _SUMMARIES[function] = looks, effects, loops
    return known


def _without_own_objects(graph: Graph) -> Graph:
    """A graph in which objects that it makes, and nobody else sees, are what lies in them: filling one is no effect."""
    if graph.find(lower_objects.CREATE) is None:
        return graph
    copy = clone_graph(graph)
    lower_objects.do(copy)
    return copy


def _looks_at_elements(node: Node) -> bool:
    function = node.attributes.get("function")
    if node.op in (GRADIENT, VMAP, TANGENTS) and isinstance(function, Function):
        return goes_by_elements(function)
    if node.op == "prim::tolist":
        return True
    definition = node.definition
    if definition is None or definition.family in _ABOUT:
        return False
    if not any(isinstance(v.static_type, TensorType) for v in node.operands):
        return False
    types = [r.type for r in definition.schema.returns]
    return any(type_ in (BOOL, INT, FLOAT, NUMBER) or isinstance(type_, ComplexType) for type_ in types)


def _is_loop(node: Node) -> bool:
    function = node.attributes.get("function")
    if node.op in (GRADIENT, VMAP, TANGENTS) and isinstance(function, Function):
        return _known(function)[2]
    return node.op == "prim::Loop"


def _has_effect(node: Node) -> bool:
    function = node.attributes.get("function")
    if node.op in (GRADIENT, VMAP, TANGENTS) and isinstance(function, Function):
        return has_effects(function)
    if node.op == "prim::RaiseException":  # whoever decides that is looked at
        return False
    if node.definition is None:
        return node.op in kinds.OPAQUE | kinds.ORDERED or node.op[0] == "^"
    return own_effect(node) not in (Effect.NONE, Effect.RANDOM)


class Staged:
    """A transform compiled for arguments like some."""

    def __init__(self, name: str, run: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record `run(*arguments)`. Raises NotStagedError where that is not a matter of sizes and dtypes."""
        leaves, structure = flatten(tuple(arguments))
        self._tensor_indices = [n for n, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self._outputs: Structure | None = None

        def flat(*tensors: Tensor) -> Any:
            for index, tensor in zip(self._tensor_indices, tensors, strict=True):
                leaves[index] = tensor
            results, self._outputs = flatten(run(*structure.unflatten(leaves)))
            if not results or not all(isinstance(r, Tensor) for r in results):
                raise NotStagedError("a result is not a tensor")
            return tuple(results)

        tensors = tuple([leaves[index].detach() for index in self._tensor_indices])
        count = 0

        def counted(definition: OpDef, arguments: Sequence[Any], proceed: Callable[..., Any]) -> Any:
            nonlocal count
            count += 1
            if count > MOST_OPERATORS:
                raise NotStagedError("too many operators")
            return proceed(arguments)

        with no_grad(), dispatch.intercepting(counted):
            recorded = Run(flat, strict=False, guard=False).record(Call(tensors, {}), warn=False)
        learned = {what for what, _, _ in KINDS.values()}
        if any(one.what in learned or one.what.startswith("the failure of") for one in recorded.baked):
            raise NotStagedError("elements decide")
        function = Function(name, recorded.graph, schema_of(name.rpartition(".")[2], recorded.graph))
        attach(function)
        self.script: ScriptFunction = ScriptFunction(function)
        """What was compiled: takes all tensors among the arguments, gives all results."""

    def leaves(self, arguments: Sequence[Any]) -> list[Any]:
        """What the function is given of arguments."""
        leaves = arguments
        if any(type(a) in (list, tuple, dict) for a in arguments):
            leaves = flatten(tuple(arguments))[0]
        return [leaves[index] for index in self._tensor_indices]

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """The transform's result for arguments like those it was made for."""
        computed = self.script(*self.leaves(arguments))
        assert self._outputs is not None
        return computed[0] if self._outputs.is_leaf() else self._outputs.unflatten(list(computed))
