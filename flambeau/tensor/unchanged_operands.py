"""Calls that give their operand itself, as `x.float()` of float32 does: seen before anything else is looked at.

>>> import flambeau
>>> x = flambeau.ones(2)
>>> x.float() is x, x.to("cpu") is x, x.contiguous() is x, x.double() is x
(True, True, True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.schema.device import Device
from flambeau.schema.opdef import OpDef
from flambeau.tensor import kernels
from flambeau.tensor.tensor import Tensor

Run = Callable[..., Any]


def unless_it_stays(definition: OpDef, count: int, run: Run) -> Run:
    """What runs a call of so many arguments, but for those that give the first one itself."""
    stays = definition.traits.stays
    if stays is None or count > 2:
        return run
    if count == 1:
        return lambda x: x if stays(x) else run(x)
    return lambda x, to: x if stays(x, to) else run(x, to)


def on_its_device(definition: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any], slowly: Run) -> Run | None:
    """The same for calls like one that names a device by position, of tensors in the host's memory: which device it is
    does not follow from types. `slowly` runs those for others; None for other calls."""
    is_one = len(args) == 2 and not kwargs and isinstance(args[1], Device | str) and type(args[0]) is Tensor
    if not is_one or definition.traits.stays is None or kernels.is_overridden(definition):
        return None
    return unless_it_stays(definition, 2, slowly)
