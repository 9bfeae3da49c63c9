"""Classes without code: operators alone make their objects and look into them.

>>> str(OpaqueType("__torch__.torch.classes.quantized.LinearPackedParamsBase"))
'__torch__.torch.classes.quantized.LinearPackedParamsBase'
"""

from __future__ import annotations

from flambeau.schema.types import Type
from flambeau.util.record import dataclass


@dataclass(frozen=True)
class OpaqueType(Type):
    """Such a class by its name, which alone tells one from another."""

    kind = "ClassType"
    name: str
