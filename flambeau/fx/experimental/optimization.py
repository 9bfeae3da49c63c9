"""Models for inference with fewer layers: convolutions that normalise by themselves, no dropout.

>>> from flambeau import nn
>>> fuse(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval())
Sequential(
  (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from flambeau import nn
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.tracer import symbolic_trace
from flambeau.nn.utils.fusion import fuse_conv_bn_eval

PATTERNS: Final = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))
_DROPOUTS: Final = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: Mapping[str, Any]) -> bool:
    """Whether a node calls a module of the second class on what one of the first class gives.

    >>> traced = symbolic_trace(nn.Sequential(nn.ReLU(), nn.Tanh()))
    >>> [matches_module_pattern((nn.ReLU, nn.Tanh), n, dict(traced.named_modules())) for n in traced.graph.nodes]
    [False, False, True, False]
    """
    if not node.args or not isinstance(node.args[0], Node):
        return False
    return all(
        one.op == "call_module" and type(modules.get(one.target)) is wanted
        for wanted, one in zip(pattern, (node.args[0], node), strict=True)
    )


def replace_node_module(node: Node, modules: Mapping[str, Any], new_module: nn.Module) -> None:
    """Put a module in the place of the one that a node calls.

    >>> traced = symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> replace_node_module(list(traced.graph.nodes)[1], dict(traced.named_modules()), nn.Tanh())
    >>> traced.get_submodule("0")
    Tanh()
    """
    parent, _, name = node.target.rpartition(".")
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """The model, with each convolution that a normalisation follows doing both. Raises AssertionError while training.

    Args:
        model: a module that can be traced, in inference.
        inplace: change the model's own layers, not a copy's.
        no_trace: the model is a `GraphModule` already.

    >>> model = nn.Sequential(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1), nn.ReLU()).eval()
    >>> [type(layer).__name__ for layer in fuse(model).children()]
    ['Conv1d', 'ReLU']
    """
    model = model if inplace else deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    for pattern in PATTERNS:
        modules = dict(traced.named_modules())
        for node in traced.graph.nodes:
            if matches_module_pattern(pattern, node, modules):
                _fuse_pair(traced, node, modules)
    traced.recompile()
    traced.delete_all_unused_submodules()
    return traced


def _fuse_pair(traced: GraphModule, node: Node, modules: dict[str, Any]) -> None:
    layer = node.args[0]
    bn = modules[node.target]
    if len(layer.users) > 1 or not bn.track_running_stats:
        return
    fused = fuse_conv_bn_eval(modules[layer.target], bn)
    replace_node_module(layer, modules, fused)
    modules[layer.target] = fused
    node.replace_all_uses_with(layer)
    traced.graph.erase_node(node)


def remove_dropout(model: nn.Module) -> GraphModule:
    """The model without its dropout layers.

    >>> print(remove_dropout(nn.Sequential(nn.Dropout(), nn.ReLU())).graph)
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %_1 : [num_users=1] = call_module[target=1](args = (%input_1,), kwargs = {})
        return _1
    """
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], _DROPOUTS):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.recompile()
    traced.delete_all_unused_submodules()
    return traced


def extract_subgraph(orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """Some nodes of a graph as a module of their own, which takes and gives the values of others.

    >>> traced = symbolic_trace(lambda x: -(x + 1))
    >>> x, add, neg, _ = traced.graph.nodes
    >>> extract_subgraph(traced, [neg], [add], [neg])(3)
    -3
    """
    graph = type(nodes[0].graph)()
    values: dict[Node, Any] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        values[node] = graph.node_copy(node, lambda one: values[one])
    results = [values[node] for node in outputs]
    graph.output(results[0] if len(results) == 1 else tuple(results))
    graph.lint()
    return GraphModule(orig_module, graph)
