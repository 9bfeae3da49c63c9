"""Fourier transforms: of one dimension or several, of complex and real signals, and where frequencies are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_inexact, one_dim
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.ranks import self_rank
from flambeau.ops.fourier_blocks import Mode, Name, along
from flambeau.schema.dtype import Category, DType, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor import defaults
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 64.0, float64: 64.0}
Ints = Sequence[int]
_OPPOSITE: Final[dict[str | None, Mode]] = {
    None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward",
}  # fmt: skip
"""The normalisation of the inverse transform."""


def _mode(norm: str | None) -> Mode:
    if norm not in _OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return cast("Mode", norm or "backward")


def transformable(array: Array) -> Array:
    """The signal in floats. Raises RuntimeError for a dtype of half precision."""
    if not is_inexact(array):
        return array.astype(defaults.float_dtype().numpy)
    if dtype_of(array).itemsize < (8 if array.dtype.kind == "c" else 4):
        raise RuntimeError(f"Unsupported dtype {dtype_of(array).display}")
    return array


def _real_signal(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {dtype_of(array).display}")
    return transformable(array)


def _axis(array: Array, dim: int) -> int:
    if array.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return one_dim(dim, array.ndim)


def _points(count: int) -> int:
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return count


def fft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The transform along a dimension, cut or filled up to `n` points."""
    return _along("fft", self, n, dim, norm)


def ifft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse."""
    return _along("ifft", self, n, dim, norm)


def _along(name: Name, self: Array, n: int | None, dim: int, norm: str | None) -> Array:
    array, axis, mode = transformable(self), _axis(self, dim), _mode(norm)
    count = _points(array.shape[axis] if n is None else n)
    with np.errstate(all="ignore"):
        return along(name, array, count, axis, mode)


def rfft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The half of the transform of a real signal that determines it."""
    _real_signal("rfft", self)
    return _along("rfft", self, n, dim, norm)


def irfft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The real signal that such a half belongs to; of `2 (size - 1)` points unless told."""
    array, axis, mode = transformable(self), _axis(self, dim), _mode(norm)
    count = _points(2 * (array.shape[axis] - 1) if n is None else n)
    with np.errstate(all="ignore"):
        return along("irfft", array, count, axis, mode)


def hfft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The real transform of the half of a signal that is its own mirrored conjugate."""
    return irfft_kernel(transformable(self).conj(), n, dim, _opposite(norm))


def ihfft_kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`."""
    return _conjugated(rfft_kernel(_real_signal("ihfft", self), n, dim, _opposite(norm)))


def _opposite(norm: str | None) -> Mode:
    return _OPPOSITE[_mode(norm)]


def _conjugated(array: Array) -> Array:
    return np.conjugate(array, out=array)


# -- several dimensions -----------------------------------------------------------------------------------------------


def _dims_and_sizes(
    array: Array, s: Ints | None, dim: Ints | None, last: int | None = None
) -> tuple[list[int], list[int]]:
    """The dimensions to transform and the points along each; `last` is how many the last has unless told."""
    if s is not None and dim is not None and len(s) != len(dim):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    dims = _unique_dims(array, dim) if dim is not None else _last_dims(array, array.ndim if s is None else len(s))
    sizes = [array.shape[d] for d in dims]
    if last is not None and dims:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [own if size == -1 else size for own, size in zip(sizes, s, strict=True)]
    for size in sizes:
        _points(size)
    return dims, sizes


def _unique_dims(array: Array, dims: Ints) -> list[int]:
    wrapped = [_axis(array, d) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("FFT dims must be unique")
    return wrapped


def _last_dims(array: Array, count: int) -> list[int]:
    if count > array.ndim:
        raise RuntimeError(f"Got shape with {count} values but input tensor only has {array.ndim} dimensions.")
    return list(range(array.ndim - count, array.ndim))


def _need_one(name: str, axes: list[int]) -> None:
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")


def _all_along(name: Name, array: Array, axes: Ints, sizes: Ints, mode: Mode) -> Array:
    for axis, size in zip(axes, sizes, strict=True):
        array = along(name, array, size, axis, mode)
    return array


def _complex(array: Array) -> Array:
    return array if array.dtype.kind == "c" else array.astype(dtype_of(array).to_complex().numpy)


def fftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """The transform along several dimensions, or all."""
    return _transformed("fft", self, s, dim, norm)


def ifftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """The inverse."""
    return _transformed("ifft", self, s, dim, norm)


def _transformed(name: Name, self: Array, s: Ints | None, dim: Ints | None, norm: str | None) -> Array:
    array, mode = _complex(transformable(self)), _mode(norm)
    axes, sizes = _dims_and_sizes(array, s, dim)
    with np.errstate(all="ignore"):
        result = _all_along(name, array, axes, sizes, mode)
    return np.array(result) if result is self else contiguous(result)


def rfftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """That of a real signal: the last of the dimensions is halved."""
    return _real_transformed("rfftn", self, s, dim, norm)


def _real_transformed(name: str, self: Array, s: Ints | None, dim: Ints | None, norm: str | None) -> Array:
    array, mode = _real_signal(name, self), _mode(norm)
    axes, sizes = _dims_and_sizes(array, s, dim)
    _need_one(name, axes)
    with np.errstate(all="ignore"):
        half = along("rfft", array, sizes[-1], axes[-1], mode)
        return contiguous(_all_along("fft", half, axes[:-1], sizes[:-1], mode))


def irfftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """The real signal that belongs to it."""
    return _to_real("irfftn", "ifft", transformable(self), s, dim, _mode(norm))


def _to_real(name: str, each: Name, array: Array, s: Ints | None, dim: Ints | None, mode: Mode) -> Array:
    axes, sizes = _dims_and_sizes(array, s, dim, last=0)
    _need_one(name, axes)
    with np.errstate(all="ignore"):
        result = _all_along(each, _complex(array), axes[:-1], sizes[:-1], mode)
        return along("irfft", result, sizes[-1], axes[-1], mode)


def hfftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """The real transform of a signal of which half is given."""
    return _to_real("hfftn", "ifft", transformable(self).conj(), s, dim, _opposite(norm))


def ihfftn_kernel(self: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None) -> Array:
    """The inverse of `hfftn`."""
    return _conjugated(_real_transformed("ihfftn", self, s, dim, _opposite(norm)))


def _two(kernel: Callable[..., Array]) -> Callable[..., Array]:
    def run(self: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Array:
        return kernel(self, s, dim, norm)

    return run


# -- declarations -----------------------------------------------------------------------------------------------------


def float_of(dtype: DType) -> DType:
    """What integers are transformed as, and floats themselves."""
    return dtype if dtype.category >= Category.FLOAT else defaults.float_dtype()


def _to_complex(self: TensorType) -> DType | None:
    if self.dtype is None:
        return None
    dtype = float_of(self.dtype)
    return dtype if dtype.is_complex else dtype.to_complex()


def _to_float(self: TensorType) -> DType | None:
    return None if self.dtype is None else float_of(self.dtype).to_real()


def _signal() -> Tensor:
    return wrap(np.array([[1, 2, -1, 0.5], [3, 0, 2, 1], [0, -2, 1, 4]], np.float32))


def _signals() -> list[Sample]:
    wave = _signal()._array
    return [
        Sample(args=(_signal(),)), Sample(args=(wrap(wave.astype(np.int64)),), note="ints"),
        Sample(args=(_signal(), 3), note="cut"), Sample(args=(_signal(), 6, -1, "ortho"), note="filled"),
    ]  # fmt: skip


def _planes() -> list[Sample]:
    return [Sample(args=(_signal(),)), Sample(args=(_signal(), [2, 6]), note="sizes"),
            Sample(args=(_signal(), None, [-1], "forward"), note="dims")]  # fmt: skip


def _bad() -> list[ErrorSample]:
    return [
        ErrorSample(args=(_signal(),), kwargs={"norm": "x"}, error=RuntimeError,
                    message='Invalid normalization mode: "x"'),
        ErrorSample(args=(wrap(np.ones(2, np.float16)),), error=RuntimeError, message="Unsupported dtype Half"),
    ]  # fmt: skip


def _bad_line() -> list[ErrorSample]:
    return [*_bad(), ErrorSample(args=(_signal(), 0), error=RuntimeError,
                                 message="Invalid number of data points (0) specified")]  # fmt: skip


def _bad_lines() -> list[ErrorSample]:
    return [
        *_bad(),
        ErrorSample(args=(_signal(), [2], [0, 1]), error=RuntimeError,
                    message="When given, dim and shape arguments must have the same length"),
        ErrorSample(args=(_signal(), None, [0, 0]), error=RuntimeError, message="FFT dims must be unique"),
    ]  # fmt: skip


_LINES: Final = (
    ("fft", fft_kernel, _to_complex, "The discrete Fourier transform along a dimension."),
    ("ifft", ifft_kernel, _to_complex, "The inverse of `fft`."),
    ("rfft", rfft_kernel, _to_complex, "The transform of a real signal: the half that determines the other."),
    ("irfft", irfft_kernel, _to_float, "The inverse of `rfft`."),
    ("hfft", hfft_kernel, _to_float, "The real transform of a signal that is its own mirrored conjugate."),
    ("ihfft", ihfft_kernel, _to_complex, "The inverse of `hfft`."),
)
_PLANES: Final = (
    ("fft", fftn_kernel, _to_complex), ("ifft", ifftn_kernel, _to_complex), ("rfft", rfftn_kernel, _to_complex),
    ("irfft", irfftn_kernel, _to_float), ("hfft", hfftn_kernel, _to_float), ("ihfft", ihfftn_kernel, _to_complex),
)  # fmt: skip

for _name, _kernel, _dtype, _doc in _LINES:
    declare(
        f"aten::fft_{_name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
        outs=("out",), kernel=_kernel, dtype=_dtype, shape=self_rank, samples=_signals, errors=_bad_line,
        reference=None if "h" in _name else getattr(np.fft, _name), ulp=ULP, is_method=False, doc=_doc,
    )  # fmt: skip
for _name, _planar, _dtype in _PLANES:
    _some = None if _name == "ihfft" else _planes  # its results lie differently in memory in PyTorch
    declare(
        f"aten::fft_{_name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        outs=("out",), kernel=_two(_planar), dtype=_dtype, shape=self_rank, errors=_bad_lines, ulp=ULP,
        samples=_some, is_method=False, doc=f"`{_name}` along two dimensions.",
    )  # fmt: skip
    declare(
        f"aten::fft_{_name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        outs=("out",), kernel=_planar, dtype=_dtype, shape=self_rank, errors=_bad_lines, ulp=ULP,
        samples=_some, is_method=False, doc=f"`{_name}` along several dimensions, or all.",
    )  # fmt: skip
