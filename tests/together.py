"""Many small cases as few tests: what pytest and its workers do for a test takes longer than such a case.

`@together(names, cases)` stands where `@pytest.mark.parametrize(names, cases)` would. A test then runs some dozens of
cases one after another, all of them, and fails with the name and the traceback of each that failed.
`FLAMBEAU_TESTS_APART=1` makes each case a test of its own again, to run one by `-k`.
"""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

APART = "FLAMBEAU_TESTS_APART"
Case = tuple[str, dict[str, Any]]
"""A name, and arguments."""


def together(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], Any] | None = None, several: int = 40
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a test run `several` of the cases. Its other parameters are fixtures and those of `parametrize`."""
    every = list(_named([names] if isinstance(names, str) else list(names), cases, ids))
    several = 1 if os.environ.get(APART) else several
    parts = [every[start : start + several] for start in range(0, len(every), several)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(together: list[Case], **others: Any) -> None:
            run_all(test, together, others)

        del run.__wrapped__  # type: ignore[attr-defined]
        taken = {name for part in every[:1] for name in part[1]}
        own = [p for p in inspect.signature(test).parameters.values() if p.name not in taken]
        first = inspect.Parameter("together", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("together", parts, ids=_id_of)(run)

    return decorate


def run_all(test: Callable[..., None], cases: list[Case], others: dict[str, Any]) -> None:
    """Run all cases; fail for those that fail, and skip if all are skipped."""
    failed, skipped = [], []
    for name, arguments in cases:
        try:
            test(**arguments, **others)
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
        except (Exception, pytest.fail.Exception) as error:
            where = "".join(traceback.format_exception(error.with_traceback(_below(error.__traceback__))))
            failed.append(f"--- {name}\n{where}")
    if failed:
        hint = f"{APART}=1 makes each case a test of its own"
        pytest.fail("\n".join([f"{len(failed)} of {len(cases)} cases fail; {hint}", *failed]), pytrace=False)
    if len(skipped) == len(cases) > 0:
        pytest.skip(skipped[0])


def _below(trace: Any) -> Any:
    """What lies below the call of the test."""
    return trace.tb_next if trace is not None else None


def _named(names: list[str], cases: Iterable[Any], ids: Callable[[Any], Any] | None) -> Iterable[Case]:
    for case in cases:
        one = ParameterSet.extract_from(case, force_tuple=len(names) == 1)
        assert not one.marks, f"cases that run together have no marks: {case}"
        assert len(one.values) == len(names), f"expected values of {', '.join(names)}, got {one.values}"
        words = [str(ids(value) if ids else value) for value in one.values]
        yield str(one.id) if one.id else "-".join(words), dict(zip(names, one.values, strict=True))


def _id_of(part: list[Case]) -> str:
    return part[0][0] if len(part) == 1 else f"{part[0][0]}..{part[-1][0]}"
