"""Python objects that annotations name."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from flambeau.frontend.scopes.name_resolution import MISSING, Resolver
from flambeau.frontend.trees.tree_views import Expr, Select, Var


def python_value(tree: Expr, resolver: Resolver) -> Any:
    """The Python object that a dotted name means; MISSING if it means none."""
    if isinstance(tree, Var):
        return resolver.resolve(tree.name)
    if isinstance(tree, Select):
        owner = python_value(tree.value, resolver)
        return MISSING if owner is MISSING else resolver.member(owner, tree.name)
    return MISSING


def is_array(value: Any) -> bool:
    """Whether it is `np.ndarray` or `npt.NDArray`: what is in its brackets is not checked."""
    value = getattr(value, "__value__", value)  # NumPy's own name for it is an alias of Python 3.12
    return value is np.ndarray or typing.get_origin(value) is np.ndarray
