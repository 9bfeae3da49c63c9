"""Convolutions of arrays a call at a time, by the launches that plans have, where these are not sums over windows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Final

from flambeau.codegen.convolutions.followed import Followed
from flambeau.codegen.convolutions.launches import launch_for
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.abi import OUT_OF_MEMORY
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.table import Operands
from flambeau.codegen.runtime import block_of, start
from flambeau.util.array_address import address_of

FROM: Final = 1_500.0
"""Nanoseconds of work from which on a launch makes up for what Python does to start it."""
_INPUTS: Final = {"input": 0, "weight": 1, "bias": 2}
_BIAS, _RESULT = 1 + _INPUTS["bias"], 1 + len(_INPUTS)
"""Words of a launch's block with addresses."""


class LaunchedConvolution:
    """Convolutions of arrays of such sizes and strides."""

    __slots__ = ("launch",)

    def __init__(self, launch: Launch) -> None:
        self.launch = launch

    def __call__(self, x: Array, w: Array, bias: Array | None, y: Array) -> None:
        """Fill `y`. A bias lies side by side. Raises MemoryError."""
        flag = ctypes.c_int32(0)
        words = block_of(self.launch, (x, w), flag)
        words[_BIAS], words[_RESULT] = 0 if bias is None else address_of(bias), address_of(y)
        start(self.launch, words)
        if flag.value:
            raise MemoryError(OUT_OF_MEMORY)


def prepare(
    x: Array, w: Array, y: Array, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int], groups: int,
    is_transposed: bool,
) -> LaunchedConvolution | None:  # fmt: skip
    """What fills `y` with the convolution of `x` (images, channels, *sizes), of arrays that lie as these do; None where
    that is sums over windows, or too little for a launch; so it is where results have other sizes than follow from as
    many zeros behind the input as `before` it.
    """
    constants = {"stride": stride, "padding": before, "dilation": dilation, "groups": groups}
    followed = Followed(Operands(_INPUTS, constants, {}), len(_INPUTS))
    arrays = Lying.of(x), Lying.of(w), Lying.dense(x.dtype, y.shape[1:2])
    try:
        launch = launch_for(followed, is_transposed, arrays, Memory(), takes_sums=False)
    except KernelError:
        return None
    (output,) = launch.outputs
    if launch.nanoseconds < FROM or not output.fits(y):
        return None
    return LaunchedConvolution(launch)
