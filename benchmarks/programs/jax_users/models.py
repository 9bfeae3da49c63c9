"""Models: attention, flows, processes, images."""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
import flambeau.nn.functional as nnf
from benchmarks.programs.jax_users.examples import Script, example
from flambeau.func import grad, jacfwd, value_and_grad, vmap


@example(lambda r: tuple(r.standard_normal((4, 10, 8)) for _ in range(3)))
def attention_by_letters(script: Script) -> Any:
    def loss(q, k, v):
        n = q.shape[1]
        scores = flambeau.einsum("hqd,hkd->hqk", q, k) / 8**0.5
        seen = flambeau.tril(flambeau.ones(n, n, dtype=flambeau.bool))
        weights = flambeau.softmax(flambeau.where(seen, scores, float("-inf")), -1)
        return (flambeau.einsum("hqk,hkd->hqd", weights, v) ** 2).sum()

    return grad(script(loss), argnums=(0, 1, 2))


@example(lambda r: (0.5 * r.standard_normal((3, 3)), r.standard_normal(3), r.standard_normal((20, 3))))
def flow_by_its_jacobian(script: Script) -> Any:
    def flow(x, w, b):
        return x + flambeau.tanh(x @ w + b)

    def loss(w, b, x):
        def one(z):
            volume = flambeau.linalg.slogdet(jacfwd(flow)(z, w, b))[1]
            return 0.5 * (flow(z, w, b) ** 2).sum() - volume

        return vmap(one)(x).mean()

    return value_and_grad(script(loss), argnums=(0, 1))


@example(lambda r: (np.array([0.0, 0.0, -1.0]), np.sort(r.uniform(0, 5, 40)), r.standard_normal(40)))
def gaussian_process(script: Script) -> Any:
    def loss(theta, x, y):
        length, scale, noise = flambeau.exp(theta[0]), flambeau.exp(theta[1]), flambeau.exp(theta[2])
        kernel = scale**2 * flambeau.exp(-0.5 * ((x[:, None] - x[None, :]) / length) ** 2)
        factor = flambeau.linalg.cholesky(kernel + (noise**2 + 1e-8) * flambeau.eye(x.shape[0], dtype=x.dtype))
        solved = flambeau.cholesky_solve(y[:, None], factor)[:, 0]
        return 0.5 * y @ solved + flambeau.log(flambeau.diagonal(factor)).sum()

    return value_and_grad(script(loss))


@example(
    lambda r: (*(s * r.standard_normal(n) for s, n in ((0.3, (4, 1, 3, 3)), (0.2, (8, 4, 3, 3)), (0.1, (32, 10)), (1, (8, 1, 12, 12)))), r.integers(0, 10, 8))
)
def images_by_convolutions(script: Script) -> Any:
    def loss(k1, k2, w, x, y):
        h = nnf.max_pool2d(flambeau.relu(nnf.conv2d(x, k1, padding=1)), 2)
        h = nnf.max_pool2d(flambeau.relu(nnf.conv2d(h, k2)), 2)
        return nnf.cross_entropy(h.reshape(h.shape[0], -1) @ w, y)

    return value_and_grad(script(loss), argnums=(0, 1, 2))


@example(lambda r: (r.standard_normal((32, 16)), r.standard_normal((32, 16))))
def contrast_of_pairs(script: Script) -> Any:
    def loss(a, b):
        a = a / flambeau.linalg.norm(a, dim=1, keepdim=True)
        b = b / flambeau.linalg.norm(b, dim=1, keepdim=True)
        scores, own = a @ b.T / 0.1, flambeau.arange(a.shape[0])
        return 0.5 * (nnf.cross_entropy(scores, own) + nnf.cross_entropy(scores.T, own))

    return value_and_grad(script(loss), argnums=(0, 1))
