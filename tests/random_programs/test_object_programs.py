"""Random programs with objects give one answer: in CPython on eager tensors, and on every path."""

from __future__ import annotations

import pytest

from tests.random_programs.check import arguments, compile_source, disagreement, paths_for, report
from tests.random_programs.objects.generate import generate

CHUNKS = 2
PER_CHUNK = 10


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
    for seed in range(100):
        try:
            compile_source(generate(seed).source(), "<counted>")["main"](*arguments(seed))
        except ValueError:
            raised += 1
    assert raised < 5


def test_every_kind_of_object_is_used() -> None:
    text = "".join(generate(seed).source().partition("def main")[2] for seed in range(60))
    used = ("Counter(", "Pair(", "Box(", "Shade.", "Place(", ".swap()", ".child()", ".sort()", "measure(")
    assert [word for word in used if word not in text] == []
