"""Calls of a plan on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.cuda import blame, library
from flambeau.executor.devices.capturable import why_not
from flambeau.executor.devices.device_code import calls_functions, on_devices
from flambeau.executor.devices.groups import DeviceGroup
from flambeau.executor.devices.replays import Replays
from flambeau.executor.gradients import one_by_one
from flambeau.executor.inlined_graph import has_node
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph, Node
from flambeau.passes.fuse import GROUP
from flambeau.program.function import Function
from flambeau.schema.types import DeviceType
from flambeau.specialise.spec import Spec, device_of
from flambeau.tensor.dispatch import intercepting

HOST_PASSES: Final = frozenset(
    {"fuse_products", "fuse_routines", "fuse_alone", "separate_ways", "settle_attention", "widen_halves"}
)
"""Passes that choose forms for native code of the host."""
ON_DEVICE: Final = "its tensors are on a device: groups are kernels there, and operators between them run one by one"

SWITCHED_OFF: Final = "switched off: without=('cuda_graphs',)"
CALLS: Final = "it calls functions"


def is_for_device(function: Function, spec: Spec) -> bool:
    """Whether calls of a function with arguments of a spec have to do with a CUDA device that there is."""
    return device_of(spec) is not None or (names_device(function) and library.unavailable() is None)


def names_device(function: Function) -> bool:
    """Whether a function names a CUDA device itself."""
    return has_node(function, "cuda", _names_device)


def _names_device(node: Node) -> bool:
    if node.op == "aten::cuda":
        return True
    is_device = node.op == "prim::Constant" and isinstance(node.result().static_type, DeviceType)
    return is_device and str(node.attributes.get("value")).startswith("cuda")


class DeviceCalls:
    """What runs a plan's graph where its tensors are."""

    def __init__(self, graph: Graph, name: str, *, with_graphs: bool = True) -> None:
        """`with_graphs`: whether calls may be replayed as CUDA graphs."""
        self.groups = [DeviceGroup(f"group_{k}", n.attribute("Subgraph")) for k, n in enumerate(graph.find_all(GROUP))]
        for node, group in zip(graph.find_all(GROUP), self.groups, strict=True):
            node.attributes["kernel"] = group
        self._name = name.rpartition(".")[2]
        code = compile_graph(graph, name)
        self._calls_functions = calls_functions(code)
        self.code: Code = code if self._calls_functions else on_devices(code)
        reason = why_not(graph) if with_graphs else SWITCHED_OFF
        self.replays = Replays(self._name, self.run, reason or (CALLS if self._calls_functions else ""))

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arguments of the plan's spec."""
        blame.note(self._name)
        results = self.replays(arguments)
        return self.run(arguments) if results is None else results

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The same without a graph of an earlier call."""
        if not self._calls_functions:
            return run(self.code, arguments)
        with intercepting(one_by_one):  # functions that it calls have code of their own
            return run(self.code, arguments)
