"""What functions of the program take and give, from what is declared of them and what native code knows."""

from __future__ import annotations

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.native_values import CannotCompileError, describe
from flambeau.codegen.graph.representation import Representation
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STRING,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)


def declared_rep(type_: Type) -> Representation | None:
    """How values of a declared type look, None among them; None where the type does not say enough."""
    return result_types.of_type(type_)


def type_of(rep: Representation, declared: Type) -> Type:
    """What the graph of a function may rely on of an argument that looks like this."""
    if isinstance(declared, OptionalType) and not isinstance(rep, forms.Optional | forms.Fixed):
        declared = declared.element
    match rep:
        case forms.Array() | forms.Element():
            return _tensor(rep)
        case forms.Tupled() if isinstance(declared, TupleType) and len(declared.elements) == len(rep.items):
            return declared.with_contained(tuple(map(type_of, rep.items, declared.elements)))
        case forms.Listed() if isinstance(declared, ListType):
            return ListType(type_of(rep.item, declared.element))
        case forms.Optional() if isinstance(declared, OptionalType):
            return declared.with_contained((type_of(rep.inner, declared.element),))
        case forms.Mapped() | forms.Object():
            return declared
        case forms.Int():
            return INT
        case forms.Float():
            return FLOAT
        case forms.Bool():
            return BOOL
        case forms.Complex():
            return COMPLEX
        case forms.Text():
            return STRING
        case forms.Fixed() if rep.value is None:
            return NONE
    raise CannotCompileError(f"it is given {describe(rep)}")


def _tensor(rep: forms.Array | forms.Element) -> TensorType:
    rank = rep.rank if isinstance(rep, forms.Array) else 0
    return TensorType(dtype=rep.dtype, sizes=(None,) * rank, device=result_types.CPU, requires_grad=False)


def with_names(rep: Representation, type_: Type) -> Representation:
    """A result as Python gets it: tuples have the names of their types. Raises `CannotCompileError` for named tuples
    in lists and dicts.
    """
    if isinstance(type_, OptionalType):
        if isinstance(rep, forms.Optional):
            return forms.Optional(with_names(rep.inner, type_.element))
        type_ = type_.element
    if isinstance(rep, forms.Tupled) and isinstance(type_, TupleType):
        items = tuple(map(with_names, rep.items, type_.elements))
        names = None if type_.name is None else (type_.name, type_.fields)
        return forms.Tupled(items, rep.is_list, rep.keys, names)
    if _has_names(type_) and not isinstance(rep, forms.Fixed):
        raise CannotCompileError(f"the result is a {type_}, with a tuple with names in a list or a dict")
    return rep


def _has_names(type_: Type) -> bool:
    return (isinstance(type_, TupleType) and type_.name is not None) or any(map(_has_names, type_.contained))
