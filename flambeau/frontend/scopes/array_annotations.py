"""Where `np.ndarray` in annotations has NumPy's meaning: in functions. Elsewhere it is refused, with what to write.

class Net(nn.Module):
    def forward(self, x: np.ndarray):       refused: a method is compiled once, not for the dtypes that a call brings
"""

from __future__ import annotations

import functools
import re
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, ForwardRef

from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.named_objects import is_array, python_value
from flambeau.frontend.trees.function_conversion import parse_annotation
from flambeau.frontend.trees.tree_views import BinOp, Def, Expr, Select, StringLiteral, Subscript, TupleLiteral, Var
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

ARRAYS_NOT_HERE = (
    "np.ndarray means NumPy's arrays in functions alone, not in {where}: write Tensor, with the meaning of operators, "
    "or a function with an np.ndarray parameter under flambeau.script"
)
ATTRIBUTES = "attributes and fields, which hold tensors"
METHODS: Final = "methods, which are compiled once for all arrays"
TEXTS: Final = "texts of CompilationUnit"
OVERLOADS: Final = "signatures of overloads"
VARIABLES: Final = "variables of a program on tensors"
_CONTAINERS: Final = (tuple, list, dict)
_NAME: Final = re.compile(r"[^\W\d]\w*")


def names_array(tree: Expr, resolver: Resolver) -> bool:
    """Whether an annotation is `np.ndarray` or `npt.NDArray[...]`, or has such in its brackets."""
    match tree:
        case StringLiteral():
            return names_array(parse_annotation(tree.value, tree), resolver)
        case BinOp(op="|"):
            return names_array(tree.left, resolver) or names_array(tree.right, resolver)
        case Subscript():
            items = tree.indices
            inner = items[0].items if len(items) == 1 and isinstance(items[0], TupleLiteral) else items
            return names_array(tree.value, resolver) or any(names_array(i, resolver) for i in inner)
        case Var() | Select():
            value = python_value(tree, resolver)
            return is_array(value) or has_array_fields(value)
    return False


def is_bare_container(tree: Expr, resolver: Resolver) -> bool:
    """Whether an annotation is `tuple`, `list` or `dict` alone: of what, what a program on arrays returns says."""
    return python_value(tree, resolver) in _CONTAINERS


def has_array_fields(value: Any) -> bool:
    """Whether it is a class of named tuples with a field that is annotated as an array, or as such a tuple."""
    if not isinstance(value, type) or not issubclass(value, tuple) or not hasattr(value, "_fields"):
        return False
    names = vars(sys.modules[value.__module__]) if value.__module__ in sys.modules else {}
    return any(_is_array_field(a, names) for a in getattr(value, "__annotations__", {}).values())


def _is_array_field(annotation: Any, names: Mapping[str, Any]) -> bool:
    if isinstance(annotation, str | ForwardRef):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        first, *rest = text.partition("[")[0].strip().split(".")
        annotation = functools.reduce(lambda value, name: getattr(value, name, None), rest, names.get(first))
    return is_array(annotation) or has_array_fields(annotation)


def may_name_arrays(annotation: Any, resolve: Callable[[str], Any]) -> bool:
    """Whether an annotation may be of arrays, as its text tells, and what its names stand for."""
    text = str(annotation)
    if "ndarray" in text or "NDArray" in text or has_array_fields(annotation):
        return True
    return isinstance(annotation, str) and any(is_array_annotation(resolve(n), None) for n in _NAME.findall(text))


def is_array_annotation(annotation: Any, resolver: Resolver | None) -> bool:
    """Whether an annotation object is `np.ndarray` or `npt.NDArray[...]`, or has such in its brackets."""
    if isinstance(annotation, str | ForwardRef):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        if resolver is None or not may_name_arrays(text, resolver.resolve):
            return False
        where = SourceRange.at("<annotation>", 1, 0)
        return names_array(parse_annotation(text, StringLiteral(where, text)), resolver)
    whole = is_array(annotation) or has_array_fields(annotation)
    return whole or any(is_array_annotation(part, resolver) for part in typing.get_args(annotation))


def refuse_arrays(tree: Def, resolver: Resolver, where: str) -> None:
    """Raise CompileError for a parameter or result that is annotated as an array."""
    decl = tree.decl
    params = [*decl.params, *(p for p in (decl.vararg, decl.kwarg) if p is not None)]
    for annotation in (*(p.annotation for p in params), decl.returns):
        if annotation is not None and names_array(annotation, resolver):
            raise CompileError(ARRAYS_NOT_HERE.format(where=where), annotation.range)


def refuse_array_attribute(annotation: Any, resolver: Resolver | None, where: SourceRange | None = None) -> None:
    """Raise CompileError for an attribute that is annotated as an array."""
    if is_array_annotation(annotation, resolver):
        raise CompileError(ARRAYS_NOT_HERE.format(where=ATTRIBUTES), where)
