"""Which calls of an operator are all alike to whoever runs them, by the types of their arguments.

>>> from flambeau.schema import registry
>>> names_device(registry.get("aten::zeros")), names_device(registry.get("aten::cat"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flambeau.schema.device import Device
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import DeviceType, OptionalType
from flambeau.tensor import kernels
from flambeau.tensor.call_keys import types_in
from flambeau.tensor.overrides import are_special
from flambeau.tensor.subclasses import special


def depends_on_types(definition: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether types alone say how calls like one run: no device is named, nobody stands for a number or a tensor."""
    values = (*args, *kwargs.values())
    may_be_elsewhere = any(isinstance(v, Device | str) for v in values) and (special.exists or names_device(definition))
    if may_be_elsewhere or any(hasattr(v, "_wrapped") for v in values) or kernels.is_overridden(definition):
        return False
    return not are_special(types_in(args, kwargs))


def names_device(definition: OpDef) -> bool:
    """Whether calls may name a device: which one, and whether it is the host, is not known of its type."""
    types = [a.type for a in definition.schema.arguments]
    return any(isinstance(t.element if isinstance(t, OptionalType) else t, DeviceType) for t in types)


def reads_lists(definition: OpDef, types: Sequence[type], keywords: Iterable[str]) -> bool:
    """Whether native code looks at all that lies in lists itself, for calls with arguments of these types by position
    and behind them those of these names: it takes fewer than all only from the first one on."""
    if not getattr(definition.kernel, "reads_lists", False):
        return False
    names = [a.name for a in definition.schema.arguments]
    wanted = list(keywords)
    are_plain = all(t in (list, tuple) or not issubclass(t, list | tuple) for t in types)
    return are_plain and names[len(types) : len(types) + len(wanted)] == wanted
