"""Parameters in trees, gradients of each example, ensembles, training loops by hand."""

from __future__ import annotations

from typing import Any

import flambeau
from benchmarks.programs.jax_users.examples import Script, example
from flambeau.func import grad, hessian, jacrev, value_and_grad, vmap


def _layers(r: Any) -> tuple[Any, ...]:
    return (*(0.5 * r.standard_normal(s) for s in ((4, 8), 8, (8, 1), 1)), *map(r.standard_normal, ((32, 4), (32, 1))))


def _tree(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return {"w1": w1, "b1": b1, "w2": w2, "b2": b2}


def _loss(p, x, y):
    return ((flambeau.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2).mean()


@example(_layers)
def perceptron_in_a_dict(script: Script) -> Any:
    gradient = value_and_grad(script(_loss))
    return lambda w1, b1, w2, b2, x, y: gradient(_tree(w1, b1, w2, b2), x, y)


@example(_layers)
def perceptron_in_a_list_of_pairs(script: Script) -> Any:
    def loss(layers, x, y):
        for w, b in layers[:-1]:
            x = flambeau.tanh(x @ w + b)
        w, b = layers[-1]
        return ((x @ w + b - y) ** 2).mean()

    gradient = grad(script(loss))
    return lambda w1, b1, w2, b2, x, y: gradient([(w1, b1), (w2, b2)], x, y)


@example(_layers)
def gradients_of_each_example(script: Script) -> Any:
    gradients = vmap(grad(script(_loss)), in_dims=(None, 0, 0))
    return lambda w1, b1, w2, b2, x, y: gradients(_tree(w1, b1, w2, b2), x, y)


@example(lambda r: (*(0.5 * r.standard_normal((6, *s)) for s in ((4, 8), (8,), (8, 1), (1,))), *_layers(r)[4:]))
def ensemble_trained(script: Script) -> Any:
    loss = script(_loss)

    def trained(p, x, y, steps):
        for _ in range(steps):
            slopes = grad(loss)(p, x, y)
            p = {name: p[name] - 0.05 * slopes[name] for name in p}
        return p

    together = vmap(script(trained), in_dims=(0, None, None, None))
    return lambda w1, b1, w2, b2, x, y: together(_tree(w1, b1, w2, b2), x, y, 20)


@example(lambda r: tuple(map(r.standard_normal, ((5, 1), 1, (40, 5), (40, 1)))))
def adam_by_hand(script: Script) -> Any:
    def loss(p, x, y):
        return ((x @ p["w"] + p["b"] - y) ** 2).mean()

    def fitted(p, x, y, steps):
        m = {k: flambeau.zeros_like(v) for k, v in p.items()}
        s = {k: flambeau.zeros_like(v) for k, v in p.items()}
        for t in range(1, steps + 1):
            g = grad(loss)(p, x, y)
            m = {k: 0.9 * m[k] + 0.1 * g[k] for k in p}
            s = {k: 0.999 * s[k] + 0.001 * g[k] ** 2 for k in p}
            p = {k: p[k] - 0.01 * (m[k] / (1 - 0.9**t)) / (flambeau.sqrt(s[k] / (1 - 0.999**t)) + 1e-8) for k in p}
        return p

    fitting = script(fitted)
    return lambda w, b, x, y: fitting({"w": w, "b": b}, x, y, 50)


@example(lambda r: (r.standard_normal((4, 1)), r.standard_normal(1), r.standard_normal((5, 10, 4)), r.standard_normal((5, 10, 1))))
def learning_to_learn(script: Script) -> Any:
    def loss(w, b, x, y):
        return ((x @ w + b - y) ** 2).mean()

    def task(w, b, x, y):
        slope_w, slope_b = grad(loss, argnums=(0, 1))(w, b, x, y)
        return loss(w - 0.1 * slope_w, b - 0.1 * slope_b, x, y)

    def over_tasks(w, b, xs, ys):
        return vmap(task, in_dims=(None, None, 0, 0))(w, b, xs, ys).mean()

    return value_and_grad(script(over_tasks), argnums=(0, 1))


@example(lambda r: (r.standard_normal(5), r.standard_normal((60, 5)), (r.random(60) < 0.5).astype(float)))
def natural_gradient(script: Script) -> Any:
    def log_likelihood(w, x, y):
        z = x @ w
        return y * z - flambeau.nn.functional.softplus(z)

    def step(w, x, y):
        scores = vmap(grad(log_likelihood), in_dims=(None, 0, 0))(w, x, y)
        fisher = scores.T @ scores / x.shape[0] + 1e-3 * flambeau.eye(w.shape[0], dtype=w.dtype)
        return w + 0.1 * flambeau.linalg.solve(fisher, scores.mean(0))

    return script(step)


@example(lambda r: (r.standard_normal(3), r.standard_normal(4)))
def jacobian_and_hessian_by_a_dict(script: Script) -> Any:
    def outputs(p):
        return {"u": p["a"] * p["b"].sum(), "v": flambeau.sin(p["b"])}

    def energy(p):
        return (p["a"] ** 2).sum() * p["b"].sum() + (p["b"] ** 3).sum()

    jacobian, curvature = jacrev(script(outputs)), hessian(script(energy))
    return lambda a, b: (jacobian({"a": a, "b": b}), curvature({"a": a, "b": b}))
