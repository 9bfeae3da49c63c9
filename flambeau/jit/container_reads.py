"""Whether a function reads parameters without annotations as containers of tensors.

def loss(params, x):
    layer = params[0]                        # what is taken out of a parameter is read as the parameter is
    return (x @ layer["w"]).sum()            # a text: it is a dict

Such functions have no meaning for tensors, and are compiled for what a call brings.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Final

from flambeau.frontend.source.python_source import closure_variables, innermost_function
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Apply, Select, StringLiteral, Subscript, Var
from flambeau.jit.unannotated import items_of, names_in, root_of, unannotated_parameters
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import FrontendError
from flambeau.util.trees import REGISTERED

_OF_DICTS: Final = frozenset(("items", "keys", "values"))


def reads_containers(fn: Any, seen: set[Any] | None = None) -> bool:
    """Whether a function, or one that it calls, reads a parameter without annotation, or what it takes out of one, as a
    dict (by a text, by its `items`, `keys` or `values`, as the tensors of a `functional_call`) or by a field of a named
    tuple or of a registered class."""
    seen = set() if seen is None else seen
    inner = innermost_function(fn)
    if inner in seen:
        return False
    seen.add(inner)
    trees = list(get_tree(fn).walk())
    names = items_of(trees, frozenset(unannotated_parameters(fn)))
    if any(_reads_container(tree, names) for tree in trees):
        return True
    called = [*map(inner.__globals__.get, _names_in(inner.__code__)), *closure_variables(inner).values()]
    sources = [getattr(one, "array_source", None) or one for one in called]  # of scripted ones, what they are of
    return any(isinstance(one, FunctionType) and _reads_inside(one, seen) for one in sources)


def _reads_inside(fn: FunctionType, seen: set[Any]) -> bool:
    try:
        return reads_containers(fn, seen)
    except FrontendError:  # what has no source says nothing
        return False


def _names_in(code: CodeType) -> list[str]:
    """The names that code, and that of functions inside of it, looks up."""
    inside = [name for one in code.co_consts if isinstance(one, CodeType) for name in _names_in(one)]
    return [*code.co_names, *inside]


def _reads_container(tree: Any, names: frozenset[str]) -> bool:
    if isinstance(tree, Apply):
        is_module = isinstance(tree.callee, Var | Select) and tree.callee.name == "functional_call"
        return is_module and not names_in(tree.args[1:2]).isdisjoint(names)
    if not isinstance(tree, Subscript | Select) or root_of(tree.value) not in names:
        return False
    if isinstance(tree, Subscript):
        return any(isinstance(index, StringLiteral) for index in tree.indices)
    return tree.name in _OF_DICTS or (not hasattr(Tensor, tree.name) and _is_field(tree.name))


def _is_field(name: str) -> bool:
    """Whether a named tuple, or a registered dataclass, has a field of a name."""
    tuples = [getattr(cls, "_fields", ()) for cls in tuple.__subclasses__()]
    classes = [getattr(cls, "__dataclass_fields__", ()) for cls in REGISTERED]
    return any(name in fields for fields in (*tuples, *classes))
