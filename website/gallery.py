"""The gallery: a page for each program of `examples/` with what it prints, a picture of what it computes where there is
one, the graph of its smallest function, and its source.
"""

from __future__ import annotations

import ast
import contextlib
import html
import importlib
import io
import re
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import flambeau
from website.png import png
from website.stage import ROOT, Pages

TOOLS: Final = frozenset({"__init__", "demo", "page", "make_picture"})
"""Files of the folder that are no examples themselves."""


def _life(life: Any) -> Any:
    board = life.place(48, 64, life.GLIDER, 4, 4)
    for row, column in ((20, 10), (10, 40), (30, 30), (36, 50)):
        board = board + life.place(48, 64, life.R_PENTOMINO, row, column)
    return life.run(board.clamp(max=1), 60)[0]


PICTURES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "mandelbrot": lambda m: m.image(320, 320, 60).float().sqrt(),
    "image": lambda m: m.sobel(m.load()),
    "life": _life,
    "diffusion": lambda m: m.run(m.hot_plate(240, 320), 400),
    "kmeans": lambda m: _clustered(m),
}
"""Examples that compute pictures: the module to grey levels."""


def _clustered(kmeans: Any) -> Any:
    grey = importlib.import_module("examples.image").load()
    start = flambeau.tensor([[0.0], [0.33], [0.66], [1.0]], dtype=flambeau.float64)
    centres, labels, _ = kmeans.kmeans(grey.reshape(-1, 1), start)
    return centres.flatten()[labels].reshape(grey.shape)


def pages(folder: Path) -> Pages:
    """`gallery/index.md` and a page for each example; the pictures go to `folder / "gallery"`."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    (folder / "gallery").mkdir(parents=True, exist_ok=True)
    names = sorted(p.stem for p in (ROOT / "examples").glob("*.py") if p.stem not in TOOLS)
    found = {f"gallery/{name}.md": _page(name, folder / "gallery") for name in names}
    cards = "".join(_card(name, folder / "gallery") for name in names)
    models = "".join(
        f"| `{p.stem}` | {_title(p)} |\n"
        for p in sorted((ROOT / "examples" / "models").glob("*.py")) if p.stem not in ("__init__", "show")
    )  # fmt: skip
    trained = "".join(
        f"| `{p.stem}` | {_title(p)} |\n"
        for p in sorted((ROOT / "examples" / "training").glob("*.py")) if p.stem not in ("__init__", "pictures")
    )  # fmt: skip
    index = (
        "# Gallery\n\nPrograms of `examples/`, with what they print and compute. Each is run by the tests, and while "
        f'this site is made.\n\n<div class="cards">\n{cards}</div>\n\n## Whole models\n\n'
        "`python -m examples.models.nano_gpt` runs one in Python, scripted and traced; "
        "[layers](../layers.md#whole-models) says more.\n\n| file | model |\n|---|---|\n"
    )
    training = (
        "\n## Training\n\n`python -m examples.training.digits` trains one in full and draws what it reached; "
        "[training](../tutorial/training.md) says more.\n\n| file | what is trained |\n|---|---|\n"
    )
    return {"gallery/index.md": index + models + training + trained, **found}


def _page(name: str, folder: Path) -> str:
    path = ROOT / "examples" / f"{name}.py"
    module = importlib.import_module(f"examples.{name}")
    text = f"# {_heading(name)}\n\n{ast.get_docstring(ast.parse(path.read_text(encoding='utf-8')))}\n"
    if name in PICTURES:
        levels = np.asarray(PICTURES[name](module).numpy(), dtype=np.float64)
        (folder / f"{name}.png").write_bytes(png(levels))
        text += f'\n<div class="picture" markdown>\n![What {name} computes]({name}.png)\n</div>\n'
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(path), run_name="__main__")
    text += f"\n## What it prints\n\n`python -m examples.{name}`\n\n```text\n{printed.getvalue().rstrip()}\n```\n"
    smallest = _smallest(module)
    drawn = smallest.graph._repr_svg_() if smallest is not None else None
    if smallest is not None and drawn is not None:
        (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
        text += f"\n## A function as a graph\n\n`{name}.{smallest.name}.graph`, drawn by `flambeau.ir.to_svg`:\n"
        text += f'\n<div class="picture" markdown>\n![The graph of {smallest.name}]({name}.svg)\n</div>\n'
    source = path.read_text(encoding="utf-8").rstrip()
    return text + f'\n## Source\n\n```python title="examples/{name}.py"\n{source}\n```\n'


def _smallest(module: Any) -> flambeau.jit.ScriptFunction | None:
    """The scripted function of a module with the shortest graph."""
    own = [v for v in vars(module).values() if isinstance(v, flambeau.jit.ScriptFunction)]
    own = [v for v in own if v.__module__ == module.__name__]
    return min(own, key=lambda v: len(str(v.graph)), default=None)


def _card(name: str, folder: Path) -> str:
    title = _title(ROOT / "examples" / f"{name}.py")
    image = f'<img src="{name}.png" alt="">' if (folder / f"{name}.png").is_file() else ""
    shown = re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(title, quote=False))
    return f'<a href="{name}.html">{image}<b>{_heading(name)}</b><br>{shown}</a>\n'


def _heading(name: str) -> str:
    return {"kmeans": "k-means", "lstm": "LSTM", "mlp": "Perceptron", "nbody": "n-body"}.get(
        name, name.replace("_", " ").capitalize()
    )


def _title(path: Path) -> str:
    """The first sentence of a file's docstring."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())
