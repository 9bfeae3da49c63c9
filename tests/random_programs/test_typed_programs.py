"""Random programs over types and classes that are made up for each give one answer: in CPython and on every path."""

from __future__ import annotations

import pytest

from tests.random_programs.check import compile_source, paths_for
from tests.random_programs.flow.check import arguments, disagreement, outcome, report
from tests.random_programs.model import unused
from tests.random_programs.typed import modules
from tests.random_programs.typed.generate import generate
from tests.random_programs.typed.kinds import INT, STR, Kind


@pytest.mark.parametrize("seed", range(4))
def test_all_paths_agree(seed: int) -> None:
    program, paths = generate(seed, size=2), paths_for(seed)
    found = disagreement(program, seed, paths)
    if found is not None:
        pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


@pytest.mark.parametrize("seed", range(2))
def test_all_paths_agree_on_modules(seed: int) -> None:
    program, paths = modules.generate(seed, size=2), paths_for(seed)
    found = disagreement(program, seed, paths)
    if found is not None:
        pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_every_construct_of_modules_is_used() -> None:
    used = ("(nn.Module):", "nn.ModuleList([", "nn.ModuleDict({", ".values():", "self.training", "forward(self", "(M")
    assert unused(used, (modules.generate(seed).source() for seed in range(60))) == []


def test_programs_are_the_same_for_a_seed_and_run_in_python() -> None:
    assert generate(7).source() == generate(7).source() != generate(8).source()
    ends = []
    for seed in range(40):
        function = compile_source(generate(seed).source(), "<counted>")["main"]
        ends.append(outcome(function, arguments(seed))[0])
    results = [end for end in ends if isinstance(end, list)]
    assert len(results) > 25
    assert sum(map(len, results)) > 60


def test_every_construct_is_used() -> None:
    used = (
        "Optional[", "Union[", "dict[", "tuple[", "(Enum):", "(NamedTuple):", "@dataclass\n", "@dataclass(order=True)",
        "super().__init__(", "super().", "@property", ".setter", "@staticmethod", "__lt__", "__eq__", "__add__",
        "__call__", "__getitem__", "__setitem__", "__contains__", "__iter__", "__enter__", "__bool__", "__iadd__",
        "__post_init__",
        "isinstance(", "is None", "is not None", ":= ", "match ", "case None", "yield ", "._replace(", "with ", "try:",
        "finally:", "raise Oops", "lambda ", ".setdefault(", ".pop(", "sorted(", "link", "for ", "else:", "break",
    )  # fmt: skip
    assert unused(used, (generate(seed).source() for seed in range(120))) == []


def test_types_are_spelled_as_python_has_them() -> None:
    assert Kind("optional", (Kind("list", (INT,)),)).text == "Optional[list[int]]"
    assert Kind("union", (INT, STR)).text == "Union[int, str]"
    assert Kind("object", (), "C1").text == "C1"
