"""Which kernels `scaled_dot_product_attention` may take, as PyTorch's programs say it; here it has one meaning.

>>> import flambeau
>>> x = flambeau.ones(1, 2, 4)
>>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
...     flambeau.nn.functional.scaled_dot_product_attention(x, x, x).shape
flambeau.Size([1, 2, 4])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING as _TYPE_CHECKING

from flambeau.util.absent_names import refuse as _refuse


class SDPBackend(Enum):
    """The kernels that PyTorch has.

    >>> SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """A block in which attention may take these kernels: results and speed are the same whichever are named.

    Raises TypeError for what is no kernel, ValueError for none.

    Args:
        backends: one or several.
        set_priority: whether the first ones come first.

    >>> with sdpa_kernel("math"):
    ...     pass
    Traceback (most recent call last):
      ...
    TypeError: sdpa_kernel takes members of SDPBackend, but got 'math'
    """
    kernels = [backends] if isinstance(backends, SDPBackend | str) else list(backends)
    for kernel in kernels:
        if not isinstance(kernel, SDPBackend):
            raise TypeError(f"sdpa_kernel takes members of SDPBackend, but got {kernel!r}")
    if not kernels:
        raise ValueError("sdpa_kernel takes one kernel at least: SDPBackend.MATH")
    yield


if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = ["SDPBackend", "sdpa_kernel"]
