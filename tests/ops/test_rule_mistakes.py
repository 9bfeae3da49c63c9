"""Rules for dtypes and sizes give an answer, say that they cannot tell, or refuse; anything else is their mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from flambeau.analysis.operator_rules import asked
from flambeau.schema import registry
from flambeau.schema.opdef import REFUSALS, UNKNOWN, OpDef, UnknownValueError
from flambeau.schema.types import ListType, TensorType
from flambeau.tensor import dispatch
from flambeau.util.record import replace
from tests.ops.test_rules_hold import ALL, LENGTHS, TYPES, told
from tests.together import together

CALLED = [d for d in registry.all_definitions() if d.samples is not None or d.errors is not None]
Forget = Callable[[TensorType], TensorType]
FORGET: dict[str, Forget] = {
    "nothing": lambda t: t,
    "dtypes": lambda t: replace(t, dtype=None),
    "sizes": lambda t: replace(t, sizes=None),
    "all": lambda t: TensorType(),
    "rank": lambda t: replace(t, sizes=()),
}
"""What is forgotten of the tensors; with no rank but 0, many calls do not fit."""


def forgotten(value: Any, forget: Forget) -> Any:
    match value:
        case TensorType():
            return forget(value)
        case ListType(TensorType() as element):
            return ListType(forget(element))
        case list():
            return [forgotten(v, forget) for v in value]
        case _:
            return value


def calls_of(definition: OpDef) -> Iterator[tuple[OpDef, tuple[Any, ...]]]:
    """The overloads that samples and calls that must fail come to, with all arguments."""
    calls: list[tuple[OpDef, tuple[Any, ...]]] = []

    def note(ran: OpDef, arguments: Any, proceed: Any) -> Any:
        calls.append((ran, tuple(arguments)))
        return proceed(arguments)

    samples = definition.samples() if definition.samples is not None else ()
    errors = definition.errors() if definition.errors is not None else ()
    with dispatch.intercepting(note):
        for sample in (*samples, *errors):
            with suppress(Exception):
                dispatch.call(definition.name, *sample.args, **sample.kwargs)
    yield from calls


@pytest.mark.filterwarnings("ignore")
@together("definition", CALLED, ids=lambda d: d.full_name)
def test_i14_rules_raise_nothing_but_refusals(definition: OpDef) -> None:
    for ran, arguments in calls_of(definition):
        for rule in filter(None, (ran.dtype, ran.shape, ran.compute)):
            for level in (ALL, LENGTHS, TYPES):
                pairs = zip(arguments, ran.schema.arguments, strict=True)
                given = [told(a, f.type, level) for a, f in pairs]
                for forget in FORGET.values():
                    with suppress(*REFUSALS):
                        rule(*(forgotten(v, forget) for v in given))


@pytest.mark.parametrize("error", [AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError])
def test_i14_a_mistake_in_a_rule_surfaces(error: type[Exception]) -> None:
    def rule(x: Any) -> Any:
        raise error("a mistake")

    with pytest.raises(error, match="a mistake"):
        asked(rule, [TensorType()], 1)


@pytest.mark.parametrize(
    "rule", [lambda n: n + 1, lambda n: n < 0, lambda n: (1,) * n, lambda n: n[0], lambda n: 1 if n else 2, tuple]
)
def test_i14_what_needs_an_unknown_value_cannot_tell(rule: Callable[[Any], Any]) -> None:
    with pytest.raises(UnknownValueError):
        rule(UNKNOWN)
    assert asked(rule, [UNKNOWN], 1) == (None,)
