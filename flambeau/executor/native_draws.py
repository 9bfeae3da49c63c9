"""Random numbers by native code, once many were drawn: from then on the same stream goes on there.

>>> import flambeau
>>> _ = flambeau.manual_seed(7)
>>> flambeau.rand(100_000).dtype
flambeau.float32
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.codegen import available
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.numpy_generator import has_words
from flambeau.codegen.twister import module as module
from flambeau.codegen.twister.module import NativeTwister
from flambeau.util.at_hand import is_hurried
from flambeau.util.inversions import NATIVE_DRAWS

MANY: Final = 1 << 21
"""Numbers whose drawing takes NumPy as long as compiling the code takes."""


@NATIVE_DRAWS.provide
def _draws(bits: Any, drawn: int) -> NativeTwister | None:
    if not available() or not has_words(bits):
        return None
    is_awaited = drawn >= MANY and not is_hurried()
    try:
        return NativeTwister(bits) if is_awaited or module.is_at_hand() else None
    except NativeError:
        return None
