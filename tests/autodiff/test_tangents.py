"""Tangents that go along with the values of a graph: those of Python functions, of gradients, and of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autodiff import tangent_nodes
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, jvp, vmap

F = flambeau


@pytest.fixture
def only_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what goes back in their place raise."""
    monkeypatch.setattr(tangent_nodes, "_made", tangent_nodes._along)


def waves(x: Tensor, k: Tensor) -> Tensor:
    y = x
    for i in range(3):
        y = F.sin(y) * 1.5 + x * k[i]
    return y


def halved(x: Tensor, k: Tensor) -> Tensor:
    steps = 0
    while bool(x.abs().max() > 0.3):
        x = x * (0.5 + 0.1 * k[0])
        steps += 1
        if steps == 7:
            break
    return x * steps


def branches(x: Tensor, k: Tensor) -> Tensor:
    y = x * 2.0
    if bool(y.sum() > 0.0):
        y = y * k.sum()
        y = y + 1.0
    else:
        y = F.exp(k[0]) + x
    if bool(x[0] > 100.0):
        y = F.ones(4, dtype=F.float64)
    return y


def numbers(x: Tensor, k: Tensor) -> Tensor:
    a = float(x[0])
    b = float(k[1])
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + float(x[i]) ** 2 * a
    return x * total + (a - b) / (1.0 + a * a) + k[0] ** b + a**k[2].abs()


def items(x: Tensor, k: Tensor) -> Tensor:
    parts: list[Tensor] = []
    for i in range(3):
        parts.append(x * k[i])
    last = parts.pop()
    parts[0] = parts[0] * last
    parts.insert(1, last.cos())
    return F.stack(parts).sum(0) + F.cat(parts[1:]).sum() + parts[-1]


def numbers_in_lists(x: Tensor, k: Tensor) -> Tensor:
    listed = [float(x[0]), 2.0, float(k[0])]
    listed.append(listed[0] * listed[2])
    listed[1] = listed[3] + 1.0
    return x * sum(listed) + max(listed) - F.tensor(listed, dtype=F.float64).sum()


def written(x: Tensor, k: Tensor) -> Tensor:
    y = F.zeros(4, dtype=F.float64)
    for i in range(4):
        y[i] = x[i] * k[0]
    z = y * 1.0
    z[1:3] += x[:2] * y[2]
    z.mul_(y).exp_()
    z[0] = 3.0
    w = z + 0.0
    w.zero_()
    w.add_(x, alpha=2)
    v = F.empty(4, dtype=F.float64)
    v.fill_(float(k[1]))
    v.copy_(v * x)
    return z + w + v


def shared_memory(x: Tensor, k: Tensor) -> Tensor:
    y = x + 0.0
    row = y[1:]
    for i in range(3):
        row[i] = row[i] * k[i] + y[i]
    return y * y


def written_over(x: Tensor, k: Tensor) -> Tensor:
    y = x * 1.0
    z = y + 1.0  # its tangent is that of y, until y is written
    y.mul_(k[0])
    return z * y


def chosen_ways(x: Tensor, k: Tensor) -> Tensor:
    y = x * k[0]
    for i in range(5):
        if i == 1:
            continue
        if i == 4:
            return y * i
        y = y + x**i
    return y


def pairs(x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    state = (x, k[:1] * 2.0)
    for _ in range(3):
        state = (state[0] * state[1], state[1] + x.mean())
    return state


def constants(x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return x.detach() * 2.0, (x > 0).to(F.float64) + F.ones(4, dtype=F.float64) * k.detach().sum()


def rows(x: Tensor, k: Tensor) -> Tensor:
    m = F.outer(x, x) + F.eye(4, dtype=F.float64) * 3.0
    a = F.softmax(m, 1).log() + F.logsumexp(m, 0) + F.log_softmax(m * k[0], 0)
    return a.max(1)[0] + a.amin(0) + a.std(1) + a.var(0) + a.norm(dim=1) + a.cumsum(0)[2] + a.prod(1) + a.mean()


def matrices(x: Tensor, k: Tensor) -> Tensor:
    m = F.outer(x, x) + F.eye(4, dtype=F.float64) * 3.0
    y = F.linalg.solve(m, x) + F.linalg.inv(m) @ k.sum().expand(4) + F.linalg.det(m)
    c = F.linalg.cholesky(m)
    return y + c.diagonal() + F.einsum("ij,j->i", c, x) + (m @ m).tril().sum(0) + F.addmv(x, m, x, alpha=0.5)


def chosen_places(x: Tensor, k: Tensor) -> Tensor:
    y = F.where(x > 0.4, x * k[0], k[1])
    order = F.sort(x)[0] + F.gather(x, 0, F.tensor([3, 2, 0, 0])) + x[F.tensor([1, 1, 2, 0])]
    z = F.index_add(y, 0, F.tensor([1, 1]), x[:2]) + F.masked_fill(x, x > 0.55, 2.0)
    return z + order + F.clamp(x, 0.3, 0.6) + F.flip(x, [0]) + F.roll(x, 1) + x.repeat(2)[2:6]


PROGRAMS: list[Callable[..., Any]] = [
    waves, halved, branches, numbers, items, numbers_in_lists, written, shared_memory, written_over, chosen_ways, pairs,
    constants, rows, matrices, chosen_places,
]  # fmt: skip
X = flambeau.tensor([0.7, 0.2, 0.5, 0.9]).double()
K = flambeau.tensor([0.6, 1.2, 0.8]).double()
DX = flambeau.tensor([1.0, -0.5, 0.25, 2.0]).double()
DK = flambeau.tensor([0.5, -1.0, 3.0]).double()


def flat(result: Any) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple | list) else [result]
    return [a for part in parts for a in (flat(part) if isinstance(part, tuple | list) else [part.detach().numpy()])]


def close(got: Any, want: Any, tolerance: float = 1e-9) -> None:
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def by_differences(function: Callable[..., Any]) -> list[np.ndarray]:
    step = 1e-6
    ahead, behind = flat(function(X + DX * step, K + DK * step)), flat(function(X - DX * step, K - DK * step))
    return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("only_along")
def test_tangents_are_those_of_differences(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    if function is constants:
        want = (scripted(X, K), [np.zeros(4), np.zeros(4)])
    else:
        want = (scripted(X, K), by_differences(scripted))
    for _ in range(3):
        value, tangent = jvp(scripted, (X, K), (DX, DK))
        close(value, want[0])
        parts = flat(tangent)
        for one, other in zip(parts, want[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


DIFFERENTIABLE_BACK = [f for f in PROGRAMS if f is not constants]


@pytest.mark.parametrize("function", DIFFERENTIABLE_BACK, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("only_along")
def test_jacobians_forward_are_those_back(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    close(jacfwd(scripted, (0, 1))(X, K), jacrev(scripted, (0, 1))(X, K), 1e-8)


SMOOTH = [waves, halved, branches, numbers, written, shared_memory, written_over, chosen_ways, rows]


@pytest.mark.parametrize("function", SMOOTH, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("only_along")
def test_second_derivatives(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)

    def total(x: Tensor, k: Tensor) -> Tensor:
        return (scripted(x, k) ** 2).sum()

    whole = flambeau.script(total)
    slope = grad(whole, (0, 1))
    gradient, product = hvp(whole, (X, K), (DX, DK))
    close(gradient, slope(X, K), 1e-8)
    want = by_differences(slope)
    for one, other in zip(flat(product), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    second = hessian(whole, (0, 1))(X, K)
    applied = [row[0] @ DX + row[1] @ DK for row in second]
    close(applied, product, 1e-7)


def test_what_goes_back_in_their_place_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise NotDifferentiableError("as a test")

    monkeypatch.setattr(tangent_nodes, "_along", refuse)

    @flambeau.script
    def total(x: Tensor, k: Tensor) -> Tensor:
        for i in range(2):
            x = x.sin() * k[i]
        return x.sum()

    close(jvp(total, (X, K), (DX, DK)), jvp(total.__wrapped__, (X, K), (DX, DK)))
    close(hvp(total, (X, K), (DX, DK)), hvp(total.__wrapped__, (X, K), (DX, DK)))
    close(jacfwd(total)(X, K), jacfwd(total.__wrapped__)(X, K))
    close(hessian(total)(X, K), hessian(total.__wrapped__)(X, K))


@pytest.mark.usefixtures("only_along")
def test_tangents_of_batches() -> None:
    scripted = flambeau.script(waves)
    rows = flambeau.stack([X, X * 2.0, -X])
    pushed = vmap(lambda x: jvp(scripted, (x, K), (DX, DK))[1])(rows)
    each = [jvp(waves, (row, K), (DX, DK))[1].numpy() for row in rows]
    np.testing.assert_allclose(pushed.numpy(), each, rtol=1e-10)


@pytest.mark.usefixtures("only_along")
def test_gradients_of_tangents_and_tangents_of_tangents() -> None:
    scripted = flambeau.script(waves)

    @flambeau.script
    def along(x: Tensor, k: Tensor, dx: Tensor) -> Tensor:
        _, tangent = jvp(scripted, (x, k), (dx, k * 0.0))
        return (tangent**2).sum()

    def plain(x: Tensor, k: Tensor, dx: Tensor) -> Tensor:
        _, tangent = jvp(waves, (x, k), (dx, k * 0.0))
        return (tangent**2).sum()

    close(along(X, K, DX), plain(X, K, DX))
    close(grad(along, (0, 1))(X, K, DX), grad(plain, (0, 1))(X, K, DX))
    close(jvp(along, (X, K, DX), (DX, DK, X)), jvp(plain, (X, K, DX), (DX, DK, X)))


def test_saved_tangents_go_by_gradients(tmp_path: Any) -> None:
    scripted = flambeau.script(halved)

    @flambeau.script
    def along(x: Tensor, k: Tensor, dx: Tensor, dk: Tensor) -> Tensor:
        return jvp(scripted, (x, k), (dx, dk))[1]

    path = tmp_path / "along.pt"
    flambeau.jit.save(flambeau.jit.script(along), path)
    close(flambeau.jit.load(path)(X, K, DX, DK), along(X, K, DX, DK))


def test_tangents_of_another_dtype_or_size() -> None:
    scripted = flambeau.script(waves)
    close(jvp(scripted, (X, K), (DX.float(), DK.float()))[1], jvp(scripted, (X, K), (DX, DK))[1])
    for product in (jvp, hvp):
        with pytest.raises(RuntimeError, match="different size"):
            product(scripted, (X, K), (DX[:3], DK))


def test_a_function_written_in_place_keeps_its_tangent_when_recorded() -> None:
    def scaled(x: Tensor, k: Tensor) -> Tensor:
        y = x * 1.0
        y.mul_(k[0])
        return y * y

    made = flambeau.trace(lambda x, k, dx, dk: jvp(scaled, (x, k), (dx, dk))[1], (X, K, DX, DK))
    close(made(X * 2.0, K, DX, DK), jvp(scaled, (X * 2.0, K), (DX, DK))[1])


def test_empty_arguments() -> None:
    scripted = flambeau.script(twice_sine)
    empty = flambeau.zeros(0, dtype=F.float64)
    assert jacfwd(scripted)(empty).shape == (0, 0)
    assert hessian(scripted)(empty).shape == (0, 0, 0)


def twice_sine(x: Tensor) -> Tensor:
    for _ in range(2):
        x = x.sin()
    return x


@pytest.mark.usefixtures("only_along")
def test_second_derivatives_in_a_loss_have_gradients() -> None:
    @flambeau.script
    def layer(x: Tensor, w: Tensor) -> Tensor:
        return F.tanh(x @ w).sum()

    @flambeau.script
    def loss(w: Tensor, points: Tensor) -> Tensor:
        second = vmap(hessian(layer), (0, None))(points, w)
        return ((second[:, 0, 0] + second[:, 1, 1]) ** 2).mean()

    def plain(w: Tensor, points: Tensor) -> Tensor:
        second = vmap(hessian(lambda x: F.tanh(x @ w).sum()))(points)
        return ((second[:, 0, 0] + second[:, 1, 1]) ** 2).mean()

    w, points = X.reshape(2, 2), flambeau.stack([X[:2], X[1:3], X[2:]])
    compiled = grad(loss)
    for _ in range(3):
        close(compiled(w, points), grad(plain)(w, points))
    [compilation] = compiled.explain().compilations
    assert "prim::Gradient" not in [one.kind for one in compilation.interpreted]


def test_one_number_picks_along_an_axis() -> None:
    @flambeau.script
    def picked(x: Tensor, at: Tensor) -> Tensor:
        total = x[:, 0] * 0.0
        for t in range(at.shape[0]):
            total = total * 0.5 + x[:, at[t]] ** 2
        return total.sum()

    x, at = flambeau.outer(X, DX), flambeau.tensor([3, -1, 0, 0])
    compiled = grad(picked)
    for _ in range(3):
        close(compiled(x, at), grad(picked.__wrapped__)(x, at))
    assert compiled.explain().is_native
