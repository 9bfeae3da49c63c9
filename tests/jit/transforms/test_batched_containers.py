"""Batches in programs of functions that take and give named tuples and dicts: gradients of each example by these."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, value_and_grad, vmap


class Line(NamedTuple):
    w: Tensor
    b: Tensor


def by_name(p, x):
    return flambeau.tanh(x @ p["w"] + p["b"]) ** 2


def by_field(p, x):
    return flambeau.tanh(x @ p.w + p.b) ** 2


W, B = flambeau.tensor([1.0, -2.0], dtype=flambeau.float64), flambeau.tensor(0.5, dtype=flambeau.float64)
X = flambeau.tensor([[1.0, 0.5], [0.3, 0.1], [-1.0, 0.2]], dtype=flambeau.float64)


def are_close(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(flambeau.allclose(a, b, rtol=1e-12) for a, b in zip(values, wanted, strict=True))


def expected() -> list[Any]:
    """The gradients of each example, one example after the other."""
    rows = [grad(by_field)(Line(W, B), x) for x in X]
    return [flambeau.stack([row.w for row in rows]), flambeau.stack([row.b for row in rows])]


@flambeau.script
def of_names(p: dict[str, Tensor], xs: Tensor) -> dict[str, Tensor]:
    return vmap(grad(by_name), in_dims=(None, 0))(p, xs)


@flambeau.script
def of_values_and_names(p: dict[str, Tensor], xs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    values, slopes = vmap(value_and_grad(by_name), in_dims=(None, 0))(p, xs)
    return values, {name: slopes[name].sum(0) for name in slopes}


@flambeau.script
def of_fields(p: Line, xs: Tensor) -> Line:
    return vmap(grad(by_field), in_dims=(None, 0))(p, xs)


def test_dicts_of_gradients() -> None:
    p = {"w": W, "b": B}
    for _ in range(4):
        slopes = of_names(p, X)
        assert list(slopes) == ["w", "b"]
        assert are_close(list(slopes.values()), expected())
        values, sums = of_values_and_names(p, X)
        assert values.tolist() == pytest.approx([float(by_name(p, x)) for x in X])
        assert are_close(list(sums.values()), [slope.sum(0) for slope in expected()])
    assert of_names.explain().is_native
    assert of_values_and_names.explain().is_native


def test_named_tuples_of_gradients() -> None:
    for _ in range(4):
        slopes = of_fields(Line(W, B), X)
        assert type(slopes) is Line
        assert are_close(slopes, expected())
    assert of_fields.explain().is_native


def test_dicts_that_functions_build() -> None:
    @flambeau.script
    def described(xs: Tensor) -> dict[str, Tensor]:
        return vmap(lambda x: {"mean": x.mean(), "twice": x * 2}, out_dims=(0, 1))(xs)

    for _ in range(3):
        answer = described(X)
        assert answer["mean"].tolist() == pytest.approx(X.mean(1).tolist())
        assert answer["twice"].tolist() == (X * 2).T.tolist()


def test_keys_that_only_the_run_knows() -> None:
    """The batch is a loop over the examples, which gives the same."""

    def scaled(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
        return {name: value * x.sum() for name, value in p.items()}

    @flambeau.script
    def renamed(p: dict[str, Tensor], xs: Tensor, names: list[str]) -> dict[str, Tensor]:
        q: dict[str, Tensor] = {}
        for name in names:
            q[name + "2"] = p[name]
        return vmap(scaled, in_dims=(None, 0))(q, xs)

    for _ in range(3):
        answer = renamed({"w": W, "b": B}, X, ["b", "w"])
        assert list(answer) == ["b2", "w2"]
        assert are_close(list(answer.values()), [B * X.sum(1), W * X.sum(1, keepdim=True)])


@pytest.mark.parametrize("function", [of_names, of_values_and_names, of_fields])
def test_saved_and_loaded(function: Any) -> None:
    file = io.BytesIO()
    flambeau.jit.save(function, file)
    file.seek(0)
    loaded = flambeau.jit.load(file)
    argument = Line(W, B) if function is of_fields else {"w": W, "b": B}
    wanted = flambeau.utils.pytree.tree_leaves(function(argument, X))
    for _ in range(2):
        got = flambeau.utils.pytree.tree_leaves(loaded(argument, X))
        assert are_close(got, wanted)


def test_what_cannot_be_put_together_is_refused() -> None:
    def listed(x: Tensor) -> list[Tensor]:
        return [x, x]

    with pytest.raises(RuntimeError, match=r"vmap\(\) of listed\(\) needs results that are tensors"):

        @flambeau.script
        def both(xs: Tensor) -> list[Tensor]:
            return vmap(listed)(xs)
