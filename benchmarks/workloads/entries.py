"""How most rows are put together: one program of ours, and from it and its namesakes an entry per peer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call
from benchmarks.peers import Program

Peers = dict[str, Callable[[], Call]]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Float32 numbers around zero, the same in every run."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def doubled(*arguments: Any) -> tuple[Any, ...]:
    """The same arguments with float64 in place of float32, for references."""
    return tuple(
        a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in arguments
    )


def entries(
    program: Program,
    *arguments: Any,
    numpy: Program | None = None,
    numba: Program | None = None,
    parallel: bool = True,
    numexpr: tuple[str, dict[str, Any]] | None = None,
    torch: Program | None = None,
    torch_eager: bool = True,
    torch_jit: bool = True,
    torch_compile: bool = True,
    torch_library: Callable[[Any], Program] | None = None,
    jax: str | None = None,
    jax_fixed: tuple[int, ...] = (),
    jax_wide: bool = False,
    fastmath: bool = False,
) -> Peers:
    """An entry per peer. `torch` is what PyTorch runs, ours where None; `jax` names a function of its programs.

    With `fastmath` there are both of ours, as there are of Numba's.
    """
    found: Peers = {"flambeau": partial(peers.flambeau, program, *arguments)}
    if fastmath:
        found["flambeau/fastmath"] = partial(peers.flambeau, program, *arguments, fastmath=True)
    if numpy is not None:
        found["numpy"] = partial(peers.numpy, numpy, *arguments)
    if numba is not None:
        found["numba"] = partial(peers.numba, numba, *arguments)
        found["numba/fastmath"] = partial(peers.numba, numba, *arguments, fastmath=True)
        if parallel:
            found["numba/parallel"] = partial(peers.numba, numba, *arguments, parallel=True, fastmath=True)
    if numexpr is not None:
        found["numexpr"] = partial(peers.numexpr, numexpr[0], **numexpr[1])
    torch_program = torch or program
    if torch_eager:
        found["torch"] = partial(peers.torch_eager, torch_program, *arguments)
    if torch_library is not None:
        found["torch/library"] = partial(peers.torch_library, torch_library, *arguments)
    if torch_jit:
        found["torch.jit"] = partial(peers.torch_jit, torch_program, *arguments)
    if torch_compile:
        found["torch.compile"] = partial(peers.torch_compile, torch_program, *arguments)
    if jax is not None:
        found["jax"] = partial(peers.jax, jax, *arguments, fixed=jax_fixed, wide=jax_wide)
    return found
