"""Transforms of functions that give dicts of tensors: of what lies in them, natively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import jacfwd, jacrev, jvp, vmap
from flambeau.jit.transforms.flat_results import flat_results
from flambeau.util.trees import flatten
from tests.together import together

R = np.random.default_rng(0).standard_normal
X, XS = flambeau.tensor(R(3)), flambeau.tensor(R((4, 3)))
P = {"a": flambeau.tensor(R(3)), "b": flambeau.tensor(R(3))}
PS = {name: flambeau.tensor(R((4, 3))) for name in P}


def written(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    return {"u": p["a"] * p["b"] * x, "v": p["a"].sum() * x}


def each(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    return {k: v * x.sum() for k, v in p.items()}


def rounds(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    for _ in range(3):
        p = {k: (v * x).tanh() for k, v in p.items()}
    return p


def nested(p: dict[str, Tensor], x: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    return {"u": p["a"] * 2, "v": x.sum()}, x.exp()


def filled(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    d = {"u": x * 2}
    d["v"] = p["a"].sum()
    return d


def undecided(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    d = {"u": x * 2, "v": p["a"].sum()}
    if bool(x.sum() > 100):
        d["w"] = x
    return d


FUNCTIONS = (written, each, rounds, nested, filled, undecided)
WAYS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: vmap(f, in_dims=(0, None))(PS, X),
    "vmap along a dict": lambda f: vmap(f, in_dims=({"a": 0, "b": None}, 0))({"a": PS["a"], "b": P["b"]}, XS),
    "jacrev": lambda f: jacrev(f)(P, X),
    "jacfwd": lambda f: jacfwd(f, argnums=(0, 1))(P, X),
    "jvp": lambda f: jvp(f, (P, X), (P, X)),
    "vmap of jacrev": lambda f: vmap(jacrev(f), in_dims=(0, None))(PS, X),
}


@together("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_c15_transforms_of_dicts(function: Any) -> None:
    scripted = flambeau.script(function)
    for name, way in WAYS.items():
        if function is undecided and name.startswith("vmap"):
            continue  # nobody can tell which keys the whole has
        (wanted, structure) = flatten(way(function))
        for _ in range(2):
            got, of_got = flatten(way(scripted))
            assert of_got == structure, name
            for one, other in zip(got, wanted, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


def test_c15_batches_of_dicts_are_native() -> None:
    scripted = flambeau.script(rounds)
    batch = vmap(scripted, in_dims=({"a": 0, "b": 0}, None))
    batch(PS, X)
    batch.compile(PS, X)
    explanation = batch.explain(measure=False)
    assert explanation.compilations
    if available():
        assert explanation.is_native


def test_c15_keys_that_the_run_decides_are_left_to_it() -> None:
    def one(x: Tensor) -> dict[str, Tensor]:
        d = {"u": x * 2}
        if bool(x.sum() > 0):
            d["w"] = x
        return d

    def other(x: Tensor) -> dict[str, Tensor]:
        return {"u": x * 2, "v": (x.sum(), x)[0]}

    assert flat_results(flambeau.script(one).script_function) is None
    listed = flat_results(flambeau.script(other).script_function)
    assert listed is not None
    assert listed[1].keys == ["u", "v"]
