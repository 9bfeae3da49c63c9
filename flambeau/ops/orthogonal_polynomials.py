"""`special`: orthogonal polynomials of numbers `x` in degrees `n`.

Their meanings are functions of whole arrays: native code does not contain them.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families import numpy_polynomials as polynomials
from flambeau.ops.families.pointwise import REAL, binary, to_float
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap


def _samples() -> list[Sample]:
    x = wrap(np.array([-1.5, -1, -0.25, 0, 0.5, 1, 2, 0.75], np.float32))
    degrees = wrap(np.array([0, 1, 2, 3, 4, 5, -1, 12], np.int64))
    return [
        Sample(args=(x, degrees)),
        Sample(args=(x, 3), note="one degree"),
        Sample(args=(0.25, degrees), note="one number"),
        Sample(args=(wrap(np.array([[2], [3]], np.int64)), degrees), note="ints"),
    ]


KINDS: Final = {
    "chebyshev_polynomial_t": (polynomials.chebyshev_t, "Chebyshev's polynomials of the first kind, cos(n arccos(x))."),
    "chebyshev_polynomial_u": (polynomials.chebyshev_u, "Chebyshev's polynomials of the second kind."),
    "chebyshev_polynomial_v": (polynomials.chebyshev_v, "Chebyshev's polynomials of the third kind."),
    "chebyshev_polynomial_w": (polynomials.chebyshev_w, "Chebyshev's polynomials of the fourth kind."),
    "hermite_polynomial_h": (polynomials.hermite_h, "Hermite's polynomials, as physicists have them: 2 x, 4 x**2 - 2."),
    "hermite_polynomial_he": (polynomials.hermite_he, "Hermite's polynomials, as probabilists have them: x, x**2 - 1."),
    "laguerre_polynomial_l": (polynomials.laguerre_l, "Laguerre's polynomials: 1 - x, x**2 / 2 - 2 x + 1."),
    "legendre_polynomial_p": (polynomials.legendre_p, "Legendre's polynomials: x, (3 x**2 - 1) / 2."),
    "shifted_chebyshev_polynomial_t": (polynomials.shifted(polynomials.chebyshev_t), "The first kind, of 2 x - 1."),
    "shifted_chebyshev_polynomial_u": (polynomials.shifted(polynomials.chebyshev_u), "The second kind, of 2 x - 1."),
    "shifted_chebyshev_polynomial_v": (polynomials.shifted(polynomials.chebyshev_v), "The third kind, of 2 x - 1."),
    "shifted_chebyshev_polynomial_w": (polynomials.shifted(polynomials.chebyshev_w), "The fourth kind, of 2 x - 1."),
}
"""By name, what each means, and the first line of its documentation."""


def _declare(name: str, polynomial: polynomials.Polynomial, doc: str) -> None:
    def meaning(s: Any, x: Any, n: Any) -> Any:
        return polynomial(x, n).astype(np.result_type(x))

    binary(
        f"aten::special_{name}(Tensor x, Tensor n) -> Tensor",
        f"aten::special_{name}.x_scalar(Scalar x, Tensor n) -> Tensor",
        f"aten::special_{name}.n_scalar(Tensor x, Scalar n) -> Tensor",
        scalar=meaning, result=to_float, accepts=REAL, refusal=f"\"{name}_cpu\" not implemented for '{{}}'",
        out=("out", "x_scalar_out", "n_scalar_out"), in_place=False, is_method=False, samples=_samples, native=False,
        ulp=64, doc=doc, differentiable=False,
    )  # fmt: skip


for _name, (_polynomial, _doc) in KINDS.items():
    _declare(_name, _polynomial, _doc)
