"""Transforms of scripted functions of containers: for each structure, that of a function of what lies in them.

`grad(loss)(p, x)` with a dictionary `p` of three tensors is the gradient by the first three arguments of a function of
four tensors, made a dictionary again. That function is scripted, so that whatever there is for such is there: native
code for any sizes, and further transforms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.executor.executor import executor_of
from flambeau.executor.report import Explanation
from flambeau.func.arguments import positions
from flambeau.ir.graph import Graph
from flambeau.jit.function import ScriptFunction
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.batch_programs import in_dims_of
from flambeau.jit.transforms.flat_functions import OTHERS, FlatFunctions, Opened, holds_tensors
from flambeau.jit.transforms.flat_results import flat_results
from flambeau.jit.transforms.staging import has_effects
from flambeau.program.function import Function
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor import below, dispatch, observer
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import special
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.trees import LEAF, Structure

Plain = Callable[..., Any]
MOST: Final = 16
"""How many structures code is kept for."""
NO_GRAPH: Final = "{kind}() of {name}() has no graph for such arguments: it runs an operator at a time"

@dataclass(frozen=True, slots=True)
class Flat:
    """A function of leaves, and how its arguments and results lie."""

    script: Callable[..., Any]
    opened: Opened
    results: Callable[[Any], Any] | None = None
    """Makes the containers of what it gives; None where that is as it is."""

    def whole(self, values: Any) -> Any:
        """The results in their containers."""
        return values if self.results is None else self.results(values)


class TreeTransform:
    """A transform of a scripted function that takes or gives containers."""

    def __init__(
        self, kind: str, function: ScriptFunction | TreeTransform, options: dict[str, Any], eager: Plain,
        otherwise: Plain, transform: Callable[..., Any],
    ) -> None:  # fmt: skip
        """`eager` runs an operator at a time; `otherwise` computes what no function of leaves does; `transform` gives
        transforms of scripted functions."""
        functools.update_wrapper(self, eager)
        self.kind, self.options, self.eager, self.otherwise = kind, options, eager, otherwise
        self.transforms: dict[Any, Any] = {}
        """What was made of it, by kind and options."""
        self._inner, self._transform = function, transform
        is_tree = isinstance(function, TreeTransform)
        self.signature: Any = function.signature if is_tree else function._signature  # type: ignore[union-attr]
        self.base: Function = function.base if is_tree else function.script_function  # type: ignore[union-attr]
        self._functions = FlatFunctions(self.base)
        self._count = len(self.base.schema.arguments)
        self._mapped = _mapped_count(self.base, options["in_dims"]) if kind == "vmap" else None
        self._flat: SpecialisationCache[Any, Flat] = SpecialisationCache(
            "structures of a transform", MOST, describe=str
        )

    @property
    def scripts(self) -> list[ScriptFunction]:
        """The code that is kept."""
        return [flat.script for flat in self._flat.values if isinstance(flat.script, ScriptFunction)]

    def running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[ScriptFunction, list[Any]] | None:
        """What runs calls with arguments like these, and what it is given; None where there is no code for them."""
        leaves: list[Any] = []
        flat = self._of(args, kwargs, leaves)
        return None if flat is None or not isinstance(flat.script, ScriptFunction) else (flat.script, leaves)

    def compile(self, *args: Any, **kwargs: Any) -> bool:
        """Make the code of calls with arguments like these; whether there is any."""
        call = self.running(args, kwargs)
        if call is not None:
            call[0].compile(*call[1])
        return call is not None

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph that runs for arguments like these. Raises TypeError where there is none."""
        call = self.running(args, kwargs)
        if call is None:
            raise TypeError(NO_GRAPH.format(kind=self.kind, name=self.base.short_name))
        return call[0].graph_for(*call[1])

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """Every compilation: for containers of each structure."""
        name = f"{self.base.short_name}_{self.kind}"
        return self.explained(Explanation(name, executor_of(self.base).options.backend, (), 0), measure)

    def explained(self, whole: Explanation, measure: bool | None) -> Explanation:
        """What else is told of a transform, with the code for each structure."""
        parts = [script.explain(measure=measure) for script in self.scripts]
        compilations = [c for part in parts for c in part.compilations]
        notes = [note for part in parts for note in part.notes]
        return replace(
            whole, compilations=(*compilations, *whole.compilations), notes=(*notes, *whole.notes),
            caches=(self._flat.statistics(), *whole.caches),
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The transform's result. Raises what the transform of the same Python function does."""
        result = self.compiled(args, kwargs)
        return self.otherwise(*args, **kwargs) if result is NotImplemented else result

    def compiled(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a call by compiled code; NotImplemented where there is none."""
        if self._mapped is not None and (kwargs or len(args) != self._mapped):
            return NotImplemented
        leaves: list[Any] = []
        flat = self._of(args, kwargs, leaves)
        return NotImplemented if flat is None else flat.whole(flat.script(*leaves))

    def products(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The result of a product along tangents."""
        leaves: list[Any] = []
        directions: list[Any] = []
        flat = self._of(primals, {}, leaves)
        try:
            complete = [*tangents, *self.signature.bind(tuple(primals), {})[len(tangents) :]]
            self._functions.pattern(complete, directions)
        except OTHERS:
            flat = None
        if flat is None or len(directions) != len(leaves):
            return self.otherwise(primals, tangents)
        count = sum(flat.opened.structures[n].count for n in range(len(tangents)))
        return flat.whole(flat.script(leaves, directions[:count]))

    def _of(self, args: Sequence[Any], kwargs: dict[str, Any], leaves: list[Any]) -> Flat | None:
        """The code for a call, whose leaves are appended; None where there is none."""
        if thread.is_plain or observer.current() is not None or dispatch.is_intercepted() or has_effects(self.base):
            return None
        try:
            arguments = args if len(args) == self._count and not kwargs else self.signature.bind(args, kwargs)
            pattern = self._functions.pattern(arguments, leaves)
            if special.exists and below.has_special(leaves):
                return None
            if pattern not in self._flat:
                flat = self.flat(arguments)
                return None if flat is None else self._flat.get_or_make(pattern, lambda cause: flat)
            return self._flat.get(pattern)
        except OTHERS:
            return None

    def flat(self, arguments: Sequence[Any]) -> Flat | None:
        """The transform for arguments like these, of their leaves; None where there is no such function."""
        inner = self._inner_flat(arguments)
        options = None if inner is None else _leaf_options(self.kind, inner, self.options, self.base)
        if inner is None or options is None:
            return None
        script = self._transform(self.kind, inner.script, **options)
        if not isinstance(script, ScriptFunction | partial):
            return None
        return Flat(script, inner.opened, _results(self.kind, self.options, inner))

    def _inner_flat(self, arguments: Sequence[Any]) -> Flat | None:
        if isinstance(self._inner, TreeTransform):
            flat = self._inner.flat(arguments)
            return None if flat is None or not isinstance(flat.script, ScriptFunction) else self._listed(flat)
        try:
            function, opened = self._functions.opened(arguments)
        except CompileError:
            return None
        return self._listed(Flat(ScriptFunction(function), opened))

    def _listed(self, flat: Flat) -> Flat:
        """The same with results in one tuple, for transforms of each result."""
        if self.kind in ("grad", "value_and_grad") or not isinstance(flat.script, ScriptFunction):
            return flat
        function = flat.script.script_function
        listed = flat_results(function)
        if listed is None or listed[1].is_leaf():
            return flat
        script = flat.script if listed[0] is function else ScriptFunction(listed[0])
        if listed[0] is not function:
            REGISTRY.attach(listed[0])
        return Flat(script, flat.opened, lambda values: flat.whole(listed[1].unflatten(values)))


class TreeProducts:
    """The products of a function of containers along tangents."""

    takes_containers: Final = True

    def __init__(self, tree: TreeTransform) -> None:
        self.tree = tree

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The products at primals, for tangents."""
        return self.tree.products(primals, tangents)


def goes_by_trees(function: Function, kind: str) -> bool:
    """Whether a function takes containers, or gives some where each result is transformed."""
    if any(holds_tensors(a.type) for a in function.schema.arguments):
        return True
    if kind in ("grad", "value_and_grad"):
        return False
    listed = flat_results(function)
    return listed is not None and listed[0] is not function


def _mapped_count(base: Function, in_dims: Any) -> int:
    """How many arguments calls of a `vmap` give by place."""
    if isinstance(in_dims, tuple | list):
        return len(in_dims)
    return sum(not a.has_default for a in base.schema.arguments)


def _leaf_options(kind: str, inner: Flat, options: dict[str, Any], base: Function) -> dict[str, Any] | None:
    """The options of the transform of the function of leaves; None where there are no such."""
    opened = inner.opened
    if kind == "vmap":
        dims = _leaf_dims(options["in_dims"], opened, base)
        is_one = isinstance(options["out_dims"], int)
        return {**options, "in_dims": tuple(dims)} if dims and (is_one or inner.results is None) else None
    try:
        numbers = positions(options["argnums"], len(opened.structures))
    except RuntimeError:
        return None
    spans = opened.spans
    leaves = [n for number in numbers for n in spans[number]]
    if kind != "jvp" and isinstance(options["argnums"], int) and opened.structures[numbers[0]].is_leaf():
        return {**options, "argnums": leaves[0]}
    return {**options, "argnums": tuple(leaves)}


def _leaf_dims(in_dims: Any, opened: Opened, base: Function) -> list[int | None] | None:
    """The axis of the examples in each leaf; None for what says none."""
    if isinstance(in_dims, int):
        in_dims = tuple(in_dims_of(base, in_dims) or ())
    listed = [*in_dims, *[None] * (len(opened.structures) - len(in_dims))] if isinstance(in_dims, tuple | list) else []
    dims: list[int | None] = []
    for dim, structure in zip(listed, opened.structures, strict=True):
        broadcast = structure.broadcast(dim, lambda d: d is None or isinstance(d, int))
        if broadcast is None:
            return None
        dims += broadcast
    return dims


def _results(kind: str, options: dict[str, Any], inner: Flat) -> Callable[[Any], Any] | None:
    """What makes the containers of what the transform of the function of leaves gives."""
    if kind == "vmap":
        return inner.results
    argnums = options["argnums"]
    structures = inner.opened.structures
    chosen = [structures[n] for n in positions(argnums, len(structures))]
    tree = chosen[0] if isinstance(argnums, int) else Structure(tuple, None, chosen)
    if kind == "jvp":
        return None if inner.results is None else lambda pair: (inner.whole(pair[0]), inner.whole(pair[1]))
    if kind == "hvp":
        return lambda pair: (_by_leaf(tree, pair[0]), _by_leaf(tree, pair[1]))
    if kind == "grad":
        if options["has_aux"]:
            return lambda pair: (_by_leaf(tree, pair[0]), pair[1])
        return lambda values: _by_leaf(tree, values)
    if kind == "value_and_grad":
        return lambda pair: (pair[0], _by_leaf(tree, pair[1]))
    by_result = _hessian_rows if kind == "hessian" else _by_leaf
    is_tuple = inner.results is not None

    def blocks(values: Any) -> Any:
        return inner.whole(tuple([by_result(tree, row) for row in values])) if is_tuple else by_result(tree, values)

    return (lambda pair: (blocks(pair[0]), pair[1])) if options.get("has_aux") else blocks


def _by_leaf(tree: Structure, values: Any) -> Any:
    return values if tree is LEAF else tree.unflatten(values)


def _hessian_rows(tree: Structure, rows: Any) -> Any:
    return rows if tree is LEAF else tree.unflatten([tree.unflatten(row) for row in rows])
