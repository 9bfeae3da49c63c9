"""Flambeau compiles numerical Python to a typed SSA graph and runs it: scripts, traces, passes, an interpreter, native kernels.

What a program may use is here: tensors, their dtypes, and a function for every operator. The functions are derived from the
operators' declarations; `help(flambeau.gelu)` shows what an operator does and how it is called.

>>> import flambeau
>>> flambeau.add(flambeau.from_numpy(np.float32([1, 2])), 1).tolist()
[2.0, 3.0]
"""

from __future__ import annotations

from flambeau import ops as _ops
from flambeau.ops import surface as _surface
from flambeau.schema.device import Device as device
from flambeau.schema.dtype import DType as dtype
from flambeau.schema.dtype import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from flambeau.schema.dtype import bool_ as bool
from flambeau.schema.dtype import complex32 as chalf
from flambeau.schema.dtype import complex64 as cfloat
from flambeau.schema.dtype import complex128 as cdouble
from flambeau.schema.dtype import float16 as half
from flambeau.schema.dtype import float32 as float
from flambeau.schema.dtype import float64 as double
from flambeau.schema.dtype import int16 as short
from flambeau.schema.dtype import int32 as int
from flambeau.schema.dtype import int64 as long
from flambeau.schema.dtype import promote as promote_types
from flambeau.tensor import protocol as _protocol
from flambeau.tensor.bridge import from_dlpack, from_numpy, to_dlpack
from flambeau.tensor.create import as_tensor, asarray, tensor
from flambeau.tensor.defaults import get_default_dtype, set_default_dtype
from flambeau.tensor.formats import Layout as layout
from flambeau.tensor.formats import MemoryFormat as memory_format
from flambeau.tensor.random import Generator, get_rng_state, initial_seed, manual_seed, set_rng_state
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor

strided = layout.strided
contiguous_format = memory_format.contiguous_format
preserve_format = memory_format.preserve_format
channels_last = memory_format.channels_last
channels_last_3d = memory_format.channels_last_3d
_surface.install()
globals().update({name: value for name, value in _surface.functions().items() if name not in globals()})
