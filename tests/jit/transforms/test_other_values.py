"""A transform's code is for arguments of a size, whatever their elements are: calls with others than the first ones.

Derivatives that are made of results, as those of `exp` are, take the results of the call that goes on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jacfwd, jacrev, linalg, vmap
from flambeau.autograd import grad

RNG = np.random.default_rng(0)
POINTS = [flambeau.from_numpy(RNG.normal(size=4)) for _ in range(3)]
BATCHES = [flambeau.from_numpy(RNG.normal(size=(3, 4))) for _ in range(3)]


def shares(x: Tensor) -> Tensor:
    return x / x.sum()


def exponential(x: Tensor) -> Tensor:
    return flambeau.exp(x) * flambeau.tanh(x)


def roots(x: Tensor) -> Tensor:
    return flambeau.sqrt(x * x + 1.0) / linalg.norm(x)


def chances(x: Tensor) -> Tensor:
    return flambeau.softmax(x, 0) + flambeau.log_softmax(x, 0)


def largest(x: Tensor) -> Tensor:
    return x * x.max() + flambeau.sort(x)[0] * flambeau.logsumexp(x, 0)


def running(x: Tensor) -> Tensor:
    return flambeau.cumprod(x, 0) * flambeau.relu(x)


def inverse(x: Tensor) -> Tensor:
    return linalg.inv(flambeau.outer(x, x) + flambeau.eye(4, dtype=x.dtype)).sum(0)


def turned(x: Tensor) -> Tensor:
    return linalg.cross(x[:3] / linalg.norm(x), x[1:])


PROGRAMS = [shares, exponential, roots, chances, largest, running, inverse, turned]


@pytest.mark.parametrize("program", PROGRAMS)
def test_jacobians_are_of_the_arguments_of_the_call(program: Callable[[Tensor], Tensor]) -> None:
    scripted = flambeau.script(program)
    for transform, arguments in ((jacrev, POINTS), (jacfwd, POINTS), (lambda f: vmap(jacrev(f)), BATCHES)):
        of_script, of_python = transform(scripted), transform(program)
        for x in arguments:
            np.testing.assert_allclose(of_script(x).numpy(), of_python(x).numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("create_graph", [False, True])
def test_traces_of_gradients_keep_no_results(create_graph: bool) -> None:
    def slope(x: Tensor) -> Tensor:
        return grad(exponential(x).sum(), x, create_graph=create_graph)[0]

    points = [x.clone().requires_grad_() for x in POINTS]
    traced = flambeau.trace(slope, (points[0],), check_trace=False)
    for x in points:
        np.testing.assert_allclose(traced(x).detach().numpy(), slope(x).detach().numpy(), rtol=1e-12)
