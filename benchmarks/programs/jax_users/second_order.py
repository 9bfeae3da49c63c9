"""Second derivatives: of networks within a loss, of likelihoods, and of energies in loops."""

from __future__ import annotations

from typing import Any

import flambeau
from benchmarks.programs.jax_users.examples import Draws, Script, example
from flambeau import grad, hessian, jacrev, vmap


def _hidden_layers(r: Draws) -> tuple[Any, ...]:
    weights = (r.standard_normal((16, 2)), 0.3 * r.standard_normal((16, 16)), 0.3 * r.standard_normal(16))
    return (*weights, r.random((64, 2)))


@example(_hidden_layers)
def poissons_equation(script: Script) -> Any:
    def u(x, w1, w2, w3):
        return (w3 * flambeau.tanh(w2 @ flambeau.tanh(w1 @ x))).sum()

    curvature = hessian(script(u))

    def loss(w1, w2, w3, points):
        curvatures = vmap(curvature, (0, None, None, None))(points, w1, w2, w3)
        return ((curvatures[:, 0, 0] + curvatures[:, 1, 1] - 1.0) ** 2).mean()

    return grad(script(loss), argnums=(0, 1, 2))


@example(lambda r: (r.uniform(-1, 0.5, 3), r.uniform(-2, 2, 40), r.standard_normal(40)))
def curvature_of_a_likelihood(script: Script) -> Any:
    def loss(theta, x, y):
        d = x.unsqueeze(1) - x
        k = flambeau.exp(theta[0]) * flambeau.exp(-0.5 * d * d * flambeau.exp(-2 * theta[1]))
        factor = flambeau.linalg.cholesky(k + flambeau.exp(theta[2]) * flambeau.eye(x.size(0), dtype=x.dtype))
        solution = flambeau.cholesky_solve(y.unsqueeze(1), factor)
        return 0.5 * (y * solution.squeeze(1)).sum() + flambeau.log(flambeau.diagonal(factor)).sum()

    return hessian(script(loss))


@example(
    lambda r: (r.standard_normal(2), r.standard_normal(2), 0.3 * r.standard_normal((4, 16)), 0.1 * r.standard_normal(16))
)
def lagrangian_network(script: Script) -> Any:
    def energy(q, v, w1, w2):
        hidden = flambeau.nn.functional.softplus(flambeau.cat([q, v]) @ w1)
        return hidden @ w2 + 0.5 * (v * v).sum()

    energy = script(energy)
    mass, force, mixed = hessian(energy, 1), grad(energy, 0), jacrev(grad(energy, 1), 0)

    def loss(q, v, w1, w2):
        for _ in range(20):
            rest = force(q, v, w1, w2) - mixed(q, v, w1, w2) @ v
            v = v + 0.01 * flambeau.linalg.solve(mass(q, v, w1, w2), rest)
            q = q + 0.01 * v
        return (q * q).sum()

    return grad(script(loss), argnums=(2, 3))
