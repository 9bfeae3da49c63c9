"""Random modules give one answer, eagerly and scripted on every path, and are left in one state."""

from __future__ import annotations

import pytest

from tests.random_programs.check import arguments, paths_for
from tests.random_programs.model import Program, Statement
from tests.random_programs.modules.check import disagreement, make, report
from tests.random_programs.modules.generate import PRELUDE, generate

CHUNKS = 2
PER_CHUNK = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_paths_agree(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program, paths = generate(seed), paths_for(seed)
        found = disagreement(program, seed, paths)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_are_the_same_for_a_seed_and_mostly_end_well() -> None:
    assert generate(7).source() == generate(7).source() != generate(8).source()
    raised = 0
    for seed in range(60):
        try:
            make(generate(seed).source(), "<counted>", True)(*arguments(seed))
        except ValueError:
            raised += 1
    assert raised < 4


def test_a_state_that_differs_is_found() -> None:
    parameters = "self, x: Tensor, y: Tensor, z: Tensor, n: int, s: float, flag: bool, ints: list[int]"
    lines = ("self.marks.append(n)", "self.count = (1 << 63) // 4", "self.count = self.count * 2 * 2", "return (n, n)")
    wrong = Program("forward", parameters, "tuple[int, int]", [Statement(line) for line in lines], (), PRELUDE)
    found = disagreement(wrong, 3)
    assert found is not None
    assert "self.count afterwards: expected 9223372036854775808" in found
