"""The peers: how each compiles one function over arrays. A missing library raises ImportError, which leaves it out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Runner

Arrays = tuple[np.ndarray, ...]


def flambeau(source: Callable[..., Any], arrays: Arrays) -> Runner:
    """Ours: scripted, run natively."""
    import flambeau as fb

    compiled = fb.script(source)
    inputs = [fb.from_numpy(a) for a in arrays]
    for _ in range(3):
        compiled(*inputs)
    return lambda: compiled(*inputs)


def numpy(function: Callable[..., Any], arrays: Arrays) -> Runner:
    """The NumPy expression as people write it."""
    return lambda: function(*arrays)


def numba(function: Callable[..., Any], arrays: Arrays, **options: Any) -> Runner:
    """Numba's njit of a function over arrays."""
    import numba as nb

    compiled = nb.njit(**options)(function)
    compiled(*arrays)
    return lambda: compiled(*arrays)


def numexpr(expression: str, **arrays: np.ndarray) -> Runner:
    """numexpr's evaluation of an expression text."""
    import numexpr as ne

    return lambda: ne.evaluate(expression, local_dict=arrays)


def _torch() -> Any:
    import os

    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return torch


def torch_eager(function: Callable[..., Any], arrays: Arrays) -> Runner:
    """PyTorch, operator by operator; `function` takes the module first."""
    torch = _torch()
    inputs = [torch.from_numpy(a) for a in arrays]
    return lambda: function(torch, *inputs)


def torch_script(function: Callable[..., Any], arrays: Arrays) -> Runner:
    """torch.jit.trace of the same function."""
    torch = _torch()
    inputs = [torch.from_numpy(a) for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.jit.trace(lambda *a: function(torch, *a), tuple(inputs))
    for _ in range(3):
        compiled(*inputs)
    return lambda: compiled(*inputs)


def torch_compile(function: Callable[..., Any], arrays: Arrays) -> Runner:
    """torch.compile of the same function (it needs a C++ compiler)."""
    torch = _torch()
    inputs = [torch.from_numpy(a) for a in arrays]
    torch._dynamo.reset()  # else what was compiled for earlier rows counts against this one, and it would run eagerly
    compiled = torch.compile(lambda *a: function(torch, *a))
    for _ in range(3):
        compiled(*inputs)
    return lambda: compiled(*inputs)


def jax(function: Callable[..., Any], arrays: Arrays) -> Runner:
    """jax.jit of the same function, waited for; `function` takes jax.numpy (with `nn`) first."""
    import jax as j
    import jax.numpy as jnp

    jnp.nn = j.nn
    jnp.lax = j.lax
    inputs = [jnp.asarray(a) for a in arrays]
    compiled = j.jit(lambda *a: function(jnp, *a))
    compiled(*inputs).block_until_ready()
    return lambda: compiled(*inputs).block_until_ready()
