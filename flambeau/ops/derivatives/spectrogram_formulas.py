"""The formulas of Fourier transforms of overlapping pieces of a signal, and of the signal of these."""

from __future__ import annotations

from typing import Any

from flambeau.schema.gradient import decomposed


def _full_window(f: Any, window: Any, win_length: int, n_fft: int, like: Any) -> Any:
    """The window in the middle of `n_fft` points."""
    short = like.new_ones([win_length]) if window is None else window
    left = (n_fft - win_length) // 2
    return f.constant_pad_nd(short, [left, n_fft - win_length - left])


@decomposed("aten::stft")
def _stft(
    f: Any,
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
    center: bool = False,
    pad_mode: str = "reflect",
) -> Any:
    is_complex = self.dtype.is_complex or (window is not None and window.dtype.is_complex)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    signals = f.unsqueeze(self, 0) if self.dim() == 1 else self
    if center:
        signals = f.select(f.pad(f.unsqueeze(signals, 0), [n_fft // 2, n_fft // 2], pad_mode), 0, 0)
    if align_to_window:
        signals = f.constant_pad_nd(signals, [(n_fft - length) // 2] * 2)
    frames = f.unfold(signals, 1, n_fft, hop)
    if window is not None or length < n_fft:
        real = f.real(f.detach(signals))
        frames = frames * _full_window(f, window, length, n_fft, real)
    is_half = not is_complex if onesided is None else onesided
    norm = "ortho" if normalized else None
    spectra = f.fft_rfft(frames, None, -1, norm) if is_half else f.fft_fft(frames, None, -1, norm)
    spectra = f.transpose(spectra, 1, 2)
    spectra = f.select(spectra, 0, 0) if self.dim() == 1 else spectra
    return f.view_as_real(f.contiguous(spectra)) if return_complex is False else spectra


@decomposed("aten::istft")
def _istft(
    f: Any,
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    norm = "ortho" if normalized else "backward"
    columns = f.transpose(f.unsqueeze(self, 0) if self.dim() == 2 else self, 1, 2)
    if return_complex:
        pieces = f.fft_ifft(columns, None, -1, norm)
    else:
        pieces = f.fft_irfft(f.narrow(columns, 2, 0, n_fft // 2 + 1), n_fft, -1, norm)
    full = _full_window(f, window, win, n_fft, f.real(f.detach(self)))
    pieces = pieces * full
    batch, count = pieces.shape[0], pieces.shape[1]
    total = n_fft + hop * (count - 1)
    positions = f.reshape(f.unsqueeze(f.arange(count) * hop, 1) + f.arange(n_fft), [-1])
    signal = f.index_add(pieces.new_zeros([batch, total]), 1, positions, f.reshape(pieces, [batch, -1]))
    squares = f.reshape(f.expand(full * full, [count, n_fft]), [-1])
    weight = f.index_add(full.new_zeros([total]), 0, positions, squares)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    kept = min(end, total) - start
    result = f.narrow(signal, 1, start, kept) / f.narrow(weight, 0, start, kept)
    result = f.constant_pad_nd(result, [0, end - total]) if end > total else result
    return f.select(result, 0, 0) if self.dim() == 2 else result
