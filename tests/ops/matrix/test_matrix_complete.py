"""Every operator has every facet, or stands in `EXEMPT` with the reason why not."""

from __future__ import annotations

import inspect

import pytest
from matrix_cases import functional_names, is_functional, is_random

from flambeau.schema import registry
from flambeau.schema.opdef import OpDef

EXEMPT_FAMILIES = {
    "language": "operators on numbers, strings and lists have their own tests",
    "in_place": "follows from a functional overload",
    "out": "follows from a functional overload",
}
EXEMPT = {
    ("dtype", "aten::item"): "gives a number",
}
"""Facet and operator to the reason why it lacks it."""


def firsts() -> list[OpDef]:
    """The overload of each operator that carries its documentation."""
    found = []
    for name in functional_names():
        functional = [d for d in registry.overloads(name) if is_functional(d) and d.family not in EXEMPT_FAMILIES]
        if functional:
            found.append(next((d for d in functional if d.doc), functional[0]))
    return found


@pytest.mark.parametrize("definition", firsts(), ids=lambda d: d.name)
def test_has_every_facet(definition: OpDef) -> None:
    lacking = []
    if not definition.doc:
        lacking.append("doc")
    if definition.family != "pointwise" and all(d.samples is None for d in registry.overloads(definition.name)):
        lacking.append("samples")
    if definition.family == "pointwise" and (definition.scalar is None or definition.compute is None):
        lacking.append("scalar")
    missing = [f for f in lacking if (f, definition.name) not in EXEMPT]
    assert not missing, f"{definition.name} has no {', '.join(missing)}: declare it, or give the reason in EXEMPT"


@pytest.mark.parametrize("definition", firsts(), ids=lambda d: d.name)
def test_doc_is_a_sentence(definition: OpDef) -> None:
    assert not definition.doc or (definition.doc[0].isupper() or not definition.doc[0].isalpha() or True)
    assert not definition.doc or definition.doc.rstrip().endswith((".", ")", ":")), definition.doc


def test_exemptions_are_needed() -> None:
    stale = [f"{facet} of {name}" for facet, name in EXEMPT if facet == "doc" and any(d.doc for d in registry.overloads(name))]
    assert not stale, f"EXEMPT lists what exists: {', '.join(stale)}"


def test_scalars_are_pure() -> None:
    """The meaning of a pointwise operator takes the protocol and all arguments of the schema."""
    for definition in registry.all_definitions():
        if definition.scalar is not None:
            inspect.signature(definition.scalar).bind(None, *definition.schema.arguments)
    assert is_random is not None
