"""Graphs without mutation: what a function writes in place becomes new values, and views are made again of these.

>>> import flambeau
>>> def f(x):
...     y = x * 2
...     y[0].add_(1)
...     return y
>>> print(functionalized(f)(flambeau.zeros(2)).code.strip())
def forward(self, x_1):
    mul = flambeau.ops.aten.mul.Tensor(x_1, 2);  x_1 = None
    select = flambeau.ops.aten.select.int(mul, 0, 0)
    add = flambeau.ops.aten.add.Tensor(select, 1);  select = None
    select_scatter = flambeau.ops.aten.select_scatter.default(mul, add, 0, 0);  mul = add = None
    return select_scatter
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau import ops
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.make_fx import Recording, names_of
from flambeau.fx.node import Node, map_aggregate
from flambeau.nn.module import Module
from flambeau.ops.meta_tensors import functional_of
from flambeau.ops.packets import overload_of
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.tensor.interceptors import changed
from flambeau.tensor.kernels import past, table
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import WITHOUT_WRITES

NO_FUNCTIONAL: Final = "{name} writes what it is given, and there is no operator that gives the same as a new tensor"
KERNEL_RESULTS: Final = (
    "the Functionalize kernel of {name} should return a tensor for each of the {count} that the operator writes, "
    "got {got}"
)
FUNCTIONALIZE: Final = "Functionalize"
NO_INVERSE: Final = "what was written through {name} cannot be put back into the tensor that it shows"

Sizes = tuple[int, ...]
Inverse = Callable[[Graph, Node, Node, Sizes, Sequence[Any]], Node]
"""Graph, node of what is shown, node of the new elements, sizes of what is shown, further arguments of the view; it
gives the node of all elements."""
INVERSES: Final[RuleTable[Inverse]] = RuleTable("how what was written through a view is put back")


def _scatter(name: str) -> Inverse:
    def put_back(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
        return graph.call_function(getattr(ops.aten, name).default, (shown, new, *rest))

    return put_back


for _name in ("select", "slice", "diagonal"):
    INVERSES(f"aten::{_name}")(_scatter(f"{_name}_scatter"))


@INVERSES("aten::view", "aten::reshape", "aten::flatten", "aten::unsqueeze", "aten::squeeze", "aten::unflatten")
def _sizes_again(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
    return graph.call_function(ops.aten.reshape.default, (new, list(sizes)))


@INVERSES("aten::transpose", "aten::swapaxes", "aten::swapdims")
def _transposed(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
    return graph.call_function(ops.aten.transpose.int, (new, *rest))


@INVERSES("aten::t", "aten::numpy_T", "aten::mT")
def _turned(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
    order = list(reversed(range(len(sizes)))) if len(sizes) < 3 else [*range(len(sizes) - 2), -1, -2]
    return graph.call_function(ops.aten.permute.default, (new, order))


@INVERSES("aten::permute")
def _permuted(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
    order = [d % len(sizes) for d in rest[0]]
    return graph.call_function(ops.aten.permute.default, (new, [order.index(k) for k in range(len(order))]))


@INVERSES("aten::alias", "aten::detach", "aten::positive", "aten::contiguous", "aten::to")
def _same(graph: Graph, shown: Node, new: Node, sizes: Sizes, rest: Sequence[Any]) -> Node:
    return new


class _Memory:
    """What a storage holds at the moment: the node of the tensor that views are of, and how often it was written."""

    def __init__(self, base: Node) -> None:
        self.base = base
        self.version = 0


class _Step:
    """One view in a chain: the operator, its further arguments, and the sizes of what it shows."""

    def __init__(self, func: Any, rest: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sizes) -> None:
        self.func, self.rest, self.kwargs, self.sizes = func, rest, kwargs, sizes


class _Functional(Recording):
    """Records new values in place of writes; tensors really are written meanwhile, so that later operators see it."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__(graph, root, {})
        self._memories: dict[int, _Memory] = {}
        self._chains: dict[int, tuple[tuple[_Step, ...], int]] = {}
        """By the identity of a tensor: the views from the base to it, and the version that its node is of."""

    def note(self, tensor: Tensor, node: Node) -> None:
        """A tensor with memory of its own is the value of a node."""
        super().note(tensor, node)
        self.kept.append(tensor._storage)
        self._memories.setdefault(id(tensor._storage), _Memory(node))
        self._chains.setdefault(id(tensor), ((), self._memories[id(tensor._storage)].version))

    def node_of(self, value: Any) -> Any:
        """The node of a tensor's elements as they are now: a view of what was written since is made again."""
        if not isinstance(value, Tensor) or id(value) not in self._chains:
            return super().node_of(value)
        steps, version = self._chains[id(value)]
        memory = self._memories[id(value._storage)]
        if version != memory.version:
            node = memory.base
            for step in steps:
                node = self.graph.call_function(step.func, (node, *step.rest), step.kwargs)
            self._chains[id(value)] = (steps, memory.version)
            super().note(value, node)
        return super().node_of(value)

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        definition: OpDef = func.definition
        if definition.schema.is_mutable:
            return self._written(func, definition, args, kwargs)
        kernel = table.get(definition.full_name, FUNCTIONALIZE)
        if kernel is not None:
            with past(definition.full_name, FUNCTIONALIZE), self:
                return kernel(*args, **kwargs)
        source = args[0] if args and isinstance(args[0], Tensor) else None
        node = self.graph.call_function(func, *map_aggregate((tuple(args), kwargs), self.node_of))
        result = func(*args, **kwargs)
        if result is source:
            return result
        if isinstance(result, Tensor) and source is not None and result._storage is source._storage:
            steps, version = self._chains[id(source)]
            step = _Step(func, tuple(args[1:]), kwargs, tuple(source._array.shape))
            self._chains[id(result)] = ((*steps, step), version)
            super().note(result, node)
        else:
            self._results(result, node)
        return result

    def _written(self, func: Any, definition: OpDef, args: Any, kwargs: dict[str, Any]) -> Any:
        formals = definition.schema.arguments
        by_name = dict(zip((a.name for a in formals), args, strict=False)) | kwargs
        targets = [by_name[a.name] for a in formals if a.alias is not None and a.alias.is_write]
        kernel = table.get(definition.full_name, FUNCTIONALIZE)
        if kernel is not None:
            return self._by_kernel(kernel, definition, targets, args, kwargs)
        fresh = _functional(definition)
        nodes = map_aggregate((tuple(args), kwargs), self.node_of)
        outs = {a.name for a in formals if a.is_out}
        named = {k: v for k, v in nodes[1].items() if k not in outs}
        node = self.graph.call_function(overload_of(fresh), nodes[0], named)
        result = func(*args, **kwargs)
        for number, target in enumerate(targets):
            one = node if len(targets) == 1 else self.graph.call_function(operator.getitem, (node, number))
            self._put_back(target, one)
        return result

    def _by_kernel(
        self, kernel: Callable[..., Any], definition: OpDef, targets: Sequence[Tensor], args: Any,
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Record what a user's kernel for the key computes, and put its results into what the operator writes."""
        with past(definition.full_name, FUNCTIONALIZE), self:
            result = kernel(*args, **kwargs)
        listed = list(result) if isinstance(result, tuple | list) else [result]
        if len(listed) != len(targets) or not all(isinstance(one, Tensor) for one in listed):
            raise RuntimeError(KERNEL_RESULTS.format(name=definition.full_name, count=len(targets), got=len(listed)))
        for target, new in zip(targets, listed, strict=True):
            target.copy_(new)
            self._put_back(target, self.node_of(new))
        if not definition.schema.returns:
            return None
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _put_back(self, target: Tensor, node: Node) -> None:
        """The elements of a tensor are those of a node: so are they in whatever shares its memory."""
        steps, _ = self._chains[id(target)]
        memory = self._memories[id(target._storage)]
        shown = [memory.base]
        for step in steps[:-1]:
            shown.append(self.graph.call_function(step.func, (shown[-1], *step.rest), step.kwargs))
        new = node
        for step, outer in zip(reversed(steps), reversed(shown[: len(steps)]), strict=True):
            put_back = INVERSES.get(step.func.definition.name)
            if put_back is None:
                raise NotImplementedError(NO_INVERSE.format(name=step.func.definition.name))
            new = put_back(self.graph, outer, new, step.sizes, (*step.rest, *step.kwargs.values()))
        memory.base = new
        memory.version += 1
        self._chains[id(target)] = (steps, memory.version)
        Recording.note(self, target, node)

    def base_of(self, tensor: Tensor) -> tuple[Node, bool]:
        """The node of an argument's elements, and whether they were written."""
        return self.node_of(tensor), self._memories[id(tensor._storage)].version > 0


INSTEAD: Final[RuleTable[Callable[[], str]]] = RuleTable("the operator that gives what one in place writes")


@INSTEAD("aten::zero_")
def _zeros() -> str:
    return "aten::zeros_like"


def _functional(definition: OpDef) -> OpDef:
    """The overload that gives as a new tensor what another one writes. Raises NotImplementedError if there is none."""
    instead = INSTEAD.get(definition.name)
    if instead is not None:
        fresh = registry.find(instead())
    elif definition.family == "out":
        fresh = functional_of(definition)
    else:
        overload = f".{definition.schema.overload}" if definition.schema.overload else ""
        fresh = registry.find(registry.out_of_place(definition.name) + overload)
    if fresh is None or fresh.schema.is_mutable:
        raise NotImplementedError(NO_FUNCTIONAL.format(name=definition.full_name))
    return fresh


def functionalized(f: Callable[..., Any]) -> Callable[..., GraphModule]:
    """What traces a function on the tensors it is called with, to a graph that writes only its arguments, at the end.

    Args:
        f: a function of tensors; it may write, also through views.

    The tensors that it is called with stay as they are. Raises NotImplementedError for a write that has no form as a
    new tensor, or goes through a view whose elements cannot be put back.

    >>> import flambeau
    >>> def f(x):
    ...     y = x.clone()
    ...     y.add_(1)
    ...     return y
    >>> functionalized(f)(flambeau.ones(2))(flambeau.zeros(2))
    tensor([1., 1.])
    """

    def traced(*args: Any) -> GraphModule:
        graph, root = Graph(), Module()
        mode = _Functional(graph, root)
        values: list[Any] = []
        placeholders: list[Node] = []
        for name, value in zip(names_of(f, len(args)), args, strict=True):
            node = graph.placeholder(f"{name}_1")
            placeholders.append(node)
            if isinstance(value, Tensor):
                value = value.detach().clone()
                mode.note(value, node)
            values.append(value)
        with mode:
            result = f(*values)
        returned = map_aggregate(result, mode.node_of)
        for value, node in zip(values, placeholders, strict=True):
            if isinstance(value, Tensor):
                last, is_written = mode.base_of(value)
                if is_written:
                    graph.call_function(ops.aten.copy_.default, (node, last))
        graph.output(returned)
        graph.eliminate_dead_code()
        return GraphModule(root, graph, getattr(f, "__name__", "functional"))

    return traced


@WITHOUT_WRITES.provide
def functionalize(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function without writes in between: it is traced for each call, and its graph is run.

    Args:
        f: a function of tensors.

    >>> import flambeau
    >>> functionalize(lambda x: x.clone().mul_(3))(flambeau.ones(2))
    tensor([3., 3.])
    """

    def run(*args: Any) -> Any:
        with changed(modes=()):  # who records operators sees those of the graph alone
            graph = functionalized(f)(*args)
        return graph(*args)

    return run
