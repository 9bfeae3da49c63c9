"""Switches of CUDA's libraries and kernels: what products on devices are computed in, whether sums have an order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from flambeau.util.absent_names import refuse as _refuse

__getattr__ = _refuse(__name__)

matmul: Final = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)
"""The switches of matrix products."""


sums: Final = SimpleNamespace(deterministic=False)
"""Whether floats that `index_add` and `scatter_add` put to one place are added up in the order of the index, which
takes about ten times as long; read when a kernel is made for tensors of new sizes."""


def is_built() -> bool:
    """Whether it is there: never."""
    return False
