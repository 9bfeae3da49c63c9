"""Fourier transforms: there and back, against NumPy and PyTorch, hostile signals, and programs that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor.tensor import wrap

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> flambeau.Tensor:
    source = np.random.default_rng(seed)
    made = source.normal(size=shape)
    return wrap((made + 1j * source.normal(size=shape) if np.dtype(dtype).kind == "c" else made).astype(dtype))


def close(a: Any, b: Any) -> None:
    a, b = (x._array if isinstance(x, flambeau.Tensor) else np.asarray(x) for x in (a, b))
    np.testing.assert_allclose(a, b, atol=1e-4 if a.real.dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_there_and_back(dtype: Any, norm: str | None) -> None:
    x = drawn(3, 5, 4, dtype=dtype)
    fft = flambeau.fft
    close(fft.ifft(fft.fft(x, dim=1, norm=norm), dim=1, norm=norm), x)
    close(fft.ifft2(fft.fft2(x, norm=norm), norm=norm), x)
    close(fft.ifftn(fft.fftn(x, norm=norm), norm=norm), x)
    close(fft.ifftshift(fft.fftshift(x)), x)
    close(fft.hfftn(fft.ihfftn(x.real, norm=norm), x.shape, norm=norm), x.real)
    close(fft.irfftn(fft.rfftn(x.real, norm=norm), x.shape, norm=norm), x.real)
    assert fft.fft(x).dtype.is_complex
    assert fft.fft(x).dtype.itemsize == max(x.dtype.itemsize, 8 if x.real.dtype is flambeau.float32 else 16)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [None, 1, 3, 9])
def test_as_numpy_does(name: str, n: int | None) -> None:
    x = drawn(4, 6, dtype=np.float64)
    for norm in (None, "ortho", "forward"):
        wanted = getattr(np.fft, name)(x._array, n, 0, norm)
        close(getattr(flambeau.fft, name)(x, n, 0, norm), wanted)
        close(getattr(flambeau.fft, name)(x.t().contiguous().t(), n, 0, norm), wanted)


@pytest.mark.parametrize("name", [*(f"{n}2" for n in NAMES), *(f"{n}n" for n in NAMES)])
def test_as_torch_does(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    x = drawn(3, 4, 5)
    for sizes, dims in ((None, None), ([2, 8], [0, 1]), ([-1, 3], [2, 0]), (None, [1, 0])):
        for norm in (None, "ortho", "forward"):
            given = {"s": sizes, "norm": norm} | ({"dim": dims} if dims else {})
            theirs = getattr(torch.fft, name)(torch.from_numpy(x._array), **given)
            close(getattr(flambeau.fft, name)(x, **given), theirs.resolve_conj().numpy())


def test_hostile_signals() -> None:
    x = flambeau.tensor([1.0, float("nan"), 2.0])
    assert flambeau.fft.fft(x).isnan().all()
    assert flambeau.fft.fft(flambeau.ones(0, 4)).shape == (0, 4)
    assert flambeau.fft.rfft(flambeau.ones(2, 0, 4)).shape == (2, 0, 3)
    assert flambeau.fft.fftn(flambeau.tensor(3.0)).tolist() == 3
    assert flambeau.fft.fft(flambeau.tensor([True, False])).tolist() == [1, 1]
    kept = drawn(4)
    copy = kept._array.copy()
    done = flambeau.fft.fftn(kept + 0j, dim=())
    done += 1
    flambeau.fft.ihfft(kept)
    assert (kept._array == copy).all()
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        flambeau.fft.fft(flambeau.tensor(1.0))
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\) specified"):
        flambeau.fft.irfft(flambeau.ones(1))
    with pytest.raises(RuntimeError, match="rfft expects a real input tensor, but got ComplexFloat"):
        flambeau.fft.rfft(flambeau.ones(2) + 0j)
    with pytest.raises(RuntimeError, match="rfftn must transform at least one axis"):
        flambeau.fft.rfftn(flambeau.tensor(1.0))
    with pytest.raises(RuntimeError, match="Got shape with 3 values but input tensor only has 1 dimensions"):
        flambeau.fft.fftn(flambeau.ones(3), (1, 1, 1))


def test_frequencies() -> None:
    assert flambeau.fft.fftfreq(4, 0.5, dtype=flambeau.float64).tolist() == [0, 0.5, -1, -0.5]
    assert flambeau.fft.rfftfreq(5).dtype is flambeau.float32
    assert flambeau.fft.fftfreq(0).shape == (0,)
    out = flambeau.empty(3, dtype=flambeau.float64)
    assert flambeau.fft.fftfreq(3, out=out) is out
    with pytest.raises(RuntimeError, match="fftfreq requires a floating point or complex dtype"):
        flambeau.fft.fftfreq(4, dtype=flambeau.int64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spectrograms_there_and_back(dtype: Any) -> None:
    x = drawn(2, 40, dtype=dtype)
    window = flambeau.tensor(0.5 - 0.5 * np.cos(np.arange(8) * 2 * np.pi / 8), dtype=x.dtype)
    for onesided in (True, False):
        for normalized in (True, False):
            z = flambeau.stft(x, 8, 2, window=window, normalized=normalized, onesided=onesided, return_complex=True)
            assert z.shape == (2, 5 if onesided else 8, 21)
            close(flambeau.istft(z, 8, 2, window=window, normalized=normalized, onesided=onesided, length=40), x)
    z = x[0].stft(8, 2, window=window, return_complex=True)
    close(z.istft(8, 2, window=window), x[0])
    parts = x.stft(8, 2, window=window, return_complex=False)
    assert parts.shape == (2, 5, 21, 2)


@pytest.mark.filterwarnings("ignore:A window was not provided")
def test_spectrograms_as_torch_does() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    x = drawn(2, 30)
    window = drawn(6, seed=3)._array ** 2 + 0.1
    for given in (
        {"n_fft": 8}, {"n_fft": 8, "hop_length": 3}, {"n_fft": 8, "win_length": 6, "window": window},
        {"n_fft": 9, "center": False}, {"n_fft": 8, "pad_mode": "constant"}, {"n_fft": 8, "normalized": True},
        {"n_fft": 8, "hop_length": 2, "win_length": 6, "window": window, "center": False, "align_to_window": True},
    ):  # fmt: skip
        ours = {k: wrap(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
        theirs = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
        wanted = torch.stft(torch.from_numpy(x._array), **theirs, return_complex=True)
        close(flambeau.stft(x, **ours, return_complex=True), wanted.numpy())
        back = {k: v for k, v in given.items() if k not in ("pad_mode", "align_to_window", "center")}
        ours = {k: wrap(v) if isinstance(v, np.ndarray) else v for k, v in back.items()}
        theirs = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in back.items()}
        close(flambeau.istft(wrap(wanted.numpy()), **ours), torch.istft(wanted, **theirs).numpy())


def test_what_spectrograms_refuse() -> None:
    x = flambeau.ones(20)
    with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
        flambeau.stft(x, 50, return_complex=True)
    with pytest.raises(RuntimeError, match="align_to_window should only be set when center = false"):
        flambeau.stft(x, 8, return_complex=True, align_to_window=True)
    with pytest.raises(RuntimeError, match="Cannot have onesided output if window or input is complex"):
        flambeau.stft(x + 0j, 8, onesided=True)
    z = flambeau.stft(x, 8, return_complex=True)
    with pytest.raises(RuntimeError, match="istft: input tensor cannot be empty"):
        flambeau.istft(z[:, :0], 8)
    with pytest.raises(RuntimeError, match="Cannot have onesided output"):
        flambeau.istft(z, 8, return_complex=True)
    with pytest.raises(RuntimeError, match="a tensor with 2 or 3 dimensions"):
        flambeau.istft(z[None, None], 8)


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_programs(backend: str) -> None:
    def f(x: flambeau.Tensor, window: flambeau.Tensor) -> flambeau.Tensor:
        z = flambeau.stft(x * 2.0, 8, window=window, return_complex=True)
        y = flambeau.istft(z, 8, window=window, length=x.size(0))
        power = flambeau.fft.rfft(y).abs() + flambeau.fft.rfftfreq(y.size(0))
        return power.sum() + flambeau.fft.fftshift(flambeau.fft.irfft(flambeau.fft.rfft(y), n=x.size(0)))

    x, window = drawn(20, dtype=np.float32), flambeau.ones(8)
    script = flambeau.script(f, backend=backend)
    close(script(x, window), f(x, window))
    close(flambeau.trace(f, (x, window))(x, window), f(x, window))
