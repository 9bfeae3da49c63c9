"""Gradients by differences: an independent way to get them, from values alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import flambeau

Array = np.ndarray[Any, Any]
STEP = 1e-6


def weighted(function: Callable[..., Any], arrays: Sequence[Array], weights: list[Array]) -> float:
    """The results of a function, summed with weights that are drawn when they are first needed."""
    results = function(*[flambeau.tensor(a) for a in arrays])
    listed = [r for r in (results if isinstance(results, list | tuple) else [results]) if r.is_floating_point()]
    if not weights:
        draw = np.random.default_rng(7)
        weights += [draw.uniform(0.5, 1.5, tuple(r.shape)) for r in listed]
    return float(sum(np.sum(r.numpy() * w) for r, w in zip(listed, weights, strict=True)))


def by_differences(function: Callable[..., Any], arrays: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """The gradients of the weighted sum by each array, and the weights."""
    weights: list[Array] = []
    weighted(function, arrays, weights)
    found = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + STEP
            above = weighted(function, arrays, weights)
            array[place] = kept - STEP
            below = weighted(function, arrays, weights)
            array[place] = kept
            gradient[place] = (above - below) / (2 * STEP)
        found.append(gradient)
    return found, weights


def by_tape(function: Callable[..., Any], arrays: Sequence[Array], weights: list[Array]) -> list[Array]:
    """The same by going back over the tape."""
    tensors = [flambeau.tensor(a).requires_grad_() for a in arrays]
    results = function(*tensors)
    listed = [r for r in (results if isinstance(results, list | tuple) else [results]) if r.is_floating_point()]
    pairs = [(r, flambeau.tensor(w)) for r, w in zip(listed, weights, strict=True) if r.requires_grad]
    got = flambeau.autograd.grad([r for r, _ in pairs], tensors, [w for _, w in pairs], allow_unused=True)
    return [np.zeros_like(a) if g is None else g.numpy() for a, g in zip(arrays, got, strict=True)]


def check(function: Callable[..., Any], *arrays: Array) -> None:
    """Assert that both agree, to first order."""
    expected, weights = by_differences(function, arrays)
    for number, (want, got) in enumerate(zip(expected, by_tape(function, arrays, weights), strict=True)):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6, err_msg=f"operand {number}")


def check_second_order(function: Callable[..., Any], *arrays: Array) -> None:
    """Assert that the gradient of a gradient is right."""

    def slope(*tensors: Any) -> list[Any]:
        own = [t if t.requires_grad else t.requires_grad_() for t in tensors]
        results = function(*own)
        first = results if not isinstance(results, list | tuple) else results[0]
        got = flambeau.autograd.grad((first * first).sum(), own, create_graph=True, allow_unused=True)
        return [g for g in got if g is not None]

    def plain(*tensors: Any) -> list[Any]:
        return [g.detach() for g in slope(*tensors)]

    expected, weights = by_differences(plain, arrays)
    tensors = [flambeau.tensor(a).requires_grad_() for a in arrays]
    pairs = [(r, flambeau.tensor(w)) for r, w in zip(slope(*tensors), weights, strict=True) if r.requires_grad]
    got = flambeau.autograd.grad([r for r, _ in pairs], tensors, [w for _, w in pairs], allow_unused=True)
    for want, one in zip(expected, got, strict=True):
        np.testing.assert_allclose(0 * want if one is None else one.numpy(), want, rtol=1e-4, atol=1e-5)
