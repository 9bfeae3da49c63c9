"""What to write instead of attributes that values of Python or of PyTorch have, and values of programs have not."""

from __future__ import annotations

from typing import Final

from flambeau.schema.types import DictType, ListType, OptionalType, StringType, TensorType, Type
from flambeau.util.not_here import NO_GRADIENTS

_GRADIENTS: Final = f"{NO_GRADIENTS}."
_BYTES: Final = "Programs have no bytes: keep the text, or ord() of its letters."
_LETTERS: Final = "Write replace() for each letter."
ADVICE: Final[dict[type[Type], dict[str, str]]] = {
    TensorType: {
        "numpy": "Programs work on tensors: return it, and call numpy() outside.",
        "tobytes": "Return it, and call numpy().tobytes() outside.",
        "backward": _GRADIENTS,
        "grad_fn": _GRADIENTS,
        "register_hook": _GRADIENTS,
        "cuda": "Tensors are on the CPU; fn.ptx(*args) gives the kernels for a GPU.",
        "astype": "Write x.to(flambeau.float64), or x.double().",
        "copy": "Write x.clone().",
    },
    StringType: {"encode": _BYTES, "maketrans": _LETTERS, "translate": _LETTERS},
    ListType: {"push": "Write append.", "add": "Write append.", "size": "Write len(x).", "shape": "Write len(x)."},
    DictType: {"has_key": "Write k in d.", "fromkeys": "Write {k: v for k in x}."},
}
"""By the type of the value and the name of the attribute."""
MAY_BE_NONE: Final = " It may be None: test it first, `if x is not None`."
ASSIGNED: Final = {
    "data": "Write x.copy_(y), which writes into it.",
    "shape": "Write x = x.reshape(...).",
    "requires_grad": "Write x.requires_grad_() outside of the program.",
    "grad": _GRADIENTS,
}
"""Of a tensor, where they are assigned."""


def advice(type_: Type, name: str) -> str:
    """What goes behind a message that a value has no such attribute.

    >>> from flambeau.schema.types import STRING, TENSOR
    >>> advice(TENSOR, "copy"), advice(STRING, "upper")
    (' Write x.clone().', '')
    """
    if isinstance(type_, OptionalType):
        return MAY_BE_NONE
    found = ADVICE.get(type(type_), {}).get(name)
    return "" if found is None else f" {found}"


def advice_on_assigning(type_: Type, name: str) -> str:
    """What goes behind a message that an attribute of a value cannot be set."""
    found = ASSIGNED.get(name) if isinstance(type_, TensorType) else None
    return "" if found is None else f". {found}"
