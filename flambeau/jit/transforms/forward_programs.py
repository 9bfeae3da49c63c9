"""Transforms that go along with the values, written in the scripted language: by tangents, and batches over a basis.

`jacfwd(f)` of `f(x: Tensor, k: float) -> Tensor` is

```
def push(x: Tensor, k: float, t0: Tensor):
    y0, s0 = along(x, k, t0)
    return (s0,)
def transformed(x: Tensor, k: float):
    b = flambeau.eye(x.numel(), dtype=x.dtype, device=x.device).reshape([x.numel(), *x.shape])
    (j00,) = vmap(push, (None, None, 0), (-1,))(x, k, b)
    return j00.reshape([*j00.shape[:-1], *x.shape])
```

where `along` is a node that knows `f` (`program.tangents`), and `hessian(f)` is the same of what goes back.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.outlines import Outline, basis, compiled, joined, refuse_random, written
from flambeau.jit.transforms.tree_texts import zeros
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.program.tangents import tangents_of


def jvp(
    kind: str, function: Function, argnums: tuple[int, ...], *, with_value: bool = True, name: str = "jvp"
) -> Function:
    """The results and their tangents, or these alone. `name` is what messages call it."""
    refuse_random(name, function)
    o = Outline(name, function, argnums, takes_trees=True)
    m = o.mark
    tangents = [f"{m}s{n}" for n in range(len(o.values))]
    lines = [
        f"def transformed({o.declared(o.tangents)}):",
        f"    {written([*o.values, *tangents], is_tuple=True)} = {m}along({joined([o.call, *o.tangents])})",
        f"    return {o.packed(o.values)}, {o.packed(tangents)}" if with_value else f"    return {o.packed(tangents)}",
    ]  # fmt: skip
    return compiled(f"{function.name}_{kind}", lines, o, {f"{m}along": _along(o, range(len(o.sources)))})


def jacfwd(kind: str, function: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False) -> Function:
    """The Jacobian: the tangents of the results along each vector of a basis of each argument."""
    refuse_random(kind, function)
    o = Outline(kind, function, argnums, has_aux=has_aux)
    m = o.mark
    if has_aux:
        o = Outline(kind, _without_aux(o), argnums)
    lines, names = [f"def transformed({o.header}):"], {}
    columns = []
    for n, x in enumerate(o.sources):
        names[f"{m}push{n}"] = _pushed(o, n)
        column = [f"{m}j{k}{n}" for k in range(len(o.values))]
        dims = (*[None] * len(o.names), 0)
        lines += [
            f"    {m}b = {basis(m, x)}",
            f"    {written(column, is_tuple=True)} = "
            f"{m}vmap({m}push{n}, {dims}, {tuple([-1] * len(column))})({joined([o.call, f'{m}b'])})",
        ]
        columns.append([f"{j}.reshape([*{j}.shape[:-1], *{x}.shape])" for j in column])
    answer = o.packed([o.by_source([column[k] for column in columns]) for k in range(len(o.values))])
    if has_aux:
        names[f"{m}whole"] = function
        lines.append(f"    {m}aux = {m}whole({o.call})[1]")
    lines.append(f"    return {answer}, {m}aux" if has_aux else f"    return {answer}")
    return compiled(f"{function.name}_{kind}", lines, o, names)


def hessian(kind: str, function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """Second derivatives: for each element of each result, the tangents of the gradient along each vector of a basis
    of each argument."""
    refuse_random(kind, function)
    o = Outline(kind, function, argnums)
    m = o.mark
    back = _attached(compiled(f"{function.name}_back", [
        *o.pulled(), f"def transformed({o.declared(o.seeds)}):",
        f"    return {m}grad({m}pulled, {o.numbers})({joined([o.call, *o.seeds])})",
    ], o, {}))  # fmt: skip
    lines, names = [f"def transformed({o.header}):", f"    {o.evaluated}"], {}
    for n in range(len(o.sources)):
        names[f"{m}bent{n}"] = _bent(o, back, n)
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    blocks = []
    for k, y in enumerate(o.values):
        rows = []
        seeds = [f"{m}u[{m}k]" if v is y else f"{m}zeros_like({v})" for v in o.values]
        lines.append(f"    {m}u = {basis(m, y)}")
        for n, x in enumerate(o.sources):
            row = [f"{m}j{k}{n}_{i}" for i in range(len(o.sources))]
            dims = (*[None] * (len(o.names) + len(o.seeds)), 0)
            lines += [
                f"    {m}b = {basis(m, x)}",
                *(f"    {j} = {x}.new_zeros([*{y}.shape, *{x}.shape, *{v}.shape])"
                  for j, v in zip(row, o.sources, strict=True)),
                *(f"    {j}r = {j}.view([{y}.numel(), {x}.numel(), {v}.numel()])"
                  for j, v in zip(row, o.sources, strict=True)),
                f"    for {m}k in range({y}.numel()):",
                f"        {written(gradients, is_tuple=True)} = "
                f"{m}vmap({m}bent{n}, {dims})({joined([o.call, *seeds, f'{m}b'])})",
                *(f"        {j}r[{m}k] = {g}.reshape([{x}.numel(), {v}.numel()])"
                  for j, g, v in zip(row, gradients, o.sources, strict=True)),
            ]  # fmt: skip
            rows.append(o.by_source(row))
        blocks.append(o.by_source(rows))
    lines.append(f"    return {o.packed(blocks)}")
    return compiled(f"{function.name}_{kind}", lines, o, names)


def hvp(kind: str, function: Function, argnums: int | tuple[int, ...]) -> Function:
    """The gradient, and its tangent along a vector."""
    o = Outline(kind, function, argnums)
    m = o.mark
    gradient = _attached(gradient_of(function, o.numbers, with_value=False))
    along = _along_gradients(o, gradient, [], range(len(o.sources)))
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    products = [f"{m}h{n}" for n in range(len(o.sources))]
    lines = [
        f"def transformed({o.declared(o.tangents)}):",
        f"    {written([*gradients, *products], is_tuple=True)} = {m}along({joined([o.call, *o.tangents])})",
        f"    return {o.by_source(gradients)}, {o.by_source(products)}",
    ]  # fmt: skip
    return compiled(f"{function.name}_{kind}", lines, o, {f"{m}along": along})


# -- parts ------------------------------------------------------------------------------------------------------------


def _attached(function: Function) -> Function:
    REGISTRY.attach(function)
    return function


def _without_aux(o: Outline) -> Function:
    """The function without what comes along."""
    lines = [f"def transformed({o.header}):", f"    {o.evaluated}", f"    return {o.packed(o.values)}"]
    return _attached(compiled(f"{o.function.name}_first", lines, o, {}))


def _along(o: Outline, indices: Sequence[int]) -> Function:
    """The results and their tangents along some arguments, as one tuple. By gradients: what goes back along the
    tangents, differentiated by the cotangents."""
    m = o.mark
    count = len(o.names)
    gradients = [f"{m}g{n}" for n in indices]
    directions = [o.tangents[n] for n in indices]
    numbers = tuple([o.numbers[n] for n in indices])
    tangents = [f"{m}s{n}" for n in range(len(o.values))]
    like_results = [zeros(y, type_, m) for y, type_ in zip(o.values, o.result_types, strict=True)]
    products = o.products(gradients, directions, [o.source_types[n] for n in indices])
    seed_numbers = tuple(range(count, count + len(o.seeds)))
    lines = [
        *o.pulled(), f"def {m}slope({o.declared([*o.seeds, *directions])}) -> Tensor:",
        f"    {written(gradients, is_tuple=True)} = {m}grad({m}pulled, {numbers})({joined([o.call, *o.seeds])})",
        f"    return {products}",
        f"def transformed({o.declared(directions)}):", f"    {o.evaluated}",
        f"    {written(tangents, is_tuple=True)} = "
        f"{m}grad({m}slope, {seed_numbers})({joined([o.call, *like_results, *directions])})",
        f"    return {written([*o.values, *tangents], is_tuple=True)}",
    ]  # fmt: skip
    instead = _attached(compiled(f"{o.function.name}_by_gradients", lines, o, {}))
    return _attached(tangents_of(o.function, instead, numbers, f"{o.function.name}_along"))


def _pushed(o: Outline, index: int) -> Function:
    """The tangents of the results along one argument."""
    m = o.mark
    tangents = [f"{m}s{n}" for n in range(len(o.values))]
    lines = [
        f"def transformed({o.declared([o.tangents[index]])}):",
        f"    {written([*o.values, *tangents], is_tuple=True)} = {m}along({joined([o.call, o.tangents[index]])})",
        f"    return {written(tangents, is_tuple=True)}",
    ]
    return _attached(compiled(f"{o.function.name}_pushed", lines, o, {f"{m}along": _along(o, [index])}))


def _along_gradients(o: Outline, back: Function, seeds: Sequence[str], indices: Sequence[int]) -> Function:
    """The gradients that `back` gives, and their tangents along some arguments, as one tuple. By gradients: of their
    products with the tangents."""
    m = o.mark
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    seconds = [f"{m}h{n}" for n in range(len(o.sources))]
    directions = [o.tangents[n] for n in indices]
    products = " + ".join(f"({m}g{n} * {o.tangents[n]}).sum()" for n in indices)
    unpacked = written(gradients, is_tuple=True)
    lines = [
        f"def {m}slope({o.declared([*seeds, *directions])}):", f"    {unpacked} = {m}back({joined([o.call, *seeds])})",
        f"    return {products}, {unpacked}",
        f"def transformed({o.declared([*seeds, *directions])}):",
        f"    {written(seconds, is_tuple=True)}, {unpacked} = "
        f"{m}grad({m}slope, {o.numbers}, has_aux=True)({joined([o.call, *seeds, *directions])})",
        f"    return {written([*gradients, *seconds], is_tuple=True)}",
    ]  # fmt: skip
    instead = _attached(compiled(f"{o.function.name}_by_gradients", lines, o, {f"{m}back": back}))
    return _attached(
        tangents_of(back, instead, [o.numbers[n] for n in indices], f"{o.function.name}_gradient_along")
    )


def _bent(o: Outline, back: Function, index: int) -> Function:
    """The tangents of the gradients along one argument."""
    m = o.mark
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    seconds = [f"{m}h{n}" for n in range(len(o.sources))]
    further = [*o.seeds, o.tangents[index]]
    along = _along_gradients(o, back, o.seeds, [index])
    lines = [
        f"def transformed({o.declared(further)}):",
        f"    {written([*gradients, *seconds], is_tuple=True)} = {m}along({joined([o.call, *further])})",
        f"    return {written(seconds, is_tuple=True)}",
    ]
    return _attached(compiled(f"{o.function.name}_bent", lines, o, {f"{m}along": along}))
