"""Methods of tensors that move them to devices, or make them ready for it."""

from __future__ import annotations

from typing import Any

from flambeau.cuda.pinned import empty_like as empty_pinned
from flambeau.cuda.pinned import is_pinned
from flambeau.schema.device import Device
from flambeau.tensor.dispatch import call
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor, install_method


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a CUDA device, the one in use if None: itself if it is there, else a copy.

    Raises RuntimeError where no device can be used, or there is none of this number.

    Args:
        device: a device, its name or its number.
        non_blocking: whether the host goes on before the copy is made.
        memory_format: the order of dimensions in memory.

    >>> import flambeau
    >>> flambeau.ones(2).cuda().device if flambeau.cuda.is_available() else "no card"
    'no card'
    """
    device_text = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    options = self.dtype, non_blocking, False, memory_format
    result: Tensor = call("aten::to", self, Device(str(device_text)), *options)
    return result


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in memory of the host that devices copy from while the host goes on: itself if it is there, else a
    copy.

    Raises RuntimeError for a tensor on a device, and where no device can be used.

    Args:
        device: accepted, without effect.
    """
    if not is_readable(self):
        raise RuntimeError(f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned")
    return self if is_pinned(self) else empty_pinned(self).copy_(self)


install_method("cuda", cuda)
install_method("pin_memory", pin_memory)
