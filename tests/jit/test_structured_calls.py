"""Programs of dicts and lists of tensors, by code for their keys and lengths, beside the same functions of Python."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, vmap


def stepped(p: dict[str, Tensor], xs: Tensor):
    def loss(p: dict[str, Tensor], x: Tensor):
        return ((flambeau.tanh(x @ p["w"]) + p["b"]) ** 2).mean()

    for i in range(xs.shape[0]):
        g = grad(loss)(p, xs[i])
        p = {k: v - 0.5 * g[k] for k, v in p.items()}
    return p


def with_moments(ws: list[Tensor], x: Tensor, n: int):
    def loss(ws: list[Tensor]):
        h = x
        for w in ws:
            h = flambeau.sin(h @ w)
        return (h * h).sum()

    moments = [flambeau.zeros_like(w) for w in ws]
    for _ in range(n):
        g = grad(loss)(ws)
        moments = [0.9 * m + d for m, d in zip(moments, g)]  # noqa: B905
        ws = [w - 0.1 * m for w, m in zip(ws, moments)]  # noqa: B905
    return ws, moments


def of_pairs(layers: list[tuple[Tensor, Tensor]], x: Tensor):
    def loss(layers: list[tuple[Tensor, Tensor]]):
        h = x
        for w, b in layers:
            h = flambeau.tanh(h @ w + b)
        return h.sum()

    for _ in range(3):
        layers = [(w - 0.1 * dw, b - 0.2 * db) for (w, b), (dw, db) in zip(layers, grad(loss)(layers))]  # noqa: B905
    return layers


def captured(p: dict[str, Tensor], xs: Tensor):
    def one(x: Tensor):
        return ((x @ p["w"] + p["b"]) ** 2).sum()

    return vmap(one)(xs), vmap(grad(one))(xs)


def reordered(p: dict[str, Tensor], n: int):
    for _ in range(n):
        p = {k: p[k] * 2 for k in ["b", "w"]}
    return list(p.keys()), list(p.values())


def grown(p: dict[str, Tensor], n: int):
    for i in range(n):
        q = dict(p)
        q[str(i)] = p["b"] + i
        p = q
    return p


def kept_before(p: dict[str, Tensor], n: int):
    first = {"w": p["w"], "b": p["b"]}
    p = first
    for _ in range(n):
        p = {k: v + 1.0 for k, v in p.items()}
    p["w"] = p["b"]
    return first, p


def changed_within(p: dict[str, Tensor], x: Tensor):
    def loss(p: dict[str, Tensor]):
        p["b"] = p["b"] * 2
        return (p["w"] * p["b"].sum()).sum()

    for _ in range(2):
        p = {k: v - x for k, v in p.items()}
        s = loss(p)
        p = {k: v * s for k, v in p.items()}
    return p


def of_a_branch(p: dict[str, Tensor], n: int):
    for i in range(n):
        if i % 2 == 0:  # noqa: SIM108
            p = {k: v * 2 for k, v in p.items()}
        else:
            p = {"w": p["w"] - 1, "b": p["b"]}
    return p


def seen_before(p: dict[str, Tensor], n: int):
    def loss(p: dict[str, Tensor]):
        return (flambeau.tanh(p["w"]) * p["b"]).sum()

    old, s = p, flambeau.zeros(())
    g = {"w": p["w"] * 0.0, "b": p["b"] * 0.0}
    for i in range(n):
        p = {"w": p["w"] + p["b"], "b": p["w"][0] * 0.5}
        if float(p["w"].sum()) > 100.0:
            break
        s = s + old["b"].sum() * i
        g = grad(loss)(p)
    return p, old, g, s


def nested(p: dict[str, dict[str, Tensor]], x: Tensor):
    def loss(p: dict[str, dict[str, Tensor]]):
        return (flambeau.tanh(x @ p["one"]["w"] + p["one"]["b"]) @ p["two"]["w"]).sum()

    return grad(loss)(p)


def in_loops(p: dict[str, Tensor], xs: Tensor, rounds: int):
    def loss(p: dict[str, Tensor], x: Tensor):
        return ((x @ p["w"] + p["b"]) ** 2).sum()

    losses: list[Tensor] = []
    for _ in range(rounds):
        total = flambeau.zeros(())
        for x in xs:
            total = total + loss(p, x)
            g = grad(loss)(p, x)
            p = {k: p[k] - 0.01 * g[k] for k in p}
        losses.append(total)
    return p, losses


def parameters() -> dict[str, Tensor]:
    return {"w": flambeau.tensor([[0.5, -1.0], [2.0, 0.25]]), "b": flambeau.tensor([0.5, -0.75])}


def layers() -> list[Tensor]:
    return [flambeau.tensor([[0.5, -1.0], [2.0, 0.25]]), flambeau.tensor([[1.0, 0.5, -2.0], [0.1, 0.2, 0.3]])]


def rows() -> Tensor:
    return flambeau.tensor([[[1.0, 2.0], [-1.0, 0.5]], [[0.0, -3.0], [0.25, 1.0]]])


PROGRAMS = {
    "steps": (stepped, lambda: (parameters(), rows())),
    "no step": (stepped, lambda: (parameters(), rows()[:0])),
    "moments": (with_moments, lambda: (layers(), rows()[0], 4)),
    "pairs": (of_pairs, lambda: ([(w, w[0] * 2) for w in layers()], rows()[0])),
    "captured": (captured, lambda: (parameters(), rows()[0])),
    "another order": (reordered, lambda: (parameters(), 2)),
    "the same order": (reordered, lambda: (parameters(), 0)),
    "grown": (grown, lambda: (parameters(), 3)),
    "kept before": (kept_before, lambda: (parameters(), 2)),
    "kept before, no round": (kept_before, lambda: (parameters(), 0)),
    "changed within": (changed_within, lambda: (parameters(), rows()[0, 0])),
    "a branch": (of_a_branch, lambda: (parameters(), 5)),
    "seen before": (seen_before, lambda: (parameters(), 3)),
    "nested": (nested, lambda: ({"one": parameters(), "two": {"w": rows()[0]}}, rows()[1])),
    "loops in loops": (in_loops, lambda: (parameters(), rows(), 3)),
}


def assert_equal(actual: object, expected: object) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, Tensor):
        assert flambeau.allclose(actual, expected, rtol=1e-5, atol=1e-6), (actual, expected)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        assert_equal(list(actual.values()), list(expected.values()))
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_equal(one, other)
    else:
        assert actual == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_python(name: str) -> None:
    function, arguments = PROGRAMS[name]
    expected = function(*arguments())
    script = flambeau.script(function)
    for _ in range(3):
        operands = arguments()
        assert_equal(script(*operands), expected)
        assert_equal(operands, arguments())


@pytest.mark.parametrize("name", ["steps", "moments", "pairs", "loops in loops", "a branch"])
def test_there_are_no_containers_in_native_code(name: str) -> None:
    function, arguments = PROGRAMS[name]
    script = flambeau.script(function)
    script.compile(*arguments())
    for _ in range(3):
        script(*arguments())
    explanation = script.explain(measure=False)
    assert explanation.is_native, str(explanation)
    assert not script.graph_for(*arguments()).find_all("prim::Gradient")


def test_other_keys_are_another_structure() -> None:
    @flambeau.script
    def total(p: dict[str, Tensor]) -> Tensor:
        s = flambeau.zeros(())
        for v in p.values():
            s = s + v.sum()
        return s

    assert float(total({"a": flambeau.ones(2)})) == 2.0
    assert float(total({"a": flambeau.ones(2), "b": flambeau.ones(3)})) == 5.0
    assert float(total({})) == 0.0
    assert [float(total({str(k): flambeau.ones(k) for k in range(n)})) for n in range(20)] == [
        n * (n - 1) / 2 for n in range(20)
    ]


def test_results_ask_for_gradients_through_the_tensors() -> None:
    @flambeau.script
    def product(p: dict[str, Tensor], x: Tensor) -> Tensor:
        return (x @ p["w"] * p["b"]).sum()

    p = {k: v.requires_grad_() for k, v in parameters().items()}
    q = {k: v.detach().clone().requires_grad_() for k, v in p.items()}
    product(p, rows()[0]).backward()
    (rows()[0] @ q["w"] * q["b"]).sum().backward()
    for key in p:
        assert_equal(p[key].grad, q[key].grad)


def test_errors_say_where_in_the_program() -> None:
    @flambeau.script
    def missing(p: dict[str, Tensor]) -> Tensor:
        return p["w"] + p["other"]

    with pytest.raises(RuntimeError, match="other") as caught:
        missing(parameters())
    assert 'return p["w"] + p["other"]' in str(caught.value)
    assert str(caught.value).count("in missing") == 1


def test_gradients_of_functions_whose_program_asks_for_them_again_end() -> None:
    @flambeau.script
    def inner(p: dict[str, Tensor], x: Tensor) -> Tensor:
        return (flambeau.tanh(x * p["b"]) ** 2).sum()

    @flambeau.script
    def outer(p: dict[str, Tensor], xs: Tensor) -> Tensor:
        def one(x: Tensor):
            q = p
            for _ in range(2):
                g = grad(inner)(q, x)
                q = {k: q[k] - 0.1 * g[k] for k in q}
            return inner(q, x)

        return vmap(one)(xs).mean()

    def again(p: dict[str, Tensor], xs: Tensor) -> Tensor:
        return flambeau.stack([outer_of_one(p, x) for x in xs]).mean()

    def outer_of_one(p: dict[str, Tensor], x: Tensor) -> Tensor:
        def inner(q: dict[str, Tensor]) -> Tensor:
            return (flambeau.tanh(x * q["b"]) ** 2).sum()

        q = p
        for _ in range(2):
            g = grad(inner)(q)
            q = {k: q[k] - 0.1 * g[k] for k in q}
        return inner(q)

    p, xs = {"b": flambeau.tensor([0.5, -1.5])}, rows()[0]
    for _ in range(3):
        assert_equal(grad(outer)(p, xs), grad(again)(p, xs))
