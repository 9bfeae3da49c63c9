"""JAX's form of the programs, by their names; imported only where there is JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.nn import log_softmax, logsumexp

Array = Any


def _tree(w1: Array, b1: Array, w2: Array, b2: Array) -> Any:
    return {"w1": w1, "b1": b1, "w2": w2, "b2": b2}


def _loss(p: Any, x: Array, y: Array) -> Array:
    return ((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2).mean()


def perceptron_in_a_dict(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> Any:
    return jax.value_and_grad(_loss)(_tree(w1, b1, w2, b2), x, y)


def perceptron_in_a_list_of_pairs(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> Any:
    return jax.grad(lambda p: _loss(_tree(*p[0], *p[1]), x, y))([(w1, b1), (w2, b2)])


def gradients_of_each_example(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> Any:
    return jax.vmap(jax.grad(_loss), in_axes=(None, 0, 0))(_tree(w1, b1, w2, b2), x, y)


def ensemble_trained(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> Any:
    def trained(p: Any) -> Any:
        def step(p: Any, _: None) -> tuple[Any, None]:
            return jax.tree.map(lambda a, g: a - 0.05 * g, p, jax.grad(_loss)(p, x, y)), None

        return lax.scan(step, p, None, 20)[0]

    return jax.vmap(trained)(_tree(w1, b1, w2, b2))


def adam_by_hand(w: Array, b: Array, x: Array, y: Array) -> Any:
    def loss(p: Any) -> Array:
        return ((x @ p["w"] + p["b"] - y) ** 2).mean()

    def step(state: Any, t: Array) -> Any:
        p, m, s = state
        g = jax.grad(loss)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        s = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, s, g)

        def moved(p: Array, m: Array, s: Array) -> Array:
            return p - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(s / (1 - 0.999**t)) + 1e-8)

        return (jax.tree.map(moved, p, m, s), m, s), None

    p = {"w": w, "b": b}
    zeros = jax.tree.map(jnp.zeros_like, p)
    return lax.scan(step, (p, zeros, zeros), jnp.arange(1.0, 51.0))[0][0]


def learning_to_learn(w: Array, b: Array, xs: Array, ys: Array) -> Any:
    def loss(w: Array, b: Array, x: Array, y: Array) -> Array:
        return ((x @ w + b - y) ** 2).mean()

    def task(w: Array, b: Array, x: Array, y: Array) -> Array:
        slope_w, slope_b = jax.grad(loss, argnums=(0, 1))(w, b, x, y)
        return loss(w - 0.1 * slope_w, b - 0.1 * slope_b, x, y)

    over_tasks = jax.vmap(task, in_axes=(None, None, 0, 0))
    return jax.value_and_grad(lambda w, b: over_tasks(w, b, xs, ys).mean(), argnums=(0, 1))(w, b)


def natural_gradient(w: Array, x: Array, y: Array) -> Any:
    def log_likelihood(w: Array, x: Array, y: Array) -> Array:
        return y * (x @ w) - jax.nn.softplus(x @ w)

    scores = jax.vmap(jax.grad(log_likelihood), in_axes=(None, 0, 0))(w, x, y)
    fisher = scores.T @ scores / x.shape[0] + 1e-3 * jnp.eye(w.shape[0])
    return w + 0.1 * jnp.linalg.solve(fisher, scores.mean(0))


def jacobian_and_hessian_by_a_dict(a: Array, b: Array) -> Any:
    p = {"a": a, "b": b}
    jacobian = jax.jacrev(lambda p: {"u": p["a"] * p["b"].sum(), "v": jnp.sin(p["b"])})(p)
    return jacobian, jax.hessian(lambda p: (p["a"] ** 2).sum() * p["b"].sum() + (p["b"] ** 3).sum())(p)


def kalman_filter(q: Array, r: Array, transition: Array, seen: Array, y: Array) -> Any:
    def log_likelihood(q: Array, r: Array) -> Array:
        def step(state: Any, y: Array) -> Any:
            mean, spread = state
            mean = transition @ mean
            spread = transition @ spread @ transition.T + jnp.exp(q) * jnp.eye(2)
            s = (seen @ spread @ seen.T)[0, 0] + jnp.exp(r)
            error, gain = y - (seen @ mean)[0], (spread @ seen.T)[:, 0] / s
            state = mean + gain * error, spread - jnp.outer(gain, gain) * s
            return state, -0.5 * (jnp.log(s) + error * error / s)

        return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), y)[1].sum()

    return jax.value_and_grad(log_likelihood, argnums=(0, 1))(q, r)


def conditional_random_field(scores: Array, steps: Array, tags: Array) -> Any:
    def loss(scores: Array, steps: Array) -> Array:
        score = scores[jnp.arange(len(tags)), tags].sum() + steps[tags[:-1], tags[1:]].sum()
        alpha, _ = lax.scan(lambda a, s: (logsumexp(a[:, None] + steps, 0) + s, None), scores[0], scores[1:])
        return logsumexp(alpha) - score

    return jax.grad(loss, argnums=(0, 1))(scores, steps)


def most_likely_path(steps: Array, shown: Array, seen: Array) -> Array:
    def forward(best: Array, o: Array) -> Any:
        scores = best[:, None] + steps
        return scores.max(0) + shown[:, o], scores.argmax(0)

    best, back = lax.scan(forward, shown[:, seen[0]], seen[1:])
    last = best.argmax()
    _, path = lax.scan(lambda k, row: (row[k], row[k]), last, back, reverse=True)
    return jnp.concatenate([path, last[None]])


def soft_alignment(x: Array, y: Array) -> Array:
    def distance(x: Array) -> Array:
        costs = ((x[:, None] - y[None]) ** 2).sum(-1)
        far = jnp.array([1e10])

        def row(before: Array, costs: Array) -> Any:
            def cell(left: Array, above: Any) -> Any:
                cost, over, corner = above
                value = cost - logsumexp(-jnp.stack([corner, over, left]))
                return value, value

            values = lax.scan(cell, far[0], (costs, before[1:], before[:-1]))[1]
            return jnp.concatenate([far, values]), None

        first = jnp.concatenate([jnp.zeros(1), jnp.full(len(y), 1e10)])
        return lax.scan(row, first, costs)[0][-1]

    return jax.grad(distance)(x)


def policy_gradient(w: Array, seen: Array, acts: Array, rewards: Array) -> Array:
    def loss(w: Array) -> Array:
        returns = lax.scan(lambda c, r: (r + 0.9 * c,) * 2, 0.0, rewards, reverse=True)[1]
        chosen = log_softmax(seen @ w, 1)[jnp.arange(len(acts)), acts]
        return -(chosen * (returns - returns.mean()) / (returns.std(ddof=1) + 1e-8)).mean()

    return jax.grad(loss)(w)


def recurrent_network(inner: Array, own: Array, b: Array, xs: Array, y: Array) -> Any:
    def loss(inner: Array, own: Array, b: Array) -> Array:
        h, _ = lax.scan(lambda h, x: (jnp.tanh(x @ inner + h @ own + b), None), jnp.zeros_like(b), xs)
        return ((h - y) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2))(inner, own, b)


def attracting_bodies(p: Array, v: Array) -> Array:
    def energy(p: Array) -> Array:
        d = p[:, None] - p[None]
        return -(1 / jnp.sqrt((d**2).sum(-1) + 0.1)).sum() / 2

    def end(v: Array) -> Array:
        def step(state: Any, _: None) -> Any:
            v, q = state
            v = v - 0.01 * jax.grad(energy)(q)
            return (v, q + 0.01 * v), None

        return (lax.scan(step, (v, p), None, 30)[0][1] ** 2).sum()

    return jax.grad(end)(v)


def double_pendulum(q: Array, v: Array) -> Array:
    def lagrangian(q: Array, v: Array) -> Array:
        kinetic = 0.5 * (2 * v[0] ** 2 + v[1] ** 2 + 2 * v[0] * v[1] * jnp.cos(q[0] - q[1]))
        return kinetic + 9.8 * (2 * jnp.cos(q[0]) + jnp.cos(q[1]))

    mixed = jax.jacfwd(jax.grad(lagrangian, 1), 0)(q, v)
    return jnp.linalg.solve(jax.hessian(lagrangian, 1)(q, v), jax.grad(lagrangian, 0)(q, v) - mixed @ v)


def residual_of_burgers_equation(w1: Array, b1: Array, w2: Array, b2: Array, z: Array) -> Any:
    def u(z: Array, *w: Array) -> Array:
        return (jnp.tanh(z @ w[0] + w[1]) @ w[2] + w[3])[0]

    def residual(z: Array, *w: Array) -> Array:
        slope, curvature = jax.grad(u)(z, *w), jax.hessian(u)(z, *w)
        return slope[1] + u(z, *w) * slope[0] - 0.01 * curvature[0, 0]

    def loss(*w: Array) -> Array:
        return (jax.vmap(lambda one: residual(one, *w))(z) ** 2).mean()

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(w1, b1, w2, b2)


def neural_differential_equation(w1: Array, w2: Array, x: Array) -> Any:
    def loss(w1: Array, w2: Array) -> Array:
        def slope(x: Array) -> Array:
            return jnp.tanh(x @ w1) @ w2

        def step(x: Array, _: None) -> Any:
            k1 = slope(x)
            k2 = slope(x + 0.025 * k1)
            k3 = slope(x + 0.025 * k2)
            return x + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + 0.05 * k3)), None

        return (lax.scan(step, x, None, 20)[0] ** 2).mean()

    return jax.value_and_grad(loss, argnums=(0, 1))(w1, w2)


def speed_of_waves(c: Array, u: Array) -> Array:
    def loss(c: Array) -> Array:
        def step(state: Any, _: None) -> Any:
            u, v = state
            v = v + 0.1 * c * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))
            return (u + 0.1 * v, v), None

        return (lax.scan(step, (u, jnp.zeros_like(u)), None, 60)[0][0] ** 2).sum()

    return jax.grad(loss)(c)


def swinging_up(forces: Array, x: Array) -> Any:
    def cost(forces: Array) -> Array:
        def step(state: Any, u: Array) -> Any:
            x, total = state
            x = jnp.stack([x[0] + 0.05 * x[1], x[1] + 0.05 * (9.8 * jnp.sin(x[0]) + u)])
            return (x, total + 0.01 * u**2 + 0.1 * (x**2).sum()), None

        (end, total), _ = lax.scan(step, (x, 0.0), forces)
        return total + 10 * (end**2).sum()

    return jax.value_and_grad(cost)(forces), jax.hessian(cost)(forces)


def newton_until_it_holds(theta: Array) -> Array:
    def root(theta: Array) -> Array:
        def step(_: int, x: Array) -> Array:
            return x - (x**3 + theta[0] * x - theta[1]) / (3 * x**2 + theta[0])

        return lax.fori_loop(0, 9, step, jnp.array(1.0))  # a `while` has no gradient there

    return jax.vmap(jax.grad(root))(theta)


def attention_by_letters(q: Array, k: Array, v: Array) -> Any:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / 8**0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -jnp.inf)
        return (jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2))(q, k, v)


def flow_by_its_jacobian(w: Array, b: Array, x: Array) -> Any:
    def loss(w: Array, b: Array) -> Array:
        def flow(z: Array) -> Array:
            return z + jnp.tanh(z @ w + b)

        def one(z: Array) -> Array:
            return 0.5 * (flow(z) ** 2).sum() - jnp.linalg.slogdet(jax.jacfwd(flow)(z))[1]

        return jax.vmap(one)(x).mean()

    return jax.value_and_grad(loss, argnums=(0, 1))(w, b)


def gaussian_process(theta: Array, x: Array, y: Array) -> Any:
    def loss(theta: Array) -> Array:
        length, scale, noise = jnp.exp(theta)
        kernel = scale**2 * jnp.exp(-0.5 * ((x[:, None] - x[None, :]) / length) ** 2)
        factor = jnp.linalg.cholesky(kernel + (noise**2 + 1e-8) * jnp.eye(len(x)))
        solved = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ solved + jnp.log(jnp.diagonal(factor)).sum()

    return jax.value_and_grad(loss)(theta)


def images_by_convolutions(k1: Array, k2: Array, w: Array, x: Array, y: Array) -> Any:
    def pooled(x: Array) -> Array:
        return lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(k1: Array, k2: Array, w: Array) -> Array:
        h = pooled(lax.conv_general_dilated(x, k1, (1, 1), "SAME"))
        h = pooled(lax.conv_general_dilated(h, k2, (1, 1), "VALID"))
        return -log_softmax(h.reshape(len(y), -1) @ w)[jnp.arange(len(y)), y].mean()

    return jax.value_and_grad(loss, argnums=(0, 1, 2))(k1, k2, w)


def contrast_of_pairs(a: Array, b: Array) -> Any:
    def loss(a: Array, b: Array) -> Array:
        a, b = (v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
        scores, own = a @ b.T / 0.1, jnp.arange(len(a))
        return -0.5 * (log_softmax(scores, 1)[own, own].mean() + log_softmax(scores.T, 1)[own, own].mean())

    return jax.value_and_grad(loss, argnums=(0, 1))(a, b)


def fixed_point_by_its_rule(w: Array, b: Array) -> Any:
    @jax.custom_vjp
    def fixed(w: Array, b: Array) -> Array:
        return lax.fori_loop(0, 30, lambda _, z: jnp.tanh(w @ z + b), jnp.zeros_like(b))

    def forward(w: Array, b: Array) -> Any:
        z = fixed(w, b)
        return z, (w, z)

    def backward(kept: Any, g: Array) -> Any:
        w, z = kept
        d = 1 - z * z
        u = jnp.linalg.solve(jnp.eye(len(z)) - (d[:, None] * w).T, g)
        return jnp.outer(d * u, z), d * u

    fixed.defvjp(forward, backward)
    return jax.value_and_grad(lambda w, b: (fixed(w, b) ** 2).sum(), argnums=(0, 1))(w, b)


def adjoint_of_a_flow(w: Array, x: Array) -> Any:
    def solved(w: Array, x: Array) -> Array:
        return lax.fori_loop(0, 40, lambda _, x: x + 0.025 * jnp.tanh(w @ x), x)

    def backward(kept: Any, g: Array) -> Any:
        w, y = kept

        def step(_: int, state: Any) -> Any:
            y, g, slopes = state
            s = jnp.tanh(w @ y)
            d = g * (1 - s * s)
            return y - 0.025 * s, g + 0.025 * (w.T @ d), slopes + 0.025 * jnp.outer(d, y)

        _, g, slopes = lax.fori_loop(0, 40, step, (y, g, jnp.zeros_like(w)))
        return slopes, g

    flow = jax.custom_vjp(solved)
    flow.defvjp(lambda w, x: (end := solved(w, x), (w, end)), backward)
    return jax.grad(lambda w, x: (flow(w, x) ** 2).sum(), argnums=(0, 1))(w, x)


def clipped_on_the_way_back(x: Array) -> Any:
    clipped = jax.custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.vmap(jax.value_and_grad(lambda x: (clipped(x**2) ** 2).sum()))(x)


def module_on_each_example(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> Any:
    def loss(p: Any, x: Array, y: Array) -> Array:
        h = jnp.tanh(x @ p["0.weight"].T + p["0.bias"])
        return ((h @ p["2.weight"].T + p["2.bias"] - y) ** 2).sum()

    p = {"0.weight": w1, "0.bias": b1, "2.weight": w2, "2.bias": b2}
    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(p, x, y)


def _error(p: Any, x: Array, y: Array) -> Array:
    return ((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2).mean()


def hessian_free_step(w: Array, v: Array, x: Array, y: Array) -> Any:
    p = {"w": w, "v": v}

    def slope(p: Any) -> Any:
        return jax.grad(_error)(p, x, y)

    def dot(a: Any, b: Any) -> Array:
        return sum(jax.tree.leaves(jax.tree.map(lambda a, b: (a * b).sum(), a, b)))

    def step(state: Any, _: None) -> Any:
        d, r, q, before = state
        h = jax.tree.map(jnp.add, jax.jvp(slope, (p,), (q,))[1], q)
        a = before / dot(q, h)
        d = jax.tree.map(lambda d, q: d + a * q, d, q)
        r = jax.tree.map(lambda r, h: r - a * h, r, h)
        after = dot(r, r)
        return (d, r, jax.tree.map(lambda r, q: r + after / before * q, r, q), after), None

    r = jax.tree.map(jnp.negative, slope(p))
    return lax.scan(step, (jax.tree.map(jnp.zeros_like, p), r, r, dot(r, r)), None, 6)[0][0]


def gauss_newton_product(w: Array, v: Array, dw: Array, dv: Array, x: Array) -> Any:
    def output(p: Any) -> Array:
        return jax.nn.softmax(jnp.tanh(x @ p["w"]) @ p["v"])

    p = {"w": w, "v": v}
    tangent = jax.jvp(output, (p,), ({"w": dw, "v": dv},))[1]
    return jax.vjp(output, p)[1](tangent)[0]


def gradient_by_a_dataclass(w: Array, b: Array, x: Array, y: Array) -> Any:
    def loss(w: Array, b: Array) -> Array:
        return ((jnp.tanh(x @ w + b) - y) ** 2).mean()

    value, slopes = jax.value_and_grad(loss, argnums=(0, 1))(w, b)
    return value, *slopes


def descent_by_tree_map(w: Array, v: Array, x: Array, y: Array) -> Any:
    def step(p: Any, _: None) -> Any:
        return jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(_error)(p, x, y)), None

    return lax.scan(step, {"w": w, "v": v}, None, 10)[0]


def blocks_computed_again(w: Array, x: Array) -> Any:
    def loss(w: Array) -> Array:
        block = jax.checkpoint(lambda x: jnp.tanh(x @ w))
        return (lax.scan(lambda x, _: (block(x), None), x, None, 10)[0] ** 2).sum()

    return jax.value_and_grad(loss)(w)


def poissons_equation(w1: Array, w2: Array, w3: Array, points: Array) -> Any:
    def u(x: Array, w1: Array, w2: Array, w3: Array) -> Array:
        return (w3 * jnp.tanh(w2 @ jnp.tanh(w1 @ x))).sum()

    def loss(w1: Array, w2: Array, w3: Array) -> Array:
        curvatures = jax.vmap(jax.hessian(u), (0, None, None, None))(points, w1, w2, w3)
        return ((curvatures[:, 0, 0] + curvatures[:, 1, 1] - 1.0) ** 2).mean()

    return jax.grad(loss, argnums=(0, 1, 2))(w1, w2, w3)


def curvature_of_a_likelihood(theta: Array, x: Array, y: Array) -> Any:
    def loss(theta: Array) -> Array:
        d = x[:, None] - x
        k = jnp.exp(theta[0]) * jnp.exp(-0.5 * d * d * jnp.exp(-2 * theta[1])) + jnp.exp(theta[2]) * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(k)
        solution = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * (y * solution).sum() + jnp.log(jnp.diagonal(factor)).sum()

    return jax.hessian(loss)(theta)


def lagrangian_network(q: Array, v: Array, w1: Array, w2: Array) -> Any:
    def energy(q: Array, v: Array, w1: Array, w2: Array) -> Array:
        return jax.nn.softplus(jnp.concatenate([q, v]) @ w1) @ w2 + 0.5 * (v * v).sum()

    def loss(w1: Array, w2: Array) -> Array:
        def step(state: Any, _: None) -> tuple[Any, None]:
            q, v = state
            mass, mixed = jax.hessian(energy, 1)(q, v, w1, w2), jax.jacrev(jax.grad(energy, 1), 0)(q, v, w1, w2)
            v = v + 0.01 * jnp.linalg.solve(mass, jax.grad(energy, 0)(q, v, w1, w2) - mixed @ v)
            return (q + 0.01 * v, v), None

        (last, _), _ = lax.scan(step, (q, v), None, 20)
        return (last * last).sum()

    return jax.grad(loss, argnums=(0, 1))(w1, w2)
