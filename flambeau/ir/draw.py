"""A graph as a picture (SVG) and as coloured text (HTML), for notebooks and pages.

Each block is laid out in layers (Sugiyama, Tagawa and Toda, 1981; the igraph library of the `[viz]` extra orders
them); a node with blocks becomes a box around their pictures. Values are the edges. Colours follow the kind:
constants grey, control flow amber, tensor operators blue, calls green, what raises red.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.kinds import HIDDEN
from flambeau.ir.printer import SUBGRAPH
from flambeau.util.markup import escape
from flambeau.util.record import dataclass, field

NEEDS_VIZ = "drawing a graph needs the igraph library: pip install 'flambeau[viz]'"
_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y = 6.7, 15.0, 8.0, 18.0, 26.0
_LONGEST = 44
_COLOURS = (
    (re.compile(r"prim::(Constant|GetAttr|Uninitialized)"), "#eceff1", "#90a4ae"),
    (re.compile(r"prim::(If|Loop|Closure|fork)"), "#fff8e1", "#ffb300"),
    (re.compile(r"prim::(RaiseException|Print)|aten::warn"), "#ffebee", "#e57373"),
    (re.compile(r"prim::(Call|FusionGroup|Tuple|List|Dict)"), "#e8f5e9", "#66bb6a"),
    (re.compile(r""), "#e3f2fd", "#64b5f6"),
)


@dataclass
class _Box:
    """A rectangle with lines of text, and the pictures of blocks inside."""

    lines: list[str]
    fill: str
    stroke: str
    inner: list[_Picture] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    def measure(self) -> None:
        text_width = max((len(line) for line in self.lines), default=0) * _CHAR
        inner_width = sum(p.width for p in self.inner) + _PAD * max(len(self.inner) - 1, 0)
        self.width = max(text_width, inner_width) + 2 * _PAD
        self.height = len(self.lines) * _LINE + _PAD + (max((p.height for p in self.inner), default=-_PAD) + _PAD)


@dataclass
class _Picture:
    """A laid out block: boxes, and edges as (from box, to box, value name)."""

    boxes: list[_Box]
    edges: list[tuple[int, int, str]]
    width: float = 0.0
    height: float = 0.0


def to_svg(graph: Graph) -> str:
    """The graph as a standalone SVG document. Raises ImportError, saying what to install, without igraph.

    >>> from flambeau.ir import parse_ir
    >>> to_svg(parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)"))[:4]
    '<svg'
    """
    picture = _lay_out(graph.body, "inputs", "outputs")
    body: list[str] = []
    _draw(picture, 10.0, 10.0, body)
    width, height = picture.width + 20.0, picture.height + 20.0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-monospace, monospace" font-size="11">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#78909c"/></marker></defs>' + "".join(body) + "</svg>"
    )


def to_html(text: str) -> str:
    """Graph text as coloured HTML, without any library.

    >>> 'aten::neg' in to_html('graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)\\n')
    True
    """
    shown = escape(text)
    shown = re.sub(r"(#[^\n]*)", r'<span style="color:#90a4ae">\1</span>', shown)
    shown = re.sub(r"(%[\w.]+)", r'<span style="color:#1565c0">\1</span>', shown)
    shown = re.sub(r"\b((?:prim|aten)::\w+)", r'<span style="color:#2e7d32;font-weight:600">\1</span>', shown)
    return f'<pre style="font-size:12px;line-height:1.35">{shown}</pre>'


def _lay_out(block: Block, top: str, bottom: str) -> _Picture:
    boxes: list[_Box] = []
    maker: dict[Value, int] = {}
    edges: list[tuple[int, int, str]] = []

    def add(box: _Box, makes: Iterable[Value], uses: Iterable[Value]) -> None:
        box.measure()
        boxes.append(box)
        for value in dict.fromkeys(uses):
            if value in maker:
                edges.append((maker[value], len(boxes) - 1, value.name))
        maker.update((v, len(boxes) - 1) for v in makes)

    if block.parameters:
        add(_Box(_wrap(top, block.parameters), "#f3e5f5", "#ba68c8"), block.parameters, ())
    for node in block:
        add(_node_box(node), node.results, _captured(node))
    if block.returns:
        add(_Box(_wrap(bottom, block.returns), "#f3e5f5", "#ba68c8"), (), block.returns)
    picture = _Picture(boxes, edges)
    _place(picture)
    return picture


def _wrap(title: str, values: Iterable[Value]) -> list[str]:
    return [title, *(_cut(f"%{v.name} : {v.static_type}") for v in values)]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _node_box(node: Node) -> _Box:
    fill, stroke = next((f, s) for pattern, f, s in _COLOURS if pattern.match(node.op))
    shown = [_cut(f"{k}={v!r}") for k, v in node.attributes.items() if k not in HIDDEN and k != SUBGRAPH]
    lines = [node.op, *shown[:3], *(_cut(f"%{v.name} : {v.static_type}") for v in node.results)]
    inner = [_lay_out(b, f"block{i}", "->") for i, b in enumerate(node.nested_blocks)]
    inner += [_lay_out(g.body, "subgraph", "->") for g in node.attributes.values() if isinstance(g, Graph)]
    return _Box(lines, fill, stroke, inner)


def _captured(node: Node) -> list[Value]:
    """What a node uses, its blocks' uses of outer values included."""
    captured = list(node.operands)
    for block in node.nested_blocks:
        for inner in (*block, block.return_node):
            captured.extend(_captured(inner))
    return captured


def _place(picture: _Picture) -> None:
    try:
        import igraph
    except ImportError as error:
        raise ImportError(NEEDS_VIZ) from error
    boxes = picture.boxes
    if not boxes:
        return
    net: Any = igraph.Graph(n=len(boxes), edges=[(a, b) for a, b, _ in picture.edges], directed=True)
    layers = _layers(len(boxes), picture.edges)
    coordinates = net.layout_sugiyama(layers=layers, maxiter=50).coords
    rows: dict[int, list[int]] = {}
    for index, layer in enumerate(layers):
        rows.setdefault(layer, []).append(index)
    y = 0.0
    for layer in sorted(rows):
        row = sorted(rows[layer], key=lambda i: coordinates[i][0])
        x = 0.0
        for index in row:
            boxes[index].x, boxes[index].y = x, y
            x += boxes[index].width + _GAP_X
        picture.width = max(picture.width, x - _GAP_X)
        y += max(boxes[i].height for i in row) + _GAP_Y
    picture.height = y - _GAP_Y
    for row in rows.values():
        right = max(boxes[i].x + boxes[i].width for i in row)
        for index in row:
            boxes[index].x += (picture.width - right) / 2


def _layers(count: int, edges: list[tuple[int, int, str]]) -> list[int]:
    """The longest path to each box; boxes are in topological order already."""
    layer = [0] * count
    for a, b, _ in sorted(edges, key=lambda e: e[1]):
        layer[b] = max(layer[b], layer[a] + 1)
    if count:
        layer[-1] = max(layer)
    return layer


def _draw(picture: _Picture, dx: float, dy: float, out: list[str]) -> None:
    for a, b, name in picture.edges:
        out.append(_edge(picture.boxes[a], picture.boxes[b], dx, dy, name))
    for box in picture.boxes:
        x, y = box.x + dx, box.y + dy
        out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5" '
            f'fill="{box.fill}" stroke="{box.stroke}"/>'
        )
        for i, line in enumerate(box.lines):
            weight = ' font-weight="600"' if i == 0 else ""
            out.append(f'<text x="{x + _PAD:.1f}" y="{y + _LINE * (i + 1):.1f}"{weight}>{escape(line)}</text>')
        inner_x = x + _PAD
        for inner in box.inner:
            _draw(inner, inner_x, y + len(box.lines) * _LINE + _PAD, out)
            inner_x += inner.width + _PAD


def _edge(a: _Box, b: _Box, dx: float, dy: float, name: str) -> str:
    x1, y1 = a.x + a.width / 2 + dx, a.y + a.height + dy
    x2, y2 = b.x + b.width / 2 + dx, b.y + dy
    bend = max((y2 - y1) / 2, 12.0)
    return (
        f'<path d="M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2 - 1:.1f}" '
        f'fill="none" stroke="#78909c" marker-end="url(#tip)"><title>%{escape(name)}</title></path>'
    )


def svg_or_none(graph: Graph) -> str | None:
    """The picture of a graph; None without the library that lays it out."""
    try:
        return to_svg(graph)
    except ImportError:
        return None
