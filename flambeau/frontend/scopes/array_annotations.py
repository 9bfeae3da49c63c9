"""Where `np.ndarray` in annotations has NumPy's meaning: in functions. Elsewhere it is refused, with what to write.

class Net(nn.Module):
    def forward(self, x: np.ndarray):       refused: a method is compiled once, not for the dtypes that a call brings
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.type_annotations import ARRAYS_NOT_HERE, ATTRIBUTES, is_array_annotation, names_array
from flambeau.frontend.trees.tree_views import Def
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

METHODS: Final = "methods, which are compiled once for all arrays"
TEXTS: Final = "texts of CompilationUnit"
OVERLOADS: Final = "signatures of overloads"
VARIABLES: Final = "variables of a program on tensors"


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
