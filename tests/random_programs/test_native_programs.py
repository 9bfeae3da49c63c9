"""Native-heavy programs give one answer on every path, errors and prints too; what is planted is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from tests.random_programs.check import PATHS, paths_for
from tests.random_programs.model import Program, Statement, unused
from tests.random_programs.native.check import UNCOMPILABLE, disagreement, outcome, report, value_difference
from tests.random_programs.native.generate import generate
from tests.random_programs.native.layout import arguments, layout_of
from tests.random_programs.native.wrapping import NAMES, transformed, wrapped

CHUNKS = 3
PER_CHUNK = 20


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_paths_agree(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program, paths = generate(seed), paths_for(seed)
        found = disagreement(program, seed, paths)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_reach_what_they_are_for() -> None:
    wanted = (
        "while True:", ", -1, -1):", "break", "continue", "raise ", "assert ", ".append(", ".pop()", "float('nan')",
        " << ", " % ", "9223372036854775807", "+= ", "print(", "math.", ".t()", "[::2]", "for r", "find(", "smear(",
        "halves(",
    )  # fmt: skip
    assert unused(wanted, (generate(seed).source() for seed in range(300))) == []


def test_the_same_program_and_arguments_for_a_seed() -> None:
    assert generate(5).source() == generate(5).source() != generate(6).source()
    layout = layout_of(5)
    for call in range(4):
        for a, b in zip(arguments(layout, call), arguments(layout, call), strict=True):
            assert value_difference(a, b) is None
            assert not isinstance(a, flambeau.Tensor) or not np.shares_memory(a.numpy(), b.numpy())


def test_arguments_are_hostile() -> None:
    strides, sizes, special, shared = set(), set(), 0, 0
    for seed in range(120):
        layout = layout_of(seed)
        for call in range(4):
            tensors = [v for v in arguments(layout, call) if isinstance(v, flambeau.Tensor)]
            for t in tensors:
                is_spread = 0 in t.stride() and t.numel() > 1
                strides.add("zero" if is_spread else "plain" if t.is_contiguous() else "gaps")
                sizes.update(t.shape)
                special += bool(t.numel() and t.dtype.is_floating_point and not np.isfinite(t.numpy()).all())
            shared += any(np.shares_memory(a.numpy(), b.numpy()) for a in tensors for b in tensors if a is not b)
    assert (strides, sizes) == ({"zero", "gaps", "plain"}, {0, 1, 2, 3, 4})
    assert special > 20
    assert shared > 5


def run_wrapping(source: str, *values: Any) -> Any:
    namespace = dict(NAMES)
    exec(transformed(source, "<wrapping>"), namespace)
    return namespace["f"](*values)


@pytest.mark.parametrize(
    ("text", "a", "b", "want"),
    [
        ("a + b", 2**63 - 1, 1, -(2**63)),
        ("a - b", -(2**63), 1, 2**63 - 1),
        ("a * b", 2**62, 2, -(2**63)),
        ("-a", -(2**63), 0, -(2**63)),
        ("abs(a)", -(2**63), 0, -(2**63)),
        ("a // b", -(2**63), -1, -(2**63)),
        ("a << b", 1, 64, 0),
        ("a >> b", -8, 63, -1),
        ("a / b", 1, 0, float("inf")),
        ("a % b", -7, 3, 2),
        ("a ** b", 3, 2, 9.0),
        ("a // b", 1.0, 0.1, 9.0),
        ("int(a * 1e18)", 1, 0, 10**18),
        ("a < b", 2**53 + 1, 2.0**53, False),
        ("min(a, b)", float("nan"), 1.0, float("nan")),
        ("min(a, b)", 1.0, float("nan"), 1.0),
    ],
)
def test_python_with_numbers_of_64_bits(text: str, a: Any, b: Any, want: Any) -> None:
    assert run_wrapping(f"def f(a, b):\n    return {text}\n", a, b) == pytest.approx(want, rel=0, nan_ok=True)
    assert type(run_wrapping(f"def f(a, b):\n    x = {text}\n    return x\n", a, b)) is type(want)


def test_augmented_assignment_keeps_objects() -> None:
    assert run_wrapping("def f(a, b):\n    c = a\n    c += [b]\n    return a\n", [1], 2) == [1, 2]
    assert run_wrapping("def f(a, b):\n    a *= b\n    return a\n", 2**62, 4) == 0
    assert wrapped(2**64 + 5) == 5


def planted(*lines: str) -> tuple[Program, int]:
    """A program with the parameters of some seed, and that seed."""
    seed = next(s for s in range(100) if layout_of(s).names[0].axes == ("p",) and not layout_of(s).edges)
    body = [Statement("total = 0"), *(Statement(line) for line in lines), Statement("return total, 0.5, 0.0")]
    return Program("main", layout_of(seed).parameters, "tuple[int, float, float]", body), seed


def test_a_difference_is_found_shrunk_and_told_with_arguments() -> None:
    program, seed = planted("x = n * 2", "total += 9223372036854775807", "total += 1", "y = x")
    found = disagreement(program, seed, PATHS)
    assert found is not None
    assert "9223372036854775808" in found
    text = report(seed, program, found)
    assert "y = x" not in text
    assert "total += 1\n" in text
    assert "n = " in text
    assert "strides" in text


def test_errors_agree_in_line_and_message() -> None:
    program, seed = planted("print(n)", "total += int(a[99])", "total += 1")
    assert disagreement(program, seed, PATHS) is None
    program, seed = planted("raise ValueError(f'no {n}')")
    assert disagreement(program, seed, PATHS) is None


def test_what_cannot_be_compiled_is_a_finding() -> None:
    program, seed = planted("total += unknown")
    found = disagreement(program, seed, PATHS)
    assert found is not None
    assert UNCOMPILABLE in found


def test_values_are_compared_to_the_last_bit() -> None:
    nan = float("nan")
    assert value_difference([nan, 1.0], [nan, 1.0]) is None
    assert value_difference(0.0, -0.0) == "expected 0.0, got -0.0"
    assert value_difference(1, True) == "expected 1, got True"
    zeros = flambeau.tensor([0.0, 1.0]), flambeau.tensor([-0.0, 1.0])
    assert value_difference(*zeros) is not None
    assert value_difference(1.0, 1.0 + 1e-15) is not None
    assert value_difference(1.0, 1.0 + 1e-15, 1e-9) is None


def test_an_outcome_has_what_was_printed_and_what_is_left() -> None:
    def function(*given: Any) -> Any:
        given[0][0] = 1
        print("said")

    seed = planted()[1]
    got = outcome(function, layout_of(seed), 0)
    assert (got.printed, got.error, got.left[0].numpy()[0]) == ("said\n", None, 1)
