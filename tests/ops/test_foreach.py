"""Operators on each tensor of a list: what PyTorch's give, in place and not, with gradients, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops import foreach

ARRAYS = (np.array([0.25, 0.5, 0.75]), np.array([[0.1, 0.9], [0.4, 0.6]]))
HOSTILE = (np.array([-0.0, np.inf, np.nan, -1.0]), np.zeros((0, 2)))


ALONE = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
]  # fmt: skip
OF_TWO = (
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min", "lerp", "addcmul", "addcdiv",
)  # fmt: skip
NAMES = [
    *(f"_foreach_{name}{end}" for name in (*ALONE, *OF_TWO) for end in ("", "_")),
    *(f"_foreach_{name}" for name in ("norm", "max", "clone", "zero_", "copy_")),
]


def calls(name: str) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Further arguments: `T` another list, `N` numbers for each, `S` one tensor, or a number."""
    plain = name.removeprefix(foreach.PREFIX).removesuffix("_")
    if plain in ALONE or name in ("_foreach_max", "_foreach_zero_", "_foreach_clone"):
        return [((), {})]
    if plain in ("addcmul", "addcdiv"):
        return [(("T", "T"), {}), (("T", "T", "0.5"), {}), (("T", "T", "N"), {}), (("T", "T"), {"value": 2.0})]
    if plain == "lerp":
        return [(("T", "0.25"), {}), (("T", "T"), {})]
    if name == "_foreach_norm":
        return [((), {}), (("1",), {}), (("float('inf')",), {})]
    if plain == "copy":
        return [(("T",), {})]
    scaled: list[Any] = [(("T",), {"alpha": 3.0})] if plain in ("add", "sub") else []
    return [(("T",), {}), (("0.5",), {}), (("N",), {}), *scaled]


ROWS = [(name, args, kw) for name in NAMES for args, kw in calls(name)]


def run(package: Any, name: str, args: tuple[str, ...], keywords: dict[str, Any], arrays: Any) -> tuple[Any, Any]:
    values = [package.from_numpy(a.copy()) for a in arrays]
    others = [package.from_numpy(a[..., ::-1].copy()) for a in arrays]
    meaning = {"T": others, "N": [0.5, 2.0]}
    further = [meaning[a] if a in meaning else eval(a) for a in args]
    result = getattr(package, name)(values, *further, **keywords)
    return result, values


@pytest.mark.parametrize(("name", "args", "keywords"), ROWS)
@pytest.mark.parametrize("arrays", [ARRAYS, HOSTILE], ids=["plain", "hostile"])
def test_they_give_what_pytorchs_give(name: str, args: tuple[str, ...], keywords: dict[str, Any], arrays: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    if arrays is HOSTILE and name in ("_foreach_max", "_foreach_norm"):
        pytest.skip("an empty tensor has no maximum, and no norm by infinity")
    theirs, _ = run(torch, name, args, keywords, arrays)
    ours, values = run(flambeau, name, args, keywords, arrays)
    if theirs is None:
        theirs = ours  # some give nothing, though they write
    assert type(ours) is type(theirs)
    if name.endswith("_"):
        assert all(a is b for a, b in zip(ours, values, strict=True))
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)


def test_every_list_operator_of_the_table_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = {name for name in dir(torch) if name.startswith(foreach.PREFIX)}
    missing = {name for name in theirs if not hasattr(flambeau, name)}
    assert missing <= {"_foreach_mm", "_foreach_powsum"}
    assert set(NAMES) <= theirs


def test_numbers_to_the_power_of_tensors() -> None:
    (a,) = flambeau._foreach_pow(2.0, [flambeau.tensor([1.0, 3.0])])
    assert a.tolist() == [2.0, 8.0]


def test_gradients_go_through() -> None:
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    a, b = flambeau._foreach_mul([x, x], [x.detach(), x.detach() * 2])
    (a.sum() + b.sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 6.0]


def test_what_is_refused() -> None:
    x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
        flambeau._foreach_add([], 1.0)
    with pytest.raises(RuntimeError, match="same number of tensors, got 1 and 2"):
        flambeau._foreach_add([x], [x, x])
    with pytest.raises(TypeError, match=r"_foreach_add\(\) takes a list of tensors as its first argument, got Tensor"):
        flambeau._foreach_add(x, 1.0)
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        _ = flambeau._foreach_nothing
    assert flambeau._foreach_add is flambeau._foreach_add
