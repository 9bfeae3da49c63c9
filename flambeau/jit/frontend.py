"""The front end's own: the tree of a function, and what is raised for a source that is not of the language.

>>> def same(x):
...     return x
>>> get_jit_def(same, "other").name
'other'
"""

from __future__ import annotations

from typing import Any

from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def
from flambeau.util.errors import FrontendError, NotSupportedError, UnsupportedNodeError


def get_jit_def(fn: Any, def_name: str | None = None, self_name: str | None = None) -> Def:
    """The syntax tree of a Python function: `str(tree)` is an s-expression, `tree.range` its place in the file.

    `def_name` is put for the function's name. With `self_name` it is a method whose first parameter has that type.
    Raises FrontendError or one of its kinds.

    >>> def same(x):
    ...     return x
    >>> print(get_jit_def(same).body[0], end="")
    (return (variable (ident x)))
    """
    return get_tree(fn, def_name, self_name)


__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError", "get_jit_def"]
