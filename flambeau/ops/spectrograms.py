"""The Fourier transforms of overlapping pieces of a signal, and the signal of these."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_inexact
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.ranks import of_rank
from flambeau.ops.fourier import transformable
from flambeau.ops.fourier_blocks import Mode, Name, along
from flambeau.ops.padding import pad_kernel
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 64.0, float64: 64.0}
NO_RETURN_COMPLEX: Final = (
    "stft requires the return_complex parameter be given for real inputs, and will further require that "
    "return_complex=True in a future PyTorch release."
)
NOT_COMPLEX: Final = (
    "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
)


def _check(name: str, is_met: bool, expected: str) -> None:
    if not is_met:
        raise RuntimeError(f"{name}: expected {expected}")


def _lengths(name: str, n_fft: int, hop: int | None, length: int | None, window: Array | None) -> tuple[int, int]:
    hop_length = n_fft // 4 if hop is None else hop
    win_length = n_fft if length is None else length
    _check(name, hop_length > 0, f"hop_length > 0, but got hop_length={hop_length}")
    _check(name, 0 < win_length <= n_fft, f"0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and window.shape != (win_length,):
        text = f"a 1D window tensor of size equal to win_length={win_length}, but got window with size "
        _check(name, False, f"{text}{list(window.shape)}")
    return hop_length, win_length


def _full_window(window: Array | None, win_length: int, n_fft: int, dtype: np.dtype[Any]) -> Array:
    short = np.ones(win_length, dtype) if window is None else window
    left = (n_fft - win_length) // 2
    return np.pad(short, (left, n_fft - win_length - left))


def _weights(window: Array | None, win_length: int, n_fft: int, dtype: np.dtype[Any]) -> Array | None:
    """What each frame is multiplied with; None for ones."""
    return None if window is None and win_length == n_fft else _full_window(window, win_length, n_fft, dtype)


def stft_kernel(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = False,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    """The transforms of windows of `n_fft` points, `hop_length` apart, as columns.

    Raises RuntimeError for a signal shorter than a window, and unless it is said whether the result is complex.
    """
    is_complex = self.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise RuntimeError(NO_RETURN_COMPLEX)
    _check("stft", is_inexact(self), "a tensor of floating point or complex values")
    _check("stft", self.ndim in (1, 2), "a 1D or 2D tensor")
    signals = np.atleast_2d(transformable(self))
    if center:
        signals = _centred(signals, n_fft, pad_mode, align_to_window)
    _check("stft", 0 < n_fft <= signals.shape[1], f"0 < n_fft <= {signals.shape[1]}, but got n_fft={n_fft}")
    hop, length = _lengths("stft", n_fft, hop_length, win_length, window)
    if align_to_window:
        signals = np.pad(signals, ((0, 0), ((n_fft - length) // 2,) * 2))
    frames = np.lib.stride_tricks.sliding_window_view(signals, n_fft, axis=1)[:, ::hop]
    is_half = not is_complex if onesided is None else onesided
    if is_half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    mode: Mode = "ortho" if normalized else "backward"
    weights = _weights(window, length, n_fft, signals.real.dtype)
    spectra = along("rfft" if is_half else "fft", frames, n_fft, 2, mode, weights)
    spectra = spectra.astype(_complex_dtype(signals, spectra), copy=False)
    result = spectra.swapaxes(1, 2) if self.ndim == 2 else spectra[0].T
    return np.stack([result.real, result.imag], axis=-1) if return_complex is False else result


def _centred(signals: Array, n_fft: int, pad_mode: str, align_to_window: bool | None) -> Array:
    """The signals with half a window more at either end."""
    if align_to_window is not None:
        raise RuntimeError("stft: align_to_window should only be set when center = false.")
    padded: Array = pad_kernel(signals[None], [n_fft // 2, n_fft // 2], pad_mode)[0]
    return padded


def _complex_dtype(signals: Array, spectra: Array) -> np.dtype[Any]:
    """As wide as real signals are; complex ones keep the dtype that their transform has."""
    return spectra.dtype if signals.dtype.kind == "c" else dtype_of(signals).to_complex().numpy


def istft_kernel(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    """The signal whose transforms these are, where windows overlap their sum over that of squared windows."""
    if self.dtype.kind != "c":
        raise RuntimeError(NOT_COMPLEX)
    _check("istft", self.ndim in (2, 3), f"a tensor with 2 or 3 dimensions, but got {self.ndim}")
    if not self.size:
        raise RuntimeError("istft: input tensor cannot be empty.")
    points = self.shape[-2]
    is_half = points != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if is_half else n_fft
    rule = "n_fft / 2 + 1 when onesided=True" if is_half else "n_fft when onesided=False"
    _check("istft", points == wanted, f"the frequency dimension (3rd to the last) of the input tensor to match {rule}, "
           f"but got {points}")  # fmt: skip
    hop, win = _lengths("istft", n_fft, hop_length, win_length, window)
    _check("istft", hop <= win, "0 < hop_length <= win_length")
    if return_complex and is_half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm: Mode = "ortho" if normalized else "backward"
    columns = (self[None] if self.ndim == 2 else self).swapaxes(1, 2)
    with np.errstate(all="ignore"):
        full = _full_window(window, win, n_fft, self.real.dtype)
        half = columns[..., : n_fft // 2 + 1]
        inverse: tuple[Name, Array] = ("ifft", columns) if return_complex else ("irfft", half)
        pieces = along(*inverse, n_fft, 2, norm)
        pieces = pieces * full
        signal, weight = _overlapped(pieces, full, hop)
        trimmed = _cut(signal, weight, n_fft, center, length)
    trimmed = trimmed.astype(self.dtype if return_complex else self.real.dtype, copy=False)
    return contiguous(trimmed if self.ndim == 3 else trimmed[0])


def _overlapped(pieces: Array, window: Array, hop: int) -> tuple[Array, Array]:
    batch, count, size = pieces.shape
    total = size + hop * (count - 1)
    signal = np.zeros((batch, total), pieces.dtype)
    weight = np.zeros(total, window.dtype)
    for k in range(count):
        signal[:, k * hop : k * hop + size] += pieces[:, k]
        weight[k * hop : k * hop + size] += window * window
    return signal, weight


def _cut(signal: Array, weight: Array, n_fft: int, center: bool, length: int | None) -> Array:
    total = len(weight)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, weight = signal[:, start:end], weight[start:end]
    if not weight.size or not np.abs(weight).min() > 1e-11:
        raise RuntimeError(
            "istft: window overlap add min: 1: windows that overlap must not add up to zero; use a smaller hop_length, "
            "or center=True"
        )
    return np.pad(signal / weight, ((0, 0), (0, max(0, end - total))))


# -- declarations -----------------------------------------------------------------------------------------------------


def _stft_dtype(self: TensorType, window: Any, return_complex: Any) -> DType | None:
    if self.dtype is None or return_complex is UNKNOWN:
        return None
    is_complex = return_complex is None or return_complex
    return self.dtype if self.dtype.is_complex == is_complex else (
        self.dtype.to_complex() if is_complex else self.dtype.to_real()
    )  # fmt: skip


def _stft_rank(self: TensorType, return_complex: Any) -> Sizes | None:
    if self.sizes is None or return_complex is UNKNOWN:
        return None
    is_complex = return_complex is None or return_complex
    return of_rank(len(self.sizes) + (1 if is_complex else 2))


def _istft_dtype(self: TensorType, return_complex: Any) -> DType | None:
    if self.dtype is None or return_complex is UNKNOWN:
        return None
    return self.dtype if return_complex else self.dtype.to_real()


def _wave(*batch: int) -> Tensor:
    samples = np.sin(np.arange(20, dtype=np.float32))
    return wrap(np.broadcast_to(samples, (*batch, 20)).copy())


def _hann() -> Tensor:
    return wrap((0.5 - 0.5 * np.cos(np.arange(8) * (2 * np.pi / 8))).astype(np.float32))


def _spectrum() -> Tensor:
    return wrap(stft_kernel(_wave()._array, 8, window=_hann()._array, center=True, return_complex=True))


_HEAD: Final = "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None"
_TAIL: Final = (
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
)


declare(
    f'aten::stft.center({_HEAD}, bool center=True, str pad_mode="reflect", {_TAIL}',
    f"aten::stft({_HEAD}, {_TAIL}",
    kernel=stft_kernel, dtype=_stft_dtype, shape=_stft_rank, ulp=ULP,
    samples=lambda: [
        Sample(args=(_wave(), 8, None, None, _hann()), kwargs={"return_complex": True}),
        Sample(args=(_wave(2), 8, 4), kwargs={"return_complex": True, "center": False}, note="batch"),
        Sample(args=(_wave(), 8, 3, 8, _hann()), kwargs={"return_complex": True, "onesided": False,
                                                         "normalized": True}, note="whole"),
    ],
    errors=lambda: [
        ErrorSample(args=(_wave(), 8), error=RuntimeError, message="stft requires the return_complex parameter"),
        ErrorSample(args=(_wave(), 8, 0), kwargs={"return_complex": True}, error=RuntimeError,
                    message="expected hop_length > 0, but got hop_length=0"),
        ErrorSample(args=(_wave(), 8, 2, 9), kwargs={"return_complex": True}, error=RuntimeError,
                    message="expected 0 < win_length <= n_fft, but got win_length=9"),
        ErrorSample(args=(_wave(1, 1), 8), kwargs={"return_complex": True}, error=RuntimeError,
                    message="expected a 1D or 2D tensor"),
        ErrorSample(args=(wrap(np.arange(20)), 8), kwargs={"return_complex": True}, error=RuntimeError,
                    message="expected a tensor of floating point or complex values"),
        ErrorSample(args=(_wave(), 8, 2, 6, _hann()), kwargs={"return_complex": True}, error=RuntimeError,
                    message="expected a 1D window tensor of size equal to win_length=6"),
    ],
    doc="The Fourier transforms of overlapping windows of a signal, as columns.",
)  # fmt: skip
declare(
    f"aten::istft({_HEAD}, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
    "return_complex=False) -> Tensor",
    kernel=istft_kernel, dtype=_istft_dtype, ulp=ULP,
    shape=lambda self: None if self.sizes is None else of_rank(len(self.sizes) - 1),
    samples=lambda: [Sample(args=(_spectrum(), 8, None, None, _hann())),
                     Sample(args=(_spectrum(), 8, None, None, _hann()), kwargs={"length": 24}, note="length")],
    errors=lambda: [
        ErrorSample(args=(_wave(1), 8), error=RuntimeError, message="istft requires a complex-valued input tensor"),
        ErrorSample(args=(_spectrum(), 11), error=RuntimeError, message="n_fft / 2 + 1 when onesided=True, but got 5"),
        ErrorSample(args=(_spectrum(), 8, 9), error=RuntimeError, message="expected 0 < hop_length <= win_length"),
        ErrorSample(args=(_spectrum(), 8, 8), kwargs={"window": _hann(), "center": False}, error=RuntimeError,
                    message="window overlap add min"),
    ],
    doc="The signal of such transforms.",
)  # fmt: skip
