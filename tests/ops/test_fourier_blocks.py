"""Transforms some lines at a time: NumPy's to the last bit, whatever the layout."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import flambeau
from flambeau.ops import fourier_blocks
from flambeau.ops.fourier_blocks import Mode, Name, along

NAMES: tuple[Name, ...] = ("fft", "ifft", "rfft", "irfft")
MODES: tuple[Mode, ...] = ("backward", "ortho", "forward")


def signals(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, np.dtype[Any]]:
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape) + (1j * r.standard_normal(shape) if dtype[0] == "c" else 0)
    x = x.astype(dtype)
    if x.size:
        x.flat[0], x.flat[x.size // 2] = np.inf, np.nan
    return x


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier_blocks, "POINTS", 64)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(200,), (0, 5), (40, 30), (5, 17, 13), (3, 90, 2), (2, 3, 4, 31)])
def test_the_bits_are_those_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    for seed in (1, 2):
        x = signals(shape, dtype, seed)
        for y in (x, x.T, x[::-1]):
            for axis in range(y.ndim):
                for name in NAMES:
                    if name == "rfft" and dtype[0] == "c":
                        continue
                    for mode in MODES:
                        for count in {max(1, y.shape[axis]), 7, y.shape[axis] + 5}:
                            with np.errstate(all="ignore"):
                                got = along(name, y, count, axis, mode)
                                want = getattr(np.fft, name)(y, count, axis, mode)
                            assert (got.dtype, got.flags.c_contiguous) == (want.dtype, True)
                            np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_windows_are_rounded_as_products_are(dtype: str, mode: Mode) -> None:
    for seed, n in ((1, 16), (2, 37)):
        x, window = signals((3, 300), dtype, seed), np.hanning(n).astype(dtype)
        frames = cast("Any", np.lib.stride_tricks.sliding_window_view(x, n, axis=1)[:, ::5])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(
                along("rfft", frames, n, 2, mode, window), np.fft.rfft(frames * window, n, 2, mode)
            )


def test_results_do_not_share_the_memory_that_is_kept() -> None:
    x, y = (flambeau.from_numpy(signals((300, 256), "complex64", seed)) for seed in (1, 2))
    first = flambeau.fft.fft(x)
    copy = first.numpy().copy()
    flambeau.fft.fft(y)
    np.testing.assert_array_equal(first.numpy(), copy)


def test_spectrograms_of_long_signals_there_and_back() -> None:
    for seed, length in ((1, 60_000), (2, 41_007)):
        x = np.random.default_rng(seed).standard_normal((2, length)).astype(np.float32)
        window = flambeau.from_numpy(np.hanning(400).astype(np.float32))
        spectra = flambeau.stft(flambeau.from_numpy(x), 400, 100, window=window, return_complex=True)
        padded = np.pad(x, ((0, 0), (200, 200)), mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, 400, axis=1)[:, ::100]
        np.testing.assert_array_equal(spectra.numpy(), np.fft.rfft(frames * window.numpy()).swapaxes(1, 2))
        back = flambeau.istft(spectra, 400, 100, window=window, length=length)
        np.testing.assert_allclose(back.numpy(), x, atol=2e-5)
