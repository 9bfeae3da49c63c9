"""A page with the stages of functions side by side: source, tree, graph, passes, bytecode, LLVM IR, picture."""

from __future__ import annotations

import html
import inspect
from collections.abc import Sequence
from typing import Any

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #263238; background: #fafafa }
h1, h2 { font-weight: 600 } h2 { margin-top: 2.5rem; border-top: 1px solid #cfd8dc; padding-top: 1rem }
.row { display: flex; gap: 1rem; overflow-x: auto; align-items: flex-start; padding-bottom: 1rem }
.stage { background: white; border: 1px solid #cfd8dc; border-radius: 8px; padding: .75rem 1rem; flex: 0 0 auto;
         max-width: 46rem; max-height: 40rem; overflow: auto }
.stage h3 { margin: 0 0 .5rem; font-size: 13px; text-transform: uppercase; letter-spacing: .05em; color: #607d8b }
pre { margin: 0; font: 12px/1.4 ui-monospace, monospace } details { margin: .2rem 0 } summary { cursor: pointer }
@media (prefers-color-scheme: dark) {
  body { background: #1b2327; color: #eceff1 } .stage { background: #eceff1; color: #263238; border-color: #455a64 } }
"""


def render(functions: Sequence[tuple[Any, tuple[Any, ...]]]) -> str:
    """The page for scripted functions, each with arguments to specialise for."""
    sections = "\n".join(_section(function, given) for function, given in functions)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Flambeau: every stage</title><style>{STYLE}</style><h1>Every stage, side by side</h1>"
        f"<p>Scroll sideways: source, tree, graph, what each pass changed, the graph that runs, bytecode, native "
        "code.</p>"
        f"{sections}</html>"
    )


def _section(function: Any, given: tuple[Any, ...]) -> str:
    function(*given)
    stages = [
        ("source", _text(inspect.getsource(function.__wrapped__))),
        ("tree", _text(str(function.tree))),
        ("graph", function.graph._repr_html_()),
        ("picture", function.graph_for(*given)._repr_svg_() or "<p>pip install 'flambeau[viz]' draws it</p>"),
        ("passes", function.passes(*given)._repr_html_()),
        ("optimised graph", function.graph_for(*given)._repr_html_()),
        ("bytecode", _text(str(function.bytecode))),
        ("LLVM IR", _text(function.llvm_ir)),
        ("explain", _text(str(function.explain()))),
    ]
    shown = "".join(f"<div class='stage'><h3>{name}</h3>{body}</div>" for name, body in stages)
    return f"<h2>{html.escape(function.name)}</h2><div class='row'>{shown}</div>"


def _text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
