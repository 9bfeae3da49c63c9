"""Random programs give one answer: in CPython on eager tensors, and on every path, with and without each pass."""

from __future__ import annotations

import pytest

from flambeau.passes import order
from tests.random_programs.check import PATHS, arguments, compile_source, disagreement, paths_for, report, shrink
from tests.random_programs.generate import PARAMETERS, generate
from tests.random_programs.model import Program, Statement

CHUNKS = 6
PER_CHUNK = 32


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_paths_agree(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program, paths = generate(seed), paths_for(seed)
        # A call with other arguments (another dtype, other strides) makes another plan, as dear as the first.
        given = (0, 1, 0) if seed % 8 == 3 else (0, 0)
        found = disagreement(program, seed, paths, given)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths, given=given), pytrace=False)


def test_every_pass_is_left_out_in_a_share_of_the_programs() -> None:
    tried = [paths_for(seed) for seed in range(CHUNKS * PER_CHUNK)]
    left_out = [name for paths in tried for options in paths.values() for name in options.get("without", ())]
    share = CHUNKS * PER_CHUNK // (3 * len(order.names()))
    assert [name for name in order.names() if left_out.count(name) <= share] == []
    assert sum(any(options.get("verify") for options in paths.values()) for paths in tried) > CHUNKS * PER_CHUNK // 3


def test_programs_are_the_same_for_a_seed_and_mostly_end_well() -> None:
    assert generate(7).source() == generate(7).source() != generate(8).source()
    raised = 0
    for seed in range(100):
        try:
            compile_source(generate(seed).source(), "<counted>")["main"](*arguments(seed))
        except ValueError:
            raised += 1
    assert raised < 5


def test_a_difference_is_found_and_shrunk() -> None:
    lines = ("a = n + 1", "b = 2", "p = 1 << 64", "c = b * 3", "return (b, 1 << 63)")
    wrong = Program("main", PARAMETERS, "tuple[int, int]", [Statement(line) for line in lines])
    found = disagreement(wrong, 3, {"interpreter": PATHS["interpreter"]})
    assert found is not None
    assert "9223372036854775808" in found
    small = shrink(wrong, lambda p: disagreement(p, 3, {"interpreter": PATHS["interpreter"]}) is not None)
    assert [s.text for s in small.body if isinstance(s, Statement)] == ["b = 2", "return (b, 1 << 63)"]
