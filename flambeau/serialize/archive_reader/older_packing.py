"""Attributes of quantised layers in older archives, which say that packed weights are tensors."""

from __future__ import annotations

from typing import Final

from flambeau.program.unit import demangle
from flambeau.schema.opaque_type import OpaqueType
from flambeau.util.names import OPAQUE_CLASSES, without_root

_LINEAR: Final = f"{OPAQUE_CLASSES}quantized.LinearPackedParamsBase"
_PLANE: Final = f"{OPAQUE_CLASSES}quantized.Conv2dPackedParamsBase"
_VOLUME: Final = f"{OPAQUE_CLASSES}quantized.Conv3dPackedParamsBase"
PACKED_ATTRIBUTE: Final = "_packed_params"
_CLASSES: Final = {
    "quantized.modules.linear.LinearPackedParams": _LINEAR,
    "quantized.modules.linear.Linear": _LINEAR,
    "quantized.dynamic.modules.linear.Linear": _LINEAR,
    "intrinsic.quantized.modules.linear_relu.LinearReLU": _LINEAR,
    "quantized.modules.conv.Conv2d": _PLANE,
    "intrinsic.quantized.modules.conv_relu.ConvReLU2d": _PLANE,
    "quantized.modules.conv.Conv3d": _VOLUME,
    "intrinsic.quantized.modules.conv_relu.ConvReLU3d": _VOLUME,
}
"""What such a class packs its weight into, by its name behind the package of networks."""
_PACKAGES: Final = ("torch.nn.", "torch.ao.nn.")


def packed_attribute(class_name: str, attribute: str) -> OpaqueType | None:
    """The type that an attribute declared as a tensor has in truth; None for all others.

    >>> print(packed_attribute("__torch__.torch.nn.quantized.modules.conv.Conv2d", "_packed_params"))
    __torch__.torch.classes.quantized.Conv2dPackedParamsBase
    """
    if attribute != PACKED_ATTRIBUTE:
        return None
    name = without_root(demangle(class_name))
    for package in _PACKAGES:
        packed = _CLASSES.get(name.removeprefix(package))
        if packed is not None and name.startswith(package):
            return OpaqueType(packed)
    return None
