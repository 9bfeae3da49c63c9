"""Random programs about exceptions and other ways out give one answer: in CPython and on every path."""

from __future__ import annotations

import pytest

from tests.random_programs.check import compile_source, paths_for
from tests.random_programs.flow.check import NOT_RAISED, arguments, disagreement, outcome, report
from tests.random_programs.flow.generate import generate


@pytest.mark.parametrize("seed", range(6))
def test_all_paths_agree(seed: int) -> None:
    program, paths = generate(seed, size=2), paths_for(seed)
    found = disagreement(program, seed, paths)
    if found is not None:
        pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_are_the_same_for_a_seed_and_end_in_every_way() -> None:
    assert generate(7).source() == generate(7).source() != generate(8).source()
    ends: dict[str, int] = {}
    for seed in range(60):
        function = compile_source(generate(seed).source(), "<counted>")["main"]
        result = outcome(function, arguments(seed))
        end = "result" if isinstance(result[0], list) else "operation" if result == NOT_RAISED else "raised"
        ends[end] = ends.get(end, 0) + 1
    assert ends["result"] > 20
    assert ends["operation"] > 2
    assert ends["raised"] > 2


def test_every_construct_is_used() -> None:
    text = "".join(generate(seed).source().partition("def main")[2] for seed in range(60))
    used = (
        "try:", "except ", "finally:", "else:", "raise\n", "raise ", "match ", "case [", "with Room(", "lambda ",
        "def ", "break", "continue", "return log", "while ", "count_up(", ":= ", "*r", "fold(*", "f\"", "%s|%d",
        "assert ",
    )  # fmt: skip
    assert [word for word in used if word not in text] == []
