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

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.effects import is_random
from flambeau.batching.vmap import RANDOMNESS
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.forward_programs import hessian, hvp, jacfwd, jvp
from flambeau.jit.transforms.outlines import Outline, basis, compiled, joined, refuse_random, written
from flambeau.program.batches import batch_of
from flambeau.program.function import Function
from flambeau.util.inversions import TRANSFORM_PROGRAM

RANDOM: Final = "{kind}() of {name}(), which draws random numbers, needs randomness='different' in programs"
SIZES: Final = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
DIMS: Final = "{kind}() of {name}() in programs needs in_dims and out_dims that are a number or None for each"


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
    o = Outline(name, function, argnums)
    header, seeds = o.declared(o.seeds), o.seeds
    if packed and o.is_tuple:
        seeds = [f"{o.mark}c[{n}]" for n in range(len(o.seeds))]
        types = ", ".join(["Tensor"] * len(seeds))
        header = joined([o.header, f"{o.mark}c: tuple[{types}]"])
    lines = [
        *o.pulled(), f"def transformed({header}):",
        f"    return {o.mark}grad({o.mark}pulled, {o.numbers})({joined([o.call, *seeds])})",
    ]  # fmt: skip
    return compiled(f"{function.name}_{kind}", lines, o, {})


def vmap(kind: str, function: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error") -> Function:
    """The results for each example, one example after the other, each its own way."""
    if randomness not in ("error", "different", "same"):
        raise ValueError(RANDOMNESS.format(randomness))
    if randomness != "different" and any(map(is_random, inlined_graph(function).listed_nodes())):
        raise TypeError(RANDOM.format(kind=kind, name=function.short_name))
    dims = in_dims_of(function, in_dims) or []
    batched = tuple([n for n, dim in enumerate(dims) if dim is not None])
    o = Outline(kind, function, batched)
    out_axes = _out_dims(out_dims, len(o.values))
    if out_axes is None or not batched:
        raise TypeError(DIMS.format(kind=kind, name=function.short_name))
    m = o.mark
    loop = _one_by_one(o, dims, out_axes)
    if any(map(is_random, inlined_graph(function).listed_nodes())):
        return loop
    name = f"{function.name}_{kind}"
    batch = batch_of(function, loop, dims, out_axes, name)
    sizes = [f"{o.names[n]}.size({dims[n]})" for n in batched]
    if len(sizes) == 1:
        return batch
    lines = [f"def transformed({o.header}):"]
    for size in sizes[1:]:
        lines += [
            f"    if {size} != {sizes[0]}:",
            f"        raise ValueError({SIZES!r}.format([{', '.join(sizes)}]))",
        ]
    lines.append(f"    return {m}batch({o.call})")
    REGISTRY.attach(batch)
    return compiled(name, lines, o, {f"{m}batch": batch})


def _one_by_one(o: Outline, dims: Sequence[int | None], out_axes: Sequence[int]) -> Function:
    """The results for each example by a loop over the examples."""
    m = o.mark
    first = next(n for n, dim in enumerate(dims) if dim is not None)
    examples = [name if dim is None else f"{name}.select({dim}, {m}i)" for name, dim in zip(o.names, dims, strict=True)]
    lists = [f"{m}l{n}" for n in range(len(o.values))]
    evaluated = o.evaluated.replace(f"{m}f({o.call})", f"{m}f({', '.join(examples)})")
    lines = [
        f"def transformed({o.header}):", *(f"    {name}: list[Tensor] = []" for name in lists),
        f"    for {m}i in range({o.names[first]}.size({dims[first]})):", f"        {evaluated}",
        *(f"        {name}.append({y})" for name, y in zip(lists, o.values, strict=True)),
        "    return " + o.packed([f"{m}stack({n}, {d})" for n, d in zip(lists, out_axes, strict=True)]),
    ]  # fmt: skip
    loop = compiled(f"{o.function.name}_one_by_one", lines, o, {})
    REGISTRY.attach(loop)
    return loop


def in_dims_of(function: Function, in_dims: Any) -> list[int | None] | None:
    """The axis of the examples in each argument; arguments with defaults that `in_dims` does not name have none. None
    for what is not a number or None for each."""
    arguments = function.schema.arguments
    if isinstance(in_dims, int):
        return [None if a.has_default else in_dims for a in arguments]
    if type(in_dims) is not tuple or len(in_dims) > len(arguments):
        return None
    rest = arguments[len(in_dims) :]
    if not all(dim is None or isinstance(dim, int) for dim in in_dims) or not all(a.has_default for a in rest):
        return None
    return [*in_dims, *[None] * len(rest)]


def _out_dims(dims: Any, count: int) -> list[int] | None:
    listed = [dims] * count if isinstance(dims, int) else list(dims) if type(dims) is tuple else []
    return listed if len(listed) == count and all(isinstance(dim, int) for dim in listed) else None


PROGRAMS: Final[dict[str, Callable[..., Function]]] = {
    "jacrev": jacrev, "jacfwd": jacfwd, "hessian": hessian, "jvp": jvp, "hvp": hvp, "vjp": vjp, "vmap": vmap,
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
