"""Functions of one number."""

from __future__ import annotations

import numpy as np

from flambeau.ops.families.pointwise import unary
from flambeau.ops.families.promotion import to_float

unary("aten::exp(Tensor self) -> Tensor", scalar=lambda s, x: s.exp(x), result=to_float, doc="e to the power of x.",
      reference=np.exp)  # fmt: skip
