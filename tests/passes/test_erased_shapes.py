"""Graphs after what was known of their tensors was forgotten."""

from __future__ import annotations

from flambeau import _C
from flambeau.passes import retype


def test_nothing_is_known_of_tensors_that_shapes_were_erased_of() -> None:
    graph = _C.parse_ir(
        "graph(%x : Float(2, 3), %n : int):\n"
        "  %l : Float(2, 3)[] = prim::ListConstruct(%x)\n"
        "  %t : bool = prim::Constant[value=1]()\n"
        "  %r : Float(2, 3) = prim::Loop(%n, %t, %x)\n"
        "    block0(%k : int, %a : Float(2, 3)):\n"
        "      -> (%t, %a)\n"
        "  return (%r, %l)"
    )
    _C._jit_pass_erase_shape_information(graph)
    assert "Float" not in str(graph)
    assert [str(v.static_type) for v in (*graph.parameters, *graph.returns)] == ["Tensor", "int", "Tensor", "Tensor[]"]
    assert retype.erase_shapes(graph) is False
