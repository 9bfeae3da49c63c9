"""Sequences: filters, hidden states, alignments, returns."""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
from benchmarks.programs.jax_users.examples import Script, example
from flambeau.func import grad, value_and_grad


@example(lambda r: (np.array(-1.0), np.array(0.0), np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]]), r.standard_normal(50)))
def kalman_filter(script: Script) -> Any:
    def log_likelihood(q, r, transition, seen, y):
        n = transition.shape[0]
        noise = flambeau.exp(q) * flambeau.eye(n, dtype=y.dtype)
        mean, spread = flambeau.zeros(n, dtype=y.dtype), flambeau.eye(n, dtype=y.dtype)
        total = flambeau.zeros((), dtype=y.dtype)
        for t in range(y.shape[0]):
            mean = transition @ mean
            spread = transition @ spread @ transition.T + noise
            s = (seen @ spread @ seen.T)[0, 0] + flambeau.exp(r)
            error = y[t] - (seen @ mean)[0]
            gain = (spread @ seen.T)[:, 0] / s
            mean = mean + gain * error
            spread = spread - flambeau.outer(gain, gain) * s
            total = total - 0.5 * (flambeau.log(s) + error * error / s)
        return total

    return value_and_grad(script(log_likelihood), argnums=(0, 1))


@example(lambda r: (r.standard_normal((20, 5)), r.standard_normal((5, 5)), r.integers(0, 5, 20)))
def conditional_random_field(script: Script) -> Any:
    def loss(scores, steps, tags):
        score, alpha = scores[0, tags[0]], scores[0]
        for t in range(1, scores.shape[0]):
            score = score + steps[tags[t - 1], tags[t]] + scores[t, tags[t]]
            alpha = flambeau.logsumexp(alpha[:, None] + steps, 0) + scores[t]
        return flambeau.logsumexp(alpha, 0) - score

    return grad(script(loss), argnums=(0, 1))


@example(lambda r: (r.standard_normal((5, 5)), r.standard_normal((5, 7)), r.integers(0, 7, 60)))
def most_likely_path(script: Script) -> Any:
    def path(steps, shown, seen):
        n = seen.shape[0]
        best = shown[:, seen[0]]
        back = flambeau.zeros((n, steps.shape[0]), dtype=flambeau.int64)
        for t in range(1, n):
            value, where = (best[:, None] + steps).max(0)
            back[t] = where
            best = value + shown[:, seen[t]]
        result = flambeau.zeros(n, dtype=flambeau.int64)
        result[n - 1] = best.argmax()
        for t in range(n - 1, 0, -1):
            result[t - 1] = back[t, result[t]]
        return result

    return script(path)


@example(lambda r: (r.standard_normal((15, 2)), r.standard_normal((17, 2))))
def soft_alignment(script: Script) -> Any:
    def distance(x, y):
        n, m = x.shape[0], y.shape[0]
        costs = ((x[:, None] - y[None]) ** 2).sum(-1)
        table = flambeau.full((n + 1, m + 1), 1e10, dtype=x.dtype)
        table[0, 0] = 0.0
        for i in range(n):
            for j in range(m):
                before = flambeau.stack([table[i, j], table[i, j + 1], table[i + 1, j]])
                table[i + 1, j + 1] = costs[i, j] - flambeau.logsumexp(-before, 0)
        return table[n, m]

    return grad(script(distance))


@example(lambda r: (r.standard_normal((4, 3)), r.standard_normal((50, 4)), r.integers(0, 3, 50), r.standard_normal(50)))
def policy_gradient(script: Script) -> Any:
    def loss(w, seen, acts, rewards):
        returns = flambeau.zeros_like(rewards)
        following = flambeau.zeros((), dtype=rewards.dtype)
        for t in range(rewards.shape[0] - 1, -1, -1):
            following = rewards[t] + 0.9 * following
            returns[t] = following
        chosen = flambeau.log_softmax(seen @ w, 1).gather(1, acts[:, None])[:, 0]
        return -(chosen * (returns - returns.mean()) / (returns.std() + 1e-8)).mean()

    return grad(script(loss))


@example(lambda r: tuple(s * r.standard_normal(n) for s, n in ((0.4, (3, 8)), (0.3, (8, 8)), (1, 8), (1, (25, 3)), (1, 8))))
def recurrent_network(script: Script) -> Any:
    def loss(inner, own, b, xs, y):
        h = flambeau.zeros_like(b)
        for x in xs:
            h = flambeau.tanh(x @ inner + h @ own + b)
        return ((h - y) ** 2).sum()

    return grad(script(loss), argnums=(0, 1, 2))
