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

import typing
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.effects import is_random
from flambeau.batching.vmap import RANDOMNESS
from flambeau.batching.vmap import vmap as batches_of
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.source.python_source import NameScope
from flambeau.func.reverse import grad
from flambeau.jit.compiling import tidy
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.ops.packets import packet_of
from flambeau.program.batches import batch_of
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import TensorType, TupleType, Type
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import TRANSFORM_PROGRAM

NO_TENSORS: Final = "{kind}() of {name}() needs results that are tensors, or a tuple of tensors: it returns {found}"
NO_ARGUMENT: Final = "{name}() has {count} parameters: there is no argument {number} to differentiate by"
NO_TENSOR: Final = "{kind}() of {name}() goes by tensors: '{argument}' is a {found}"
RANDOM: Final = "{kind}() of {name}(), which draws random numbers, needs randomness='different' in programs"
REPEATED: Final = (
    "{kind}() of {name}(), which draws random numbers, runs it several times in programs, each time with others: draw "
    "them outside, and pass them as an argument"
)
SIZES: Final = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
DIMS: Final = "{kind}() of {name}() in programs needs in_dims and out_dims that are a number or None for each"


class Outline:
    """What programs about a function are written with: names, and the texts of calls of it."""

    def __init__(self, kind: str, function: Function, argnums: int | tuple[int, ...], *, has_aux: bool = False) -> None:
        schema = function.schema
        self.function, self.has_aux = function, has_aux
        self.mark = "_"
        while any(a.name.startswith(self.mark) for a in schema.arguments):
            self.mark += "_"
        self.names = [a.name for a in schema.arguments]
        self.header = ", ".join(f"{a.name}: {a.type.annotation}" for a in schema.arguments)
        self.call = ", ".join(self.names)
        self.is_one_argument = isinstance(argnums, int)
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        self.numbers = tuple([self._checked(kind, number) for number in numbers])
        self.sources = [self.names[n] for n in self.numbers]
        result = _result(kind, function, has_aux=has_aux)
        self.is_tuple = isinstance(result, TupleType)
        count = len(result.elements) if isinstance(result, TupleType) else 1
        self.values = [f"{self.mark}y{n}" for n in range(count)]
        self.seeds = [f"{self.mark}c{n}" for n in range(count)]
        self.tangents = [f"{self.mark}t{n}" for n in range(len(self.sources))]

    def _checked(self, kind: str, number: int) -> int:
        arguments = self.function.schema.arguments
        if not -len(arguments) <= number < len(arguments):
            name = self.function.short_name
            raise ValueError(NO_ARGUMENT.format(name=name, count=len(arguments), number=number))
        argument = arguments[number % len(arguments)]
        if not isinstance(argument.type, TensorType):
            text = NO_TENSOR.format(
                kind=kind, name=self.function.short_name, argument=argument.name, found=argument.type.annotation
            )
            raise TypeError(text)
        return number % len(arguments)

    @property
    def evaluated(self) -> str:
        """The statement that calls the function."""
        left = ", ".join(self.values) + ("," if len(self.values) == 1 else "")
        target = f"({left})" if self.is_tuple else self.values[0]
        aux = f", {self.mark}aux" if self.has_aux else ""
        return f"{target}{aux} = {self.mark}f({self.call})"

    def packed(self, texts: Sequence[str]) -> str:
        """The text of values, one for each result."""
        return written(texts, is_tuple=self.is_tuple)

    def by_source(self, texts: Sequence[str]) -> str:
        """The text of values, one for each argument that is differentiated by."""
        return written(texts, is_tuple=not self.is_one_argument)

    def declared(self, names: Sequence[str]) -> str:
        """The parameters of the function, and further tensors."""
        return ", ".join([*([self.header] if self.header else []), *(f"{name}: Tensor" for name in names)])

    def pulled(self) -> list[str]:
        """A function of the arguments and of one cotangent for each result: the sum of their products."""
        products = " + ".join(f"({y} * {c}).sum()" for y, c in zip(self.values, self.seeds, strict=True))
        return [
            f"def {self.mark}pulled({self.declared(self.seeds)}) -> Tensor:", f"    {self.evaluated}",
            f"    return {products}",
        ]  # fmt: skip


def written(texts: Sequence[str], *, is_tuple: bool) -> str:
    """A value, or a tuple of values, as text."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})" if is_tuple else texts[0]


def _result(kind: str, function: Function, *, has_aux: bool) -> Type:
    """The type of what is transformed: a tensor or a tuple of tensors."""
    returns = function.schema.returns
    result = returns[0].type if len(returns) == 1 else None
    inner = result.elements[0] if has_aux and isinstance(result, TupleType) and len(result.elements) == 2 else result
    is_tuple = isinstance(inner, TupleType) and inner.elements
    if (has_aux and inner is result) or not (
        isinstance(inner, TensorType) or (is_tuple and all(isinstance(e, TensorType) for e in inner.elements))  # type: ignore[union-attr]
    ):
        found = "nothing" if result is None else result.annotation
        raise TypeError(NO_TENSORS.format(kind=kind, name=function.short_name, found=found))
    assert inner is not None
    return inner


def _refuse_random(kind: str, function: Function) -> None:
    """Raise TypeError for a function that draws random numbers: a program would run it again with others."""
    if any(map(is_random, inlined_graph(function).listed_nodes())):
        raise TypeError(REPEATED.format(kind=kind, name=function.short_name))


# -- programs ---------------------------------------------------------------------------------------------------------


def jacobian(kind: str, function: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False) -> Function:
    """The Jacobian: what goes back from each vector of a basis of each result."""
    _refuse_random(kind, function)
    o = Outline(kind, function, argnums, has_aux=has_aux)
    m = o.mark
    lines = [
        *o.pulled(), f"def {m}back({o.declared(o.seeds)}):",
        f"    return {m}grad({m}pulled, {o.numbers})({_joined([o.call, *o.seeds])})",
        f"def transformed({o.header}):", f"    {o.evaluated}",
    ]  # fmt: skip
    blocks = []
    for k, y in enumerate(o.values):
        seeds = [f"{m}b" if v is y else f"{m}zeros_like({v})" for v in o.values]
        row = [f"{m}j{k}{n}" for n in range(len(o.sources))]
        dims = (*[None] * len(o.names), *[0 if v is y else None for v in o.values])
        lines += [
            f"    {m}b = {_basis(m, y)}",
            f"    {written(row, is_tuple=True)} = {m}vmap({m}back, {dims})({_joined([o.call, *seeds])})",
        ]
        blocks.append(o.by_source([
            f"{j}.reshape([*{y}.shape, *{x}.shape])" for j, x in zip(row, o.sources, strict=True)
        ]))  # fmt: skip
    answer = o.packed(blocks)
    lines.append(f"    return {answer}, {m}aux" if has_aux else f"    return {answer}")
    return _compiled(f"{function.name}_{kind}", lines, o, {})


def hessian(kind: str, function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """Second derivatives: for each element of each result, the gradient along each vector of a basis of each argument
    of what the gradient is."""
    _refuse_random(kind, function)
    o = Outline(kind, function, argnums)
    m = o.mark
    lines = [
        *o.pulled(), *_slope(o), f"def {m}bent({o.declared([*o.seeds, *o.tangents])}):",
        f"    return {m}grad({m}slope, {o.numbers})({_joined([o.call, *o.seeds, *o.tangents])})",
        f"def transformed({o.header}):", f"    {o.evaluated}",
    ]  # fmt: skip
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    blocks = []
    for k, y in enumerate(o.values):
        rows = []
        seeds = [f"{m}u.reshape({y}.shape)" if v is y else f"{m}zeros_like({v})" for v in o.values]
        for n, x in enumerate(o.sources):
            row = [f"{m}j{k}{n}_{i}" for i in range(len(o.sources))]
            tangents = [f"{m}b" if v is x else f"{m}zeros_like({v})" for v in o.sources]
            dims = (*[None] * (len(o.names) + len(o.seeds)), *[0 if v is x else None for v in o.sources])
            lines += [
                f"    {m}b = {_basis(m, x)}",
                *(f"    {j} = {x}.new_zeros([{y}.numel(), {x}.numel(), {v}.numel()])"
                  for j, v in zip(row, o.sources, strict=True)),
                f"    for {m}k in range({y}.numel()):", f"        {m}u = {m}zeros_like({y}).reshape([-1])",
                f"        {m}u[{m}k] = 1.0",
                f"        {written(gradients, is_tuple=True)} = "
                f"{m}vmap({m}bent, {dims})({_joined([o.call, *seeds, *tangents])})",
                *(f"        {j}[{m}k] = {g}.reshape([{x}.numel(), {v}.numel()])"
                  for j, g, v in zip(row, gradients, o.sources, strict=True)),
            ]  # fmt: skip
            rows.append(o.by_source([
                f"{j}.reshape([*{y}.shape, *{x}.shape, *{v}.shape])"
                for j, v in zip(row, o.sources, strict=True)
            ]))  # fmt: skip
        blocks.append(o.by_source(rows))
    lines.append(f"    return {o.packed(blocks)}")
    return _compiled(f"{function.name}_{kind}", lines, o, {})


def _basis(mark: str, name: str) -> str:
    """The vectors of a basis of a tensor, one after the other."""
    count = f"{name}.numel()"
    return f"{mark}eye({count}, dtype={name}.dtype, device={name}.device).reshape([{count}, *{name}.shape])"


def vjp(
    kind: str, function: Function, argnums: tuple[int, ...], *, packed: bool = False, name: str = "vjp"
) -> Function:
    """What goes back to the arguments from cotangents of the results: `packed`, one tuple of those of a tuple. `name`
    is what messages call it."""
    _refuse_random(name, function)
    o = Outline(name, function, argnums)
    header, seeds = o.declared(o.seeds), o.seeds
    if packed and o.is_tuple:
        seeds = [f"{o.mark}c[{n}]" for n in range(len(o.seeds))]
        types = ", ".join(["Tensor"] * len(seeds))
        header = _joined([o.header, f"{o.mark}c: tuple[{types}]"])
    lines = [
        *o.pulled(), f"def transformed({header}):",
        f"    return {o.mark}grad({o.mark}pulled, {o.numbers})({_joined([o.call, *seeds])})",
    ]  # fmt: skip
    return _compiled(f"{function.name}_{kind}", lines, o, {})


def _slope(o: Outline) -> list[str]:
    """A function of the arguments, of cotangents and of tangents: what goes back, along the tangents."""
    gradients = [f"{o.mark}g{n}" for n in range(len(o.sources))]
    products = " + ".join(f"({g} * {t}).sum()" for g, t in zip(gradients, o.tangents, strict=True))
    return [
        f"def {o.mark}slope({o.declared([*o.seeds, *o.tangents])}) -> Tensor:",
        f"    {written(gradients, is_tuple=True)} = "
        f"{o.mark}grad({o.mark}pulled, {o.numbers})({_joined([o.call, *o.seeds])})",
        f"    return {products}",
    ]


def jvp(
    kind: str, function: Function, argnums: tuple[int, ...], *, with_value: bool = True, name: str = "jvp"
) -> Function:
    """The results and their tangents, or these alone: the gradient by the cotangents, of what goes back along the
    tangents. `name` is what messages call it."""
    _refuse_random(name, function)
    o = Outline(name, function, argnums)
    m = o.mark
    count = len(o.names)
    places = tuple(range(count, count + len(o.seeds)))
    tangents = [f"{m}s{n}" for n in range(len(o.values))]
    zeros = [f"{m}zeros_like({y})" for y in o.values]
    lines = [
        *o.pulled(), *_slope(o),
        f"def transformed({o.declared(o.tangents)}):", f"    {o.evaluated}",
        f"    {written(tangents, is_tuple=True)} = "
        f"{m}grad({m}slope, {places})({_joined([o.call, *zeros, *o.tangents])})",
        f"    return {o.packed(o.values)}, {o.packed(tangents)}" if with_value else f"    return {o.packed(tangents)}",
    ]  # fmt: skip
    return _compiled(f"{function.name}_{kind}", lines, o, {})


def hvp(kind: str, function: Function, argnums: int | tuple[int, ...]) -> Function:
    """The gradient, and the gradient of its product with a vector."""
    o = Outline(kind, function, argnums)
    m = o.mark
    gradient = gradient_of(function, o.numbers, with_value=False)
    REGISTRY.attach(gradient)
    gradients = [f"{m}g{n}" for n in range(len(o.sources))]
    products = " + ".join(f"({g} * {t}).sum()" for g, t in zip(gradients, o.tangents, strict=True))
    seconds = [f"{m}h{n}" for n in range(len(o.sources))]
    unpacked = written(gradients, is_tuple=True)
    lines = [
        f"def {m}slope({o.declared(o.tangents)}):", f"    {unpacked} = {m}gradient({o.call})",
        f"    return {products}, {unpacked}",
        f"def transformed({o.declared(o.tangents)}):",
        f"    {written(seconds, is_tuple=True)}, {unpacked} = "
        f"{m}grad({m}slope, {o.numbers}, has_aux=True)({_joined([o.call, *o.tangents])})",
        f"    return {o.by_source(gradients)}, {o.by_source(seconds)}",
    ]  # fmt: skip
    return _compiled(f"{function.name}_{kind}", lines, o, {f"{m}gradient": gradient})


def vmap(kind: str, function: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error") -> Function:
    """The results for each example, one example after the other, each its own way."""
    if randomness not in ("error", "different", "same"):
        raise ValueError(RANDOMNESS.format(randomness))
    if randomness != "different" and any(map(is_random, inlined_graph(function).listed_nodes())):
        raise TypeError(RANDOM.format(kind=kind, name=function.short_name))
    dims = in_dims_of(function, in_dims) or []
    batched = tuple([n for n, dim in enumerate(dims) if dim is not None])
    o = Outline(kind, function, batched)
    places = _out_dims(out_dims, len(o.values))
    if places is None or not batched:
        raise TypeError(DIMS.format(kind=kind, name=function.short_name))
    m = o.mark
    loop = _one_by_one(o, dims, places)
    if any(map(is_random, inlined_graph(function).listed_nodes())):
        return loop
    name = f"{function.name}_{kind}"
    batch = batch_of(function, loop, dims, places, name)
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
    return _compiled(name, lines, o, {f"{m}batch": batch})


def _one_by_one(o: Outline, dims: Sequence[int | None], places: Sequence[int]) -> Function:
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
        "    return " + o.packed([f"{m}stack({n}, {d})" for n, d in zip(lists, places, strict=True)]),
    ]  # fmt: skip
    loop = _compiled(f"{o.function.name}_one_by_one", lines, o, {})
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


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(text for text in texts if text)


def _compiled(name: str, lines: Sequence[str], outline: Outline, names: dict[str, Any]) -> Function:
    """The last function of a text, with the defaults of the one that it is about."""
    m = outline.mark
    known = {
        f"{m}f": outline.function, f"{m}grad": grad, f"{m}zeros_like": packet_of("aten::zeros_like"),
        f"{m}stack": packet_of("aten::stack"), f"{m}eye": packet_of("aten::eye"), f"{m}vmap": batches_of,
        "Tensor": Tensor, **names,
    }  # fmt: skip
    last = None
    for text in "\n".join(lines).replace("\ndef ", "\n\0def ").split("\0"):
        resolver = PythonResolver(NameScope(known, vars(typing)), CLASSES, "<transform>")
        with REGISTRY.lock:
            [last] = compile_source(text + "\n", resolver, filename="<transform>")
        tidy(last)
        REGISTRY.attach(last)
        known[last.short_name] = last
    assert last is not None
    given = {a.name: a for a in outline.function.schema.arguments}
    required = len(last.schema.arguments) > len(given)  # tangents come behind
    arguments = [a if required else given.get(a.name, a) for a in last.schema.arguments]
    return Function(name, last.graph, FunctionSchema(name, "", tuple(arguments), last.schema.returns))


PROGRAMS: Final[dict[str, Callable[..., Function]]] = {
    "jacrev": jacobian, "jacfwd": jacobian, "hessian": hessian, "jvp": jvp, "hvp": hvp, "vjp": vjp, "vmap": vmap,
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
