"""Scripted functions that take arrays of NumPy: compiled for the dtypes and ranks that a call brings.

A parameter annotated `np.ndarray` or `npt.NDArray[...]` means what NumPy means, so that what `x[i]` is, a number or a
row, follows from the array of the call. Results that are arrays to the program are arrays to the caller.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import native_call
from flambeau.codegen.callable_type import MISSED, DispatchStub, prepare
from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.graph_origin import provenance_of_graph
from flambeau.executor.options import Options
from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.template import Template, fitting_defaults
from flambeau.jit import open_containers
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.array_arguments import CopiedArguments, lies_well
from flambeau.jit.array_calls import Classes, Parameters, array_call
from flambeau.jit.array_errors import FAILED, array_error
from flambeau.jit.array_results import as_arrays
from flambeau.jit.compiling import compiling, tidy
from flambeau.jit.container_contents import contents_of
from flambeau.jit.dtype_arguments import code_or_value, is_dtype, type_of_dtype
from flambeau.jit.function import ScriptFunction
from flambeau.jit.latest_variant import LatestVariant
from flambeau.jit.value_conversion import A_GENERATOR
from flambeau.jit.variants import Variants, kind_text
from flambeau.program.function import Function
from flambeau.schema.array_type import array_of, holds_arrays, scalar_of
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.subtype import unify
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STRING,
    DictType,
    ListType,
    NamedType,
    Type,
)
from flambeau.specialise.cache import differences
from flambeau.tensor.observer import thread, watchers
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.native_type import let_instances_be_native

Pattern = tuple[Any, ...]
"""Dtypes and ranks of the arrays among the arguments: what a variant is compiled for."""
_KEYS: Final[dict[Any, Type]] = {str: STRING, int: INT, float: FLOAT, bool: BOOL}
_NUMBERS: Final[dict[Any, Type]] = {int: INT, float: FLOAT, bool: BOOL, complex: COMPLEX, str: STRING}
_GENERATORS: Final = frozenset((np.random.Generator, np.random.RandomState))
_PLAIN: Final = frozenset(_NUMBERS)
_LIE_WELL: Final = frozenset((bool, int, float, complex, str, type(None), Tensor))
"""Classes of arguments that are no arrays of NumPy."""
MAX_VARIANTS: Final = 64
"""Combinations of dtypes and ranks for which code of a function is kept."""
NOT_CALLED: Final = (
    "{name} is compiled for the dtypes and ranks of the arrays that a call brings, and was not called yet: call it, "
    "and look at it then"
)
NO_ARRAY: Final = (
    "{function}() Expected a value of type 'np.ndarray' for argument '{name}' but instead found type '{kind}': "
    "write np.array({name})"
)


class ArrayFunction(LatestVariant):
    """A scripted function of arrays; what it shows is what was compiled for the last call."""

    _python: Callable[..., Any]

    def __init__(
        self,
        python: Callable[..., Any],
        template: Template,
        arrays: Sequence[str],
        options: Options,
        generic: Callable[[], Function],
    ) -> None:
        """`arrays` are the parameters that take arrays or anything; `generic` compiles it for tensors, to look at."""
        self.array_source = python
        self._python = python
        self._template = template
        self._tree = lambda: template.tree
        self._names = [p.name for p in template.tree.decl.params]
        self._parameters = _parameters_of(python, self._names)
        self._arrays = [(p.name in arrays, k, p.name) for k, p in enumerate(template.tree.decl.params)]
        self._open = frozenset([p.name for p in template.tree.decl.params if p.annotation is None])
        self._options = options
        self._generic = generic
        self.variants_cache: Variants[Pattern, ScriptFunction[..., Any]] = Variants(
            template.tree.name, "arrays", "dtypes and ranks of its arrays", MAX_VARIANTS, self._compare
        )
        self._latest: ScriptFunction[..., Any] | None = None
        self.stub = DispatchStub(most=1)
        """Where native code finds what serves calls like the last."""
        prepare(self, self.stub, ArrayFunction._call_slowly)
        functools.update_wrapper(self, python)
        self.__name__ = template.tree.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, compiled for such arrays. Raises CompileError for what the program does not mean with them."""
        # CPython comes here until something serves calls; then it jumps into native code, which asks that first.
        serve = self.stub.target
        if serve is not None and not watchers.count.value:
            result = serve(*args, **kwargs)
            if result is not MISSED:
                return result
        return self._call_slowly(*args, **kwargs)

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._in_order(args, kwargs)
        try:
            return self._call_by_pattern(args, kwargs)
        except ArgumentError:
            self._refuse_lists(args, kwargs)
            raise

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments by their places, with defaults, where all may be without names. Raises ArgumentError."""
        count = self._parameters.positional
        if not kwargs and len(args) == count == len(self._names):
            return args, kwargs
        ordered = self._parameters.by_place(args, kwargs)
        if ordered is None:
            self._check_names(args, kwargs)
        elif count == len(self._names):
            return ordered, {}
        return args, kwargs

    def _check_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise ArgumentError for arguments that are missing or unknown, before any of them says what is compiled."""
        try:
            inspect.signature(self._python).bind(*args, **kwargs)
        except TypeError as error:
            shown = f"{self.__name__}{inspect.signature(self._python)}"
            raise ArgumentError(f"{self.__name__}() {error}. Declaration: {shown}") from None

    def _call_by_pattern(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The call by the variant for such arguments."""
        if thread.is_plain:
            return self._python(*args, **kwargs)
        if self.by_types is not None and (of_tensors := self.by_types.of(args, kwargs)) is not None:
            self._latest = of_tensors
            return of_tensors(*args, **kwargs)
        args, kwargs, scalars = self._with_arrays(args, kwargs)
        if not all(type(a) in _LIE_WELL or lies_well(a) for a in (*args, *kwargs.values())):
            return self._call_with_copies(args, kwargs, scalars)
        return self._call_variant(self.variant_for(args, kwargs, scalars), args, kwargs)

    def _refuse_lists(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Raise ArgumentError for a list in place of an array, which was refused."""
        passed = dict(zip(self._names, args, strict=False)) | kwargs
        for is_array, _, name in self._arrays:
            value = passed.get(name)
            if is_array and isinstance(value, list | tuple | range):
                text = NO_ARRAY.format(function=self.__name__, name=name, kind=type(value).__name__)
                raise ArgumentError(text) from None

    def _call_with_copies(self, args: Sequence[Any], kwargs: dict[str, Any], scalars: Collection[str]) -> Any:
        """The call where some arguments may be arrays that no tensor can lie as."""
        copied = CopiedArguments((*args, *kwargs.values()), (*self._names[: len(args)], *kwargs))
        args, kwargs = copied.arguments[: len(args)], dict(zip(kwargs, copied.arguments[len(args) :], strict=True))
        variant = self.variant_for(args, kwargs, scalars)
        copied.check_overlaps(variant.graph)
        args, kwargs = [_without_scalars(a) for a in args], {name: _without_scalars(a) for name, a in kwargs.items()}
        try:
            return copied.own(self._call_variant(variant, args, kwargs))
        finally:
            copied.write_back()

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        args, kwargs, scalars = self._with_arrays(*self._in_order(tuple(args), kwargs))
        copied = CopiedArguments((*args, *kwargs.values()), (*self._names[: len(args)], *kwargs))
        args, kwargs = copied.arguments[: len(args)], dict(zip(kwargs, copied.arguments[len(args) :], strict=True))
        variant = self.variant_for(args, kwargs, scalars)
        by_name = {name: code_or_value(_without_scalars(a)) for name, a in kwargs.items()}
        return variant._running([code_or_value(_without_scalars(a)) for a in args], by_name)

    @staticmethod
    def _call_variant(variant: ScriptFunction[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if any(map(is_dtype, (*args, *kwargs.values()))):
            args, kwargs = [*map(code_or_value, args)], {name: code_or_value(a) for name, a in kwargs.items()}
        try:
            result = variant(*args, **kwargs)
        except FAILED as error:
            raise array_error(error) from error.__cause__
        type_ = variant.script_function.result
        return result if type_ is None or thread.observer is not None else as_arrays(result, type_)

    def _with_arrays(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any], Collection[str]]:
        """Arguments with arrays without dimensions in the place of NumPy's scalars, where no other type is declared;
        and the names of the parameters that are given these."""
        if not any(isinstance(a, np.generic) for a in (*args, *kwargs.values())):
            return args, kwargs, ()
        open_names = [name for is_array, _, name in self._arrays if is_array]
        named = [*zip(self._names, args, strict=False), *kwargs.items()]
        scalars = [name for name, value in named if isinstance(value, np.generic) and name in open_names]
        converted = [np.asarray(value) if name in scalars else value for name, value in named]
        count = len(named) - len(kwargs)
        by_name = dict(zip(kwargs, converted[count:], strict=True))
        return (*converted[:count], *args[count:]), by_name, scalars

    def variant_for(
        self, args: Sequence[Any], kwargs: dict[str, Any], scalars: Collection[str] = ()
    ) -> ScriptFunction[..., Any]:
        """The function as compiled for the dtypes and ranks of these arguments, of which some were `scalars`."""
        count = len(args)
        parts = [
            (name, _pattern_of(args[k] if k < count else kwargs.get(name, self._template.defaults.get(name))))
            for is_array, k, name in self._arrays if is_array
        ]  # fmt: skip
        pattern = tuple([(np.generic, part[0]) if name in scalars else part for name, part in parts])
        variant = self.variants_cache.called(pattern, lambda cause: self._compiled(pattern, cause))
        self._latest = variant
        self._serve_by(variant, pattern, self._parameters.by_place(args, kwargs))
        return variant

    def _serve_by(
        self, variant: ScriptFunction[..., Any], pattern: Pattern, args: tuple[Any, ...] | None
    ) -> None:  # fmt: skip
        """Have calls like this one go by the fast paths of a variant; not where they cannot tell what lies in an
        argument.
        """
        contents = [contents_of(part) for part in pattern]
        is_seen = [_is_seen_natively(part) or c is not None for part, c in zip(pattern, contents, strict=True)]
        if args is None or not all(is_seen):
            self.stub.target = None
            return
        parts = iter(pattern)
        classes = tuple([_class_of(args[k], next(parts)) if is_array else None for is_array, k, _ in self._arrays])
        if self._served is None or self._served[:2] != (variant, classes):
            inside = iter(contents)
            expected = tuple([next(inside) if is_array else None for is_array, _, _ in self._arrays])
            result = variant.script_function.result
            serve = array_call(variant._executor.stub, self._parameters, classes, expected, result)
            self._served = (variant, classes, serve)
            native_call.go_native(self, "forward_named")
        self.stub.target = self._served[2]

    _served: tuple[ScriptFunction[..., Any], Classes, Callable[..., Any]] | None = None
    """What served calls last: of which variant, for which classes."""

    def _compare(self, pattern: Pattern, other: Pattern) -> str:
        """What is new about a call."""
        return differences(pattern, other, [name for is_array, _, name in self._arrays if is_array], kind_text)

    def _compiled(self, pattern: Pattern, cause: str) -> ScriptFunction[..., Any]:
        if not _GENERATORS.isdisjoint(pattern):
            raise CompileError(A_GENERATOR, self._template.tree.range)
        names = [name for is_array, _, name in self._arrays if is_array]
        compiled = {n: _argument_type(part) for n, part in zip(names, pattern, strict=True)}
        known = {n: self._container(n, part) for n, part in zip(names, pattern, strict=True) if compiled[n] is None}
        objects = {n: t for n, t in known.items() if isinstance(t, NamedType)}
        containers = {n: t for n, t in known.items() if t is not None and n not in objects}
        types = {n: t for n, t in compiled.items() if t is not None}
        try:
            function = self.compiled_for(types | containers | objects)
        except CompileError as error:
            raise (open_containers.with_hint(error, containers) if containers else error) from None
        open_containers.refuse_changes(function, self.__name__, containers)
        function.provenance = provenance_of_graph(function)
        executor = executor_of(function) if self._options == Options() else Executor(function, self._options)
        executor.begin_because(cause)
        return ScriptFunction(function, executor=executor)

    def _container(self, name: str, pattern: Any) -> Type | None:
        """The type of a container of numbers or texts, or of an object, where nothing is annotated."""
        if name not in self._open:
            return None
        if isinstance(pattern, tuple):
            return open_containers.container_type(pattern)
        return open_containers.object_type(pattern)

    def compiled_for(self, types: Mapping[str, Type]) -> Function:
        """The function for parameters of these types."""
        template = self._template
        with compiling((self._python, tuple(types.items())), self.__name__, None):
            bound = Bound(types=types, arrays=True)
            absent = [n for n, t in types.items() if t != NONE and template.defaults.get(n, types) is None]
            defaults = {n: v for n, v in fitting_defaults(template, bound).items() if n not in absent}
            function = template.compile(template.tree, template.resolver, defaults=defaults, bound=bound)
        tidy(function)
        return function

    @property
    def parameter_defaults(self) -> Mapping[str, Any]:
        """The defaults of parameters, by name."""
        return self._template.defaults

    def _variants(self) -> list[ScriptFunction[..., Any]]:
        return [*self.variants_cache.values, *super()._variants()]

    # What the rest looks at is of the variant called last, or before any call of the function for tensors.

    def _shown(self) -> ScriptFunction[..., Any]:
        if self._latest is None:
            try:
                self._latest = ScriptFunction(self._generic())
            except CompileError:
                raise CompileError(NOT_CALLED.format(name=self.__name__), self._template.tree.range) from None
        return self._latest

    def with_options(self, options: Options) -> ScriptFunction:
        """This function run with other options."""
        names = [name for is_array, _, name in self._arrays if is_array]
        return ArrayFunction(self._python, self._template, names, options, self._generic)


let_instances_be_native(ArrayFunction)


def _parameters_of(python: Callable[..., Any], names: Sequence[str]) -> Parameters:
    code, by_place = python.__code__, python.__defaults__ or ()
    known = dict(zip(names[code.co_argcount - len(by_place) : code.co_argcount], by_place, strict=True))
    known |= python.__kwdefaults__ or {}
    defaults = [known[n] if type(known.get(n)) in _NUMBERS or is_dtype(known.get(n)) else MISSED for n in names]
    return Parameters(tuple(map(sys.intern, names)), code.co_argcount, tuple(defaults))


def _argument_type(pattern: Any) -> Type | None:
    """The type of an argument of which this is known, a scalar of NumPy among them; None where it is as declared."""
    is_scalar = isinstance(pattern, tuple) and pattern[0] is np.generic
    return scalar_of(from_numpy_dtype(pattern[1])) if is_scalar else _type_of(pattern)


def _class_of(value: Any, pattern: Any) -> type:
    """The class of an argument; of a scalar of NumPy, in whose place there is an array, its own."""
    is_scalar = isinstance(pattern, tuple) and pattern[0] is np.generic
    return value.dtype.type if is_scalar and isinstance(value, np.ndarray) else type(value)


def _is_seen_natively(pattern: Any) -> bool:
    """Whether fast paths tell an argument of which this is known from those of which something else is: by its class,
    by dtype and rank, or, of a tuple, by those of its items.
    """
    if not isinstance(pattern, tuple):
        return True
    kind, inner = pattern
    if kind is np.generic:
        return True
    if isinstance(kind, type) and issubclass(kind, tuple):
        return all(not isinstance(part, tuple) or isinstance(part[0], np.dtype) for part in inner)
    return isinstance(kind, np.dtype)


def _without_scalars(value: Any) -> Any:
    """A tuple with arrays without dimensions in the place of NumPy's scalars; all else as it is."""
    if not isinstance(value, tuple) or not any(isinstance(item, np.generic | tuple) for item in value):
        return value
    items = [np.asarray(item) if isinstance(item, np.generic) else _without_scalars(item) for item in value]
    return type(value)._make(items) if hasattr(value, "_make") else tuple(items)


def _pattern_of(value: Any) -> Any:
    """What is known of an argument: of an array its dtype and rank, of a list, dict or set those of what is in it."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    if isinstance(value, Tensor):
        return value._array.dtype, value._array.ndim
    if isinstance(value, np.generic):
        return np.generic, value.dtype
    if is_dtype(value):
        return np.dtype, np.dtype(value)
    if isinstance(value, list):
        classes = frozenset(map(type, value))
        return list, classes if classes <= _PLAIN else frozenset(map(_pattern_of, value))
    if isinstance(value, dict):
        return dict, frozenset((type(k), _pattern_of(v)) for k, v in value.items())
    if isinstance(value, tuple):
        return type(value), tuple(map(_pattern_of, value))
    if isinstance(value, set | frozenset):
        return set, frozenset(map(_pattern_of, value))
    return type(value)


def _type_of(pattern: Any) -> Type | None:
    """The type of an argument of which this is known; None where it is as declared."""
    if not isinstance(pattern, tuple):
        return NONE if pattern is type(None) else _NUMBERS.get(pattern)
    kind, inner = pattern
    if kind is set:
        return None
    if kind is np.dtype:
        return type_of_dtype(inner)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return open_containers.tuple_type(kind, list(map(_argument_type, inner)))
    if kind is list:
        element = _common(inner)
        return None if element is None else ListType(element)
    if kind is dict:
        element = _common({item for _, item in inner})
        key = {k for k, _ in inner}
        known = _KEYS.get(key.pop()) if len(key) == 1 else None
        return None if element is None or known is None else DictType(known, element)
    return array_of(from_numpy_dtype(kind), inner)


def _common(patterns: Collection[Any]) -> Type | None:
    """The type of items of such patterns; None for what is no type of arrays, and for no items."""
    types = [_type_of(pattern) for pattern in patterns]
    if not types:
        return array_of(None, None)
    if not all(t is not None and holds_arrays(t) for t in types):
        return None
    return functools.reduce(lambda a, b: None if a is None or b is None else unify(a, b), types)
