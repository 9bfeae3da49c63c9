"""Transforms of scripted functions, written in the scripted language: by `grad`, and loops over a basis or examples.

`jacrev(f)` of `f(x: Tensor, k: float) -> Tensor` is

```
def pulled(x: Tensor, k: float, c0: Tensor) -> Tensor:
    y0 = f(x, k)
    return (y0 * c0).sum()
def back(x: Tensor, k: float, c0: Tensor):
    return grad(pulled, (0,))(x, k, c0)
def transformed(x: Tensor, k: float):
    y0 = f(x, k)
    b = flambeau.eye(y0.numel(), dtype=y0.dtype, device=y0.device).reshape([y0.numel(), *y0.shape])
    (j00,) = vmap(back, (None, None, 0))(x, k, b)
    return j00.reshape([*y0.shape, *x.shape])
```

with names of its own behind an underscore. Such programs do what the function does for each element or example,
whatever that branches on; they are what the graph of a transform shows, what is saved, and what programs call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.batch_programs import vmap
from flambeau.jit.transforms.forward_programs import hessian, hvp, jacfwd, jvp
from flambeau.jit.transforms.object_gradients import gradient
from flambeau.jit.transforms.outlines import Outline, basis, compiled, joined, refuse_random, written
from flambeau.program.function import Function
from flambeau.util.inversions import TRANSFORM_PROGRAM


def jacrev(kind: str, function: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False) -> Function:
    """The Jacobian: what goes back from each vector of a basis of each result."""
    refuse_random(kind, function)
    o = Outline(kind, function, argnums, has_aux=has_aux)
    m = o.mark
    lines = [
        *o.pulled(), f"def {m}back({o.declared(o.seeds)}):",
        f"    return {m}grad({m}pulled, {o.numbers})({joined([o.call, *o.seeds])})",
        f"def transformed({o.header}):", f"    {o.evaluated}",
    ]  # fmt: skip
    blocks = []
    for k, y in enumerate(o.values):
        seeds = [f"{m}b" if v is y else f"{m}zeros_like({v})" for v in o.values]
        row = [f"{m}j{k}{n}" for n in range(len(o.sources))]
        dims = (*[None] * len(o.names), *[0 if v is y else None for v in o.values])
        lines += [
            f"    {m}b = {basis(m, y)}",
            f"    {written(row, is_tuple=True)} = {m}vmap({m}back, {dims})({joined([o.call, *seeds])})",
        ]
        blocks.append(o.by_source([
            f"{j}.reshape([*{y}.shape, *{x}.shape])" for j, x in zip(row, o.sources, strict=True)
        ]))  # fmt: skip
    answer = o.packed(blocks)
    lines.append(f"    return {answer}, {m}aux" if has_aux else f"    return {answer}")
    return compiled(f"{function.name}_{kind}", lines, o, {})


def vjp(
    kind: str, function: Function, argnums: tuple[int, ...], *, packed: bool = False, name: str = "vjp"
) -> Function:
    """What goes back to the arguments from cotangents of the results: `packed`, one tuple of those of a tuple. `name`
    is what messages call it."""
    refuse_random(name, function)
    o = Outline(name, function, argnums, takes_trees=True)
    header, seeds = o.declared(o.seeds), o.seeds
    if packed and o.is_tuple:
        seeds = [f"{o.mark}c[{n}]" for n in range(len(o.seeds))]
        types = ", ".join([type_.annotation for type_ in o.result_types])
        header = joined([o.header, f"{o.mark}c: tuple[{types}]"])
    lines = [
        *o.pulled(), f"def transformed({header}):",
        f"    return {o.mark}grad({o.mark}pulled, {o.numbers})({joined([o.call, *seeds])})",
    ]  # fmt: skip
    return compiled(f"{function.name}_{kind}", lines, o, {})


PROGRAMS: Final[dict[str, Callable[..., Function]]] = {
    "grad": gradient, "jacrev": jacrev, "jacfwd": jacfwd, "hessian": hessian, "jvp": jvp, "hvp": hvp, "vjp": vjp,
    "vmap": vmap,
}  # fmt: skip
"""What makes the program of each transform."""


@TRANSFORM_PROGRAM.provide
def program_of(kind: str, function: Function, **options: Any) -> Function:
    """The transform of a function as a function with a graph of its own.

    Raises TypeError and ValueError for functions and arguments that there is no such program of.
    """
    program = PROGRAMS[kind](kind, function, **options)
    REGISTRY.attach(program)
    return program
