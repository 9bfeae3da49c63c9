"""Numbers of the host as tensors of a device, made there by a kernel that is given them: nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.cuda import library
from flambeau.cuda.allocator import temporaries
from flambeau.cuda.devices import device as using
from flambeau.cuda.tensors import adopted
from flambeau.schema.device import Device
from flambeau.tensor.tensor import Tensor


def number_on_device(value: Any, dtype: np.dtype[Any], device: Device) -> Tensor:
    """A tensor without dimensions that holds a number, in new memory."""
    with using(device.index), temporaries():
        return adopted(library.cupy().full((), value, dtype), device)
