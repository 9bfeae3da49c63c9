"""The rows of the table: what each workload computes, and how each peer writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import peers, sources
from benchmarks.harness import Workload


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def workloads() -> Iterator[Workload]:
    """All of them, cheapest first."""
    yield from overhead()
    yield from pointwise()
    yield from rows()
    yield from reductions()


def overhead() -> Iterator[Workload]:
    """What a call costs when there is next to nothing to do."""
    for count in (1, 16, 1024):
        a = (_normal(count),)
        yield Workload(
            name=f"x + 1, {count} floats",
            expected=lambda a=a: a[0].astype(np.float64) + 1.0,
            goal=1.0,
            peers={
                "flambeau": lambda a=a: peers.flambeau(sources.add_one, a),
                "numpy": lambda a=a: peers.numpy(lambda x: x + np.float32(1.0), a),
                "numba": lambda a=a: peers.numba(lambda x: x + np.float32(1.0), a),
                "torch": lambda a=a: peers.torch_eager(lambda t, x: x + 1.0, a),
                "torch.jit": lambda a=a: peers.torch_script(lambda t, x: x + 1.0, a),
                "torch.compile": lambda a=a: peers.torch_compile(lambda t, x: x + 1.0, a),
                "jax": lambda a=a: peers.jax(lambda j, x: x + 1.0, a),
            },
        )


def _numpy_gelu(x: np.ndarray) -> np.ndarray:
    return np.float32(0.5) * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def _torch_gelu(t: Any, x: Any) -> Any:
    return t.nn.functional.gelu(x, approximate="tanh")


NUMEXPR_GELU = "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"


def _numpy_chain(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a = x * y + np.float32(0.5)
    b = np.exp(-a * a)
    c = 1 / (1 + np.exp(-x))
    d = np.log(np.abs(y) + 1)
    f = np.where(x > 0, b * c, d - a)
    g = np.tanh(f) * np.float32(0.7) + c * np.float32(0.3)
    h = np.sqrt(np.abs(g) + 1)
    k = np.where(h > np.float32(1.2), h - d, h + b)
    return k * g - f / h


def _torch_chain(t: Any, x: Any, y: Any) -> Any:
    a = x * y + 0.5
    b = t.exp(-a * a)
    c = t.sigmoid(x)
    d = t.log(t.abs(y) + 1.0)
    f = t.where(x > 0.0, b * c, d - a)
    g = t.tanh(f) * 0.7 + c * 0.3
    h = t.sqrt(t.abs(g) + 1.0)
    k = t.where(h > 1.2, h - d, h + b)
    return k * g - f / h


def _jax_chain(j: Any, x: Any, y: Any) -> Any:
    a = x * y + 0.5
    b = j.exp(-a * a)
    c = j.nn.sigmoid(x)
    d = j.log(j.abs(y) + 1.0)
    f = j.where(x > 0.0, b * c, d - a)
    g = j.tanh(f) * 0.7 + c * 0.3
    h = j.sqrt(j.abs(g) + 1.0)
    k = j.where(h > 1.2, h - d, h + b)
    return k * g - f / h


def pointwise() -> Iterator[Workload]:
    """Long expressions over one array or two."""
    for count in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        a = (_normal(count),)
        yield Workload(
            name=f"GELU (tanh), {count:.0e}",
            expected=lambda a=a: _numpy_gelu(a[0].astype(np.float64)),
            bytes_moved=8 * count,
            goal=2.0,
            peers={
                "flambeau": lambda a=a: peers.flambeau(sources.gelu, a),
                "numpy": lambda a=a: peers.numpy(_numpy_gelu, a),
                "numba": lambda a=a: peers.numba(_numpy_gelu, a, fastmath=True),
                "numexpr": lambda a=a: peers.numexpr(NUMEXPR_GELU, x=a[0]),
                "torch": lambda a=a: peers.torch_eager(_torch_gelu, a),
                "torch.jit": lambda a=a: peers.torch_script(_torch_gelu, a),
                "torch.compile": lambda a=a: peers.torch_compile(_torch_gelu, a),
                "jax": lambda a=a: peers.jax(lambda j, x: j.nn.gelu(x, approximate=True), a),
            },
        )
    b = (_normal(1_000_000), _normal(1_000_000, seed=1))
    yield Workload(
        name="20-operator chain, 1e+06",
        expected=lambda: _numpy_chain(b[0].astype(np.float64), b[1].astype(np.float64)),
        tolerance=1e-3,
        bytes_moved=12_000_000,
        goal=2.0,
        peers={
            "flambeau": lambda: peers.flambeau(sources.chain, b),
            "numpy": lambda: peers.numpy(_numpy_chain, b),
            "numba": lambda: peers.numba(_numpy_chain, b, fastmath=True),
            "torch": lambda: peers.torch_eager(_torch_chain, b),
            "torch.jit": lambda: peers.torch_script(_torch_chain, b),
            "torch.compile": lambda: peers.torch_compile(_torch_chain, b),
            "jax": lambda: peers.jax(_jax_chain, b),
        },
    )


def _numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _numpy_layernorm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * w + b


def _jax_layernorm(j: Any, x: Any, w: Any, b: Any) -> Any:
    d = x - x.mean(-1, keepdims=True)
    return d * j.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b


def rows() -> Iterator[Workload]:
    """Work over rows that fit into the first cache."""
    height, width = 4096, 1024
    a = (_normal(height, width),)
    yield Workload(
        name="softmax 4096x1024",
        expected=lambda: _numpy_softmax(a[0].astype(np.float64)),
        bytes_moved=8 * height * width,
        goal=2.0,
        peers={
            "flambeau": lambda: peers.flambeau(sources.softmax, a),
            "numpy": lambda: peers.numpy(_numpy_softmax, a),
            "numba": lambda: peers.numba(sources.numba_softmax, a, fastmath=True),
            "torch": lambda: peers.torch_eager(lambda t, x: t.softmax(x, -1), a),
            "torch.jit": lambda: peers.torch_script(lambda t, x: t.softmax(x, -1), a),
            "torch.compile": lambda: peers.torch_compile(lambda t, x: t.softmax(x, -1), a),
            "jax": lambda: peers.jax(lambda j, x: j.nn.softmax(x, axis=-1), a),
        },
    )
    b = (a[0], _normal(width, seed=1), _normal(width, seed=2))

    def torch_layernorm(t: Any, x: Any, w: Any, c: Any) -> Any:
        return t.nn.functional.layer_norm(x, [width], w, c)

    yield Workload(
        name="layer norm 4096x1024",
        expected=lambda: _numpy_layernorm(*(v.astype(np.float64) for v in b)),
        bytes_moved=8 * height * width,
        goal=1.0,
        peers={
            "flambeau": lambda: peers.flambeau(sources.layer_norm, b),
            "numpy": lambda: peers.numpy(_numpy_layernorm, b),
            "numba": lambda: peers.numba(sources.numba_layer_norm, b, fastmath=True),
            "torch": lambda: peers.torch_eager(torch_layernorm, b),
            "torch.jit": lambda: peers.torch_script(torch_layernorm, b),
            "torch.compile": lambda: peers.torch_compile(torch_layernorm, b),
            "jax": lambda: peers.jax(_jax_layernorm, b),
        },
    )


def reductions() -> Iterator[Workload]:
    """Sums and variances along each axis and over all."""
    a = (_normal(4096, 1024),)
    for name, ours, axis in (
        ("sum, all", sources.sum_all, None), ("sum, axis 0", sources.sum_0, 0), ("sum, axis 1", sources.sum_1, 1),
        ("variance, all", sources.var_all, None), ("variance, axis 0", sources.var_0, 0),
        ("variance, axis 1", sources.var_1, 1),
    ):  # fmt: skip
        kind = "sum" if name.startswith("sum") else "var"
        yield _reduction(name + ", 4096x1024", kind, ours, axis, a)


def _reduction(name: str, kind: str, ours: Any, axis: int | None, a: tuple[np.ndarray, ...]) -> Workload:
    def of(library: Any, x: Any) -> Any:
        return getattr(library, kind)(x) if axis is None else getattr(library, kind)(x, axis)

    def of_torch(t: Any, x: Any) -> Any:
        dims = [0, 1] if axis is None else axis
        return t.sum(x, dims) if kind == "sum" else t.var(x, dims, correction=0)

    return Workload(
        name=name,
        expected=lambda: of(np, a[0].astype(np.float64)),
        tolerance=1e-3,
        bytes_moved=a[0].nbytes,
        goal=1.0,
        peers={
            "flambeau": lambda: peers.flambeau(ours, a),
            "numpy": lambda: peers.numpy(lambda x: of(np, x), a),
            "numba": lambda: peers.numba(sources.NUMBA_REDUCTIONS[kind, axis], a, fastmath=True),
            "torch": lambda: peers.torch_eager(of_torch, a),
            "torch.jit": lambda: peers.torch_script(of_torch, a),
            "torch.compile": lambda: peers.torch_compile(of_torch, a),
            "jax": lambda: peers.jax(of, a),
        },
    )
