"""Graphs as bytes: what comes back is what went in, and nothing else can be in them."""

from __future__ import annotations

import contextlib
import enum
import pickle
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import flambeau
from flambeau.analysis.gradients import Flow
from flambeau.codegen.graph import representation as forms
from flambeau.executor.records import _OF_FIELDS, LARGEST_TENSOR, RecordError, dumps, loads
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.ir import parse_ir
from flambeau.ir.graph import Graph
from flambeau.ir.verify import verify
from flambeau.program.unit import CompilationUnit
from flambeau.schema.types import INT, ClassType, ListType, OptionalType, TensorType
from flambeau.util.source import Source

TEXTS = {
    "branches and loops": """
        graph(%x : Float(2, *, strides=[3, 1], requires_grad=0, device=cpu), %n.1 : int, %flag : bool):
          %one : int = prim::Constant[value=1]()
          %4 : Float(2, *) = prim::If(%flag)
            block0():
              %5 : Tensor = aten::relu(%x)
              -> (%5)
            block1():
              -> (%x)
          %y : Tensor, %count : int = prim::Loop(%n.1, %flag, %4, %one)
            block0(%i : int, %z : Tensor, %c : int):
              %w.7 : Tensor = aten::mul(%z, %x)
              %d : int = aten::add(%c, %i)
              -> (%flag, %w.7, %d)
          %pair : (Tensor, int) = prim::TupleConstruct(%y, %count)
          return (%pair)""",
    "constants": """
        graph():
          %a : float = prim::Constant[value=nan]()
          %b : float = prim::Constant[value=-0.]()
          %c : int[] = prim::Constant[value=[1, -9223372036854775808]]()
          %d : str = prim::Constant[value="a\\n\\"é"]()
          %e : NoneType = prim::Constant()
          %f : Device = prim::Constant[value="cpu"]()
          return (%a, %b, %c, %d, %e, %f)""",
    "a group": """
        graph(%x : Tensor):
          %y : Tensor = prim::FusionGroup_0(%x)
          return (%y)
        with prim::FusionGroup_0 = graph(%u : Tensor):
          %v : Tensor = aten::neg(%u)
          %w : Tensor = aten::mul(%v, %v)
          return (%w)""",
}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Inner:
    class Depth(enum.Enum):
        LOW = "low"


def parsed(text: str) -> Graph:
    lines = text.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return parse_ir("\n".join(line[indent:] for line in lines))


@pytest.mark.parametrize("name", TEXTS)
def test_a_graph_comes_back(name: str) -> None:
    graph = parsed(TEXTS[name])
    copy = loads(dumps(graph))
    assert str(copy) == str(graph)
    assert [v.name for n in copy.all_nodes() for v in n.results] == [
        v.name for n in graph.all_nodes() for v in n.results
    ]
    verify(copy)
    value = copy.insert("aten::relu", [copy.add_parameter(name="x")]).result()  # names are taken as in any graph
    assert value.name not in {v.name for n in copy.all_nodes() for v in n.results if v is not value}


@pytest.mark.parametrize("place", [Color, Inner.Depth], ids=lambda place: place.__qualname__)
def test_members_of_enums_are_found_by_the_name_that_programs_have(place: Any) -> None:
    type_ = enum_type(place)
    unit = CompilationUnit({type_.name: type_})
    assert [loads(dumps(member, unit), unit) for member in place] == list(place)


def test_places_in_the_source_come_back() -> None:
    @flambeau.script
    def scaled(x: flambeau.Tensor, n: int):
        for k in range(n):
            x = x * k
        return x

    graph = scaled.inlined_graph
    copy = loads(dumps(graph))
    for node, same in zip(graph.all_nodes(), copy.all_nodes(), strict=True):
        assert same.range == node.range
        assert same.call_chain == node.call_chain
    assert any(node.range is not None and "x * k" in node.range.text for node in copy.all_nodes())


def test_tensors_in_a_graph_come_back_and_shared_ones_stay_shared() -> None:
    graph = Graph()
    wide = flambeau.tensor([[1.0, float("nan")], [-0.0, float("inf")]], dtype=flambeau.float64)
    half = flambeau.ones(3, dtype=flambeau.bfloat16)
    for constant in (wide, half, wide):
        graph.add_return(graph.insert("prim::Constant", (), value=constant).result())
    again = loads(dumps(graph))
    first, second, third = (v.defining_node.attribute("value") for v in again.returns)
    assert first is third
    assert first is not wide
    assert first.numpy().tobytes() == wide.numpy().tobytes()
    assert first.dtype is flambeau.float64
    assert second.dtype is flambeau.bfloat16
    assert second.tolist() == [1.0, 1.0, 1.0]
    first.add_(1)  # memory of its own, which may be written to
    assert wide[0, 0].item() == 1.0


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.5, "text", None, True, 1 << 80, 2 + 3j, [1, {"a": b"c"}]),
        TensorType(dtype=flambeau.float32, sizes=(1, None)),
        OptionalType.of(ListType(INT)),
        Flow((True, (False, True)), (False,), (True,), False),
        Source("x = 1\n", "model.py").range(0, 5),
        np.float32(1.5).item(),
    ],
)
def test_values_come_back(value: Any) -> None:
    assert loads(dumps(value)) == value


def test_what_belongs_to_one_process_is_refused() -> None:
    class Net(flambeau.nn.Module):
        def forward(self, x):
            return x + 1

    graph = Graph()
    graph.insert("mine::operator", ())
    refused = [flambeau.script(Net()).graph, graph, print, object(), test_values_come_back]
    large = flambeau.zeros(LARGEST_TENSOR // 4 + 1)
    refused += [large, flambeau.zeros(4, 4).T, flambeau.zeros(2, requires_grad=True)]
    for value in refused:
        with pytest.raises(RecordError):
            dumps(value)


def test_classes_are_found_by_name() -> None:
    class Net(flambeau.nn.Module):
        def forward(self, x):
            return x + 1

    graph = flambeau.script(Net()).graph
    type_ = graph.parameters[0].static_type
    assert isinstance(type_, ClassType)

    class Program:
        def find_type(self, name: str) -> ClassType | None:
            return type_ if name == type_.name else None

        def find_function(self, name: str) -> None:
            return None

    copy = loads(dumps(graph, Program()), Program())
    assert copy.parameters[0].static_type is type_
    with pytest.raises(RecordError, match=f"the program has no {type_.name}"):
        loads(dumps(graph, Program()))


class _Writes:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def test_foreign_bytes_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "written"
    whole = dumps(parsed(TEXTS["a group"]))
    for content in (pickle.dumps(_Writes(path)), pickle.dumps(Path.touch), b"", b"\x80", b"no pickle", whole[:-9]):
        with pytest.raises(RecordError):
            loads(content)
    assert not path.exists()
    for place in range(0, len(whole), 7):  # whatever a broken disk makes of it
        broken = bytearray(whole)
        broken[place] ^= 0x41
        with contextlib.suppress(RecordError):
            loads(bytes(broken))


def test_arguments_and_results_of_native_functions_look_the_same_when_read() -> None:
    kept_by_nobody = {forms.Unknown, forms.Object}  # none once code is made; objects are of classes of the process
    assert set(get_args(forms.Representation)) - _OF_FIELDS == kept_by_nobody
    matrix, vector = (forms.Array(flambeau.float32, rank, 1) for rank in (2, 1))
    unlike = forms.Unlike((matrix, vector))
    assert loads(dumps(unlike)) == unlike
    assert loads(dumps(forms.Optional(unlike))) == forms.Optional(unlike)
