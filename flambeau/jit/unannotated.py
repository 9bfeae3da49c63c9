"""Functions whose parameters have no annotations, called with numbers: compiled for what a call brings.

def smooth(x, weight): ...      smooth(array, 0.25)    →    compiled for x : float64[*] and weight : float

Without an annotation a parameter is a Tensor. That leaves no meaning for numbers, so that functions of NumPy's users,
who annotate nothing, would be refused where a call brings one: they are programs on arrays then, as NumPy means them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, Protocol

import numpy as np

from flambeau.codegen.callable_type import DispatchStub
from flambeau.frontend.source.python_source import closure_variables, innermost_function, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import (
    Apply,
    Assign,
    Clause,
    DictComp,
    Expr,
    For,
    ListComp,
    Select,
    Subscript,
    Var,
)
from flambeau.tensor.tensor import Tensor

_NUMBERS: Final = frozenset((bool, int, float, complex))
_CONTAINERS: Final = frozenset((str, list, tuple, dict, set))
_TAKEN: Final = frozenset((*_NUMBERS, *_CONTAINERS, type(None), np.ndarray))
_GATHERS_OR_YIELDS: Final = 0x2C
"""`CO_VARARGS`, `CO_VARKEYWORDS` and `CO_GENERATOR`."""
_OF_NUMPY: Final = frozenset(("axis", "axes", "keepdims", "ddof", "astype", "copy", "fill"))
"""Keywords and methods of arrays that tensors do not have."""
REMEMBERED: Final = 64
"""Kinds of arguments of which it is remembered that they fit nothing else."""


def unannotated_parameters(fn: Any) -> list[str]:
    """The names of parameters without annotations; none for a function that gathers arguments.

    >>> unannotated_parameters(lambda x, n=1: x)
    ['x', 'n']
    """
    inner = innermost_function(fn)
    code = inner.__code__
    if code.co_flags & _GATHERS_OR_YIELDS:
        return []
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name not in inner.__annotations__]


def reads_arrays(function: FunctionType) -> bool:
    """Whether a function names arrays of NumPy that are around it.

    >>> table = np.arange(3)
    >>> reads_arrays(lambda i: table[i]), reads_arrays(lambda i: i)
    (True, False)
    """
    read = [function.__globals__.get(name) for name in function.__code__.co_names]
    around = closure_variables(function).values()
    return any(isinstance(value, np.ndarray) for value in (*read, *around))


def reads_size(fn: Any) -> bool:
    """Whether a function reads `x.size` without calling it."""
    trees = list(get_tree(fn).walk())
    callees = {id(tree.callee) for tree in trees if isinstance(tree, Apply)}
    return any(isinstance(tree, Select) and tree.name == "size" and id(tree) not in callees for tree in trees)


def items_of(trees: Sequence[Any], names: frozenset[str]) -> frozenset[str]:
    """Names, and those of what loops, comprehensions and assignments take out of them, at any depth."""
    loops = [(t.targets, t.iterables) for t in trees if isinstance(t, For)]
    loops += [((t.target,), (t.iterable,)) for t in trees if isinstance(t, ListComp | DictComp | Clause)]
    pairs = [(names_in(targets), names_in(iterables)) for targets, iterables in loops]
    assigned = [t for t in trees if isinstance(t, Assign) and t.value is not None]
    pairs += [(names_in(t.targets), frozenset(filter(None, [root_of(t.value)]))) for t in assigned]
    while later := [targets for targets, sources in pairs if not sources.isdisjoint(names) and not targets <= names]:
        names = names.union(*later)
    return names


def names_in(trees: Iterable[Any]) -> frozenset[str]:
    """All names within some trees."""
    return frozenset([one.name for tree in trees for one in tree.walk() if isinstance(one, Var)])


def root_of(tree: Expr | None) -> str | None:
    """The variable out of which a tree takes something by indices and fields: `p` of `p[0].rest["w"]`."""
    while isinstance(tree, Subscript | Select):
        tree = tree.value
    return tree.name if isinstance(tree, Var) else None


def reads_fields(fn: Any) -> bool:
    """Whether a function reads two attributes or more that neither tensors nor arrays have of parameters without
    annotation, or of their items: so these are named tuples, or objects of a class. One alone may be a slip.

    >>> def grown(p): return p.rate * p.years
    >>> def slip(x): return x.T.sahpe
    >>> reads_fields(grown), reads_fields(slip)
    (True, False)
    """
    trees = list(get_tree(fn).walk())
    names = items_of(trees, frozenset(unannotated_parameters(fn)))
    read: set[str] = set()
    for tree in trees:
        owner = tree.value if isinstance(tree, Select) else None
        owner = owner.value if isinstance(owner, Subscript) else owner
        if isinstance(tree, Select) and isinstance(owner, Var) and owner.name in names:
            read.add(tree.name)
    return sum(not hasattr(np.ndarray, name) and not hasattr(Tensor, name) for name in read) > 1


def may_mean_arrays(fn: Any) -> bool:
    """Whether a function that has no meaning for tensors may have one for arrays: it names NumPy, what NumPy alone has,
    or arrays, reads `x.size`, which tensors call, or fields of an object, or has defaults.
    """
    inner = innermost_function(fn)
    code = inner.__code__
    names_numpy = any(inner.__globals__.get(name) is np for name in code.co_names)
    keywords = {name for constant in code.co_consts if isinstance(constant, tuple) for name in constant}
    names_numpy = names_numpy or bool(_OF_NUMPY & {*code.co_names, *keywords}) or reads_arrays(inner)
    names_numpy = names_numpy or ("size" in code.co_names and reads_size(fn))
    has_defaults = any(d is None for d in parameter_defaults(fn).values())
    return bool(unannotated_parameters(fn)) and (names_numpy or has_defaults or reads_fields(fn))


class ServedFunction(Protocol):
    """A function that keeps what serves calls like its last."""

    stub: DispatchStub

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class ByCall:
    """What a scripted function without annotations is for calls that bring numbers; made when one comes."""

    def __init__(self, fn: Any, make: Callable[[], ServedFunction]) -> None:
        """`make` gives the function that is compiled for what calls bring."""
        code = innermost_function(fn).__code__
        self._names = frozenset(unannotated_parameters(fn))
        self._is_open = [name in self._names for name in code.co_varnames[: code.co_argcount]]
        self._make = make
        self._made: ServedFunction | None = None
        self._taken: set[tuple[type, ...]] = set()

    def takes(self, args: tuple[Any, ...]) -> bool:
        """Whether arguments of these kinds were taken before."""
        return bool(self._taken) and tuple(map(type, args)) in self._taken

    def may_take(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether arguments that are none of a program on tensors bring numbers, by themselves or in containers, or
        texts, where nothing is annotated.
        """
        classes = {type(value) for value, is_open in zip(args, self._is_open, strict=False) if is_open}
        classes |= {type(value) for name, value in kwargs.items() if name in self._names}
        classes = {float if issubclass(cls, np.generic) else cls for cls in classes}
        if classes.isdisjoint(_NUMBERS | _CONTAINERS) or not classes.issubset(_TAKEN):
            return False
        if not kwargs and len(args) == len(self._is_open) and len(self._taken) < REMEMBERED:
            self._taken.add(tuple(map(type, args)))
        return True

    @property
    def compiled(self) -> ServedFunction | None:
        """The function that is compiled for what calls bring, once one came."""
        return self._made

    def function(self) -> ServedFunction:
        """The function that is compiled for what calls bring."""
        if self._made is None:
            self._made = self._make()
        return self._made
