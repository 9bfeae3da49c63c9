"""Graphs cut by what a backend can compute: nodes that it can go together, as many as there is an order for.

>>> import operator
>>> from flambeau import fx
>>> from flambeau.fx.passes.operator_support import create_op_support
>>> traced = fx.symbolic_trace(lambda x: ((x + 1) + 2).neg() + 3)
>>> sums = create_op_support(lambda submodules, node: node.target is operator.add)
>>> partitioner = CapabilityBasedPartitioner(traced, sums, allows_single_node_partition=True)
>>> sorted(sorted(node.name for node in part.nodes) for part in partitioner.propose_partitions())
[['add', 'add_1'], ['add_2']]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.names import qualified_name
from flambeau.fx.node import Node
from flambeau.fx.passes.operator_support import OperatorSupportBase
from flambeau.fx.passes.utils.fuser_utils import fuse_by_partitions

_CALLS: Final = ("call_function", "call_method", "call_module")


class Partition:
    """Nodes that go together.

    >>> Partition(0).size()
    0
    """

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes or ())
        """In order."""

    def add_node(self, node: Node) -> None:
        """Take a node in."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Leave a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes it has."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return str(list(self.nodes))


class CapabilityBasedPartitioner:
    """Says which nodes go together, and makes submodules of them.

    Args:
        graph_module: what is cut.
        operator_support: which nodes the backend can compute.
        allows_single_node_partition: whether a part may have one call alone.
        non_compute_ops: names of functions that compute nothing: parts of these alone are dropped.
        allowed_single_node_partition_ops: names of functions that may be a part of their own though others may not.
    """

    def __init__(
        self, graph_module: GraphModule, operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())

    def propose_partitions(self) -> list[Partition]:
        """The parts, the last one first: of nodes that the backend can compute, and such that there is an order."""
        submodules = dict(self.graph_module.named_modules())
        supports = self.operator_support.is_node_supported
        nodes = [n for n in self.graph_module.graph.nodes if n.op in _CALLS and supports(submodules, n)]
        part_of: dict[Node, int] = {}
        parts: dict[int, list[Node]] = {}
        for number, node in enumerate(nodes):
            part_of[node], parts[number] = number, [node]
            beside = [user for one in node.all_input_nodes for user in one.users]
            for other in dict.fromkeys([*node.all_input_nodes, *beside]):
                if other in part_of:
                    self._join(parts, part_of, part_of[other], part_of[node])
        last_first = reversed(parts.values())
        proposed = [Partition(number, self._sorted(part)) for number, part in enumerate(last_first)]
        return [part for part in proposed if self._is_worth_it(part)]

    def _sorted(self, nodes: list[Node]) -> list[Node]:
        order = {node: k for k, node in enumerate(self.graph_module.graph.nodes)}
        return sorted(nodes, key=lambda one: order[one])

    def _join(self, parts: dict[int, list[Node]], part_of: dict[Node, int], one: int, other: int) -> None:
        """Make one part of two, unless something outside would then be both before and behind it."""
        one, other = sorted((one, other))
        if one == other:
            return
        inside = {*parts[one], *parts[other]}
        if _leaves_and_comes_back(inside, part_of, parts):
            return
        parts[one] += parts.pop(other)
        part_of.update(dict.fromkeys(parts[one], one))

    def _is_worth_it(self, part: Partition) -> bool:
        names = [qualified_name(n.target) if callable(n.target) else str(n.target) for n in part.nodes]
        counted = [name for name in names if name not in self.non_compute_ops]
        if not counted:
            return False
        if len(counted) > 1 or self.allows_single_node_partition:
            return True
        return counted[0] in self.allowed_single_node_partition_ops

    def fuse_partitions(self, partitions: Sequence[Partition], prefix: str = "fused_") -> GraphModule:
        """The module with each part as a submodule, which is changed for it."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: Sequence[Partition]) -> None:
        """Leave out what computes nothing at the borders of parts."""
        for part in partitions:
            while drop := [n for n in part.nodes if self._is_at_border(n, part)]:
                for node in drop:
                    part.remove_node(node)

    def _is_at_border(self, node: Node, part: Partition) -> bool:
        if not callable(node.target) or qualified_name(node.target) not in self.non_compute_ops:
            return False
        begins = not any(one in part.nodes for one in node.all_input_nodes)
        return begins or not any(one in part.nodes for one in node.users)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """`propose_partitions` and `fuse_partitions`."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _leaves_and_comes_back(inside: set[Node], part_of: dict[Node, Any], parts: dict[int, list[Node]]) -> bool:
    """Whether a way leads from some nodes out of them, through others and the parts that these are in, and back."""
    seen: set[Node] = set()
    todo = [user for node in inside for user in node.users if user not in inside]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        together = parts[part_of[node]] if node in part_of else [node]
        seen.update(together)
        for user in (user for one in together for user in one.users):
            if user in inside:
                return True
            todo.append(user)
    return False
