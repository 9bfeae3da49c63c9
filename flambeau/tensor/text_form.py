"""Tensors as text: `repr` in the form of `tensor([[1., 2.], [3., 4.]])`, and the column form that programs print.

Numbers of one tensor share a format: plain integers with a point if all are integral, four decimals, or scientific
when the largest is beyond 1e8, the smallest under 1e-4, or they span more than three decades. Large tensors show
their corners.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import Category
from flambeau.tensor import defaults
from flambeau.tensor.dataless import DatalessStorage
from flambeau.tensor.settled import readable
from flambeau.tensor.subclasses import overrides_functions
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class PrintOptions:
    """How `repr` shows tensors."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = PrintOptions()


PROFILES: Final[Mapping[str, Mapping[str, float]]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}
"""Options under a name, as PyTorch has them."""


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how `repr` shows tensors; what is not given stays, but `sci_mode` goes back to automatic.

    Args:
        precision: digits behind the point.
        threshold: how many elements are shown in full.
        edgeitems: how many at each end otherwise.
        linewidth: characters of a line.
        profile: "default", "short" (fewer digits and elements) or "full" (all elements): what the others are where they
            are not given.
        sci_mode: whether exponents are written.

    >>> import flambeau
    >>> flambeau.set_printoptions(precision=2)
    >>> flambeau.tensor([0.123456])
    tensor([0.12])
    >>> flambeau.set_printoptions(precision=4)
    """
    changes = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    if profile is not None and profile not in PROFILES:
        raise ValueError(f"set_printoptions: expected a profile of {', '.join(PROFILES)}, got {profile!r}")
    changes = {name: value for name, value in changes.items() if value is not None}
    for name, value in {**PROFILES.get(profile or "", {}), **changes}.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How each number of a tensor is written: a function to text, and the width it is padded to."""

    write: Callable[[Any], str]
    width: int

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


def _float_format(values: Array) -> NumberFormat:
    finite = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
    digits = options.precision
    if finite.size == 0:
        is_integral, scientific = True, False
    else:
        low, high = float(finite.min()), float(finite.max())
        is_integral = bool(np.all(finite == np.ceil(finite)))
        scientific = high / low > 1000.0 or high > 1.0e8 or (not is_integral and low < 1.0e-4)
    if options.sci_mode is not None:
        scientific = options.sci_mode
    shown = values[np.isfinite(values) & (values != 0)]
    if scientific:

        def write(value: float) -> str:
            return f"{value:.{digits}e}"

    elif is_integral:

        def write(value: float) -> str:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    else:

        def write(value: float) -> str:
            return f"{value:.{digits}f}"

    return NumberFormat(write, max([1, *(len(write(float(v))) for v in shown.reshape(-1))]))


def _format_for(array: Array, dtype: dtypes.DType) -> NumberFormat:
    if dtype.category < Category.FLOAT:
        return NumberFormat(str, max([1, *(len(str(v)) for v in array.reshape(-1).tolist())]))
    if not dtype.is_complex:
        return _float_format(array)
    real, imaginary = _float_format(array.real), _float_format(array.imag)

    def write(value: complex) -> str:
        text = real(value.real)
        imag = imaginary(value.imag).lstrip() + "j"
        return text + (imag if imag[0] in "+-" else "+" + imag)

    return NumberFormat(write, real.width + imaginary.width + 1)


def _corners(array: Array) -> Array:
    """The first and last places of each long dimension."""
    edge = options.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge:
            keep = np.r_[0:edge, array.shape[axis] - edge : array.shape[axis]]
            array = np.take(array, keep, axis=axis)
    return array


def _rows(array: Array, number: NumberFormat, indent: int, summarise: bool) -> str:
    edge = options.edgeitems
    cut = summarise and array.ndim > 0 and array.shape[0] > 2 * edge
    if array.ndim == 0:
        return number(array.item())
    if array.ndim == 1:
        texts = [number(v) for v in (_corners(array) if cut else array).tolist()]
        if cut:
            texts.insert(edge, " ...")
        per_line = max(1, int((options.linewidth - indent) / (number.width + 2)))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    if cut:
        heads = [_rows(array[i], number, indent + 1, summarise) for i in range(edge)]
        tails = [_rows(array[i], number, indent + 1, summarise) for i in range(array.shape[0] - edge, array.shape[0])]
        parts = [*heads, "...", *tails]
    else:
        parts = [_rows(a, number, indent + 1, summarise) for a in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _plain(tensor: Tensor) -> Array:
    """The elements as an array whose `tolist` gives Python numbers."""
    array = tensor._array
    if tensor.dtype is dtypes.bfloat16:
        return array.astype(np.float32)
    if tensor.dtype is dtypes.complex32:
        return (array["real"].astype(np.float32) + 1j * array["imag"].astype(np.float32)).astype(np.complex64)
    return array


def tensor_text(tensor: Tensor, kind: str = "") -> str:
    """`repr(tensor)`: its elements, its dtype unless that is what such numbers have by default, and its place on the
    tape. `kind` is what it is called where that is not what its class says."""
    cls = type(tensor)
    if not kind and overrides_functions(cls):
        if getattr(tensor, "_is_param", False) is True:
            return f"Parameter({tensor_text(tensor, cls.__name__)})"
        kind = cls.__name__
    prefix = f"{kind or 'tensor'}("
    dtype = tensor.dtype
    suffixes: list[str] = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if isinstance(tensor.untyped_storage(), DatalessStorage):
        body = "..."
        suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not defaults.float_dtype():
            suffixes.append(f"dtype={dtype!r}")
    elif tensor.numel() == 0:
        body = "[]"
        if tensor.ndim != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not defaults.float_dtype():
            suffixes.append(f"dtype={dtype!r}")
    else:
        if dtype not in (defaults.float_dtype(), defaults.float_dtype().to_complex(), dtypes.int64, dtypes.bool_):
            suffixes.append(f"dtype={dtype!r}")
        array = _plain(readable(tensor))
        summarise = array.size > options.threshold
        number = _format_for(_corners(array) if summarise else array, dtype)
        body = _rows(array, number, len(prefix), summarise)
    if name := _tape_name(tensor):
        suffixes.append(f"grad_fn={name}")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + body, suffixes, len(prefix))


def formatted(tensor: Tensor, spec: str) -> str:
    """What an f-string shows: of a 0-d tensor the number, of others `repr`. Raises TypeError where those have a format.

    >>> import flambeau
    >>> f"{flambeau.tensor(0.5)} {flambeau.tensor(2):03d} {flambeau.tensor([0.5])}"
    '0.5 002 tensor([0.5000])'
    """
    cls = type(tensor)
    if tensor._array.ndim or not (spec or cls is Tensor or hasattr(cls, "_is_on_device")):
        return object.__format__(tensor, spec)
    if spec:
        return format(tensor.item(), spec)
    return str(_plain(readable(tensor)).item())  # which nobody watches: a trace is not about what is printed


def _tape_name(tensor: Any) -> str:
    """What a tensor's node is called; empty for a leaf. A view that may be used no more has none that is valid."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "<Invalid>"
    if node is None:
        return ""
    name = node.name() if callable(getattr(node, "name", None)) else type(node).__name__
    return f"<{name.rpartition('::')[2]}>"


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            last_line = indent + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"
