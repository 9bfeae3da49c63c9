"""A page with the stages of functions: source, picture, graph, passes, bytecode, what was compiled, tree, LLVM IR."""

from __future__ import annotations

import html
import inspect
import math
from collections.abc import Sequence
from typing import Any

from flambeau.ir import to_html

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #263238; background: #fafafa }
h1, h2 { font-weight: 600 } h2 { margin-top: 2.5rem; border-top: 1px solid #cfd8dc; padding-top: 1rem }
nav a { margin-right: 1rem; color: inherit }
.stages { display: grid; gap: 1rem; align-items: start;
          grid-template-columns: repeat(auto-fill, minmax(min(100%, 34rem), 1fr)) }
.stage { background: white; border: 1px solid #cfd8dc; border-radius: 8px; padding: .75rem 1rem; min-width: 0;
         max-height: 34rem; overflow: auto }
.stage svg { max-width: 100%; height: auto } .wide { grid-column: 1 / -1 }
.stage h3 { margin: 0 0 .5rem; font-size: 13px; text-transform: uppercase; letter-spacing: .05em; color: #607d8b }
pre { margin: 0; font: 12px/1.4 ui-monospace, monospace } details { margin: .2rem 0 } summary { cursor: pointer }
@media (prefers-color-scheme: dark) {
  body { background: #1b2327; color: #eceff1 } .stage { background: #eceff1; color: #263238; border-color: #455a64 } }
"""


def loss_curve(losses: Sequence[float], title: str) -> str:
    """Losses by step as a picture, on a logarithmic scale."""
    logs = [math.log10(max(loss, 1e-12)) for loss in losses]
    low, high, width = min(logs), max(max(logs), min(logs) + 1e-9), max(len(logs) - 1, 1)
    heights = [180 - 160 * (value - low) / (high - low) for value in logs]
    points = " ".join(f"{40 + 540 * k / width:.1f},{height:.1f}" for k, height in enumerate(heights))
    marks = "".join(
        f"<text x='0' y='{y}' font-size='11'>{10**mark:.2g}</text>" for mark, y in ((low, 184), (high, 24))
    )
    return (
        f"<h2 id='training'>{html.escape(title)}</h2><div class='stage'><svg viewBox='0 0 600 200' role='img'>"
        f"<title>loss by step</title><polyline points='{points}' fill='none' stroke='#37474f'/>{marks}</svg></div>"
    )


def render(functions: Sequence[tuple[Any, tuple[Any, ...]]], more: str = "") -> str:
    """The page for scripted functions, each with arguments to specialise for; `more` is put before them."""
    links = "".join(f"<a href='#{html.escape(f.name)}'>{html.escape(f.name)}</a>" for f, _ in functions)
    sections = "\n".join(_section(function, given) for function, given in functions)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Flambeau: every stage</title><style>{STYLE}</style><h1>Every stage</h1>"
        "<p>Source, the graph that runs as a picture and as text, what each pass changed, bytecode, what was compiled "
        "and how long it took; last the tree and the native code.</p>"
        f"<nav>{links}</nav>"
        f"{more}{sections}</html>"
    )


def _section(function: Any, given: tuple[Any, ...]) -> str:
    function(*given)
    optimised = function.graph_for(*given)
    stages = [
        ("source", _text(inspect.getsource(function.__wrapped__))),
        ("graph", to_html(str(function.graph))),
        ("picture of the graph that runs", optimised._repr_svg_() or "<p>pip install 'flambeau[viz]' draws it</p>"),
        ("the graph that runs", to_html(str(optimised))),
        ("passes", function.passes(*given)._repr_html_()),
        ("bytecode", _text(str(function.bytecode))),
        ("explain", _text(str(function.explain()))),
        ("tree", _text(str(function.tree))),
        ("LLVM IR", _text(function.llvm_ir)),
    ]
    shown = "".join(_card(name, body) for name, body in stages)
    return f"<h2 id='{html.escape(function.name)}'>{html.escape(function.name)}</h2><div class='stages'>{shown}</div>"


def _card(name: str, body: str) -> str:
    wide = " wide" if name.startswith("picture") else ""
    return f"<div class='stage{wide}'><h3>{name}</h3>{body}</div>"


def _text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
