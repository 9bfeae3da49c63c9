"""`vmap` of scripted functions as programs: a node of batches beside a loop over the examples.

Of a function with results in containers, which the compiler knows, those of what lies in them are batched:

```
def transformed(x: Tensor):
    _r = _batch(x)
    return {"w": _r[0], "b": _r[1]}
```

Where the keys of a dict are known only for the call, the node gives dicts, and is opened with those that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from flambeau.analysis.effects import is_random
from flambeau.batching.vmap import RANDOMNESS
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.flat_results import flat_results
from flambeau.jit.transforms.outlines import Outline, compiled, is_of_tensors
from flambeau.program.batches import batch_of
from flambeau.program.function import Function
from flambeau.schema.types import DictType, TupleType, Type
from flambeau.util.trees import Structure

RANDOM: Final = "{kind}() of {name}(), which draws random numbers, needs randomness='different' in programs"
SIZES: Final = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
DIMS: Final = "{kind}() of {name}() in programs needs in_dims and out_dims that are a number or None for each"


def vmap(kind: str, function: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error") -> Function:
    """The results for each example, one example after the other, each its own way."""
    if randomness not in ("error", "different", "same"):
        raise ValueError(RANDOMNESS.format(randomness))
    is_drawn = any(map(is_random, inlined_graph(function).listed_nodes()))
    if randomness != "different" and is_drawn:
        raise TypeError(RANDOM.format(kind=kind, name=function.short_name))
    listed = flat_results(function) if _gives_containers(function) else None
    if listed is not None:
        return _in_containers(kind, *listed, in_dims, out_dims, randomness)
    dims = in_dims_of(function, in_dims) or []
    batched = tuple([n for n, dim in enumerate(dims) if dim is not None])
    o = Outline(kind, function, batched, takes_dicts=True)
    out_axes = _out_dims(out_dims, len(o.values))
    if out_axes is None or not batched:
        raise TypeError(DIMS.format(kind=kind, name=function.short_name))
    loop = _one_by_one(o, dims, out_axes)
    if is_drawn:
        return loop
    name = f"{function.name}_{kind}"
    batch = batch_of(function, loop, dims, out_axes, name)
    return _of_equal_sizes(o, batch, [f"{o.names[n]}.size({dims[n]})" for n in batched], name)


def _gives_containers(function: Function) -> bool:
    """Whether the result of a function is something else than a tensor or a tuple of tensors without a name."""
    types = [one.type for one in function.schema.returns]
    is_named = any(isinstance(type_, TupleType) and type_.name for type_ in types)
    return len(types) == 1 and (is_named or not is_of_tensors(types[0]))


def _of_equal_sizes(o: Outline, batch: Function, sizes: Sequence[str], name: str) -> Function:
    """A function of batches that says what is wrong where their sizes differ."""
    if len(sizes) == 1:
        return batch
    m = o.mark
    lines = [f"def transformed({o.header}):"]
    for size in sizes[1:]:
        lines += [
            f"    if {size} != {sizes[0]}:",
            f"        raise ValueError({SIZES!r}.format([{', '.join(sizes)}]))",
        ]
    lines.append(f"    return {m}batch({o.call})")
    REGISTRY.attach(batch)
    return compiled(name, lines, o, {f"{m}batch": batch})


def _in_containers(
    kind: str, listed: Function, structure: Structure, in_dims: Any, out_dims: Any, randomness: str
) -> Function:
    """The batch of a function that lists what lies in its result, put together as that."""
    if isinstance(out_dims, tuple) and len(out_dims) == len(structure.children):
        pairs = zip(out_dims, structure.children, strict=True)
        out_dims = tuple([dim for dim, child in pairs for _ in range(child.count)])
    batch = vmap(kind, listed, in_dims, out_dims, randomness)
    REGISTRY.attach(batch)
    o = Outline(kind, listed, ())
    names: dict[str, Any] = {f"{o.mark}batch": batch}
    text = _together(structure, iter([f"{o.mark}r[{n}]" for n in range(structure.count)]), o.mark, names)
    lines = [f"def transformed({o.header}):", f"    {o.mark}r = {o.mark}batch({o.call})", f"    return {text}"]
    return compiled(f"{listed.name}_{kind}", lines, o, names)


def _together(structure: Structure, leaves: Iterator[str], mark: str, names: dict[str, Any]) -> str:
    """The text of containers of leaves; classes of named tuples go to `names`."""
    if structure.is_leaf():
        return next(leaves)
    parts = [_together(child, leaves, mark, names) for child in structure.children]
    if structure.kind is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(structure.keys, parts, strict=True)) + "}"
    name = "" if structure.kind is tuple else f"{mark}_{len(names)}"
    if name:
        names[name] = structure.kind
    return f"{name}({', '.join(parts)}{'' if name else ','})"


def _one_by_one(o: Outline, dims: Sequence[int | None], out_axes: Sequence[int]) -> Function:
    """The results for each example by a loop over the examples."""
    m = o.mark
    first = next(n for n, dim in enumerate(dims) if dim is not None)
    examples = [name if dim is None else f"{name}.select({dim}, {m}i)" for name, dim in zip(o.names, dims, strict=True)]
    lists = [f"{m}l{n}" for n in range(len(o.values))]
    evaluated = o.evaluated.replace(f"{m}f({o.call})", f"{m}f({', '.join(examples)})")
    stacked = [_stacked(m, n, t, axis) for n, t, axis in zip(lists, o.result_types, out_axes, strict=True)]
    lines = [
        f"def transformed({o.header}):",
        *(f"    {name}: list[{t.annotation}] = []" for name, t in zip(lists, o.result_types, strict=True)),
        f"    for {m}i in range({o.names[first]}.size({dims[first]})):", f"        {evaluated}",
        *(f"        {name}.append({y})" for name, y in zip(lists, o.values, strict=True)),
        "    return " + o.packed(stacked),
    ]  # fmt: skip
    loop = compiled(f"{o.function.name}_one_by_one", lines, o, {})
    REGISTRY.attach(loop)
    return loop


def one_by_one(kind: str, function: Function, in_dims: Sequence[int | None], out_dims: Sequence[int]) -> Function:
    """A loop over examples, which lie along axes of the arguments and come to lie along those of the results."""
    outline = Outline(kind, function, tuple([n for n, dim in enumerate(in_dims) if dim is not None]))
    return _one_by_one(outline, in_dims, out_dims)


def _stacked(mark: str, listed: str, type_: Type, axis: int) -> str:
    """The text of the results of all examples, side by side; of dicts, for each key of the first."""
    if isinstance(type_, DictType):
        parts = f"[{mark}e[{mark}k] for {mark}e in {listed}]"
        return f"{{{mark}k: {mark}stack({parts}, {axis}) for {mark}k in {listed}[0]}}"
    return f"{mark}stack({listed}, {axis})"


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
