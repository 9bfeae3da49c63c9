"""Pictures of graphs: well-formed SVG with every node in it; text with colours; nothing without the library."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

import flambeau
from flambeau.ir import parse_ir, to_html

TEXT = """graph(%x : Tensor, %c : bool):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %1)
  %z : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%y)
      -> (%a)
    block1():
      -> (%y)
  return (%z)
"""


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_every_node_and_value_is_in_the_picture() -> None:
    pytest.importorskip("igraph", reason="pictures need the [viz] extra")
    shown = texts(parse_ir(TEXT)._repr_svg_() or "")
    for kind in ("aten::add", "prim::If", "aten::relu", "inputs", "outputs", "block0" if "block0" in shown else "->"):
        assert kind in shown
    assert "%y : Tensor" in shown


def test_boxes_of_one_block_do_not_overlap() -> None:
    pytest.importorskip("igraph", reason="pictures need the [viz] extra")
    graph = parse_ir(
        "graph(%x : Tensor):\n" + "".join(f"  %v{i} : Tensor = aten::exp(%x)\n" for i in range(6)) + "  return (%x)"
    )
    root = ElementTree.fromstring(graph._repr_svg_() or "")
    boxes = [
        tuple(float(e.attrib[k]) for k in ("x", "y", "width", "height"))
        for e in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[:i]:
            assert x + w <= u or u + a <= x or y + h <= v or v + b <= y


def test_fused_groups_show_what_is_inside_and_no_python_objects() -> None:
    pytest.importorskip("igraph", reason="pictures need the [viz] extra")
    scripted = flambeau.CompilationUnit("def f(x: Tensor):\n    return flambeau.exp(x) * 2.0\n").f
    shown = texts(scripted.graph_for(flambeau.ones(3))._repr_svg_() or "")
    assert {"prim::FusionGroup", "aten::exp", "aten::mul"} <= set(shown)
    assert not any("object at" in t for t in shown)


def test_without_the_library_notebooks_get_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    graph = parse_ir(TEXT)
    assert graph._repr_svg_() is None
    assert "aten::add" in graph._repr_html_()
    with pytest.raises(ImportError, match=r"pip install 'flambeau\[viz\]'"):
        flambeau.ir.to_svg(graph)


def test_text_is_escaped() -> None:
    assert "&lt;b&gt;" in to_html('  %s : str = prim::Constant[value="<b>"]()')
