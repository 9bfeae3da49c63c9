"""The function around a graph's code, lines that change on the way, and modules written as packages."""

from __future__ import annotations

import copy
import importlib
import sys

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.graph import CodeGen


class OfList(CodeGen):
    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return f"def forward(self, values: Values){maybe_return_annotation}:\n    {', '.join(free_vars)}, = values"

    def additional_globals(self):
        return [("Values", list)]

    def process_inputs(self, *args):
        return args[0]

    def process_outputs(self, outputs):
        return list(outputs)

    def generate_output(self, output_args):
        return f"return list({output_args!r})"


def test_another_signature() -> None:
    traced = fx.symbolic_trace(lambda a, b: (a + b, a))
    traced.graph.set_codegen(OfList())
    traced.recompile()
    assert traced([1, 2]) == [3, 1]
    assert fx.Interpreter(traced).run([1, 2]) == [3, 1]
    assert fx.Interpreter(traced).run(1, 2, enable_io_processing=False) == (3, 1)
    assert (traced.graph.process_inputs([1, 2]), traced.graph.process_outputs((3, 1))) == ([1, 2], [3, 1])
    assert copy.deepcopy(traced)([3, 4]) == [7, 3]


def test_lines_that_are_changed() -> None:
    traced = fx.symbolic_trace(lambda x: x + 1)

    def counted(before):
        return lambda lines: [*(before(lines) if before else lines[:-1]), "add = add * 10", *lines[-1:]]

    with traced.graph.on_generate_code(counted):
        traced.recompile()
        assert traced(1) == 20
    traced.recompile()
    assert traced(1) == 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.w = nn.Parameter(flambeau.full((2,), 3.0), requires_grad=False)
        self.register_buffer("kept", flambeau.ones(2))
        self.register_buffer("own", flambeau.full((2,), 2.0), persistent=False)

    def forward(self, x):
        return self.linear(x) * self.w + self.kept - self.own


def test_modules_as_packages(tmp_path, monkeypatch) -> None:
    traced = fx.symbolic_trace(Net().eval())
    traced.to_folder(tmp_path / "written_module", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = importlib.import_module("written_module").Written()
    sys.modules.pop("written_module")
    x = flambeau.tensor([[1.0, -2.0]])
    assert flambeau.equal(model(x), traced(x))
    assert (model.training, model.w.requires_grad, sorted(model.state_dict())) == (
        False, False, sorted(traced.state_dict()),
    )  # fmt: skip


def test_what_cannot_be_written(tmp_path) -> None:
    def local(x):
        return x

    graph = fx.Graph()
    graph.output(graph.call_function(local, (graph.placeholder("x"),)))
    with pytest.raises(RuntimeError, match=r"to_folder: the code names .*local, a function that no module has"):
        fx.GraphModule({}, graph).to_folder(tmp_path / "a")
    with pytest.raises(ValueError, match="to_folder: a class cannot be called 'not a name'"):
        fx.symbolic_trace(lambda x: x).to_folder(tmp_path / "b", "not a name")


def test_what_modules_are_not_made_of() -> None:
    graph = fx.symbolic_trace(nn.Linear(1, 1)).graph
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root!"):
        fx.GraphModule(3, graph)
    with pytest.raises(RuntimeError, match="Node weight referenced target weight but that target was not provided in"):
        fx.GraphModule({}, graph)
    module = fx.symbolic_trace(lambda x: x)
    with pytest.raises(AssertionError, match="Expected a Graph instance, but got <class 'int'>"):
        module.graph = 3
