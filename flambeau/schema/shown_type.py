"""How messages name a type.

    int, List[__torch__.Color]        as in source code
    Enum<__torch__.Color>             an enum says that it is one
    Tensor (inferred)                 what is a tensor only because nobody annotated it
"""

from __future__ import annotations

from flambeau.schema.types import EnumType, TensorType, Type


def shown_type(type_: Type) -> str:
    """A type as TorchScript's messages name it.

    >>> from flambeau.schema.types import INT, ListType
    >>> shown_type(TensorType(inferred=True)), shown_type(ListType(INT))
    ('Tensor (inferred)', 'List[int]')
    """
    if isinstance(type_, TensorType) and type_.inferred:
        return "Tensor (inferred)"
    return str(type_) if isinstance(type_, EnumType) else type_.annotation
