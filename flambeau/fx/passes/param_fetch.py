"""What submodules are made of, written to the nodes that call them, for those who lower graphs to something else.

>>> from flambeau import fx, nn
>>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
>>> lift_lowering_attrs_to_nodes(traced)
>>> [sorted(node.attrs_for_lowering) for node in traced.graph.nodes if node.op == "call_module"]
[['bias', 'in_features', 'name', 'out_features', 'weight']]
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.fx.graph_module import GraphModule
from flambeau.nn.module import Module

UNKNOWN: Final = "extract_attrs_for_lowering: {kind} is none of {known}: what such a layer is made of is not known"
_WINDOWED: Final = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups")
_NORMALISING: Final = ("running_mean", "running_var", "eps")
_POOLING: Final = ("kernel_size", "stride", "padding", "return_indices", "ceil_mode")
_ATTRIBUTES: Final = {
    "Linear": ("in_features", "out_features"),
    "Conv2d": (*_WINDOWED, "padding_mode"),
    "BatchNorm2d": _NORMALISING,
    "ReLU": ("inplace",),
    "MaxPool2d": _POOLING,
    "AdaptiveAvgPool2d": ("output_size",),
}
"""By the name of a layer, what says how it computes, beside its weight and bias."""


def extract_attrs_for_lowering(mod: Module) -> dict[str, Any]:
    """What a layer is made of: `name`, its class, its weight and bias, and what says how it computes.

    Args:
        mod: the layer.

    Raises RuntimeError for a layer that nobody said this of.

    >>> from flambeau import nn
    >>> extract_attrs_for_lowering(nn.ReLU())["inplace"]
    False
    """
    kind = type(mod).__name__
    if kind not in _ATTRIBUTES:
        raise RuntimeError(UNKNOWN.format(kind=kind, known=", ".join(_ATTRIBUTES)))
    attributes = {"name": f"flambeau.nn.{kind}", **{name: getattr(mod, name) for name in _ATTRIBUTES[kind]}}
    attributes.update({name: getattr(mod, name) for name in ("weight", "bias") if hasattr(mod, name)})
    return attributes


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Write to each node that calls a layer `attrs_for_lowering`, what that is made of; in graph modules below, too.

    Args:
        fx_module: the module.
    """
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            module = fx_module.get_submodule(node.target)
            if isinstance(module, GraphModule):
                lift_lowering_attrs_to_nodes(module)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(module)  # type: ignore[attr-defined]
