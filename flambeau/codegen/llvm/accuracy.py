"""Stated accuracy of the float functions, in units in the last place, as the tests hold it on dense samples."""

from __future__ import annotations

ULP: dict[str, dict[str, float]] = {
    "exp": {"float32": 1.0, "float64": 1.0},
    "exp2": {"float32": 1.0, "float64": 1.0},
    "expm1": {"float32": 2.0, "float64": 2.0},
    "log": {"float32": 1.0, "float64": 1.0},
    "log2": {"float32": 1.0, "float64": 1.0},
    "log10": {"float32": 1.0, "float64": 1.0},
    "log1p": {"float32": 1.0, "float64": 1.0},
    "sigmoid": {"float32": 2.5, "float64": 2.5},
    "tanh": {"float32": 3.0, "float64": 3.0},
    "sin": {"float32": 2.0, "float64": 2.0},
    "cos": {"float32": 2.0, "float64": 2.0},
    "tan": {"float32": 4.0, "float64": 4.0},
    "asin": {"float32": 3.0, "float64": 3.0},
    "acos": {"float32": 1.5, "float64": 1.5},
    "atan": {"float32": 2.0, "float64": 2.0},
    "atan2": {"float32": 2.0, "float64": 2.0},
    "sinh": {"float32": 2.5, "float64": 2.5},
    "cosh": {"float32": 1.5, "float64": 1.5},
    "asinh": {"float32": 2.0, "float64": 2.0},
    "acosh": {"float32": 2.0, "float64": 2.0},
    "atanh": {"float32": 2.5, "float64": 2.5},
    "erf": {"float32": 1.5, "float64": 1.5},
    "erfc": {"float32": 4.5, "float64": 4.5},
    "erfinv": {"float32": 2.5, "float64": 4.0},
    "lgamma": {"float32": 0.6, "float64": 32.0},  # its zeros below 0, and those of digamma, are sums that cancel
    "digamma": {"float32": 0.6, "float64": 32.0},
    "pow": {"float32": 1.0, "float64": 1.25},
    "hypot": {"float32": 1.0, "float64": 1.0},
    "rsqrt": {"float32": 1.5, "float64": 1.5},
    "reciprocal": {"float32": 0.5, "float64": 0.5},
    "floordiv": {"float32": 1.0, "float64": 1.0},
    "remainder": {"float32": 0.5, "float64": 0.5},
}
"""Operation -> element type -> largest error; operations not named round correctly."""
