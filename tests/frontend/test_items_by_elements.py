"""`x[i]` with an integer tensor without axes is a view, as in PyTorch, on every path; beside others it is an int."""

from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

BODIES = (
    "x[i, 0] = x[i, 1] + x[i, 2]\n    x[0] = x[i]\n    return x,",
    "y = x[i]\n    x[1] = 3\n    return y.sum(), x",
    "y = x[i]\n    z = y * 2\n    x[1] = z\n    return x, z",
    "y = x[i]\n    z = y[0]\n    x += 1\n    return x, z",
    "y = x[i]\n    if p[0] > 0:\n        x += 1\n    return x, y * 2",
    "s = x.sum()\n    for k in range(3):\n        y = x[i]\n        s += y.sum()\n        x[1, k] = s\n    return x, s",
    "x[0], x[1] = x[i], x[0]\n    return x,",
    "y = x[i]\n    y += 1\n    return x, y",
    "x[i][0] = 5\n    return x,",
    "x[i, i][1] = 7\n    return x, x[i, i]",
    "x[i, 1:][0] = 5\n    return x,",
    "y = x[..., i]\n    y.mul_(2)\n    return x, y",
    "y = x[:, i]\n    x += 1\n    return x, y",
    "for k in range(p.size(0)):\n        x[p[k], k], x[0, 0] = x[0, 0], x[p[k], k]\n    return x,",
    "for k in range(p.size(0)):\n        x[p[k]][k][k] = k\n    return x,",
    "m = x[i] > 2\n    x[i][m] = 0\n    return x,",
    "y = x[i > 0]\n    y += 1\n    return x, y",
    "return x[i, :, p], x[:, i, p], x[p, i], x[p, :, i], x[i, p], x[..., i, p], x[i, None, p], x[i > 0, :, i]",
    "y = x[i, :, p]\n    y += 1\n    x[i, 0] *= 2\n    return y, x",
    "x[i, :, p] = v\n    return x,",
    "x[p, :, i] = v[:, :1]\n    return x,",
    "x[i, :, p] += v\n    return x,",
    "x[i, :, p] *= x[i, :, p]\n    return x,",
)


def in_python(body: str, library: Any, number: int) -> Callable[..., Any]:
    source = f"def f(x: Tensor, i: Tensor, p: Tensor, v: Tensor):\n    {body}\n"
    filename = f"<items {number}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict[str, Any] = {"Tensor": library.Tensor}
    exec(compile(source, filename, "exec", dont_inherit=True), names)
    function: Callable[..., Any] = names["f"]
    return function


def outcome(function: Callable[..., Any], convert: Callable[[Any], Any]) -> list[Any]:
    x = convert(np.arange(24.0).reshape(2, 3, 4))
    given = [x, convert(np.array(1)), convert(np.array([1, 0, 1])), convert(np.arange(9.0).reshape(3, 3))]
    results = [*function(*given), x]
    return [(np.array(r.numpy()).shape, np.array(r.numpy()).tolist()) for r in results]


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_c07_items_that_elements_name(number: int) -> None:
    body = BODIES[number]
    eager = in_python(body, flambeau, number)
    expected = outcome(eager, flambeau.tensor)
    if importlib.util.find_spec("torch") is not None:
        import torch

        assert outcome(in_python(body, torch, number), torch.tensor) == expected
    for backend in ("reference", "interpreter", "native"):
        scripted = flambeau.script(eager, backend=backend)
        for _ in range(3):
            assert outcome(scripted, flambeau.tensor) == expected, backend


def test_traces_keep_views() -> None:
    def write(x: Tensor, i: Tensor) -> Tensor:
        y = x[i]
        y += 1
        return x

    traced = flambeau.trace(write, (flambeau.zeros(2, 2), flambeau.tensor(0)))
    assert traced(flambeau.zeros(2, 2), flambeau.tensor(1)).tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_what_nobody_writes_is_the_operator_that_torchscript_has() -> None:
    def read(x: Tensor, i: Tensor) -> Tensor:
        return x[i] + 1

    def write(x: Tensor, i: Tensor) -> Tensor:
        y = x[i]
        y += 1
        return x

    def swap(x: Tensor, i: Tensor) -> Tensor:
        x[0, 0] = x[i, 1] + 1
        x[1, 0] = x[i, 0]
        return x

    assert "aten::index" in str(flambeau.script(read).graph)
    assert "python::item" not in str(flambeau.script(swap).graph)
    assert "python::item" in str(flambeau.script(write).graph)
    graph = flambeau.script(write)
    assert "python::item" not in str(graph.graph_for(flambeau.zeros(2, 2), flambeau.tensor(0)))


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_places_out_of_range(backend: str) -> None:
    def write(x: Tensor, i: Tensor) -> Tensor:
        x[i][0] = 1
        return x

    with pytest.raises(IndexError, match="index 5 "):
        flambeau.script(write, backend=backend)(flambeau.zeros(2, 2), flambeau.tensor(5))
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 2"):
        write(flambeau.zeros(2, 2), flambeau.tensor(5))


class Kept:
    """An object that keeps a tensor: whether it writes to it is seen only where its methods are."""

    def __init__(self, first: Tensor):
        self.first = first


def test_items_that_objects_keep_have_gradients() -> None:
    def reversed_(v: Tensor, i: Tensor) -> Tensor:
        taken = v[i].sin()
        kept = Kept(v[i])
        return (taken * v.cos() + kept.first * 2).sum()

    def one(v: Tensor, i: Tensor) -> Tensor:
        kept = Kept(v[i[0]])
        return kept.first * kept.first + v.sum()

    for function in (reversed_, one):
        for options in ({}, {"backend": "interpreter"}):
            scripted = flambeau.script(function, **options)
            for _ in range(3):
                gradients = []
                for run in (scripted, function):
                    v = flambeau.tensor([0.5, -1.0, 2.0], dtype=flambeau.float64, requires_grad=True)
                    total = run(v, flambeau.tensor([2, 0, 1]))
                    gradients.append(flambeau.autograd.grad(total, v)[0].tolist())
                assert gradients[0] == pytest.approx(gradients[1], rel=1e-14)


def loop_beside(v: Tensor, i: Tensor) -> Tensor:
    """The gradient of `v` has memory from the loop on, which only views show."""
    taken = v[i]
    kept = Kept(v)
    kept.first = taken
    m = v * 1.0
    for k in range(1, v.size(0)):
        m[k] = m[k - 1] * 0.5 + v[k]
    return (m.sin() + kept.first * v.cos()).sum()


def written_item(v: Tensor, i: Tensor) -> Tensor:
    x = v * 2.0
    kept = Kept(x[i[0]])
    kept.first.mul_(3.0)
    for k in range(v.size(0)):
        x[k] = x[k] + v[k] * v[k]
    return (x * v).sum() + kept.first


@pytest.mark.parametrize("function", [loop_beside, written_item])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_items_beside_loops_over_elements_have_gradients(function: Callable[..., Tensor], backend: str) -> None:
    scripted = flambeau.script(function, backend=backend)
    assert ("python::item" in str(scripted.graph)) is (function is written_item), "what is not written is a copy"
    places = flambeau.tensor([2, 0, 1])
    start = flambeau.tensor([0.5, -1.0, 2.0], dtype=flambeau.float64)
    for _ in range(3):
        gradients = []
        for run in (scripted, function):
            v = start.clone().requires_grad_()
            gradients.append(flambeau.autograd.grad(run(v, places), v)[0].tolist())
        assert gradients[0] == pytest.approx(gradients[1], rel=1e-14)
    want = flambeau.func.jvp(lambda v: function(v, places), (start,), (start,))[1]
    got = flambeau.func.jvp(lambda v: scripted(v, places), (start,), (start,))[1]
    assert float(got) == pytest.approx(float(want), rel=1e-14)
    assert flambeau.grad(scripted)(start, places).tolist() == pytest.approx(gradients[1], rel=1e-14)
