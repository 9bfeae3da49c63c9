"""The peers: how each compiles one program. A missing library raises ImportError, which leaves the peer out."""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call

Program = Callable[..., Any]


def rebound(program: Program, **names: Any) -> Program:
    """The same function with some of its global names meaning something else: `flambeau` PyTorch, `prange` Numba's.

    So do the programs of other files that it calls.
    """
    assert isinstance(program, types.FunctionType)
    scope = {**program.__globals__, **{k: v for k, v in names.items() if k in program.__globals__}}
    for name in program.__code__.co_names:
        called = scope.get(name)
        if isinstance(called, types.FunctionType) and is_other_program(called, program):
            scope[name] = rebound(called, **names)
    again = types.FunctionType(program.__code__, scope, program.__name__, program.__defaults__, program.__closure__)
    again.__annotations__ = dict(program.__annotations__)
    again.__module__ = program.__module__
    return again


def is_other_program(called: types.FunctionType, program: Program) -> bool:
    """Whether a function is a program of another file than this one."""
    return called.__module__.startswith("benchmarks.programs.") and called.__module__ != program.__module__


def flambeau(program: Program, *arguments: Any, **options: Any) -> Call:
    """Ours: scripted, run natively, with `fastmath=True` where asked for."""
    import flambeau as fb

    inputs = tuple(fb.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return Call(fb.script(program, **options), inputs)


def flambeau_arrays(program: Program, *arguments: Any, **options: Any) -> Call:
    """Ours, of Numba's own program over arrays of NumPy, with our `prange`."""
    import flambeau as fb

    return Call(fb.script(rebound(program, prange=fb.prange), **options), arguments)


def flambeau_eager(program: Program, *arguments: Any) -> Call:
    """Ours, operator by operator."""
    import flambeau as fb

    return Call(program, tuple(fb.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments))


def flambeau_library(operation: Callable[[Any], Program], *arguments: Any) -> Call:
    """The one operation that we have for it: `operation` makes it from the package."""
    import flambeau as fb

    return flambeau_eager(operation(fb), *arguments)


def numpy(program: Program, *arguments: Any) -> Call:
    """The NumPy expression as people write it."""
    return Call(program, arguments)


def numba(program: Program, *arguments: Any, **options: Any) -> Call:
    """Numba's njit, with `parallel=True`, `fastmath=True` or `nogil=True` where asked for.

    So are the programs that it calls, itself among them.
    """
    import numba as nb

    def compiled(function: Program) -> Program:
        again = rebound(function, prange=nb.prange)
        result: Program = nb.njit(**options)(again)
        done[function.__name__] = result
        scope = again.__globals__
        for name in again.__code__.co_names:
            called = scope.get(name)
            if isinstance(called, types.FunctionType) and called.__module__.startswith("benchmarks.programs."):
                scope[name] = done.get(name) or compiled(called)
        return result

    done: dict[str, Program] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that strided products are slow, that a parallel region found nothing
        call = Call(compiled(program), arguments)
        call()
    return call


def numexpr(expression: str, **arrays: np.ndarray) -> Call:
    """numexpr's evaluation of an expression text."""
    import numexpr as ne  # type: ignore[import-untyped]

    return Call(lambda: ne.evaluate(expression, local_dict=arrays), ())


def _torch(program: Program, arguments: tuple[Any, ...]) -> tuple[Any, Program, tuple[Any, ...]]:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    inputs = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return torch, rebound(program, flambeau=torch, Tensor=torch.Tensor), inputs


def torch_eager(program: Program, *arguments: Any) -> Call:
    """PyTorch, operator by operator."""
    _, bound, inputs = _torch(program, arguments)
    return Call(bound, inputs)


def torch_library(operation: Callable[[Any], Program], *arguments: Any) -> Call:
    """The one operation that PyTorch has for it: `operation` makes it from the module."""
    torch, _, inputs = _torch(operation, arguments)
    return Call(operation(torch), inputs)


def torch_jit(program: Program, *arguments: Any) -> Call:
    """torch.jit.script of the same source."""
    torch, bound, inputs = _torch(program, arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is deprecated
        return Call(torch.jit.script(bound), inputs)


def torch_compile(program: Program, *arguments: Any) -> Call:
    """torch.compile of the same source (it needs a C++ compiler)."""
    torch, bound, inputs = _torch(program, arguments)
    torch._dynamo.reset()  # else what was compiled for earlier rows counts against this one, and it would run eagerly
    return Call(torch.compile(bound), inputs)


def jax(name: str, *arguments: Any, fixed: tuple[int, ...] = (), wide: bool = False) -> Call:
    """jax.jit of the function called `name` in one of the modules of JAX's programs, waited for.

    `fixed` are the arguments that shapes depend on; with `wide` there are 64-bit numbers.
    """
    from benchmarks.programs import jax_arrays, jax_loop_gradients, jax_loops, jax_training, jax_transforms

    homes = (jax_loops, jax_training, jax_arrays, jax_transforms, jax_loop_gradients)
    program = next(getattr(home, name) for home in homes if name in vars(home))
    return jax_of(program, *arguments, fixed=fixed, wide=wide)


def jax_of(program: Program, *arguments: Any, fixed: tuple[int, ...] = (), wide: bool = False) -> Call:
    """The same of a function."""
    import jax as j

    j.config.update("jax_enable_x64", wide)  # type: ignore[no-untyped-call]
    compiled = j.jit(program, static_argnums=fixed)
    inputs = tuple(j.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return Call(compiled, inputs, j.block_until_ready)
