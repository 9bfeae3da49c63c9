"""Whether a function without annotations, which is refused where its parameters are tensors, is one of Python's values.

for a, b in edges: ...           tuples in a list, which no tensor is
heapq.heappush(queue, x)         structures of the standard library, which TorchScript does not have

Which types its parameters have says a call: what is wrong with it then is told there.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.frontend.source.python_source import innermost_function
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Clause, DictComp, For, Lambda, ListComp, TupleLiteral
from flambeau.jit.unannotated import items_of, root_of, unannotated_parameters
from flambeau.util.errors import CompileError

_STRUCTURES: Final = frozenset(("heapq", "_heapq", "bisect", "_bisect", "collections", "_collections"))
"""Modules of the standard library with containers, and with functions of lists; some are written in C."""


def is_of_python_values(fn: Any, refusal: CompileError) -> bool:
    """Whether a function that is refused since something of it is a tensor has parameters of other kinds.

    >>> def heaviest(edges): return max([w for _, w in edges])
    >>> is_of_python_values(heaviest, CompileError("a Tensor is no float"))
    True
    """
    if "Tensor" not in refusal.message:
        return False
    trees = list(get_tree(fn).walk())
    names = items_of(trees, frozenset(unannotated_parameters(fn)))
    return any(isinstance(tree, Lambda) or _unpacks(tree, names) for tree in trees) or _uses_structures(fn)


def _unpacks(tree: Any, names: frozenset[str]) -> bool:
    """Whether a tree is a loop over a parameter, or what is taken out of one, whose items it takes apart."""
    if isinstance(tree, For):
        return len(tree.iterables) == 1 and _is_unpacking(tree.targets[0], tree.iterables[0], names)
    return isinstance(tree, ListComp | DictComp | Clause) and _is_unpacking(tree.target, tree.iterable, names)


def _is_unpacking(target: Any, iterable: Any, names: frozenset[str]) -> bool:
    return isinstance(target, TupleLiteral) and root_of(iterable) in names


def _uses_structures(fn: Any) -> bool:
    """Whether a function names heaps, searches in sorted lists, or containers of the standard library."""
    inner = innermost_function(fn)
    named = [inner.__globals__.get(name) for name in inner.__code__.co_names]
    return any((getattr(v, "__module__", None) or getattr(v, "__name__", "")) in _STRUCTURES for v in named)
