"""Why a call fits no overload of an operator, in one sentence about what the user wrote.

>>> cause("aten::add", [], ["x", "1"], [OptionalType(INT), INT], [])
"x may be None (it is Optional[int]), which '+' does not take. Test it first: `if x is not None`"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flambeau.frontend.emit.values.attribute_advice import advice
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType
from flambeau.schema.function import FunctionSchema
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    FLOAT,
    INT,
    NONE,
    STRING,
    AnyType,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    OptionalType,
    TensorType,
    Type,
    UnionType,
)

MAY_BE_NONE = "{text} may be None (it is {type}), which {what} does not take. Test it first: `if {text} is not None`"
NO_KEYWORD = "{what} has no parameter '{name}'"
MISSING = "{what} needs one more argument: '{name}'"
NO_MEANING = "{what} has no meaning for {types}"
UNLIKE_ARRAYS = (
    "lists and dicts hold arrays of one dtype and number of dimensions: here {wanted}, and now {type}. Convert them, "
    "as in x.astype(np.float64), or keep them in a tuple"
)
CANNOT_HOLD = "a {container} cannot hold {type}"
WRONG_KEY = "the keys of a {container} are {wanted}, not {type}"
WRONG_INDEX = "a {container} is indexed by ints and slices, not by {type}"

NUMPY_KEYWORDS: Final[Mapping[str, str]] = {"axis": "dim", "keepdims": "keepdim"}
"""How NumPy calls parameters of operators."""
_CONVERSIONS: Final[Mapping[Type, str]] = {INT: "int", FLOAT: "float", STRING: "str"}


def cause(
    name: str,
    schemas: Sequence[FunctionSchema],
    texts: Sequence[str],
    types: Sequence[Type],
    keywords: Sequence[str],
) -> str:
    """What is wrong with a call of the operator `name`; empty where the closest overload says it best.

    `texts` and `types` are those of the positional arguments, `keywords` the names of the others.
    """
    what = shown_name(name)
    for text, type_ in zip(texts, types, strict=False):
        if _may_be_none(type_):
            return MAY_BE_NONE.format(text=text, type=type_.annotation, what=what)
    if (problem := _about_container(schemas, texts, types)) or (problem := _about_keywords(what, schemas, keywords)):
        return problem
    if name == "aten::add" and STRING in types and len(types) == 2:
        other = texts[1 - types.index(STRING)]
        return f"{NO_MEANING.format(what=what, types=_joined(types))}: write str({other})"
    if registry.spelling(name) and not any(isinstance(t, TensorType | AnyType) for t in types):
        return NO_MEANING.format(what=what, types=_joined(types))
    if len(types) == 1 and isinstance(types[0], TensorType):
        instead = advice(types[0], name.rpartition("::")[2])
        if instead:
            return f"{NO_MEANING.format(what=what, types=types[0].annotation)}.{instead.removesuffix('.')}"
    return _about_missing(what, schemas, len(types))


def shown_name(name: str) -> str:
    """An operator as programs write it.

    >>> shown_name("aten::add"), shown_name("aten::sum"), shown_name("aten::_set_item")
    ("'+'", 'sum()', 'assigning to an item')
    """
    sign = registry.spelling(name)
    if sign:
        return f"'{sign}'"
    plain = name.rpartition("::")[2]
    return {"_set_item": "assigning to an item", "__getitem__": "indexing", "neg": "'-'"}.get(plain, f"{plain}()")


def _may_be_none(type_: Type) -> bool:
    return isinstance(type_, OptionalType) or (isinstance(type_, UnionType) and NONE in type_.members)


def _about_container(schemas: Sequence[FunctionSchema], texts: Sequence[str], types: Sequence[Type]) -> str:
    """What is wrong with a list or dict, or with what is put into it or looked up in it."""
    if len(types) < 2:
        return ""
    container, first, last = types[0], types[1], types[-1]
    is_storing = any(len(types) - 1 in s.stored for s in schemas)
    if isinstance(container, ListType):
        is_indexing = any("idx" in s.index for s in schemas)
        if is_indexing and not isinstance(first, IntType | BoolType):
            return WRONG_INDEX.format(container=container.annotation, type=first.annotation)
        if is_storing and not is_subtype(last, container.element):
            return cannot_hold(container, container.element, last, texts[-1])
    if isinstance(container, DictType):
        if not is_subtype(first, container.key):
            key = first.annotation
            return WRONG_KEY.format(container=container.annotation, wanted=container.key.annotation, type=key)
        if is_storing and not is_subtype(last, container.value):
            return cannot_hold(container, container.value, last, texts[-1])
    return ""


def cannot_hold(container: Type, wanted: Type, type_: Type, text: str = "") -> str:
    """That a container does not take something, and how to write it so that it does.

    >>> from flambeau.schema.types import FLOAT, INT, STRING, DictType
    >>> cannot_hold(DictType(STRING, FLOAT), FLOAT, INT, "1")
    'a Dict[str, float] cannot hold an int: write 1.0'
    """
    if isinstance(wanted, ArrayType) and isinstance(type_, ArrayType):
        return UNLIKE_ARRAYS.format(wanted=wanted, type=type_)
    kind = type_.annotation
    article = "an" if kind[0] in "aeiouAEIO" else "a"
    problem = CANNOT_HOLD.format(container=container.annotation, type=f"{article} {kind}")
    is_number = isinstance(type_, IntType | FloatType | BoolType | TensorType)
    conversion = _CONVERSIONS.get(wanted)
    if conversion is None or not (is_number or wanted == STRING):
        return problem
    is_literal = wanted == FLOAT and type_ == INT and text.isdecimal()
    return f"{problem}: write {f'{text}.0' if is_literal else f'{conversion}(...)'}"


def _about_keywords(what: str, schemas: Sequence[FunctionSchema], keywords: Sequence[str]) -> str:
    parameters = {a.name for s in schemas for a in s.arguments}
    for keyword in keywords:
        if keyword in parameters or keyword == "input":
            continue
        text = NO_KEYWORD.format(what=what, name=keyword)
        ours = NUMPY_KEYWORDS.get(keyword)
        if ours not in parameters:
            return text
        text += f": it is called '{ours}'"
        reducing = [s for s in schemas if ours in s.index and not any(a.is_out for a in s.arguments)]
        if ours == "dim" and any(len(s.returns) == 2 for s in reducing) and what in ("max()", "min()"):
            text += f", and gives values and indices; a{what[:-2]}(dim=...) gives the values alone"
        return text
    return ""


def _about_missing(what: str, schemas: Sequence[FunctionSchema], count: int) -> str:
    """What is missing where every overload wants more."""
    wanted = [[a for a in s.arguments if not a.has_default and not a.is_out] for s in schemas]
    if not wanted or any(len(w) <= count for w in wanted):
        return ""
    nearest = min(wanted, key=len)
    return MISSING.format(what=what, name=nearest[count].name) if len(nearest) == count + 1 else ""


def _joined(types: Sequence[Type]) -> str:
    return " and ".join(map(shown_type, types))
