"""Cases that run together: all run, and a failure names each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.together import APART, run_all, together

SEEN: list[tuple[int, str]] = []


@pytest.mark.parametrize("word", ["a", "b"])
@together("number", range(5), several=2)
def test_cases_run_with_fixtures_and_parameters(number: int, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    print(number)
    assert capsys.readouterr().out == f"{number}\n"
    assert word in "ab"


def test_a_test_is_made_of_some_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(APART, raising=False)

    @together(("n", "m"), [pytest.param(1, 2, id="one"), (3, 4), (5, 6)], several=2)
    def test(n: int, m: int) -> None:
        SEEN.append((n, str(m)))

    [mark] = test.pytestmark  # type: ignore[attr-defined]
    assert mark.args[0] == "together"
    assert [mark.kwargs["ids"](part) for part in mark.args[1]] == ["one..3-4", "5-6"]
    for part in mark.args[1]:
        test(part)
    assert SEEN == [(1, "2"), (3, "4"), (5, "6")]


def check(n: int, wanted: Any) -> None:
    if n == 0:
        pytest.skip("none")
    if n == 9:
        pytest.fail("it is nine")
    assert n == wanted, f"{n} is wrong"


def test_every_failure_is_named() -> None:
    with pytest.raises(pytest.fail.Exception) as error:
        run_all(check, [(str(n), {"n": n}) for n in (1, 2, 0, 3, 9)], {"wanted": 2})
    text = str(error.value)
    assert text.startswith("3 of 5 cases fail; FLAMBEAU_TESTS_APART=1")
    for part in ("--- 1\n", "1 is wrong", "--- 3\n", "3 is wrong", "--- 9\n", "it is nine", "assert n == wanted, f"):
        assert part in text
    assert "--- 2\n" not in text
    assert "run_all" not in text


def test_what_is_skipped_as_a_whole_is_skipped() -> None:
    run_all(check, [("0", {"n": 0}), ("2", {"n": 2})], {"wanted": 2})
    with pytest.raises(pytest.skip.Exception, match="none"):
        run_all(check, [("0", {"n": 0})], {"wanted": 2})


def test_cases_have_no_marks() -> None:
    with pytest.raises(AssertionError, match="have no marks"):
        together("n", [pytest.param(1, marks=pytest.mark.filterwarnings("error"))])
    with pytest.raises(AssertionError, match="expected values of n, m, got"):
        together(("n", "m"), [(1, 2, 3)])
