"""The example programs give their published answers in CPython on eager tensors, in the reference evaluator,
interpreted and native.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from examples import diffusion, fannkuch, image, kmeans, life, lstm, mandelbrot, mlp, nbody, newton, spectral_norm
from flambeau.jit.function import ScriptFunction

PATHS = ("python", "reference", "interpreter", "native")


class Path:
    """One way to run an example's functions."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, function: ScriptFunction) -> Callable[..., Any]:
        if self.name == "python":
            return eager(function)
        return flambeau.script(function, backend=self.name)


def eager(function: ScriptFunction) -> Callable[..., Any]:
    """The Python function behind, in a copy of its module where the scripted functions are Python's too."""
    python = function.__wrapped__
    plain = dict(python.__globals__)
    for name, value in list(plain.items()):
        if isinstance(value, ScriptFunction):
            inner = value.__wrapped__
            plain[name] = type(inner)(inner.__code__, plain, inner.__name__, inner.__defaults__, inner.__closure__)
    found: Callable[..., Any] = plain[python.__name__]
    return found


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_nbody(path: Path) -> None:
    steps = 1000 if path.name != "reference" else 20
    before, after = path(nbody.simulate)(*nbody.bodies(), steps)
    assert before == pytest.approx(-0.169075164, abs=5e-10)
    if steps == 1000:
        assert after == pytest.approx(-0.169087605, abs=5e-10)


def test_spectral_norm(path: Path) -> None:
    assert path(spectral_norm.spectral_norm)(100) == pytest.approx(1.274219991, abs=5e-10)


def test_fannkuch(path: Path) -> None:
    n, answer = (7, (228, 16)) if path.name != "reference" else (5, (11, 7))
    assert path(fannkuch.fannkuch)(n) == answer


def test_mandelbrot_area_and_pixels(path: Path) -> None:
    assert path(mandelbrot.area)(200, 200, 100) == pytest.approx(1.5066, abs=0.05)
    escape = path(mandelbrot.escape_time)
    grid = mandelbrot.image(9, 7, 30).tolist()
    for j, im in enumerate(np.linspace(-1.25, 1.25, 7)):
        for i, re in enumerate(np.linspace(-2.0, 0.5, 9)):
            assert escape(float(re), float(im), 30) == grid[j][i]


def test_life_glider_and_pentomino(path: Path) -> None:
    run = path(life.run)
    start = life.place(12, 12, life.GLIDER, 1, 1)
    after, steps = run(start, 4)
    assert steps == 4
    assert flambeau.equal(after, life.place(12, 12, life.GLIDER, 2, 2))
    assert int(run(life.place(12, 12, life.GLIDER, 1, 1), 48)[0].sum()) == 5


@pytest.mark.usefixtures("all_passes")
def test_life_pentomino_settles_as_published() -> None:
    """On a board too large for its gliders to come back within 1,103 generations, 116 cells are left."""
    board = life.place(640, 640, life.R_PENTOMINO, 320, 320).to(flambeau.int8)
    after, steps = flambeau.script(life.run)(board, 1103)
    assert steps == 1103
    assert int(after.sum()) == 116


def test_kmeans_finds_separate_groups(path: Path) -> None:
    draw = np.random.default_rng(3)
    true = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    points = np.concatenate([draw.normal(c, 0.3, (40, 2)) for c in true])
    start = points[[0, 40, 80]] + 0.5
    centres, labels, rounds = path(kmeans.kmeans)(flambeau.from_numpy(points), flambeau.from_numpy(start))
    assert 1 <= rounds < 20
    assert np.abs(np.sort(centres.numpy(), 0) - np.sort(true, 0)).max() < 0.2
    assert np.array_equal(labels.numpy(), np.repeat([0, 1, 2], 40))


def reference_otsu(grey: np.ndarray) -> int:
    """The threshold by brute force over all levels."""
    index = np.round(grey * 255).astype(int).ravel()
    best, best_variance = 0, -1.0
    for level in range(256):
        dark, light = index[index <= level], index[index > level]
        if len(dark) and len(light):
            variance = len(dark) * len(light) / len(index) ** 2 * (dark.mean() - light.mean()) ** 2
            if variance > best_variance + 1e-9:
                best, best_variance = level, variance
    return best


def test_otsu_and_sobel_on_a_picture(path: Path) -> None:
    picture = image.load()
    grey = picture.numpy()
    assert path(image.otsu)(picture)[0] == reference_otsu(grey)
    across = grey[:, 2:] - grey[:, :-2]
    across = across[:-2] + 2 * across[1:-1] + across[2:]
    down = grey[2:] - grey[:-2]
    down = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    np.testing.assert_allclose(path(image.sobel)(picture).numpy(), np.hypot(across, down), rtol=1e-9, atol=1e-12)


def reference_lstm(
    xs: np.ndarray, h: np.ndarray, c: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray
) -> np.ndarray:
    def sigmoid(v: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-v))

    states = []
    for x in xs:
        entry, forget, candidate, output = np.split(x @ w.T + b + h @ u.T, 4, axis=1)
        c = sigmoid(forget) * c + sigmoid(entry) * np.tanh(candidate)
        h = sigmoid(output) * np.tanh(c)
        states.append(h)
    return np.stack(states)


def test_lstm(path: Path) -> None:
    given = lstm.arguments(7, 3, 5, 6)
    states, h, c = path(lstm.lstm)(*given)
    want = reference_lstm(*(g.numpy().astype(np.float64) for g in given))
    np.testing.assert_allclose(states.numpy(), want, rtol=2e-5, atol=2e-6)
    assert flambeau.equal(states[-1], h)
    assert c.shape == (3, 6)


def test_newton(path: Path) -> None:
    assert path(newton.root)([1.0, 0.0, -2.0, -5.0], 2.0) == pytest.approx(2.0945514815423265, abs=1e-14)
    roots, steps = path(newton.square_root)(flambeau.tensor([2.0, 1e-3, 1e6], dtype=flambeau.float64))
    np.testing.assert_allclose(roots.numpy(), [math.sqrt(2.0), math.sqrt(1e-3), 1e3], rtol=1e-12)
    assert 5 < steps < 60


def test_mlp_scripted_and_traced() -> None:
    flambeau.manual_seed(0)
    model = mlp.Perceptron(8, 32, 4)
    x = flambeau.randn(3, 8)
    want = model(x).detach().numpy()
    np.testing.assert_allclose(want.sum(1), 1.0, rtol=1e-5)
    traced = flambeau.trace(model, (x,))
    np.testing.assert_allclose(traced(x).detach().numpy(), want, rtol=1e-5, atol=1e-6)
    for backend in ("reference", "interpreter", "native"):
        scripted = flambeau.script(model, backend=backend)
        np.testing.assert_allclose(scripted(x).detach().numpy(), want, rtol=1e-5, atol=1e-6)
    y = flambeau.randn(5, 8)
    np.testing.assert_allclose(traced(y).detach().numpy(), model(y).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_diffusion_is_what_numpy_computes() -> None:
    start = diffusion.hot_plate(37, 300)
    plate = start.numpy().copy()
    for _ in range(4):
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        inside = plate[1:-1, 1:-1]
        plate = plate.copy()
        plate[1:-1, 1:-1] = inside + (around * np.float32(0.25) - inside) * np.float32(0.8)
    for is_scheduled in (False, True):
        after = diffusion.run(start, 4, is_scheduled=is_scheduled)
        np.testing.assert_allclose(after.numpy(), plate, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "module", [diffusion, fannkuch, nbody, newton, spectral_norm, lstm, mlp, kmeans, image], ids=lambda m: m.__name__
)
def test_examples_run_as_programs(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    import runpy
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        runpy.run_module(module.__name__, run_name="__main__")
    assert capsys.readouterr().out.strip()
