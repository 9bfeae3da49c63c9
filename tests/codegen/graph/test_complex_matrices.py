"""Products of complex matrices, eigenvalues of real ones and Fourier transforms in native code."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import Arguments, agree, functions

PRODUCTS = """
def f(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = (x @ y) * 0.5
    return x
"""
OF_VECTORS = """
def f(x: Tensor, y: Tensor, n: int) -> Tensor:
    s = (x @ y) * 0
    for i in range(n):
        s = s + x @ y
        y = y * 0.5
    return s
"""
TRANSFORMS = """
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    z = flambeau.fft.fft(x)
    for i in range(n):
        z = flambeau.fft.ifft(z) * 2
        z = flambeau.fft.fft(z) * 0.5
    return z, flambeau.fft.rfft(flambeau.real(z)), flambeau.fft.irfft(z)
"""
PLANES = """
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    y = flambeau.fft.fftn(x)
    for i in range(n):
        y = flambeau.fft.ifft2(flambeau.fft.fft2(y) * 0.5)
    return y, flambeau.fft.fft2(x), flambeau.fft.ifftn(y, dim=[0])
"""
SPECTRA = """
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    w, v = flambeau.linalg.eig(x)
    for i in range(n):
        x = x * 0.5
        w, v = flambeau.linalg.eig(x)
    return w, v, flambeau.linalg.eigvals(x)
"""


def numbers(*sizes: int, seed: int = 0, is_complex: bool = True) -> flambeau.Tensor:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes)
    return flambeau.from_numpy(x + 1j * rng.standard_normal(sizes) if is_complex else x)


def whole(*sizes: int, seed: int = 0) -> flambeau.Tensor:
    """Small whole numbers, whose products add up to the same in any order."""
    parts = np.random.default_rng(seed).integers(-4, 5, (2, *sizes)).astype(float)
    return flambeau.from_numpy(parts[0] + 1j * parts[1])


def with_nan(x: flambeau.Tensor) -> flambeau.Tensor:
    x.reshape(-1)[1] = float("nan")
    return x

SYSTEMS = """
def f(x: Tensor, b: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    y = x
    for i in range(n):
        y = flambeau.linalg.inv(y)
    return y, flambeau.linalg.solve(x, b), flambeau.linalg.det(x), flambeau.linalg.slogdet(x)[1]
"""
HERMITIAN = """
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    h = x + x.mH
    w, v = flambeau.linalg.eigh(h)
    for i in range(n):
        w, v = flambeau.linalg.eigh(h, "U")
    return w, v, flambeau.linalg.eigvalsh(h), flambeau.linalg.cholesky(x @ x.mH + flambeau.eye(3))
"""


CASES: dict[str, tuple[str, Arguments]] = {
    "matrices": (PRODUCTS, lambda: (whole(2, 3), whole(3, 3, seed=1), 4)),
    "parts of matrices": (PRODUCTS, lambda: (whole(4, 6)[::2, ::2], whole(3, 3, seed=1).T, 4)),
    "a vector and a matrix": (PRODUCTS, lambda: (whole(6)[::2], whole(3, 3, seed=1), 3)),
    "a matrix and a vector": (OF_VECTORS, lambda: (whole(3, 3), whole(3, seed=1), 3)),
    "vectors": (OF_VECTORS, lambda: (whole(3), whole(6, seed=1)[::2], 3)),
    "nothing between": (PRODUCTS, lambda: (whole(2, 0), whole(0, 3), 1)),
    "no rows": (PRODUCTS, lambda: (whole(0, 3), whole(3, 3), 2)),
    "sizes that do not fit": (PRODUCTS, lambda: (whole(2, 3), whole(2, 3), 2)),
    "nan in matrices": (PRODUCTS, lambda: (with_nan(whole(2, 3)), whole(3, 3), 2)),
    "large matrices": (PRODUCTS, lambda: (whole(3, 90), whole(90, 90), 1)),
    "an even signal": (TRANSFORMS, lambda: (numbers(8), 3)),
    "an odd signal": (TRANSFORMS, lambda: (numbers(7), 3)),
    "a real signal": (TRANSFORMS, lambda: (numbers(7, is_complex=False), 1)),
    "every other point": (TRANSFORMS, lambda: (numbers(9)[::2], 1)),
    "no point": (TRANSFORMS, lambda: (numbers(0), 1)),
    "one point": (TRANSFORMS, lambda: (numbers(1), 1)),
    "several signals": (TRANSFORMS, lambda: (numbers(2, 5), 1)),
    "signals in three axes": (TRANSFORMS, lambda: (numbers(2, 3, 4), 1)),
    "signals that lie across": (TRANSFORMS, lambda: (numbers(4, 3).T, 1)),
    "no signals": (TRANSFORMS, lambda: (numbers(0, 5), 1)),
    "real signals in single precision": (TRANSFORMS, lambda: (numbers(3, 7, is_complex=False).to(flambeau.float32), 1)),
    "along the first axis": (TRANSFORMS.replace("fft.fft(x)", "fft.fft(x, dim=0)"), lambda: (numbers(3, 4, 2), 1)),
    "planes": (PLANES, lambda: (numbers(3, 4), 2)),
    "several real planes": (PLANES, lambda: (numbers(2, 3, 5, is_complex=False), 1)),
    "a line is no plane": (PLANES, lambda: (numbers(3), 1)),
    "planes of nothing": (PLANES, lambda: (numbers(0, 3), 1)),
    "single precision": (TRANSFORMS, lambda: (numbers(6).to(flambeau.complex64), 1)),
    "systems": (SYSTEMS, lambda: (numbers(4, 4), numbers(4, seed=1), 2)),
    "several systems": (SYSTEMS, lambda: (numbers(2, 3, 3), numbers(2, 3, 2, seed=1), 1)),
    "a transposed system": (SYSTEMS, lambda: (numbers(3, 3).T, numbers(3, 2, seed=1), 1)),
    "a system without a solution": (SYSTEMS, lambda: (numbers(3, 3) * 0, numbers(3), 1)),
    "an empty system": (SYSTEMS, lambda: (numbers(0, 0), numbers(0), 1)),
    "a system that is not square": (SYSTEMS, lambda: (numbers(2, 3), numbers(2), 1)),
    "Hermitian matrices": (HERMITIAN, lambda: (whole(3, 3), 1)),
    "eigenvalues": (SPECTRA, lambda: (numbers(4, 4, is_complex=False), 3)),
    "eigenvalues of a transpose": (SPECTRA, lambda: (numbers(4, 4, is_complex=False).T, 3)),
    "eigenvalues of nothing": (SPECTRA, lambda: (numbers(0, 0, is_complex=False), 1)),
    "no square": (SPECTRA, lambda: (numbers(2, 3, is_complex=False), 1)),
    "nan has no eigenvalues": (SPECTRA, lambda: (with_nan(numbers(3, 3, is_complex=False)), 1)),
    "complex eigenvalues": (SPECTRA, lambda: (numbers(3, 3), 1)),
}


OF_PYTHON = {"complex eigenvalues", "a line is no plane"}


@pytest.mark.parametrize("name", CASES)
def test_native_code_gives_what_the_operators_give(name: str) -> None:
    agree(*CASES[name], is_native=name not in OF_PYTHON)


@pytest.mark.parametrize("name", ["matrices", "an odd signal", "eigenvalues", "systems", "Hermitian matrices"])
def test_loops_with_them_are_native(name: str) -> None:
    source, arguments = CASES[name]
    function = functions(source)["native"]
    for _ in range(3):
        function(*arguments())
    assert not function.explain().compilations[0].interpreted


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("dim", [0, 1])
def test_transforms_of_so_many_points(dim: int, norm: str) -> None:
    """Signals that are cut, and that go on with zeros."""
    options = f"n, {dim}, '{norm}'"
    source = (
        "def f(x: Tensor, n: int, m: int):\n"
        "    for i in range(m):\n"
        f"        y = flambeau.fft.fft(x, {options}), flambeau.fft.ifft(x, {options})\n"
        f"        z = flambeau.fft.rfft(flambeau.real(x), {options}), flambeau.fft.irfft(x, {options})\n"
        "    return y, z\n"
    )
    for n in (1, 2, 7, 8, 9, 24):
        for dtype in (flambeau.complex128, flambeau.complex64):
            agree(source, partial(lambda n, dtype: (numbers(5, 8).to(dtype), n, 2), n, dtype))


@pytest.mark.parametrize("options", ["", ", [n, m]", ", [n, -1]", ", [m, n], [1, 0]", ", None, [0], 'ortho'"])
def test_transforms_of_planes_of_reals(options: str) -> None:
    source = (
        "def f(x: Tensor, n: int, m: int):\n"
        "    for i in range(2):\n"
        f"        y = flambeau.fft.rfft2(x{options}), flambeau.fft.irfft2(flambeau.fft.fft2(x){options})\n"
        f"        z = flambeau.fft.rfftn(x{options}), flambeau.fft.ifftn(x{options})\n"
        "    return y, z, flambeau.fft.irfftn(flambeau.fft.rfftn(x))\n"
    )
    for dtype in (flambeau.float64, flambeau.float32):
        agree(source, partial(lambda dtype: (numbers(5, 8, is_complex=False).to(dtype), 4, 9), dtype))


def test_gradients_through_transforms_are_native() -> None:
    def spectral_steps(u: flambeau.Tensor, k: flambeau.Tensor) -> flambeau.Tensor:
        for _ in range(3):
            z = flambeau.fft.rfft(u) * flambeau.exp(-0.1 * k)
            u = flambeau.fft.irfft(z, n=u.size(0)) * 0.9
            u = u - 0.1 * flambeau.fft.ifft(flambeau.fft.fft(u) * 0.5).real
            plane = flambeau.fft.rfft2(u.unsqueeze(0) * u.unsqueeze(1)) * 0.1
            u = u + flambeau.fft.irfft2(plane, s=[u.size(0), u.size(0)])[0]
        return (u * u).sum()

    gradient: Any = flambeau.grad(flambeau.script(spectral_steps))
    for size in (8, 9, 8):
        for seed in (0, 1):
            u = numbers(size, seed=seed, is_complex=False)
            k = flambeau.arange(size // 2 + 1, dtype=flambeau.float64)
            expected = flambeau.grad(spectral_steps)(u, k)
            assert np.allclose(gradient(u, k).numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
    for _ in range(6):
        gradient(u, k)
    assert gradient.explain().is_native
