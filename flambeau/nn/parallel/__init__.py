"""Modules that programs wrap others in to compute on several devices: here on the one that they are on.

>>> import flambeau
>>> from flambeau import nn
>>> sorted(nn.DataParallel(nn.Linear(2, 1)).state_dict())
['module.bias', 'module.weight']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.nn.module import Module
from flambeau.schema.device import Device
from flambeau.util.absent_names import refuse

SEVERAL: Final = (
    "DataParallel computes on one device, not on {devices}: processes of their own share batches out "
    "(utils.data.DistributedSampler)"
)


class DataParallel(Module):
    """A module as programs wrap it to split batches over devices; with one device, calls are the module's own.

    Raises ValueError for several devices.

    Args:
        module: the module, which becomes the submodule `module`.
        device_ids: the device; none for the one where the module is.
        output_device: where results go: the same.
        dim: the dimension that would be split.

    >>> import flambeau
    >>> DataParallel(flambeau.nn.ReLU())(flambeau.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | Device] | None = None,
        output_device: int | Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(SEVERAL.format(devices=list(device_ids)))
        self.module = module
        self.device_ids = list(device_ids or ())
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


__getattr__ = refuse(__name__)
__all__ = ["DataParallel"]
