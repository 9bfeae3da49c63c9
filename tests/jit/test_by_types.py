"""Functions without annotations: compiled for the dicts, tuples, numbers and texts that calls bring beside tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from flambeau.util.errors import CompileError
from flambeau.util.trees import flatten
from flambeau.utils.pytree import register_dataclass
from tests.together import together

R = np.random.default_rng(0).standard_normal
X, Y = flambeau.tensor(R((4, 3))), flambeau.tensor(R((4, 2)))
P = {"w": flambeau.tensor(R((3, 2))), "b": flambeau.tensor(R(2))}


class State(NamedTuple):
    w: flambeau.Tensor
    m: flambeau.Tensor


@register_dataclass
@dataclass
class Moments:
    w: dict[str, flambeau.Tensor]
    m: flambeau.Tensor


def by_fields_of_a_dataclass(state, x):
    return Moments({k: v * 2 for k, v in state.w.items()}, state.m + x)


def of_dict(p, x):
    return flambeau.tanh(x @ p["w"] + p["b"])


def through_a_callee(p, x, y):
    return ((of_dict(p, x) - y) ** 2).mean()


def over_items(p, x):
    return sum([(value**2).sum() for value in p.values()]) + x.sum()


def of_pairs(p, x):
    for w, b in p:
        x = flambeau.tanh(x @ w + b)
    return x.sum()


def of_list(p, x):
    return (x @ p[0]).sum() + p[1].sum()


def taken_out(layers, x):
    for k in range(len(layers)):
        layer = layers[k]
        x = flambeau.tanh(x @ layer["w"] + layers[k]["b"])
    return x.sum()


def taken_out_by_a_lambda(layers, xs):
    return vmap(lambda x: taken_out(layers, x))(xs)


def by_fields(state, x):
    return (state.w * x).sum() + state.m.sum()


def unpacked(state, g, rate):
    w, m = state
    m = 0.9 * m + g
    return w - rate * m, m


def repeated(x, n):
    for _ in range(n):
        x = x * 0.5
    return x.sum()


def chosen(x, flag):
    return x.sum() if flag else x.mean()


def shaped(x, sizes):
    return flambeau.zeros(sizes) + x.sum()


def with_default(x, m=None, n=2):
    return x.sum() * n if m is None else (x * m["w"]).sum()


def trained(p, x, y, n):
    for _ in range(n):
        g = grad(through_a_callee)(p, x, y)
        p = {k: p[k] - 0.1 * g[k] for k in p}
    return p


def trained_by_a_scripted_loss(p, x, y, n):
    for _ in range(n):
        g = grad(LOSS)(p, x, y)
        p = {k: p[k] - 0.1 * g[k] for k in p}
    return p


def valued(p, x, y):
    value, g = value_and_grad(through_a_callee)(p, x, y)
    return value, g["w"].sum() + g["b"].sum()


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "dict": (of_dict, (P, X)),
    "through a callee": (through_a_callee, (P, X, Y)),
    "items": (over_items, (P, X)),
    "pairs": (of_pairs, ([(P["w"], P["b"])], X)),
    "items of a list": (taken_out, ([P], X)),
    "items in a lambda": (taken_out_by_a_lambda, ([P], X)),
    "fields": (by_fields, (State(X, X), X)),
    "fields of a dataclass": (by_fields_of_a_dataclass, (Moments(P, X), X)),
    "list": (of_list, ([P["w"], P["b"]], X)),
    "tuple": (unpacked, ((X, X), X, 0.1)),
    "named tuple": (unpacked, (State(X, X), X, 0.1)),
    "int": (repeated, (X, 3)),
    "bool": (chosen, (X, True)),
    "sizes": (shaped, (X, (2, 3))),
    "default": (with_default, (X,)),
    "for a default": (with_default, (X, {"w": X})),
    "gradients inside": (trained, (P, X, Y, 5)),
    "gradients of a scripted one inside": (trained_by_a_scripted_loss, (P, X, Y, 5)),
    "values and gradients inside": (valued, (P, X, Y)),
}


def _agree(got: Any, want: Any) -> None:
    (values, structure), (wanted, of_wanted) = flatten(got), flatten(want)
    assert structure == of_wanted
    for one, other in zip(values, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@together("name", CASES)
def test_c02_calls_are_compiled_for_their_types(name: str, backend: Any) -> None:
    function, arguments = CASES[name]
    scripted = flambeau.script(function, backend=backend)
    for _ in range(3):
        _agree(scripted(*arguments), function(*arguments))


LOSS = flambeau.script(through_a_callee)
WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f)(P, X, Y),
    "grad by several": lambda f: grad(f, argnums=(0, 1))(P, X, y=Y),
    "value_and_grad": lambda f: value_and_grad(f)(P, X, Y),
    "jacrev": lambda f: jacrev(f)(P, X, Y),
    "jacfwd": lambda f: jacfwd(f)(P, X, Y),
    "hessian": lambda f: hessian(f)(P, X, Y),
    "vmap": lambda f: vmap(f, in_dims=(None, 0, 0))(P, X, Y),
    "vmap of grad": lambda f: vmap(grad(f), in_dims=(None, 0, 0))(P, X, Y),
    "vmap along a dict": lambda f: vmap(f, in_dims=({"w": 0, "b": None}, None, None))(
        {"w": flambeau.stack([P["w"], P["w"] * 2]), "b": P["b"]}, X, Y
    ),
    "jvp": lambda f: jvp(f, (P, X, Y), (P, X, Y)),
    "hvp": lambda f: hvp(f, (P, X, Y), (P, X, Y)),
    "vjp": lambda f: vjp(f, P, X, Y)[1](flambeau.ones((), dtype=X.dtype)),
    "linearize": lambda f: linearize(f, P, X, Y)[1](P, X, Y),
    "grad of a product": lambda f: grad(lambda p: (grad(f)(p, X, Y)["w"] ** 2).sum())(P),
}


@together("name", WAYS)
def test_c02_transforms_are_of_what_calls_bring(name: str) -> None:
    for _ in range(2):
        _agree(WAYS[name](LOSS), WAYS[name](through_a_callee))


def test_c02_transforms_of_functions_that_tensors_fit_too() -> None:
    scripted = flambeau.script(repeated)
    _agree(grad(scripted)(X, 3), flambeau.full_like(X, 0.125))
    _agree(vmap(scripted, in_dims=(0, None))(X, 2), X.sum(1) * 0.25)
    pairs = flambeau.script(of_pairs)
    _agree(grad(pairs)([(P["w"], P["b"])], X), grad(of_pairs)([(P["w"], P["b"])], X))


def test_c02_what_it_shows_is_of_the_last_call() -> None:
    scripted = flambeau.script(of_dict)
    with pytest.raises(CompileError, match="is compiled for the types that a call brings: call it"):
        _ = scripted.graph
    assert repr(scripted) == "<flambeau.ScriptFunction of_dict, compiled for what a call brings>"
    scripted(P, X)
    assert repr(scripted).startswith("<flambeau.ScriptFunction of_dict(Dict(str, Tensor) p, ")
    assert "Dict(str, Tensor)" in str(scripted.graph)
    assert scripted.explain(measure=False).is_native


def test_c02_what_has_no_meaning_says_why() -> None:
    scripted = flambeau.script(of_dict)
    with pytest.raises(CompileError, match="unsupported index type 'str'"):
        scripted(X, X)
    with pytest.raises(CompileError, match=r"brings for 'p' has no type in programs.*a NamedTuple, or several"):
        scripted({"w": [X], "b": X}, X)
    with pytest.raises(CompileError, match="unsupported index type 'str'"):
        grad(scripted)(X, X)

    def text(x):
        return x["key"].foo()

    with pytest.raises(CompileError, match="foo"):
        flambeau.script(text)({"key": X})
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Tensor \(inferred\)' for argument 'n'"):
        flambeau.script(repeated)(X, "three")
    with pytest.raises(CompileError, match="all inputs of range must be ints, found str in argument 0"):
        flambeau.script(repeated)("one", "three")


def test_c02_too_many_types() -> None:
    def last(x, p):
        return x + p[0]

    scripted = flambeau.script(last)
    for n in range(1, 17):
        scripted(X, (X,) * n)
    with pytest.warns(UserWarning, match="more than 16 combinations of types of its arguments"):
        result = scripted(X, (X,) * 17)
    assert flambeau.equal(result, X + X)


def test_arguments_by_name_in_any_order_are_one_combination() -> None:
    def sums(p, q, x):
        return (p["a"] * x + q["a"]).sum()

    scripted: Any = flambeau.script(sums)
    p, q = {"a": X}, {"a": X}
    want = sums(p, q, X).item()
    for got in (scripted(p, q, X), scripted(x=X, q=q, p=p), scripted(q=q, p=p, x=X), scripted(p, x=X, q=q)):
        assert got.item() == want
    assert len(scripted.by_types.scripts) == 1


def test_a_list_that_contains_itself_has_no_type() -> None:
    def first(p, x):
        return p["a"] * x

    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CompileError, match="unsupported index type 'str'"):
        flambeau.script(first)(endless, X)


def test_attributes_that_no_container_has_are_refused_at_once() -> None:
    def wrong(x):
        return x.shpae

    with pytest.raises(CompileError, match="no attribute or method 'shpae'"):
        flambeau.script(wrong)
