"""Attention whose mask and causality only the run knows: decided beside it, as constants on each way."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import settle_attention

PROGRAM = """graph(%q : Float(*, *), %mask : Float(*, *)?, %causal : bool):
  %p : float = prim::Constant[value=0.]()
  %s : NoneType = prim::Constant()
  %g : bool = prim::Constant[value=0]()
  %y : Float(*, *) = aten::scaled_dot_product_attention(%q, %q, %q, %mask, %p, %causal, %s, %g)
  return (%y)
"""


def test_each_way_has_constants() -> None:
    graph = parse_ir(PROGRAM)
    assert settle_attention.do(graph)
    verify(graph)
    calls = list(graph.find_all("aten::scaled_dot_product_attention"))
    assert len(calls) == 4
    assert all(call.operand(5).defining_node.op == "prim::Constant" for call in calls if call.operand(5).defining_node)
    assert len(list(graph.find_all("prim::If"))) == 3


def test_what_is_constant_is_left_alone() -> None:
    settled = PROGRAM.replace("%mask : Float(*, *)?", "%mask : Float(*, *)").replace("%p, %causal", "%p, %g")
    assert not settle_attention.do(parse_ir(settled))
    assert not settle_attention.do(parse_ir(PROGRAM.replace("%q : Float(*, *)", "%q : Float(*, *, requires_grad=1)")))


@flambeau.script
def attention(q: flambeau.Tensor, mask: flambeau.Tensor | None, is_causal: bool) -> flambeau.Tensor:
    return flambeau.nn.functional.scaled_dot_product_attention(q, q, q, mask, 0.0, is_causal)


@pytest.mark.skipif(not available(), reason="needs LLVM")
def test_every_way_is_native_and_refuses_as_the_operator_does() -> None:
    q = flambeau.from_numpy(np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32))
    mask = flambeau.from_numpy(np.array([[0.0, -1.0, 2.0]] * 3, np.float32))
    attend = flambeau.nn.functional.scaled_dot_product_attention
    for given, is_causal in [(None, False), (None, True), (mask, False)] * 4:
        found, wanted = attention(q, given, is_causal), attend(q, q, q, given, 0.0, is_causal)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    assert attention.explain(measure=False).is_native, str(attention.explain(measure=False))
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        attention(q, mask, True)
