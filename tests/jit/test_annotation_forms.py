"""What annotations and functions are, as programs around the compiler ask."""

from __future__ import annotations

import collections
from importlib import import_module
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

import pytest

import flambeau
from flambeau import _jit_internal as internal
from flambeau.jit import annotations

FORMS = {
    "is_optional": [Optional[int], Union[int, None], int | None],  # noqa: UP007, UP045
    "is_union": [Union[int, str], int | str, Optional[int]],  # noqa: UP007, UP045
    "is_list": [List[int], list[str]],  # noqa: UP006
    "is_tuple": [Tuple[int, str], tuple[int]],  # noqa: UP006
    "is_dict": [Dict[str, int], dict[str, int], collections.OrderedDict[str, int]],  # noqa: UP006
    "is_final": [Final[int], Final],
    "is_future": [flambeau.jit.Future[int]],
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_annotations(name: str) -> None:
    ask = getattr(internal, name)
    assert all(ask(annotation) for annotation in FORMS[name])
    assert not any(ask(annotation) for annotation in (int, flambeau.Tensor, Any))


@pytest.mark.parametrize(("name", "bare"), [("is_list", List), ("is_dict", Dict), ("is_optional", Optional)])  # noqa: UP006
def test_what_is_in_containers_has_to_be_said(name: str, bare: Any) -> None:
    with pytest.raises(RuntimeError, match=r"without a contained type\. Please add a contained type"):
        getattr(internal, name)(bare)
    with pytest.raises(RuntimeError, match="Future"):
        internal.is_future(flambeau.jit.Future)


def test_types_of_annotations() -> None:
    assert str(annotations.try_ann_to_type(Dict[str, List[int]])) == "Dict[str, List[int]]"  # noqa: UP006
    assert str(annotations.try_ann_to_type(None)) == "NoneType"
    assert str(annotations.ann_to_type("Count", rcb={"Count": int}.get)) == "int"
    assert annotations.try_ann_to_type(3) is None
    with pytest.raises(ValueError, match="Unknown type annotation: '3'"):
        annotations.ann_to_type(3)


def test_names_in_scopes() -> None:
    near = 4
    find = internal.createResolutionCallbackFromFrame()
    assert (find("near"), find("FORMS") is FORMS, find("nothing")) == (4, True, None)

    def closure() -> int:
        return near

    inside = internal.createResolutionCallbackFromClosure(closure)
    assert (inside("near"), inside("nothing")) == (4, None)


def test_parameters() -> None:
    assert internal.get_callable_argument_names(lambda a, b=2: a) == ["a", "b"]
    assert internal.get_callable_argument_names(lambda *a: a) == []
    assert internal.get_callable_argument_names(3) == []  # type: ignore[arg-type]
    assert annotations.get_param_names(lambda a, b: a, 2) == ["a", "b"]
    assert annotations.is_vararg(lambda *a: a)
    assert not annotations.is_vararg(flambeau.nn.ReLU().forward)


@pytest.mark.parametrize(
    ("path", "name"),
    [("_async", "fork"), ("_freeze", "freeze"), ("_fuser", "optimized_execution"), ("_serialization", "save"),
     ("_trace", "TopLevelTracedModule"), ("_await", "_awaitable")],
)  # fmt: skip
def test_inner_paths(path: str, name: str) -> None:
    assert getattr(import_module(f"flambeau.jit.{path}"), name) is getattr(flambeau.jit, name)


def test_classes_of_traced_modules() -> None:
    traced = flambeau.jit.trace(flambeau.nn.Sequential(flambeau.nn.ReLU()), flambeau.ones(2))
    assert type(traced) is flambeau.jit.TopLevelTracedModule
    (inner,) = traced.children()
    assert type(inner) is flambeau.jit.TracedModule
    with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
        inner(flambeau.ones(1))
