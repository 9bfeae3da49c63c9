"""`dir` of a node names what it keeps, as programs that draw tapes look for it."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor


def kept(result: Tensor) -> dict[str, object]:
    node = result.grad_fn
    return {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}


def test_what_is_kept_is_listed_and_can_be_read() -> None:
    for rows in (2, 3):
        x = flambeau.rand(rows, 3, requires_grad=True)
        (name, value), *rest = kept(x.exp()).items()
        assert (name, rest) == ("_saved_result", [])
        assert flambeau.equal(value, x.exp())
        for result in (x @ x.T, x.softmax(1), F.layer_norm(x, (3,)), flambeau.cat([x, x]), x * 2):
            assert not any(name.startswith("_saved_grad") for name in kept(result))
            assert kept(result)


def test_dropout_is_a_product_by_what_is_kept() -> None:
    for rows in (2, 5):
        x = flambeau.rand(rows, 3, requires_grad=True)
        assert F.dropout(x).grad_fn.name() == "MulBackward0"
        assert type(F.dropout(x.double()).grad_fn).__name__ == "MulBackward0"
