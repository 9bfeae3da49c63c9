"""What functions without annotations mean for a call that brings arrays of NumPy, as far as their names tell.

np.sqrt(x) * 2                names NumPy: arrays in, arrays out
x.std()                       names nothing: what a call brings, arrays or tensors
flambeau.relu(x)              names what is of tensors: tensors, on the memory of arrays

A function that runs as Python is one of arrays for arrays; so is what is compiled of it, unless it names what arrays do
not have.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np

from flambeau.frontend.source.python_source import closure_variables, innermost_function
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_base import Tree
from flambeau.frontend.trees.tree_views import Apply, Select, SetLiteral, StringLiteral, Var
from flambeau.jit.function import ScriptFunction
from flambeau.jit.unannotated import unannotated_parameters
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import FrontendError

_OF_NUMBERS: Final = frozenset(
    str(kind) for cls in (bool, int, float, complex, str, tuple, list, dict) for kind in (cls, cls.__name__)
)
"""Annotations of what is no array, and do not say what is in it, as classes and as texts."""
_TENSOR_LIBRARIES: Final = ("flambeau", "torch")
_TENSOR_KEYWORDS: Final = frozenset(("dim", "keepdim", "unbiased", "dim0", "dim1", "requires_grad"))
"""Keywords of PyTorch's that functions of NumPy, which have `correction` and `device` too, do not have."""
_SETS: Final = frozenset(("set", "Counter"))
_OF_SETS: Final = frozenset(("add", "subtract"))
"""Methods that sets and counters have, and tensors."""
_OF_THE_LANGUAGE: Final = frozenset(("prange", "annotate", "jit"))
"""What of this library says nothing of tensors."""


class Meaning(Enum):
    """What a call with arrays is of."""

    TENSORS = "tensors on the memory of arrays"
    ANY = "arrays for arrays; tensors before, and for numbers what they are in Python"
    NUMPY = "arrays for arrays and numbers"


def meaning_of(fn: Any) -> Meaning:
    """What a function of Python means for calls that bring arrays, or numbers.

    >>> def roots(x): return np.sqrt(x)
    >>> def spread(x): return x.std()
    >>> def as_row(x): return x.unsqueeze(0)
    >>> [meaning_of(f).name for f in (roots, spread, as_row)]
    ['NUMPY', 'ANY', 'TENSORS']
    """
    inner = innermost_function(fn)
    is_open = bool(unannotated_parameters(fn)) and _OF_NUMBERS.issuperset(map(str, inner.__annotations__.values()))
    if not is_open or _is_of_tensors(inner, set()):
        return Meaning.TENSORS
    modules = (value.__name__ for value in _named(inner).values() if isinstance(value, types.ModuleType))
    return Meaning.NUMPY if any(name.partition(".")[0] == "numpy" for name in modules) else Meaning.ANY


def _named(fn: types.FunctionType) -> dict[str, Any]:
    """What the names of a function stand for that is around it, those of functions inside included."""
    names = {name for code in _codes(fn.__code__) for name in code.co_names}
    return {name: fn.__globals__[name] for name in names if name in fn.__globals__} | closure_variables(fn)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_of_tensors(fn: types.FunctionType, seen: set[types.FunctionType]) -> bool:
    """Whether a function, or one that it calls, names what tensors have and arrays do not."""
    if fn in seen:
        return False
    seen.add(fn)
    named = _named(fn)
    try:
        trees = list(get_tree(fn).walk())
    except FrontendError:  # what has no source says nothing
        trees = []
    makes_sets = any(isinstance(tree, SetLiteral) for tree in trees)
    makes_sets = makes_sets or any(not _SETS.isdisjoint(code.co_names) for code in _codes(fn.__code__))
    if makes_sets:
        trees = [tree for tree in trees if not (isinstance(tree, Select) and tree.name in _OF_SETS)]
    of_texts = {id(tree.callee) for tree in trees if isinstance(tree, Apply) and _splits_text(tree)}
    trees = _without_own_methods(trees, named)
    if any(_says_tensor(tree, named) for tree in trees if id(tree) not in of_texts):
        return True
    return any(_stands_for_tensors(value, seen) for value in named.values() if not isinstance(value, types.ModuleType))


def _without_own_methods(trees: Sequence[Tree], named: Mapping[str, Any]) -> list[Tree]:
    """All but the methods that a class of the user's has, whose names may be those of tensors' methods."""
    classes = [v for v in named.values() if isinstance(v, type) and not _is_of_library(v) and not issubclass(v, Module)]
    methods = {name for cls in classes for name in vars(cls)}
    return [tree for tree in trees if not (isinstance(tree, Select) and tree.name in methods)]


def _says_tensor(tree: Tree, named: Mapping[str, Any]) -> bool:
    """Whether a tree names a function of tensors, an attribute that arrays do not have, or such a keyword."""
    if isinstance(tree, Apply):
        return any(keyword.name in _TENSOR_KEYWORDS for keyword in tree.keywords)
    if not isinstance(tree, Select):
        return False
    root = tree.value
    while isinstance(root, Select):
        root = root.value
    module = named.get(root.name) if isinstance(root, Var) else None
    if not isinstance(module, types.ModuleType):
        if isinstance(tree.value, Select) and tree.value.name == "dtype":
            return not hasattr(np.dtype, tree.name)
        return hasattr(Tensor, tree.name) and not hasattr(np.ndarray, tree.name)
    return root is tree.value and _is_tensor_library(module) and tree.name not in _OF_THE_LANGUAGE


def _splits_text(tree: Apply) -> bool:
    """Whether a call is `x.split()` or `x.split(",")`, of a text: tensors split by numbers."""
    if not isinstance(tree.callee, Select) or tree.callee.name != "split":
        return False
    return all(isinstance(argument, StringLiteral) for argument in tree.args) and not tree.keywords


def _is_tensor_library(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in _TENSOR_LIBRARIES


def _stands_for_tensors(value: Any, seen: set[types.FunctionType]) -> bool:
    """Whether an object around a function is of tensors."""
    if isinstance(value, Tensor | Module) or value is Tensor:
        return True
    if isinstance(value, ScriptFunction):
        return value.array_source is None or _is_of_tensors(innermost_function(value.array_source), seen)
    if isinstance(value, types.FunctionType) and not _is_of_library(value):
        annotated = any("Tensor" in str(annotation) for annotation in value.__annotations__.values())
        return annotated or _is_of_tensors(value, seen)
    return callable(value) and _is_of_library(value) and getattr(value, "__name__", "") not in _OF_THE_LANGUAGE


def _is_of_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in _TENSOR_LIBRARIES
