"""Random programs give the same in the machine, in the reference evaluator and in Python."""

from __future__ import annotations

import pytest

import flambeau.ops
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.interpreter.reference import evaluate
from flambeau.ir.parser import parse_ir
from tests.interpreter.random_programs import Program

assert flambeau.ops is not None


@pytest.mark.parametrize("seed", range(120))
def test_machine_reference_and_python_agree(seed: int) -> None:
    program = Program(seed)
    graph = parse_ir(program.ir)
    code = compile_graph(graph, "f")
    in_python = program.in_python()
    for number in range(4):
        inputs = program.inputs(seed * 10 + number)
        expected = list(map(repr, in_python(*inputs)))
        assert list(map(repr, evaluate(graph, inputs))) == expected, program.ir
        assert list(map(repr, run(code, inputs))) == expected, f"{program.ir}\n{code}"
