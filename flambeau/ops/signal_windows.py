"""Windows that signals are multiplied with before they are transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.constructors import OPTIONS, chosen, default_dtype
from flambeau.ops.families.numpy_bessel import i0
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 16.0, float64: 16.0}


def _window(name: str, shape: Callable[..., Array], length: int, periodic: bool, dtype: Any, *more: float) -> Tensor:
    """`shape` of the places from 0 to 1; a periodic window is the front of one that is longer by one."""
    wanted = chosen(dtype)
    if not wanted.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {wanted.name}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        return wrap(np.ones(length, wanted.numpy))
    steps = length if periodic else length - 1
    return wrap(shape(np.arange(length) / steps, *more).astype(wanted.numpy))


def _cosines(at: Array, *factors: float) -> Array:
    return np.asarray(sum(f * np.cos(2 * np.pi * k * at) for k, f in enumerate(factors)))


def _bartlett(at: Array) -> Array:
    return np.asarray(1 - np.abs(2 * at - 1))


def _kaiser(at: Array, beta: float) -> Array:
    return np.asarray(i0(beta * np.sqrt(np.maximum(0, 1 - (2 * at - 1) ** 2))) / i0(np.float64(beta)))


def hann_kernel(window_length: int, periodic: bool = True, dtype: int | None = None) -> Tensor:
    """Half a cosine above zero."""
    return _window("hann_window", _cosines, window_length, periodic, dtype, 0.5, -0.5)


def hamming_kernel(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: int | None = None
) -> Tensor:
    """`alpha - beta cos`."""
    return _window("hamming_window", _cosines, window_length, periodic, dtype, alpha, -beta)


def blackman_kernel(window_length: int, periodic: bool = True, dtype: int | None = None) -> Tensor:
    """Two cosines."""
    return _window("blackman_window", _cosines, window_length, periodic, dtype, 0.42, -0.5, 0.08)


def bartlett_kernel(window_length: int, periodic: bool = True, dtype: int | None = None) -> Tensor:
    """A triangle."""
    return _window("bartlett_window", _bartlett, window_length, periodic, dtype)


def kaiser_kernel(window_length: int, periodic: bool = True, beta: float = 12.0, dtype: int | None = None) -> Tensor:
    """A Bessel function, narrower for larger `beta`."""
    return _window("kaiser_window", _kaiser, window_length, periodic, dtype, beta)


_WINDOWS: Final = (
    ("hann_window", hann_kernel, (), "Half a cosine above zero, as long as asked for."),
    (
        "hamming_window", hamming_kernel,
        ((".periodic_alpha", ", float alpha"), (".periodic_alpha_beta", ", float alpha, float beta")),
        "`alpha - beta cos`, as long as asked for.",
    ),
    ("blackman_window", blackman_kernel, (), "A sum of cosines, as long as asked for."),
    ("bartlett_window", bartlett_kernel, (), "A triangle, as long as asked for."),
    ("kaiser_window", kaiser_kernel, ((".beta", ", float beta"),), "Kaiser's window, narrower for larger `beta`."),
)  # fmt: skip


def _errors(name: str) -> Callable[[], list[ErrorSample]]:
    text = f"{name} requires non-negative window_length, got window_length=-1"
    return lambda: [ErrorSample(args=(-1,), error=RuntimeError, message=text)]


for _name, _kernel, _more, _doc in _WINDOWS:
    declare(
        f"aten::{_name}(int window_length, *, {OPTIONS}) -> Tensor",
        f"aten::{_name}.periodic(int window_length, bool periodic, *, {OPTIONS}) -> Tensor",
        *(f"aten::{_name}{o}(int window_length, bool periodic{extra}, *, {OPTIONS}) -> Tensor" for o, extra in _more),
        kernel=_kernel, on_tensors=True, family="creation", dtype=default_dtype, is_method=False, ulp=ULP, doc=_doc,
        shape=lambda window_length: (window_length if isinstance(window_length, int) else None,),
        samples=lambda: [Sample(args=(n,)) for n in (0, 1, 5)], errors=_errors(_name),
    )  # fmt: skip
