"""What `flambeau.func` gives for scripted functions: scripted functions.

The graph of one says what it computes: gradients are nodes, Jacobians and batches loops (`programs`). That is what
other programs call, what is saved and what is differentiated again. Calls run compiled code that goes by whole batches,
made for arguments of each size (`staging`); where elements decide what a function does, they run the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flambeau.analysis.effects import is_random
from flambeau.batching.vmap import vmap
from flambeau.codegen.callable_type import MISSED
from flambeau.executor.executor import Executor
from flambeau.executor.report import Explanation
from flambeau.func import forward, jacobians, reverse
from flambeau.jit.array_function import ArrayFunction
from flambeau.jit.by_types import ByTypesOfTransform
from flambeau.jit.function import ScriptFunction
from flambeau.jit.open_function import OpenFunction
from flambeau.jit.own_gradients.expansion import expanded_graph
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.batch_programs import in_dims_of
from flambeau.jit.transforms.batches import Batches
from flambeau.jit.transforms.open_transforms import OpenTransform, eager_open
from flambeau.jit.transforms.programs import program_of
from flambeau.jit.transforms.staging import NotStagedError, Staged, goes_by_elements, has_effects, has_loops, runs_whole
from flambeau.jit.transforms.tree_transforms import TreeProducts, TreeTransform, goes_by_trees
from flambeau.jit.transforms.whole_graphs import WholeGraph
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor import below, dispatch, observer
from flambeau.tensor.levels import innermost
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor
from flambeau.util.cached import cached_property
from flambeau.util.inversions import CONTAINER_GRADIENT, SCRIPTED_TRANSFORM
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import replace
from flambeau.util.trees import hashable

Plain = Callable[..., Any]
ALONG: Final = ("jvp", "hvp", "jacfwd", "hessian", "vjp")
"""The transforms whose programs have tangents, or go back once: they are for any sizes."""
MOST: Final = 16
"""How many sizes code is kept for."""
MOST_MADE: Final = 16
"""How many there were when calls of further sizes run the graph."""


class GradientFunction(ScriptFunction):
    """The gradient of a scripted function: native as any other, and within other transforms an operator at a time."""

    by_trees: TreeTransform | None = None
    """What calls with containers are."""

    def __init__(self, function: Function, base: Function, plain: Plain) -> None:
        super().__init__(function)
        self.base = base
        """What is differentiated in the end."""
        self.plain = plain
        """The transform of the function that runs an operator at a time."""

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        if self.by_types is not None and (other := self._for_types(args, kwargs)) is not None:
            return other(*args, **kwargs)
        if self.by_trees is not None and (result := self.by_trees.compiled(args, kwargs)) is not NotImplemented:
            return result
        if thread.is_plain or _is_within(self.base):
            return self.plain(*args, **kwargs)
        return super()._call_slowly(*args, **kwargs)

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        call = None if self.by_trees is None else self.by_trees.running(args, kwargs)
        return super()._running(args, kwargs) if call is None else call[0]._running(call[1], {})

    def without_program(self, *args: Any) -> Any:
        """The result by code for containers like these, or an operator at a time: the program may be who asks."""
        result = NotImplemented if self.by_trees is None else self.by_trees.compiled(args, {})
        return self.plain(*args) if result is NotImplemented else result

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """Every compilation: for containers of each structure, and of the graph."""
        whole = super().explain(measure=measure)
        return whole if self.by_trees is None else self.by_trees.explained(whole, measure)


def _is_within(base: Function) -> bool:
    """Whether a call is within a transform, where what goes by sizes alone runs an operator at a time."""
    return innermost() is not None and observer.current() is None and not runs_whole(base)


class Stages:
    """How a transform of a scripted function is called: by code for arguments of each size, or by another way."""

    def __init__(
        self, base: Function, plain: Plain, by_graph: Callable[[Sequence[Any]], Any] | None, name: str,
        batches: Batches | None = None, whole: WholeGraph | None = None,
    ) -> None:  # fmt: skip
        """`plain` is the transform of the function that runs an operator at a time, for all arguments; `by_graph` runs
        the graph of the transform, if there is one; `batches` has code for arguments of any sizes, if there may be;
        `whole` says of which arguments the graph is such code."""
        self.batches = None if has_effects(base) else batches
        self.whole = None if has_effects(base) else whole
        self._base, self._plain, self._by_graph, self._name = base, plain, by_graph, name
        self.ways: SpecialisationCache[Any, Callable[[Sequence[Any]], Any]] = SpecialisationCache(
            "sizes of a transform", MOST, describe=lambda key: ", ".join(map(_described, key))
        )

    def __call__(self, arguments: Sequence[Any], first: Callable[[], Any]) -> Any:
        """The result for all arguments; `first` is the plain transform of the arguments as they were given."""
        if dispatch.is_intercepted() or (special.exists and below.has_special(arguments)):
            return first()
        if self.batches is not None and (script := self.batches.of(arguments)) is not None:
            return script(*arguments)
        if self.whole is not None and self._by_graph is not None and self.whole.holds(arguments):
            return self._by_graph(arguments)
        try:
            key = tuple([_key(a) for a in arguments])
            way = self.ways.get(key)
        except TypeError:  # an argument that is no key
            return first()
        if way is None:
            way = self.ways.get_or_make(key, lambda cause: self._way(arguments, first))
        return way(arguments)

    def _way(self, arguments: Sequence[Any], first: Callable[[], Any]) -> Callable[[Sequence[Any]], Any]:
        """How arguments like these are computed with. Raises what the plain transform of the arguments does."""
        rest = self._by_graph or self._one_by_one
        if goes_by_elements(self._base) or self.ways.statistics().misses > MOST_MADE:
            return rest
        if has_effects(self._base):
            return self._one_by_one
        try:
            return Staged(self._name, self._plain, arguments)
        except NotStagedError:
            return rest
        except Exception:
            first()  # words what is wrong for who called; what cannot be recorded runs an operator at a time
            return self._one_by_one

    def script_for(self, arguments: Sequence[Any]) -> tuple[ScriptFunction, Sequence[Any]] | None:
        """The code beside the graph that arguments like these are computed with, if it is, and what it is given."""
        if self.batches is not None and (script := self.batches.of(arguments)) is not None:
            return script, arguments
        if self.whole is not None and self.whole.holds(arguments):
            return None
        key = tuple([_key(a) for a in arguments])
        way = self.ways.get_or_make(key, lambda cause: self._way(arguments, lambda: self._one_by_one(arguments)))
        return (way.script, way.leaves(arguments)) if isinstance(way, Staged) else None

    def _one_by_one(self, arguments: Sequence[Any]) -> Any:
        return self._plain(*arguments)

    @property
    def scripts(self) -> list[ScriptFunction]:
        """The code that is kept."""
        of_patterns = [] if self.batches is None else self.batches.scripts
        return of_patterns + [way.script for way in self.ways.values if isinstance(way, Staged)]


class TransformedFunction(ScriptFunction):
    """A transform of a scripted function that goes by whole batches."""

    by_trees: TreeTransform | None = None
    """What calls with containers are."""

    def __init__(
        self, function: Function, base: Function, plain: Plain, complete: Plain, is_covered: Callable[[Any, Any], bool],
        batches: Batches | None, *, along: bool,
    ) -> None:  # fmt: skip
        """`along` says that the transform goes along with the values, by a graph of its own; `complete` is `plain` for
        all arguments, those with defaults too; `is_covered` says whether arguments by place and by name are what the
        program was written for."""
        super().__init__(function)
        self.base, self.plain, self._is_covered = base, plain, is_covered
        is_whole = batches is None and (along or has_loops(base))
        whole = WholeGraph(function) if is_whole else None
        self._stages = Stages(
            base, complete, lambda arguments: self._executor(*arguments), function.name, batches, whole
        )

    @cached_property
    def may_run_again(self) -> bool:
        """Whether it is a graph as a whole, of a function whose further runs give what the first one gave: it has no
        effects, and writes nothing."""
        graph = expanded_graph(self.base)
        writes = any(n.definition is not None and n.definition.schema.is_mutable for n in graph.listed_nodes())
        return self._stages.whole is not None and not writes and not any(map(is_random, graph.listed_nodes()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises what the transform of the same Python function does."""
        fast_path = self._executor.fast_path if self._stages.whole is not None else None
        is_watched = thread.observer is not None or thread.handlers or thread.is_plain
        if fast_path is not None and not kwargs and not is_watched:
            result = fast_path(*args)
            if result is not MISSED:
                return result
        return self._call_slowly(*args, **kwargs)

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        if self.by_types is not None and (other := self._for_types(args, kwargs)) is not None:
            return other(*args, **kwargs)
        if self.by_trees is not None and (result := self.by_trees.compiled(args, kwargs)) is not NotImplemented:
            return result
        if thread.is_plain:
            return self.plain(*args, **kwargs)
        if observer.current() is not None:
            return super()._call_slowly(*args, **kwargs)
        if dispatch.is_intercepted() and runs_whole(self.base):
            return super()._call_slowly(*args, **kwargs)
        if not self._is_covered(args, kwargs):
            return self.plain(*args, **kwargs)
        return self._stages(self._signature.bind(args, kwargs), lambda: self.plain(*args, **kwargs))

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        if self.by_types is not None and (other := self._for_types(tuple(args), kwargs)) is not None:
            running: tuple[Executor, Sequence[Any]] = other._running(args, kwargs)
            return running
        call: Any = None if self.by_trees is None else self.by_trees.running(args, kwargs)
        if call is None and self._is_covered(args, kwargs):
            call = self._stages.script_for(self._signature.bind(tuple(args), kwargs))
        return super()._running(args, kwargs) if call is None else call[0]._running(call[1], {})

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """Every compilation: for arguments of each size, and of the graph."""
        whole = super().explain(measure=measure)
        parts = [script.explain(measure=measure) for script in self._stages.scripts]
        compilations = tuple([c for part in parts for c in part.compilations])
        caches = (self._stages.ways.statistics(), *whole.caches)
        whole = replace(whole, compilations=compilations + whole.compilations, caches=caches)
        return whole if self.by_trees is None else self.by_trees.explained(whole, measure)


def _key(value: Any) -> Any:
    """What of an argument decides which operators a transform runs."""
    if isinstance(value, Tensor):
        return value.dtype, value._array.shape, value.device.type
    if type(value) in (list, tuple):
        return type(value), *[_key(item) for item in value]
    if type(value) is dict:
        return dict, *[(name, _key(item)) for name, item in value.items()]
    if type(value) is float:
        return float, value.hex()  # 0.0 and -0.0 are not the same
    hash(value)
    return type(value), value


def _described(part: Any) -> str:
    return str(part[1]) if len(part) > 1 else str(part)


def eager(function: ScriptFunction) -> Plain:
    """A scripted function as transforms see it: an operator at a time."""
    if isinstance(function, GradientFunction | TransformedFunction):
        return function.plain
    signature, executor = function._signature, function._executor

    def one_by_one(*args: Any, **kwargs: Any) -> Any:
        return executor(*signature.bind(args, kwargs))

    one_by_one.__name__ = one_by_one.__qualname__ = function.name
    one_by_one.__doc__ = function.__doc__
    return one_by_one


def _base(function: ScriptFunction) -> Function:
    return function.base if isinstance(function, GradientFunction | TransformedFunction) else function.script_function


def _jvp(function: Plain, argnums: tuple[int, ...]) -> Plain:
    """The tangents as a function of all arguments, then the tangents of some."""

    def along(*args: Any) -> Any:
        count = len(args) - len(argnums)
        primals, rest = [args[n] for n in argnums], list(args[:count])

        def of_primals(*values: Any) -> Any:
            for n, value in zip(argnums, values, strict=True):
                rest[n] = value
            return function(*rest)

        return forward.jvp(of_primals, tuple(primals), tuple(args[count:]))

    return along


def _hvp(function: Plain, argnums: int | tuple[int, ...]) -> Plain:
    """The gradient and its products as a function of all arguments, then the vectors."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums

    def along(*args: Any) -> Any:
        count = len(args) - len(numbers)
        rest = list(args[:count])

        def of_primals(*values: Any) -> Any:
            for n, value in zip(numbers, values, strict=True):
                rest[n] = value
            return function(*rest)

        return forward.jvp(
            reverse.grad(of_primals, 0 if isinstance(argnums, int) else tuple(range(len(numbers)))),
            tuple([args[n] for n in numbers]), tuple(args[count:]),
        )  # fmt: skip

    return along


def _vjp(function: Plain, argnums: tuple[int, ...]) -> Plain:
    """What goes back as a function of all arguments, then the cotangents of the results."""

    def back(*args: Any) -> Any:
        values, cotangents = args[: len(argnums)], args[len(argnums) :]
        return reverse._taped(function, values, False)[1](cotangents if len(cotangents) > 1 else cotangents[0])

    return back


OF_ARRAYS: Final = (
    "{kind} is of functions of tensors, and {name} is one of NumPy's arrays: annotate its parameters as "
    "flambeau.Tensor, and pass flambeau.from_numpy(x). NumPy's functions of tensors are the operators that do the same"
)
PLAIN: Final[dict[str, Callable[..., Plain]]] = {
    "jacrev": jacobians.jacrev, "jacfwd": jacobians.jacfwd, "hessian": jacobians.hessian, "vmap": vmap,
    "jvp": _jvp, "hvp": _hvp, "vjp": _vjp, "grad": reverse.grad, "value_and_grad": reverse.value_and_grad,
}  # fmt: skip
"""The transforms of Python functions."""


@SCRIPTED_TRANSFORM.provide
def transformed(kind: str, function: Any, **options: Any) -> Any:
    """The transform of a scripted function, the same one each time that it is asked for: as a scripted function, or,
    where there is no program of it, as a Python function that runs compiled code. None for other functions. Raises
    TypeError for functions of arrays, which have no transforms.
    """
    if isinstance(function, ArrayFunction):
        raise TypeError(OF_ARRAYS.format(kind=kind, name=function.__name__))
    if not isinstance(function, ScriptFunction | TreeTransform | OpenTransform):
        return None
    if isinstance(function, ScriptFunction) and function._first:
        return None
    key = (kind, *[(name, hashable(option)) for name, option in options.items()])
    try:
        is_known = key in function.transforms
    except TypeError:  # what is no axis, and refused by name
        return None
    if not is_known:
        function.transforms[key] = _new(kind, function, options)
    return function.transforms[key]


_scripts: Final[KeptOn[Function, ScriptFunction]] = KeptOn()


@CONTAINER_GRADIENT.provide
def value_and_gradient(function: Function, argnums: tuple[int, ...], *, has_aux: bool) -> Any:
    """What gives the value and the gradients of a function of containers that runs in a program."""
    script = _scripts.get(function)
    if script is None:
        script = _scripts[function] = ScriptFunction(function)
    transform = transformed("value_and_grad", script, argnums=argnums, has_aux=has_aux)
    return transform.without_program if isinstance(transform, GradientFunction) else transform


def _along(compiled: ScriptFunction, function: ScriptFunction, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """A product along tangents: behind all arguments of a function come the tangents of the first ones."""
    return compiled(*function._signature.bind(tuple(primals), {}), *tangents)


def _any_call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Axes of examples are no matter."""
    return True


def _covered(function: Function, in_dims: Any) -> Callable[[Any, Any], bool]:
    """Which calls of a `vmap` its program is for: axes go by place, and what is given by name is the same for all."""
    dims = in_dims_of(function, in_dims) or []
    count = len(in_dims) if isinstance(in_dims, tuple) else sum(dim is not None for dim in dims)
    batched = {a.name for a, dim in zip(function.schema.arguments, dims, strict=False) if dim is not None}

    def covers(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        return len(args) == count and batched.isdisjoint(kwargs)

    return covers


def _new(
    kind: str, function: ScriptFunction | TreeTransform | OpenTransform, options: dict[str, Any]
) -> Callable[..., Any]:
    if isinstance(function, OpenFunction | OpenTransform):
        return OpenTransform(kind, function, options, PLAIN[kind](eager_open(function), **options), transformed)
    new = _of_structures(kind, function, options)
    if isinstance(function, ScriptFunction) and function.by_types is not None and isinstance(new, ScriptFunction):
        new.by_types = ByTypesOfTransform(function.by_types, partial(transformed, kind, **options))
    return new


def _of_structures(
    kind: str, function: ScriptFunction | TreeTransform, options: dict[str, Any]
) -> Callable[..., Any]:  # fmt: skip
    if isinstance(function, TreeTransform):
        alone = PLAIN[kind](function.eager, **options)
        return _of_trees(kind, function, options, alone, _without_graph(function.base, alone, kind))
    if not goes_by_trees(function.script_function, kind):
        return _of_leaves(kind, function, options)
    inner = function.by_trees if isinstance(function, GradientFunction | TransformedFunction) else None
    alone = PLAIN[kind](eager(function), **options)
    return _of_trees(kind, inner or function, options, alone, _of_leaves(kind, function, options))


def _of_trees(
    kind: str, function: ScriptFunction | TreeTransform, options: dict[str, Any], alone: Plain, otherwise: Plain
) -> Callable[..., Any]:
    """A transform by what lies in containers; `alone` runs an operator at a time, `otherwise` is what a call is where
    there is no code for its containers."""
    tree = TreeTransform(kind, function, options, alone, otherwise, transformed)
    if kind in ("jvp", "hvp"):
        return TreeProducts(tree)
    if isinstance(otherwise, GradientFunction | TransformedFunction):
        otherwise.by_trees = tree
        return otherwise
    return tree


def _of_leaves(kind: str, function: ScriptFunction, options: dict[str, Any]) -> Callable[..., Any]:
    plain = eager(function)
    alone = PLAIN[kind](plain, **options)
    complete = alone
    is_covered: Callable[[Any, Any], bool] = _any_call
    batches = None
    if kind == "vmap" and (dims := in_dims_of(function.script_function, options["in_dims"])) is not None:
        complete = vmap(plain, **{**options, "in_dims": tuple(dims)})
        is_covered = _covered(function.script_function, options["in_dims"])
        batches = Batches(function.script_function, dims, options["out_dims"])
    try:
        if kind in ("grad", "value_and_grad"):
            program = gradient_of(function.script_function, with_value=kind != "grad", **options)
            REGISTRY.attach(program)
            return GradientFunction(program, _base(function), alone)
        program = program_of(kind, function.script_function, **options)
    except (TypeError, ValueError):
        return _without_graph(_base(function), alone, kind)
    new = TransformedFunction(program, _base(function), alone, complete, is_covered, batches, along=kind in ALONG)
    return partial(_along, new, function) if kind in ("jvp", "hvp") else new


def _without_graph(base: Function, plain: Plain, kind: str) -> Callable[..., Any]:
    """A transform that no program says: by code for the arguments as they are given."""
    stages = Stages(base, plain, None, f"{base.name}_{kind}")

    @functools.wraps(plain)
    def transform(*args: Any, **kwargs: Any) -> Any:
        if kwargs or thread.is_plain or observer.current() is not None:
            return plain(*args, **kwargs)
        return stages(args, lambda: plain(*args))

    if kind in ("jvp", "hvp"):
        return lambda primals, tangents: transform(*primals, *tangents)
    return transform
