"""Functions of Python that take or make arrays of NumPy, and are compiled for those of each call.

>>> import numpy as np, flambeau
>>> @flambeau.script
... def total(x: np.ndarray) -> float:
...     return x.sum()
>>> type(total).__name__, total(np.ones(3))
('ArrayFunction', 3.0)
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.executor.options import Options
from flambeau.frontend.closures.template import Template
from flambeau.frontend.emit.builtins.library_functions import ARRAY_LIBRARY, ARRAY_MAKERS
from flambeau.frontend.emit.numpy.array_promotion import DtypeError
from flambeau.frontend.emit.numpy.index_tricks import index_trick
from flambeau.frontend.emit.numpy.numpy_creation import PARAMETERS, makes_array
from flambeau.frontend.emit.numpy.random_functions import RANDOM_FUNCTIONS
from flambeau.frontend.scopes.array_annotations import is_bare_container, may_name_arrays, names_array
from flambeau.frontend.scopes.named_objects import python_value
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.source.python_source import NameScope, innermost_function
from flambeau.frontend.trees.tree_views import Apply, Select, Subscript, Var
from flambeau.jit.array_function import ArrayFunction
from flambeau.jit.dtype_arguments import is_dtype, type_of_dtype
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.resolver import PythonResolver, compile_python_function
from flambeau.jit.unannotated import reads_arrays
from flambeau.schema.array_type import array_of, holds_tensors
from flambeau.schema.dtype import DType, bool_, complex128, float64, int64, uint8, uint32, uint64
from flambeau.schema.dtype_code import DtypeCode
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    FLOAT,
    INT,
    STRING,
    DictType,
    ListType,
    NamedType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError

_MAKERS: Final = frozenset(
    function.__name__
    for function in (*PARAMETERS, *RANDOM_FUNCTIONS, *ARRAY_MAKERS, *ARRAY_LIBRARY)
    if not any(hasattr(kind, function.__name__) for kind in (list, str, dict, set))
) | {"r_", "c_", "mgrid", "ogrid", "ix_"}
"""The functions of NumPy that give arrays, by name, but those whose names are methods of Python's containers."""
_USUAL: Final = (
    (float64, 1), (float64, 2), (int64, 1), (int64, 2), (float64, 3), (bool_, 2), (bool_, 1), (complex128, 1),
    (complex128, 2), (uint64, 1), (uint8, 1), (uint8, 2), (uint32, 1),
)  # fmt: skip
"""Dtypes and ranks of arrays that a function with annotations is compiled for, to see whether it can be."""
_FLOAT64: Final = DtypeCode(float64)


_WITHOUT_ARRAYS: Final = ((INT, INT), (FLOAT, FLOAT), (STRING, STRING), (STRING, INT), (INT, STRING))
"""Types of the first parameter and of the others that a function without annotations is compiled for."""
_INTS: Final = ListType(INT)
_PAIR: Final = TupleType((INT, INT))
_OF_CONTAINERS: Final = (
    (_INTS, _INTS), (_INTS, INT), (ListType(_INTS), ListType(_INTS)), (ListType(STRING), STRING),
    (DictType(STRING, INT), STRING), (DictType(STRING, ListType(STRING)), STRING),
    (SetType(_PAIR), INT), (SetType(INT), SetType(INT)), (DictType(_PAIR, INT), INT), (ListType(_PAIR), INT),
)  # fmt: skip
"""Such types with lists, dicts and sets among them."""


def array_function(fn: Any, classes: ModuleClasses, options: Options) -> ArrayFunction | None:
    """A Python function that takes arrays of NumPy; None for others.

    Raises CompileError for what is refused whatever the arrays are.
    """
    inner = innermost_function(fn)
    if not _may_be_of_arrays(inner):
        return None
    resolver = PythonResolver(NameScope.of_function(fn), classes, inner.__name__)
    template = resolver.template(fn)
    assert template is not None
    params = template.tree.decl.params
    named = [p.name for p in params if p.annotation is not None and names_array(p.annotation, template.resolver)]
    if not named and not _returns_array(template) and not _makes_or_reads(template, inner):
        return None
    if template.tree.decl.vararg is not None or template.tree.decl.kwarg is not None:
        return None
    function = function_by_call(fn, classes, options)
    declared = {p.name: type_of_tree(p.annotation, template.resolver) for p in params if p.annotation is not None}
    if all(p.annotation is not None or template.defaults.get(p.name) is not None for p in params):
        _check(function, {name: declared[name] for name in named})
    return function


def function_by_call(fn: Any, classes: ModuleClasses, options: Options) -> ArrayFunction:
    """A Python function that is compiled for the arrays of a call, and what it brings where nothing is annotated."""
    inner = innermost_function(fn)
    template = PythonResolver(NameScope.of_function(fn), classes, inner.__name__).template(fn)
    assert template is not None
    params = template.tree.decl.params
    named = [p.name for p in params if p.annotation is None or names_array(p.annotation, template.resolver)]
    return ArrayFunction(inner, template, named, options, lambda: compile_python_function(fn, classes))


def _may_be_of_arrays(fn: types.FunctionType) -> bool:
    """Whether arrays are named in annotations or made in the body, as far as texts and names tell."""
    if not _MAKERS.isdisjoint(fn.__code__.co_names) or reads_arrays(fn):
        return True
    return any(may_name_arrays(a, fn.__globals__.get) for a in getattr(fn, "__annotations__", {}).values())


def _returns_array(template: Template) -> bool:
    returns = template.tree.decl.returns
    return returns is not None and names_array(returns, template.resolver)


def _makes_or_reads(template: Template, inner: types.FunctionType) -> bool:
    """Whether a function has no tensors in its signature, and names arrays or makes some with functions of NumPy."""
    resolver = template.resolver
    if _takes_tensors(template):
        return False
    if reads_arrays(inner):
        return True
    nodes = [node for statement in template.tree.body for node in statement.walk()]
    named = [node.callee for node in nodes if isinstance(node, Apply)]
    named += [node.value for node in nodes if isinstance(node, Subscript)]
    return any(isinstance(tree, Select) and _may_make_array(python_value(tree, resolver)) for tree in named)


def _takes_tensors(template: Template) -> bool:
    """Whether tensors, or objects, which may hold some, are in the signature: also where nothing is annotated."""
    decl, resolver = template.tree.decl, template.resolver
    if any(p.annotation is None for p in decl.params):
        return True
    annotations = [p.annotation for p in decl.params]
    if decl.returns is not None and not is_bare_container(decl.returns, resolver):
        annotations.append(decl.returns)
    types = [type_of_tree(a, resolver) for a in annotations if a is not None]
    return any(holds_tensors(type_) or isinstance(type_, NamedType) for type_ in types)


def _may_make_array(value: Any) -> bool:
    if makes_array(value) or index_trick(value) is not None:
        return True
    is_of_library = callable(value) and (value in ARRAY_MAKERS or value in ARRAY_LIBRARY)
    return is_of_library or (callable(value) and value in RANDOM_FUNCTIONS and value is not np.random.seed)


def _check(function: ArrayFunction, declared: Mapping[str, Type]) -> None:
    """Compile a function for arrays of the usual dtypes and ranks until one is taken.

    Raises the refusal that comes last in the program if none is. Of several arrays, which may be of different dtypes
    and ranks when it is called, that says nothing unless those of several ranks get as far and are refused alike, for
    something else than their dtypes.
    """
    refusals = list[tuple[int, CompileError]]()
    for dtype, rank in _USUAL:
        try:
            function.compiled_for({name: with_arrays(type_, dtype, rank) for name, type_ in declared.items()})
            return
        except CompileError as error:
            refusals.append((rank, error))
    last = max(_place(error) for _, error in refusals)  # arrays of another rank than is meant are refused elsewhere
    furthest = [(rank, error) for rank, error in refusals if _place(error) == last]
    ranks, messages = ({rank for rank, _ in furthest}, {error.message for _, error in furthest})
    is_about_dtypes = any(isinstance(error, DtypeError) for _, error in furthest)
    if len(declared) == 1 or (len(ranks) > 1 and len(messages) == 1 and not is_about_dtypes):
        raise furthest[0][1]


def has_meaning(function: ArrayFunction, refusals: list[CompileError]) -> bool:
    """Whether a function without annotations has a meaning where its first argument is an array, of the usual dtypes
    and ranks, and the others are arrays too, or numbers, or the other way round, or all are numbers or texts, or where
    what it indexes are arrays, and everything else numbers. What is said where the first
    is an array goes into `refusals`.
    """
    rest = len(_open_parameters(function)) > 1
    arrays = [array_of(dtype, rank) for dtype, rank in _USUAL[:4]]
    kinds = [(array, other) for array in arrays for other in ((array, FLOAT, INT, _FLOAT64) if rest else (INT,))]
    others = [(INT, _FLOAT64), *((INT, array) for array in arrays if rest), *_WITHOUT_ARRAYS]
    is_taken = _means(function, kinds, refusals) or _means(function, others, [])
    return is_taken or any(_is_taken(function, types, []) for types in _by_indexes(function))


def has_meaning_of_containers(function: ArrayFunction) -> bool:
    """Whether it has one where the first argument is a list, a dict or a set of ints, pairs of ints or texts."""
    return _means(function, _OF_CONTAINERS, [])


def furthest(refusals: Sequence[CompileError], other: CompileError, *, is_numpys: bool) -> CompileError:
    """Of what was said of a function for arrays, and for tensors, what comes last in the program: how far it has a
    meaning says which is meant. `is_numpys`: for arrays, where both are refused in one line."""
    last = max(refusals, key=_place, default=other)
    line, other_line = _place(last)[0], _place(other)[0]
    return last if line > other_line or (is_numpys and line == other_line) else other


def _open_parameters(function: ArrayFunction) -> list[str]:
    return [p.name for p in function.tree.decl.params if p.annotation is None]


def _means(function: ArrayFunction, kinds: Iterable[tuple[Type, Type]], refusals: list[CompileError]) -> bool:
    first, *rest = _open_parameters(function)
    defaults = function.parameter_defaults
    dtypes = {name: type_of_dtype(defaults[name]) for name in rest if is_dtype(defaults.get(name))}
    return any(
        _is_taken(function, {first: own, **dict.fromkeys(rest, other), **dtypes}, refusals) for own, other in kinds
    )


def _is_taken(function: ArrayFunction, types: Mapping[str, Type], refusals: list[CompileError]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is said of these does not hold for what calls bring
            function.compiled_for(types)
    except CompileError as error:
        refusals.append(error)
        return False
    return True


def _by_indexes(function: ArrayFunction) -> Iterator[Mapping[str, Type]]:
    """Arrays where a function indexes a parameter, of the rank that it has indexes for, and numbers elsewhere."""
    names, ranks = _open_parameters(function), dict[str, int]()
    for statement in function.tree.body:
        for tree in statement.walk():
            if isinstance(tree, Subscript) and isinstance(tree.value, Var) and tree.value.name in names:
                ranks[tree.value.name] = max(ranks.get(tree.value.name, 1), len(tree.indices))
    if 0 < len(ranks) < len(names):
        for dtype in (float64, int64):
            arrays = {name: array_of(dtype, rank) for name, rank in ranks.items()}
            yield from ({**dict.fromkeys(names, number), **arrays} for number in (INT, FLOAT))


def with_arrays(type_: Type, dtype: DType, rank: int) -> Type:
    """A declared type with arrays in the place of tensors; what may be None is none."""
    if isinstance(type_, TensorType):
        return array_of(dtype, rank)
    if isinstance(type_, OptionalType):
        return with_arrays(type_.element, dtype, rank)
    inner = type_.contained
    return type_.with_contained(tuple(with_arrays(t, dtype, rank) for t in inner)) if inner else type_


def _place(error: CompileError) -> tuple[int, ...]:
    """The line and column that a refusal is of."""
    return (0, 0) if error.range is None else tuple(error.range.file_line_col()[1:3])
