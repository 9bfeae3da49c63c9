"""What the workloads of `benchmarks.cuda_elements` mean, with NumPy's names: for CuPy, in float64, and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def _gelu(m: Any, x: Any) -> Any:
    if m.__name__ == "cupy":
        from cupyx.scipy.special import erf
    else:
        from jax.scipy.special import erf
    return 0.5 * x * (1 + erf(x * 0.5**0.5))


def _softmax_of_columns(m: Any, x: Any) -> Any:
    e = m.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def _added_rows(m: Any, x: Any, i: Any, y: Any) -> Any:
    if m.__name__ != "cupy":
        return x.at[i].add(y)
    result = x.copy()
    m.add.at(result, i, y)
    return result


REFERENCES: dict[str, Function] = {
    "add": lambda m, x, y: x + y * 2,
    "tanh_chain": lambda m, x: m.tanh(x * 0.5 + 1) * x,
    "gelu": _gelu,
    "softmax_of_columns": _softmax_of_columns,
    "running_sums": lambda m, x: m.cumsum(x, axis=1),
    "running_sum_of_all": lambda m, x: m.cumsum(x),
    "rows_of_a_table": lambda m, x, i: x[i],
    "added_rows": _added_rows,
    "turned": lambda m, x: x.T + x,
}
"""By workload, in any library that has NumPy's names."""
