"""Names for the kinds of values that functions take, as annotations write them.

>>> def scaled(x: Tensor, by: Number, device: Device = None) -> Tensor:
...     return x.to(device) * by
>>> import flambeau
>>> scaled(flambeau.ones(2), 3)
tensor([3., 3.])

Programs take `Number` as the Union that it is.
"""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias

from flambeau.schema import device as devices
from flambeau.schema import dtype as dtypes
from flambeau.tensor import formats
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor
from flambeau.tensor.typed_storage import TypedStorage as Storage

_device, _dtype, _layout, _qscheme = devices.Device, dtypes.DType, formats.Layout, formats.QScheme
Number: TypeAlias = int | float | bool
"""A plain number."""
_Number = (int, float, bool)
"""The classes of numbers, for `isinstance`."""
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A path, or a file that is open for bytes."""
Device: TypeAlias = devices.Device | str | int | None
"""What says which device is meant; None is the one of the default."""
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool

__all__ = ["Device", "FileLike", "Number", "Storage"]
_PLAIN = (_bool, _bytes, _complex, _float, _int, _str, _layout, _qscheme, _dtype)
"""Kinds under the names that they have beside functions of the same name."""
