"""In-place and `out` overloads give what the functional ones give, into the tensor they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor, wrap
from tests.ops.matrix.matrix_cases import Call, calls, functional_names, is_random
from tests.ops.matrix.matrix_compare import difference
from tests.together import together

REFUSED_IN_PLACE = {
    "aten::abs": "complex numbers have real moduli",
    "aten::absolute": "complex numbers have real moduli",
    "aten::float_power": "only double precision can hold the result",
}
"""Operators whose in-place form refuses what would fit by its kind, each with its reason."""
REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)


def run(definition: OpDef, arguments: tuple[Any, ...]) -> Any:
    try:
        return definition.kernel(*arguments)
    except REFUSALS as error:
        return error


def in_place_of(call: Call) -> OpDef | None:
    schema = call.definition.schema
    stem = schema.name.removesuffix("__")
    name = stem.replace("::__", "::__i") + "__" if stem != schema.name else schema.name + "_"
    found = registry.find(f"{name}.{schema.overload}" if schema.overload else name)
    return found if found is not None and found.family == "in_place" else None


def outs_of(call: Call) -> list[OpDef]:
    """The overloads that take the same arguments and one `out` more."""
    wanted = [str(a) for a in call.definition.schema.arguments]
    return [
        d
        for d in registry.overloads(call.definition.name)
        if d.family == "out" and [str(a) for a in d.schema.arguments[:-1]] == wanted
    ]


@together("name", functional_names())
def test_in_place_is_functional(name: str) -> None:
    for call in calls(name):
        definition = in_place_of(call)
        expected = run(call.definition, call.fresh())
        if definition is None or is_random(call.definition) or not isinstance(expected, Tensor):
            continue
        arguments = call.fresh()
        target = arguments[0]
        version = target._version
        got = run(definition, arguments)
        if isinstance(got, RuntimeError):
            fits = expected.shape == target.shape and expected.dtype.category <= target.dtype.category
            assert not fits or name in REFUSED_IN_PLACE, f"{call} in place: {got}"
            continue
        assert got is target, f"{definition.full_name} returns its first argument"
        assert target._version > version, f"{definition.full_name} notes the write"
        with np.errstate(all="ignore"):
            cast = expected._array.astype(target._array.dtype)
        found = difference(target._array, cast, 0)
        assert not found, f"{call} in place: {found}"


@together("name", functional_names())
def test_out_is_functional(name: str) -> None:
    for call in calls(name):
        expected = run(call.definition, call.fresh())
        if is_random(call.definition) or not isinstance(expected, Tensor):
            continue
        for definition in outs_of(call):
            target = wrap(np.zeros(expected.shape, expected.dtype.numpy))
            assert definition.kernel(*call.fresh(), target) is target
            found = difference(target._array, expected._array, 0)
            assert not found, f"{call} into out: {found}"
            empty = wrap(np.zeros(0, expected.dtype.numpy))
            definition.kernel(*call.fresh(), empty)
            assert empty.shape == expected.shape, f"{call}: an empty out is resized"
