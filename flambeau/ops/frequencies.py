"""Where the frequencies of Fourier transforms are: their values, and the zero one moved to the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families.arrays import Array, contiguous, one_dim
from flambeau.ops.families.constructors import (
    OPTIONS,
    chosen,
    declare_out_of_constructor,
    default_dtype,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.schema.dtype import Category
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

Ints = Sequence[int]

def shift_kernel(self: Array, dim: Ints | None = None) -> Array:
    """The zero frequency in the middle."""
    return _rolled(self, dim, lambda size: size // 2)


def unshift_kernel(self: Array, dim: Ints | None = None) -> Array:
    """The zero frequency in front."""
    return _rolled(self, dim, lambda size: -(size // 2))


def _rolled(array: Array, dim: Ints | None, by: Callable[[int], int]) -> Array:
    axes = list(range(array.ndim)) if dim is None else [one_dim(d, array.ndim) for d in dim]
    if array.ndim == 0:
        return np.array(array)
    return contiguous(np.roll(array, [by(array.shape[p]) for p in axes], axes))


def _frequencies(name: str, bins: Callable[[int], Array], n: int, d: float, dtype: int | None) -> Tensor:
    wanted = chosen(dtype)
    if wanted.category < Category.FLOAT:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    with np.errstate(all="ignore"):
        scale = np.float64(1) / (np.float64(n) * d)
        wide = bins(n).astype(np.float32 if wanted.itemsize == 2 else wanted.numpy)
        return wrap((wide * wide.dtype.type(scale)).astype(wanted.numpy))


def fftfreq_kernel(n: int, d: float = 1.0, dtype: int | None = None) -> Tensor:
    """The frequencies of the points that `fft` gives, for samples `d` apart."""
    middle = (n + 1) // 2
    return _frequencies("fftfreq", lambda n: np.concatenate([np.arange(middle), np.arange(-(n // 2), 0)]), n, d, dtype)


def rfftfreq_kernel(n: int, d: float = 1.0, dtype: int | None = None) -> Tensor:
    """The frequencies of the points that `rfft` gives."""
    return _frequencies("rfftfreq", lambda n: np.arange(n // 2 + 1), n, d, dtype)


# -- declarations -----------------------------------------------------------------------------------------------------


def _signal() -> Tensor:
    return wrap(np.arange(12, dtype=np.float32).reshape(3, 4))


for _name, _kernel, _reference, _doc in (
    ("fftshift", shift_kernel, np.fft.fftshift, "The zero frequency moved to the middle."),
    ("ifftshift", unshift_kernel, np.fft.ifftshift, "The zero frequency moved back to the front."),
):
    declare(
        f"aten::fft_{_name}(Tensor self, int[1]? dim=None) -> Tensor",
        kernel=_kernel, dtype=same_dtype, shape=same_shape, reference=_reference, is_method=False, doc=_doc,
        samples=lambda: [Sample(args=(_signal(),)), Sample(args=(_signal(), [0]))],
    )  # fmt: skip


def _declare_frequencies(name: str, kernel: Callable[..., Tensor], doc: str) -> None:
    declare(
        f"aten::fft_{name}(int n, float d=1., *, {OPTIONS}) -> Tensor",
        kernel=kernel, on_tensors=True, family="creation", dtype=default_dtype, is_method=False, doc=doc,
        shape=lambda n: _count(name, n), samples=lambda: [Sample(args=(5,)), Sample(args=(4, 0.5))],
        errors=lambda: [ErrorSample(args=(-1,), error=RuntimeError,
                                    message="Trying to create tensor with negative dimension -1: [-1]")],
    )  # fmt: skip
    declare_out_of_constructor(f"aten::fft_{name}.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)", kernel)


def _count(name: str, n: Any) -> Sizes:
    return (None if not isinstance(n, int) else n if name == "fftfreq" else n // 2 + 1,)


_declare_frequencies("fftfreq", fftfreq_kernel, "The frequencies of the points of `fft`, for samples `d` apart.")
_declare_frequencies("rfftfreq", rfftfreq_kernel, "The frequencies of the points of `rfft`, for samples `d` apart.")
