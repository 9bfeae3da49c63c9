"""`jvp` and `vjp` by dicts, lists and tuples in programs, of functions that give such; containers that loops carry."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, jvp, vjp, vmap

Dict = dict[str, Tensor]
X = flambeau.tensor([[0.3, -1.0, 2.0, 0.0], [0.0, 0.5, 1.0, -0.7]], dtype=flambeau.float64)


def _drawn(*sizes: int) -> Tensor:
    count = flambeau.Size(sizes).numel()
    return (flambeau.arange(float(count), dtype=flambeau.float64) * 0.7 + len(sizes)).sin().reshape(sizes)


P = {"w": _drawn(4, 3), "v": _drawn(3)}
Q = {"w": _drawn(3, 4).T.contiguous() * 2, "v": _drawn(3) + 1}
NESTED = {"a": {"w": _drawn(4, 3)}, "b": {"w": _drawn(3, 2), "c": _drawn(2)}}
LAYERS = [{"w": _drawn(4, 5), "b": _drawn(5)}, {"w": _drawn(5, 4), "b": _drawn(4)}]


def output(p: Dict, x: Tensor) -> Tensor:
    return flambeau.softmax(flambeau.tanh(x @ p["w"]) * p["v"], -1)


def loss(p: Dict, x: Tensor) -> Tensor:
    return output(p, x).square().sum() + 0.1 * sum([(v**2).sum() for v in p.values()])


def along(p: Dict, q: Dict, x: Tensor):
    return jvp(output, (p, x), (q, x * 2))


def of_a_closure(p: Dict, q: Dict, x: Tensor):
    return jvp(lambda p: output(p, x), (p,), (q,))


def of_slopes(p: Dict, q: Dict, x: Tensor):
    def slope(p):
        return grad(loss)(p, x)

    return jvp(slope, (p,), (q,))


def back(p: Dict, q: Dict, x: Tensor):
    value, pull = vjp(lambda p: output(p, x), p)
    return value, pull(value * 2)[0]


def outputs(p: Dict, x: Tensor):
    return {"y": output(p, x), "n": p["v"].sum()}


def back_from_a_dict(p: Dict, q: Dict, x: Tensor):
    value, pull = vjp(lambda p: outputs(p, x), p)
    return value, pull({"y": value["y"], "n": value["n"] * 3})[0]


def gauss_newton(p: Dict, q: Dict, x: Tensor):
    _, tangent = jvp(lambda p: output(p, x), (p,), (q,))
    _, pull = vjp(lambda p: output(p, x), p)
    return pull(tangent)[0]


def dot(a: Dict, b: Dict):
    return sum([(a[k] * b[k]).sum() for k in a])


def hessian_free(p: Dict, q: Dict, x: Tensor):
    def slope(p):
        return grad(loss)(p, x)

    d = {k: flambeau.zeros_like(v) for k, v in p.items()}
    r = {k: -v for k, v in slope(p).items()}
    q = r
    rr = dot(r, r)
    for _ in range(3):
        h = jvp(slope, (p,), (q,))[1]
        h = {k: h[k] + q[k] for k in h}
        a = rr / dot(q, h)
        d = {k: d[k] + a * q[k] for k in d}
        r = {k: r[k] - a * h[k] for k in r}
        new = dot(r, r)
        q = {k: r[k] + new / rr * q[k] for k in q}
        rr = new
    return d


PROGRAMS = [along, of_a_closure, of_slopes, back, back_from_a_dict, gauss_newton, hessian_free]


def _same(actual: Any, expected: Any) -> None:
    flambeau.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_products_by_dicts(program: Any) -> None:
    compiled = flambeau.script(program)
    for _ in range(3):
        _same(compiled(P, Q, X), program(P, Q, X))
    assert compiled.explain().is_native


def test_products_where_the_keys_are_known_only_when_the_program_runs() -> None:
    def renamed(p: Dict, q: Dict, x: Tensor, suffix: str):
        p = {k + suffix: v for k, v in p.items()}
        q = {k + suffix: v for k, v in q.items()}

        def energy(p: Dict) -> Tensor:
            return sum([(v**3).sum() for v in p.values()])

        return jvp(energy, (p,), (q,))

    compiled = flambeau.script(renamed)
    for suffix in ("", "_1", "_1"):
        _same(compiled(P, Q, X, suffix), renamed(P, Q, X, suffix))


def test_products_by_lists_and_tuples() -> None:
    def energy(p: list[Tensor], t: tuple[Tensor, Tensor]) -> Tensor:
        return sum([(v**2).sum() for v in p]) * (t[0] * t[1]).sum()

    def along(p: list[Tensor], t: tuple[Tensor, Tensor]):
        return jvp(energy, (p, t), (p, (t[1], t[0])))

    compiled = flambeau.script(along)
    arguments = ([_drawn(2, 3), _drawn(4)], (_drawn(2), _drawn(2) + 1))
    for _ in range(2):
        _same(compiled(*arguments), along(*arguments))


def field(p, y):
    return flambeau.tanh(y @ p["w"]) * p["v"]


def test_products_of_functions_outside_by_dicts_and_tensors() -> None:
    def both(p: Dict, x: Tensor):
        value, pull = vjp(field, p, x)
        along = jvp(field, (p, x), (p, x * 2))
        return value, pull(value), along, jvp(grad(of_field), (p, x), (p, x))

    def of_field(p, x):
        return field(p, x).sum()

    _same(flambeau.script(both)(P, X), both(P, X))


def clipped(p: dict[str, Dict], x: Tensor):
    def error(p):
        return ((flambeau.tanh(x @ p["a"]["w"]) @ p["b"]["w"] + p["b"]["c"]) ** 2).mean()

    for _ in range(3):
        g = grad(error)(p)
        n = flambeau.sqrt(sum([(v**2).sum() for layer in g.values() for v in layer.values()]))
        p = {k: {m: v - 0.1 * g[k][m] / n for m, v in layer.items()} for k, layer in p.items()}
    return p


def momentum(layers: list[Dict], x: Tensor):
    def error(layers):
        y = x
        for layer in layers[:-1]:
            y = flambeau.relu(y @ layer["w"] + layer["b"])
        return ((y @ layers[-1]["w"] + layers[-1]["b"]) ** 2).mean()

    means = [{k: flambeau.zeros_like(v) for k, v in layer.items()} for layer in layers]
    for _ in range(3):
        slopes = grad(error)(layers)
        means = [{k: 0.9 * m[k] + g[k] for k in m} for m, g in zip(means, slopes)]  # noqa: B905
        layers = [{k: v - 0.1 * m[k] for k, v in layer.items()} for layer, m in zip(layers, means)]  # noqa: B905
    return sum([layer["w"].sum() for layer in layers])


def norms_of_each(p: Dict, x: Tensor):
    def one(p, x):
        g = grad(loss)(p, x)
        n = flambeau.sqrt(sum([(v**2).sum() for v in g.values()]))
        return {k: v / flambeau.clamp(n, min=1.0) for k, v in g.items()}

    return {k: v.mean(0) for k, v in vmap(one, in_dims=(None, 0))(p, x).items()}


@pytest.mark.parametrize(("program", "first"), [(clipped, NESTED), (momentum, LAYERS), (norms_of_each, P)])
def test_containers_in_loops_are_values(program: Any, first: Any) -> None:
    compiled = flambeau.script(program)
    for _ in range(3):
        _same(compiled(first, X), program(first, X))
    assert "Gradient" not in str(compiled.graph_for(first, X))
