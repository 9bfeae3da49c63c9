"""What to write for functions of NumPy that programs do not have: a function of the package, or an expression."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.builtins.library_functions import OUTSIDE
from flambeau.util.instead import instead

_SAME: Final = {
    "np": {
        "atleast_3d": "(x)", "cross": "(x, x + 1)", "diagflat": "(x)", "einsum": "('i,i->i', x, x)", "fix": "(x)",
        "fliplr": "(x.reshape(1, 3))", "flipud": "(x)", "i0": "(x)", "inner": "(x, x)",
        "isneginf": "(x)", "isposinf": "(x)", "isreal": "(x)", "kron": "(x, x)", "nanquantile": "(x, 0.5)",
        "rot90": "(x.reshape(1, 3))", "tensordot": "(x, x, 1)", "vander": "(x)",
        "vdot": "(x, x)",
    },
    "np.fft": {
        "fftfreq": "(4)", "rfftfreq": "(4)",
    },
    "np.linalg": {
        "cross": "(x, x + 1)", "diagonal": "(x.reshape(1, 3))", "svdvals": "(x.reshape(1, 3))", "vecdot": "(x, x)",
    },
}  # fmt: skip
"""Functions that the package has under the same name, with a call that means the same to both, of a tensor `x`."""
_RENAMED: Final = {
    "np.cbrt": ("flambeau.pow(x, 1 / 3)", "np.cbrt(x)", "flambeau.pow(x, 1 / 3), for numbers above zero"),
    "np.cumulative_prod": ("flambeau.cumprod(x, 0)", "np.cumprod(x)", ""),
    "np.cumulative_sum": ("flambeau.cumsum(x, 0)", "np.cumsum(x)", ""),
    "np.extract": ("x[x > 1]", "np.extract(x > 1, x)", "x[condition]"),
    "np.ldexp": ("flambeau.ldexp(x, x.int())", "np.ldexp(x, x.astype(int))", "flambeau.ldexp"),
    "np.linalg.matmul": ("x @ x", "np.matmul(x, x)", ""),
    "np.linalg.outer": ("flambeau.outer(x, x)", "np.outer(x, x)", "flambeau.outer"),
    "np.linalg.tensordot": ("flambeau.tensordot(x, x, 1)", "np.tensordot(x, x, 1)", "flambeau.tensordot"),
    "np.linalg.trace": ("x.reshape(1, 3).trace()", "np.trace(x.reshape(1, 3))", "x.trace()"),
    "np.logspace": (
        "flambeau.logspace(0, 2, 3)", "np.logspace(0, 2, 3)", "flambeau.logspace, which is told how many numbers",
    ),
    "np.matrix_transpose": ("x.reshape(1, 3).mT", "x.reshape(1, 3).swapaxes(0, 1)", "x.mT"),
    "np.tri": ("flambeau.ones(3, 3).tril()", "np.tri(3)", "flambeau.ones(n, n).tril()"),
    "np.tril_indices": ("flambeau.tril_indices(3, 3)", "np.stack(np.tril_indices(3))", "flambeau.tril_indices"),
    "np.triu_indices": ("flambeau.triu_indices(3, 3)", "np.stack(np.triu_indices(3))", "flambeau.triu_indices"),
    "np.vecdot": ("flambeau.linalg.vecdot(x, x)", "np.dot(x, x)", "flambeau.linalg.vecdot"),
}  # fmt: skip
"""Others: what is to be written for one, what it stands for, and how a message says it."""

MEANS_THE_SAME: Final = {
    f"{module}.{name}": instead(
        "{code}", f"{module.replace('np', 'flambeau')}.{name}{call}", of=f"{module}.{name}{call}", given="x: Tensor",
        shown=f"{module.replace('np', 'flambeau')}.{name}",
    )
    for module, functions in _SAME.items()
    for name, call in functions.items()
} | {
    name: instead("{code}", code, of=of, given="x: Tensor", shown=shown)
    for name, (code, of, shown) in _RENAMED.items()
} | {
    "np.as_strided": instead(
        "{code}, with a step behind it, as in [::step]", "np.lib.stride_tricks.sliding_window_view(x, 2)",
        of="np.lib.stride_tricks.as_strided(x, (len(x) - 1, 2), (x.strides[0], x.strides[0]))", given="x: np.ndarray",
        shown="np.lib.stride_tricks.sliding_window_view(x, size)",
    ),
    "np.frombuffer": "it outside of the program, and pass the array",
}  # fmt: skip
"""By a function of NumPy without a form in programs: what to write."""


CLASSES: Final = {
    np.nditer: instead(
        "programs have no np.nditer: write {code}, or np.ndenumerate(x) for places and elements",
        "[v for v in x.ravel()]", of="[v.item() for v in np.nditer(x)]", given="x: np.ndarray",
        shown="for v in x.ravel()",
    ),
    np.poly1d: instead(
        "programs have no np.poly1d: keep the coefficients in an array, of which {code} is the value, np.polyder and "
        "np.polyint are derivative and integral, and np.roots the roots", "np.polyval(p, x)", of="np.poly1d(p)(x)",
        given="p: np.ndarray, x: float",
    ),
    np.random.RandomState: (
        "programs have no np.random.RandomState: write np.random.seed(seed), and np.random.rand, normal or randint, "
        "which draw the same numbers, or rng = np.random.default_rng(seed)"
    ),
}  # fmt: skip
"""Classes of NumPy that programs make no objects of."""


def name_of(function: Any, module: str) -> str:
    """A function of NumPy by the name that users call it by: `np.linalg.cross`."""
    parts = module.split(".")
    room = f"np.{parts[1]}" if len(parts) > 1 and parts[1] in ("linalg", "fft") else "np"
    return f"{room}.{getattr(function, '__name__', '')}"


def advice_on(name: str) -> str:
    """What to write in the place of a function of NumPy."""
    return MEANS_THE_SAME.get(name, OUTSIDE)
