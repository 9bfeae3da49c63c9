"""Which formulas an overload has, and whether it is nothing but a spelling of other operators."""

from __future__ import annotations

from flambeau.schema import registry
from flambeau.schema.gradient import Gradient, Written, written
from flambeau.schema.opdef import OpDef


def gradient_of(definition: OpDef) -> Gradient | None:
    """The formulas of an overload: written for it (`aten::max.dim`; `aten::max.` is the one without) or for all of
    its name, or else of its declaration; None if there are none."""
    overload = definition.full_name.partition(".")[2]
    names = (definition.name, registry.out_of_place(definition.name))
    candidates = [written(f"{name}.{overload}") for name in names] + [written(name) for name in names]
    gradient = next((g for g in candidates if g is not None), definition.gradient)
    if isinstance(gradient, Written) and not any(name in definition.schema.index for name in gradient.names):
        return None  # another overload's
    return gradient


def is_spelling(definition: OpDef) -> bool:
    """Whether an overload is written in terms of others and has no formula of its own: whoever looks at what is
    computed, such as a tape, looks at its parts.
    """
    if definition.family == "custom":
        return bool(getattr(definition.kernel, "is_spelling", False))
    return definition.family == "composite" and gradient_of(definition) is None
