"""Programs of whole tensors give one answer on every path, at every size; what is planted is found."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.random_programs.check import PATHS
from tests.random_programs.model import Program, Statement, unused
from tests.random_programs.tensors.check import (
    THREADED,
    compile_source,
    disagreement,
    native_paths_for,
    outcome,
    report,
)
from tests.random_programs.tensors.generate import generate
from tests.random_programs.tensors.layout import PARAMETERS, SETS, Layout
from tests.random_programs.tensors.together import together
from tests.random_programs.tensors.values import joined

CHUNKS, PER_CHUNK = 2, 12


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_paths_agree(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program, paths = generate(seed), native_paths_for(seed)
        found = disagreement(program, seed, paths)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_reach_what_they_are_for() -> None:
    wanted = (
        "x.sum() * 0", ".cumsum(", ".amax(", ".argmax(", "flambeau.embedding(w, ", "[flag]", "[True]", "None, ",
        "+= ", ".masked_fill_(", "[1:] = k", "keepdim=True", "for i", "unbiased=False", ".sort(", ".softmax(",
        " @ ", "..., ", "if bool(", "flambeau.jit.fork(task", "flambeau.jit.wait(", "for f", "= k",
        ".reshape(-1)", "return again", "return turn", "[p", "fork(again",
    )  # fmt: skip
    assert unused(wanted, (generate(seed).source() for seed in range(300))) == []


def test_few_programs_raise_and_sizes_reach_zero() -> None:
    raised, sizes = 0, set()
    for seed in range(60):
        layout = Layout(seed)
        function = compile_source(generate(seed).source(), "<tensors>", {"flambeau": flambeau, "Tensor": Tensor})
        for call in range(SETS):
            raised += bool(outcome(function, layout, call, flambeau.from_numpy).error)
            sizes.update(n for a in layout.arguments(call).values() if isinstance(a, np.ndarray) for n in a.shape)
    assert 0 < raised < 30
    assert {0, 1, 2, 3, 4, 5} < sizes


def test_tasks_fork_tasks_and_functions_call_each_other() -> None:
    nested = turns = threaded = 0
    for seed in range(400):
        definitions = generate(seed).source().split("def ")[1:]
        nested += any(d.startswith("task") and "jit.fork(task" in d for d in definitions)
        turns += any(d.startswith("turn") and "return again" in d for d in definitions)
        threaded += seed % THREADED == 5
    assert nested > 10
    assert turns > 3
    assert threaded >= 25


def test_sizes_are_zero_and_one_in_every_axis() -> None:
    layouts = [Layout(seed) for seed in range(100)]
    for axis in ("a", "b", "c", "table"):
        sizes = {sizes[axis] for layout in layouts for sizes in layout.sizes}
        assert {0, 1} < sizes, axis


def test_what_goes_wrong_on_a_thread_or_in_a_child_is_found() -> None:
    parent, main = os.getpid(), threading.get_ident()
    assert together(lambda call: None, 2, threads=2, children=2) is None
    in_child = together(lambda call: "odd" if os.getpid() != parent and call == 1 else None, 2)
    assert in_child == "in a forked child: arguments 1: odd"
    on_thread = together(lambda call: "odd" if threading.get_ident() != main and os.getpid() == parent else None, 2)
    assert on_thread == "at once on threads: arguments 0: odd" or on_thread == "at once on threads: arguments 1: odd"


def test_axes_that_broadcast() -> None:
    assert joined(("a", "b"), ("b",)) == ("a", "b")
    assert joined(("a", "1"), ("1", "b")) == ("a", "b")
    assert joined((), ("a",)) == ("a",)
    assert joined(("a",), ("b",)) is None


def test_a_difference_is_found_and_made_small() -> None:
    def body(*lines: str) -> Program:
        statements = [Statement(line) for line in (*lines, "return t1,")]
        return Program("main", PARAMETERS, "tuple[Tensor]", statements)

    program = body("x += 1", "t2 = y * 2", "t1 = v * (2 if type(flag) is bool else 1)", "t1 = t1 + k")
    assert disagreement(program, 1, PATHS) is not None  # it cannot be compiled
    assert disagreement(body("x += 1", "t1 = x * 2"), 1, PATHS) is None
    text = report(1, program, disagreement(program, 1, PATHS) or "")
    assert text.startswith("seed 1: ")
    assert "t2 = y * 2" not in text.rpartition("def main")[2]
