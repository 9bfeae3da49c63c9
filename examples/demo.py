"""The tour that `make demo` gives: programs, their stages, their answers, their speed; and a page with the stages side
by side.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import flambeau
from examples import fannkuch, image, kmeans, life, lstm, mandelbrot, mlp, nbody, newton, page, spectral_norm
from flambeau import Tensor, nn


@flambeau.script
def gelu(x: Tensor) -> Tensor:
    """The Gaussian error linear unit, tanh form."""
    return 0.5 * x * (1.0 + flambeau.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def numpy_gelu(x: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def title(text: str) -> None:
    """A headline."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n== {text}")


def progress(text: str) -> None:
    """Where we are, when somebody watches."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def median_time(run: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds per call: the median of as many calls as fit."""
    run()
    samples = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples) < 3:
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def stages() -> None:
    """One small function through every stage."""
    x = flambeau.linspace(-3.0, 3.0, 7)
    title("A function, its tree and its graph")
    print(gelu.tree)
    print(gelu.graph)
    title("What the passes did for a float32 vector")
    print(gelu.passes(x))
    title("The optimised graph, and its bytecode")
    print(gelu.graph_for(x))
    print(gelu(x))
    print(gelu.bytecode)
    title("What was compiled, why, and how long it took")
    print(gelu.explain())


def answers() -> None:
    """The examples against what was published."""
    title("Programs with published answers")
    rows: list[tuple[str, str, str]] = []
    before, after = nbody.simulate(*nbody.bodies(), 1000)
    rows.append(("n-body, energy before, after 1,000 steps", f"{before:.9f} {after:.9f}", "-0.169075164 -0.169087605"))
    rows.append(("spectral norm, n = 100", f"{spectral_norm.spectral_norm(100):.9f}", "1.274219991"))
    rows.append(("fannkuch-redux, n = 7", "{} {}".format(*fannkuch.fannkuch(7)), "228 16"))
    rows.append(("Mandelbrot, area", f"{mandelbrot.area(400, 400, 150):.3f}", "1.507"))
    glider, _ = life.run(life.place(12, 12, life.GLIDER, 1, 1), 4)
    moved = flambeau.equal(glider, life.place(12, 12, life.GLIDER, 2, 2))
    rows.append(("Life, a glider after 4 generations", f"moved by (1, 1): {moved}", "moved by (1, 1): True"))
    rows.append(("Newton, x^3 - 2x - 5", repr(newton.root([1.0, 0.0, -2.0, -5.0], 2.0)), "2.0945514815423265"))
    picture = image.load()
    rows.append(("Otsu threshold of a picture", str(image.otsu(picture)[0]), "by hand: see tests"))
    start = flambeau.tensor([[0.0], [0.33], [0.66], [1.0]], dtype=flambeau.float64)
    centres, _, rounds = kmeans.kmeans(picture.reshape(-1, 1), start)
    rows.append(
        (f"k-means of its grey levels, {rounds} rounds", str([round(c, 2) for c in centres.flatten().tolist()]), "")
    )
    rows.append(("Sobel, strongest edge", f"{float(image.sobel(picture).max()):.3f}", ""))
    states, _, _ = lstm.lstm(*lstm.arguments(10, 4, 8, 16))
    rows.append(("LSTM, 10 steps by hand, mean |h|", f"{float(states.abs().mean()):.4f}", ""))
    for name, got, want in rows:
        print(f"  {name:42} {got:28} {want and 'published ' + want}")


def modules() -> None:
    """A module scripted and traced."""
    title("A module, scripted and traced")
    flambeau.manual_seed(0)
    model = mlp.Perceptron(8, 32, 4)
    x = flambeau.randn(3, 8)
    scripted, traced = flambeau.script(model), flambeau.trace(model, (x,))
    print(scripted.graph)
    difference = float((scripted(x) - traced(x)).abs().max())
    print(f"  scripted and traced differ by {difference:.0e} at most; parameters: {', '.join(scripted.state_dict())}")


def training() -> list[float]:
    """A network that learns two spirals, its loss a scripted function; the loss of each step."""
    title("Training: two spirals, a scripted loss, Adam")
    flambeau.manual_seed(0)
    turn = 3.0 * flambeau.rand(400).sqrt()
    side = flambeau.arange(400) % 2
    angle = 2.0 * turn + np.pi * side
    points = flambeau.stack([turn * angle.cos(), turn * angle.sin()], 1)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = flambeau.optim.Adam(model.parameters(), lr=0.01)
    target = side.float()
    losses = []
    start = time.perf_counter()
    for step in range(400):
        scores = model(points).squeeze(1)
        loss = logistic(scores, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 100 == 99:
            right = float(((scores > 0) == (target > 0.5)).float().mean())
            print(f"  step {step + 1:3}: loss {losses[-1]:.4f}, {100 * right:.1f} % right")
    print(f"  {time.perf_counter() - start:.1f} s")
    return losses


@flambeau.script
def logistic(scores: Tensor, target: Tensor) -> Tensor:
    """The logistic loss: how surprising targets of 0 and 1 are."""
    return (flambeau.clamp(scores, min=0.0) - scores * target + flambeau.log1p(flambeau.exp(-scores.abs()))).mean()


def plain(function: Any) -> Callable[..., Any]:
    """The Python function behind a scripted one, its callees in Python too."""
    python = function.__wrapped__
    scope = dict(python.__globals__)
    for name, value in list(scope.items()):
        if isinstance(value, flambeau.jit.ScriptFunction):
            inner = value.__wrapped__
            scope[name] = type(inner)(inner.__code__, scope, inner.__name__, inner.__defaults__)
    return scope[python.__name__]  # type: ignore[no-any-return]


def speed() -> None:
    """Times against plain Python, NumPy and our own interpreter."""
    title("Speed: microseconds per call (median), here and now")
    print(f"  {'':34} {'Python':>10} {'NumPy':>10} {'interpreter':>12} {'native':>10}")
    x = np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32)
    t = flambeau.from_numpy(x)
    photo = image.load()
    grey = photo.numpy()

    def numpy_sobel() -> np.ndarray:
        rows = grey[:-2] + 2.0 * grey[1:-1] + grey[2:]
        columns = grey[:, :-2] + 2.0 * grey[:, 1:-1] + grey[:, 2:]
        return np.sqrt((rows[:, 2:] - rows[:, :-2]) ** 2 + (columns[2:] - columns[:-2]) ** 2)

    rows: list[tuple[str, Any, tuple[Any, ...], Callable[[], Any] | None]] = [
        ("GELU of 1,000,000 floats", gelu, (t,), lambda: numpy_gelu(x)),
        ("GELU of 1,000 floats", gelu, (t[:1000],), lambda: numpy_gelu(x[:1000])),
        ("Sobel of 160 x 120", image.sobel, (photo,), numpy_sobel),
        ("LSTM, 10 steps of 4 x 16", lstm.lstm, lstm.arguments(10, 4, 8, 16), None),
        ("square roots by Newton", newton.square_root, (flambeau.rand(1000, dtype=flambeau.float64) + 0.1,), None),
        ("escape time of one point", mandelbrot.escape_time, (-0.75, 0.05, 200), None),
    ]
    for number, (name, function, given, numpy_run) in enumerate(rows):
        progress(f"timing {number + 1}/{len(rows)}: {name}")
        python = plain(function)
        interpreted = flambeau.script(function, backend="interpreter")
        runs = [partial(python, *given), numpy_run, partial(interpreted, *given), partial(function, *given)]
        cells = [f"{median_time(r) * 1e6:.1f}" if r is not None else "-" for r in runs]
        progress("")
        print(f"  {name:34} {cells[0]:>10} {cells[1]:>10} {cells[2]:>12} {cells[3]:>10}")
    print("  (Python: the same function on eager tensors.)")


def main() -> None:
    """The tour."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--page", type=Path, default=Path("build/demo.html"), help="where the page goes")
    options = parser.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    stages()
    answers()
    modules()
    losses = training()
    speed()
    options.page.parent.mkdir(parents=True, exist_ok=True)
    x = flambeau.linspace(-3.0, 3.0, 7)
    picture = image.load()
    curve = page.loss_curve(losses, "Training two spirals")
    shown = [(gelu, (x,)), (image.sobel, (picture,)), (newton.square_root, (x.abs() + 1.0,))]
    options.page.write_text(page.render(shown, curve), encoding="utf-8")
    title(f"The stages side by side: {options.page}")


if __name__ == "__main__":
    main()
