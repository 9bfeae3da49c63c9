"""Every declared refusal: the type of the exception and a fragment of its text."""

from __future__ import annotations

import re

import pytest

from flambeau.schema import registry
from flambeau.tensor import dispatch
from tests.together import together

REFUSING = sorted(
    {d.name for d in registry.all_definitions() if d.errors is not None and dispatch.concerns_tensors(d.schema)}
)


@together("name", REFUSING)
def test_declared_errors(name: str) -> None:
    for definition in registry.overloads(name):
        for sample in definition.errors() if definition.errors is not None else ():
            with pytest.raises(sample.error, match=re.escape(sample.message)):
                dispatch.call(definition.name, *sample.args, **sample.kwargs)
