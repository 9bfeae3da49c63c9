"""Annotations of a class body that are no types of attributes."""

from __future__ import annotations

import typing
from typing import Any, ClassVar, get_origin


def is_final(annotation: Any) -> bool:
    """Whether an annotation says `Final`, as a type or as text."""
    return _is_form(annotation, typing.Final, "Final")


def is_class_variable(annotation: Any) -> bool:
    """Whether an annotation says `ClassVar`, as a type or as text."""
    return _is_form(annotation, ClassVar, "ClassVar")


def _is_form(annotation: Any, form: Any, name: str) -> bool:
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2] == name
    return annotation is form or get_origin(annotation) is form
