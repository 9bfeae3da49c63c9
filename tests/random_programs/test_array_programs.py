"""Random programs on arrays give what NumPy gives, on every path; what is planted is found and made small."""

from __future__ import annotations

import pytest

from tests.random_programs.arrays.check import arguments, disagreement, paths_for, report
from tests.random_programs.arrays.generate import HEAD, generate
from tests.random_programs.model import Program, Statement, unused

CHUNKS, PER_CHUNK = 3, 5


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs_give_what_numpy_gives(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program, paths = generate(seed), paths_for(seed)
        found = disagreement(program, seed, paths)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_reach_what_they_are_for() -> None:
    wanted = (
        "np.where(", ".sum(axis=", "keepdims", "argmax(", "np.median(", "[:, None]", "[::-1]", ".T", "np.unique(", "np.concatenate(",
        " @ ", "np.einsum(", "np.searchsorted(", "np.add.at(", "idx]", "astype(np.float32)", "for j in range(", "while rounds <",
        "np.percentile(", "np.maximum.accumulate(", "np.take_along_axis(", "out=", "*= 2", "break", "else:",
    )  # fmt: skip
    assert unused(wanted, (generate(seed).source() for seed in range(400))) == []


def test_arguments_differ_in_size_and_dtype() -> None:
    passed = [arguments(seed, call) for seed in range(15) for call in range(3)]
    assert {a["x"].dtype.name for a in passed} == {"float64", "float32"}
    assert {a["q"].dtype.name for a in passed} == {"int64", "int32", "int16", "uint8"}
    assert len({a["x"].shape for a in passed}) == 4


def test_a_difference_is_found_and_made_small() -> None:
    """Two runs draw different numbers."""
    body = [
        Statement("t1 = x * 2"),
        Statement("t2 = t1.sum() + np.random.random()"),
        Statement("t3 = w - 1"),
        Statement("return t2,"),
    ]
    planted = Program("main", HEAD, "tuple", body)
    found = disagreement(planted, 0)
    assert found is not None
    assert found.startswith("native, call 0: result 0: expected")
    small = report(0, planted, found).rpartition("def main")[2]
    assert "np.random.random()" in small
    assert "t3 = w - 1" not in small
