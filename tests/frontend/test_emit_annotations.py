"""The types that annotations mean: Python objects, texts of programs, forward references."""

# ruff: noqa: UP006, UP007, UP035, UP045

from __future__ import annotations

import enum
import typing
from typing import Any, Dict, ForwardRef, List, NamedTuple, Optional, Tuple, Union

import pytest

import flambeau
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.frontend.scopes.type_annotations import type_of
from tests.frontend.support import compiled


class Point(NamedTuple):
    x: int
    y: float | None = None


class Color(enum.Enum):
    RED = "r"


OBJECTS: list[tuple[Any, str]] = [
    (int, "int"), (float, "float"), (bool, "bool"), (complex, "complex"), (str, "str"), (None, "NoneType"),
    (type(None), "NoneType"), (Any, "Any"), (flambeau.Tensor, "Tensor"), (flambeau.device, "Device"),
    (flambeau.dtype, "int"), (List[int], "int[]"), (list[int], "int[]"), (Dict[str, int], "Dict(str, int)"),
    (dict[str, list[int]], "Dict(str, int[])"), (Tuple[int, str], "(int, str)"), (tuple[int, str], "(int, str)"),
    (tuple[()], "()"), (Optional[int], "int?"), (int | None, "int?"), (Union[int, None], "int?"),
    (Union[int, str], "Union(int, str)"), (int | str, "Union(int, str)"),
    (int | str | None, "Union(int, NoneType, str)"), (Union[int, float, complex], "Scalar"),
    (Optional[Union[int, str]], "Union(int, NoneType, str)"), (ForwardRef("int"), "int"), ("Tensor", "Tensor"),
    (Optional[Any], "Any"), (Point, "NamedTuple(x : int, y : float? = None)"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "text"), OBJECTS, ids=[str(o[0]) for o in OBJECTS])
def test_python_objects(annotation: Any, text: str) -> None:
    assert str(type_of(annotation, Names({"Optional": Optional}))) == text


TEXTS: list[tuple[str, str]] = [
    ("int", "int"), ("None", "NoneType"), ("Tensor", "Tensor"), ("flambeau.Tensor", "Tensor"), ("List[int]", "int[]"),
    ("typing.List[typing.Optional[int]]", "int?[]"), ("list[int | None]", "int?[]"), ("'List[int]'", "int[]"),
    ("List['int']", "int[]"), ("Dict[str, Tuple[int, Tensor]]", "Dict(str, (int, Tensor))"), ("Alias", "int[]"),
    ("Tuple[()]", "()"), ("int | str", "Union(int, str)"), ("Optional[List[Tensor]]", "Tensor[]?"), ("Any", "Any"),
    ("Renamed[int]", "int[]"), ("flambeau.device", "Device"), ("flambeau.dtype", "int"),
    ("Color", f"Enum<__torch__.{__name__}.Color>"),
]  # fmt: skip

NAMES = Names(
    {
        "flambeau": flambeau,
        "typing": typing,
        "Alias": list[int],
        "Renamed": list,
        "Color": Color,
        "Optional": Optional,
        "List": list,
        "Dict": dict,
        "Tuple": tuple,
        "Any": Any,
    }
)


@pytest.mark.parametrize(("annotation", "text"), TEXTS)
def test_texts(annotation: str, text: str) -> None:
    [function] = compile_source(f"def f(x: {annotation}):\n    return x\n", NAMES)
    assert str(function.schema.arguments[0].type) == text


def test_names_without_imports_are_known_in_texts() -> None:
    [function] = compile_source("def f(x: Tensor, y: Optional[List[int]]) -> Dict[str, int]:\n    return {}\n", Names())
    assert str(function.schema) == "f(Tensor x, int[]? y) -> Dict(str, int)"


@pytest.mark.parametrize("annotation", [ValueError, 3, tuple[int, ...], list[ValueError], object()])
def test_what_is_no_type(annotation: Any) -> None:
    with pytest.raises(ValueError, match="Unknown type annotation"):
        type_of(annotation)


class Mixed(enum.Enum):
    A = 1
    B = "b"


def test_enums_have_values_of_one_type() -> None:
    with pytest.raises(TypeError, match="Could not unify type list"):
        enum_type(Mixed)


def annotated(
    a: int,
    b: int | None = None,
    c: list[float] | None = None,
    *,
    d: flambeau.Tensor,
) -> tuple[int, bool]:
    return a, b is None


def commented(a, b=3):
    # type: (Tensor, int) -> Tensor
    return a * b


def test_python_functions() -> None:
    assert str(compiled(annotated).schema) == (
        "annotated(int a, int? b=None, float[]? c=None, *, Tensor d) -> ((int, bool))"
    )
    assert str(compiled(commented).schema) == "commented(Tensor a, int b=3) -> Tensor"
