"""What to write instead of attributes that values of Python or of PyTorch have, and values of programs have not."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.schema.array_type import ArrayType
from flambeau.schema.set_type import SetType
from flambeau.schema.types import ClassType, DictType, ListType, OptionalType, StringType, TensorType, Type
from flambeau.tensor.tensor import Tensor
from flambeau.util.instead import instead
from flambeau.util.not_here import IN_PROGRAMS

_GRADIENTS: Final = f"{IN_PROGRAMS}."
_BYTES: Final = "Programs have no bytes: keep the text, or ord() of its letters."
_LETTERS: Final = instead(
    "Write {code} for each letter.", "s.replace('a', 'b')", of="s.translate(str.maketrans('a', 'b'))", given="s: str"
)
_of_tensor: Final = partial(instead, given="x: Tensor")
_of_array: Final = partial(instead, given="x: np.ndarray")
_of_list: Final = partial(instead, given="x: list[int], v: int")
_APPEND: Final = _of_list("Write {code}.", "x.append(v)", gives="x")
_LENGTH: Final = _of_list("Write {code}.", "len(x)")
ADVICE: Final[dict[type[Type], dict[str, str]]] = {
    TensorType: {
        "numpy": "Programs work on tensors: return it, and call numpy() outside.",
        "tobytes": "Return it, and call numpy().tobytes() outside.",
        "grad_fn": _GRADIENTS,
        "register_hook": _GRADIENTS,
        "astype": _of_tensor("Write {code}, or ", "x.to(flambeau.float64)", of="x.astype(np.float64)")
        + _of_tensor("{code}.", "x.double()", of="x.astype(np.float64)"),
        "copy": _of_tensor("Write {code}.", "x.clone()", of="x.copy()"),
    },
    ArrayType: {
        "append": "Arrays keep their sizes: " + instead(
            "collect numbers in a list, {code}, and make an array of it at the end.", "xs.append(v)",
            given="xs: list[float], v: float", gives="xs",
        ),
        "length": _of_array("Write {code}.", "len(x)"),
        "unsqueeze": _of_array("Write {code}.", "x[:, None]"),
        "numpy": "It is an array already.",
        "clone": _of_array("Write {code}.", "x.copy()"),
        "view": _of_array("Write {code}.", "x.reshape(-1)"),
    },
    StringType: {"encode": _BYTES, "maketrans": _LETTERS, "translate": _LETTERS},
    ListType: {"push": _APPEND, "add": _APPEND, "size": _LENGTH, "shape": _LENGTH},
    DictType: {
        "has_key": instead("Write {code}.", "k in d", given="d: dict[str, int], k: str"),
        "fromkeys": _of_list("Write {code}.", "{k: v for k in x}", of="dict.fromkeys(x, v)"),
    },
}
"""By the type of the value and the name of the attribute."""
MAY_BE_NONE: Final = " It may be None: test it first, `if x is not None`."
ASSIGNED: Final = {
    "data": instead("Write {code}, which writes into it.", "x.copy_(y)", given="x: Tensor, y: Tensor", gives="x"),
    "shape": _of_tensor(
        "Write {code}.", "x = x.reshape(3, 1)", of="np.reshape(x, (3, 1))", gives="x", shown="x = x.reshape(...)"
    ),
    "requires_grad": "Write x.requires_grad_() outside of the program.",
    "grad": _GRADIENTS,
}
"""Of a tensor, where they are assigned."""


_IN_PYTHON: Final[dict[type[Type], Any]] = {
    StringType: str, ListType: list, DictType: dict, SetType: set, TensorType: Tensor, ArrayType: np.ndarray,
}  # fmt: skip
"""Where the names of attributes are that somebody may have meant."""
_ALIKE: Final = 0.75
_ANNOTATIONS: Final = ((list, "x: list[float]"), (dict, "x: dict[str, float]"), (str, "x: str"))
NOT_ANNOTATED: Final = "What has no annotation is a Tensor: say what it is, as {}."
NOT_INITIALISED = " Did you forget to initialize an attribute in __init__()?"


def advice(type_: Type, name: str) -> str:
    """What goes behind a message that a value has no such attribute.

    >>> from flambeau.schema.types import STRING, TENSOR
    >>> advice(TENSOR, "copy"), advice(STRING, "upper")
    (' Write x.clone().', '')
    """
    if isinstance(type_, OptionalType):
        return MAY_BE_NONE
    if isinstance(type_, ClassType):
        return NOT_INITIALISED
    text = ADVICE.get(type(type_), {}).get(name) or _without_annotation(type_, name)
    if text is None and type(type_) in _IN_PYTHON:
        names = [n for n in dir(_IN_PYTHON[type(type_)]) if not n.startswith("_")]
        alike = get_close_matches(name, names, 1, _ALIKE)
        text = f"Did you mean '{alike[0]}'?" if alike and alike[0] != name else None
    if text is None and _is_inferred(type_) and not hasattr(Tensor, name):
        text = NOT_ANNOTATED.format("p: Point of a class Point")
    return "" if text is None else f" {text}"


def _is_inferred(type_: Type) -> bool:
    """Whether a tensor is one because nothing else was said."""
    return isinstance(type_, TensorType) and type_.inferred


def _without_annotation(type_: Type, name: str) -> str | None:
    """What annotation is missing where an attribute is one of lists, dicts or texts."""
    if not _is_inferred(type_) or name.startswith("_"):
        return None
    return next((NOT_ANNOTATED.format(shown) for kind, shown in _ANNOTATIONS if hasattr(kind, name)), None)


def advice_on_assigning(type_: Type, name: str) -> str:
    """What goes behind a message that an attribute of a value cannot be set."""
    text = ASSIGNED.get(name) if isinstance(type_, TensorType) else None
    return "" if text is None else f". {text}"
