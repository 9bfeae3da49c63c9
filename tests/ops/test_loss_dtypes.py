"""What losses and distances of integers and complex numbers are known to be in programs is what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.analysis.operator_rules import asked
from flambeau.schema import registry
from flambeau.tensor import dispatch
from tests.ops.test_rules_hold import ALL, told

F: Any = flambeau.nn.functional
WHOLE = flambeau.tensor([[1, -2], [3, 4]])
OTHER = flambeau.tensor([[1, 1], [-1, 2]])
SIGNS = flambeau.tensor([1, -1])
PLANE = WHOLE * (1 + 2j)

CALLS: dict[str, Callable[[], Any]] = {
    "margin_ranking_loss": lambda: F.margin_ranking_loss(WHOLE, OTHER, OTHER),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(WHOLE, OTHER, OTHER + 1),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(WHOLE, OTHER, SIGNS),
    "poisson_nll_loss": lambda: F.poisson_nll_loss(WHOLE, OTHER),
    "hinge_embedding_loss": lambda: F.hinge_embedding_loss(WHOLE, OTHER),
    "soft_margin_loss": lambda: F.soft_margin_loss(WHOLE, OTHER, reduction="sum"),
    "kl_div": lambda: F.kl_div(WHOLE, OTHER, reduction="sum"),
    "pairwise_distance": lambda: F.pairwise_distance(WHOLE, OTHER),
    "pairwise_distance of complex": lambda: F.pairwise_distance(PLANE, OTHER),
    "dist": lambda: flambeau.dist(PLANE, WHOLE),
    "l1_loss": lambda: F.l1_loss(PLANE, WHOLE),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
def test_the_rule_says_the_dtype_of_the_result(name: str, dtype: flambeau.dtype) -> None:
    known = []

    def look(definition: Any, arguments: Any, proceed: Any) -> Any:
        result = proceed(arguments)
        if definition.name == f"aten::{name.split()[0]}":
            facts = [told(a, f.type, ALL) for a, f in zip(arguments, definition.schema.arguments, strict=True)]
            known.append((asked(definition.dtype, facts, 1), result.dtype))
        return result

    assert registry.get(f"aten::{name.split()[0]}") is not None
    before = flambeau.get_default_dtype()
    flambeau.set_default_dtype(dtype)
    try:
        with dispatch.intercepting(look):
            CALLS[name]()
    finally:
        flambeau.set_default_dtype(before)
    assert known
    for rules, actual in known:
        assert rules in ((actual,), (None,))


def test_a_program_knows_what_a_loss_of_integers_is() -> None:
    def loss(a: flambeau.Tensor, b: flambeau.Tensor, c: flambeau.Tensor) -> tuple[flambeau.Tensor, bool]:
        value = flambeau.nn.functional.margin_ranking_loss(a, b, c)
        return value, value.dtype == flambeau.float32

    assert flambeau.script(loss)(WHOLE, OTHER, OTHER)[1]
    traced = flambeau.jit.trace(lambda a: F.l1_loss(a, a * 0).to(a.real.dtype), (PLANE,))
    assert traced(PLANE).dtype is flambeau.float32
