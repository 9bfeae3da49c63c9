"""The whole models of the examples compiled by TorchScript from the same source: same answers, graphs of the same
structure, and each reads what the other prints.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.ir import constants, literals, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.jit import create_function_from_graph
from flambeau.schema.types import TENSOR
from tests.examples.model_cases import CASES, assert_same, inputs, made, peer_of

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("case", CASES)
def test_same_answers(case: str, folder: Path) -> None:
    model = made(case)
    theirs = peer_of(model, case, folder)
    assert_same(model(*inputs(case)), theirs(*inputs(case, torch.from_numpy)), 1e-4)
    scripted = torch.jit.script(theirs)
    assert_same(flambeau.script(model)(*inputs(case)), scripted(*inputs(case, torch.from_numpy)), 1e-4)


# -- structure of scripted methods ------------------------------------------------------------------------------------

IGNORED = frozenset({"prim::Constant", "prim::Uninitialized", "prim::unchecked_cast", "prim::ListConstruct"})
"""Constants are pooled and folded by passes; casts to a type that a value has already are not emitted here; a number
that stands for two is made a list by the operator here, by the caller there.
"""
SLICES_LATE = frozenset({"GPT.generate"})
"""Methods that slice twice at once: `x[:, -n:]` computes -n before the first slice here, after it there."""


def our_outline(nodes: Iterable[Any], depth: int = 0) -> list[str]:
    """Kinds and types of results, in order, nested as the blocks are."""
    lines: list[str] = []
    for node in nodes:
        if node.op not in IGNORED:
            callee = node.operand(0).defining_node.attribute("name") if node.op == "prim::CallFunction" else ""
            name = node.attributes.get("name", callee)
            lines.append(line(depth, node.op, name, [o.static_type.annotation for o in node.results]))
            for block in node.nested_blocks:
                lines += our_outline(block, depth + 1)
    return lines


def their_outline(nodes: Iterable[Any], depth: int = 0) -> list[str]:
    """The same."""
    lines: list[str] = []
    for node in nodes:
        if node.kind() not in IGNORED:
            name = node.s("name") if node.hasAttribute("name") else ""
            if node.kind() == "prim::CallFunction":
                name = next(node.inputs()).node().s("name")
            lines.append(line(depth, node.kind(), name, [o.type().annotation_str for o in node.outputs()]))
            for block in node.blocks():
                lines += their_outline(block.nodes(), depth + 1)
    return lines


def line(depth: int, kind: str, name: str, types: list[str]) -> str:
    """One node. What is an operator here may be a function there, and a method one of several overloads."""
    if kind == "prim::CallFunction":
        kind = "aten::"
    results = re.sub(r"__torch__(?:\.\w+)*\.(\w+)", r"\1", ", ".join(types))
    return f"{'  ' * depth}{kind}{name.removesuffix('__0')} -> {results}"


@pytest.mark.parametrize("case", CASES)
def test_scripted_methods_have_the_same_structure(case: str, folder: Path) -> None:
    """Every method of every class that the example defines, node for node, calls of submodules as calls."""
    model = made(case)
    plain = dict(model.named_modules())
    theirs = dict(torch.jit.script(peer_of(model, case, folder)).named_modules())
    compared = 0
    for name, module in flambeau.script(model).named_modules():
        cls = type(plain[name])
        if cls.__module__.startswith("flambeau"):
            continue
        assert sorted(module._c._method_names()) == sorted(theirs[name]._c._method_names())
        for method in module._c._method_names():
            mine = our_outline(module._c._get_method(method).graph.body)
            peers = their_outline(theirs[name]._c._get_method(method).graph.nodes())
            if f"{cls.__name__}.{method}" in SLICES_LATE:
                mine, peers = sorted(mine), sorted(peers)
            assert mine == peers, list(difflib.ndiff(mine, peers))
            compared += 1
    assert compared


# -- structure of traces ----------------------------------------------------------------------------------------------

PLUMBING = frozenset({
    "prim::Constant", "prim::GetAttr", "prim::NumToTensor", "aten::Int", "aten::ScalarImplicit", "prim::ListConstruct",
})  # fmt: skip
"""Sizes are ints here, which go through tensors there; a loaded attribute is loaded once for all its users there."""
RECORDED_AS = {
    "aten::conv1d": "aten::_convolution",
    "aten::conv2d": "aten::_convolution",
    "aten::conv_transpose2d": "aten::_convolution",
    "aten::floordiv": "aten::floor_divide",
}
"""Operators recorded as the user calls them here, and as they are dispatched there; sizes are divided as ints here."""
CELL = Counter({
    "aten::linear": 20, "aten::add_": 20, "aten::unsafe_chunk": 10, "prim::ListUnpack": 10, "aten::sigmoid_": 30,
    "aten::tanh_": 10, "aten::mul": 30, "aten::tanh": 10,
})  # fmt: skip
DIFFERENT: dict[str, tuple[Counter[str], Counter[str]]] = {
    "time_sequence": (Counter({"aten::lstm_cell": 10}), CELL),
    "recommender": (Counter(), Counter({"aten::slice": 1})),
    "transformer_encoder": (
        Counter(),
        Counter({"aten::zeros_like": 1, "aten::masked_fill_": 1}),
    ),
}
"""What only our trace has, and what only theirs: a cell of an LSTM is one operator here; a full slice before an index
by tensors is nothing; a mask of padding is made numbers in the attention, which is left out, and once before it there.
"""


def traced_kinds(graph: Any) -> list[str]:
    """Kinds in order, without what is within attention: that is written in other operators."""
    if isinstance(graph, Graph):
        found = [RECORDED_AS.get(n.op, n.op) for n in graph.all_nodes() if "self_attn" not in n.scope]
    else:
        found = [n.kind() for n in graph.nodes() if "self_attn" not in n.scopeName()]
    return [kind for kind in found if kind not in PLUMBING]


@pytest.mark.parametrize("case", CASES)
def test_traces_have_the_same_structure(case: str, folder: Path) -> None:
    model = made(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = flambeau.trace(model, inputs(case), guard=False)
        theirs = torch.jit.trace(peer_of(model, case, folder, exports=False), inputs(case, torch.from_numpy))
    assert_same(mine(*inputs(case)), theirs(*inputs(case, torch.from_numpy)), 1e-4)
    ours, peers = traced_kinds(mine.inlined_graph), traced_kinds(theirs.inlined_graph)
    if case not in DIFFERENT:
        assert ours == peers, list(difflib.ndiff(ours, peers))
        return
    a, b = Counter(ours), Counter(peers)
    assert (a - b, b - a) == DIFFERENT[case]


# -- each reads the other's text --------------------------------------------------------------------------------------


def our_text(model: nn.Module, case: str) -> tuple[str, list[Any]]:
    """A trace that has tensors as parameters instead of attributes, and those tensors: text holds no tensors."""
    traced = flambeau.trace(model, inputs(case), guard=False, check_trace=False)
    graph = clone_graph(flambeau.jit.freeze(traced, optimize_numerics=False).graph)
    tensors = []
    for node in graph.find_all("prim::Constant"):
        held = constants.constant_value(node.result())
        if literals.is_tensor(held):
            node.result().replace_uses_with(graph.add_parameter(TENSOR))
            tensors.append(held)
        elif isinstance(held, list) and held and literals.is_tensor(held[0]):
            parameters = [graph.add_parameter(TENSOR) for _ in held]
            with graph.inserting(node):
                made = graph.insert("prim::ListConstruct", parameters, [node.result().static_type])
            node.result().replace_uses_with(made.result())
            tensors += held
        else:
            continue
        node.erase()
    graph.body.remove_parameter(0)
    return re.sub(r", scope: [^#\n]*", "", str(graph)), tensors


def their_text(model: Any, case: str) -> tuple[str, list[Any]]:
    """The same of a scripted model; of a traced one where freezing there leaves attributes of scripted ones."""
    if case == "transformer_encoder":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.jit.trace(model, inputs(case, torch.from_numpy))
    else:
        made = torch.jit.script(model)
    graph = torch.jit.freeze(made, optimize_numerics=False).graph.copy()
    tensors = []
    for node in graph.findAllNodes("prim::Constant"):
        held = node.output().toIValue()
        if node.hasAttribute("value") and node.kindOf("value") == "t":
            node.output().replaceAllUsesWith(graph.addInput())
            tensors.append(node.t("value"))
        elif isinstance(held, list) and held and isinstance(held[0], torch.Tensor):
            made = graph.create("prim::ListConstruct", [graph.addInput() for _ in held])
            made.output().setType(node.output().type())
            made.insertBefore(node)
            node.output().replaceAllUsesWith(made.output())
            tensors += held
    torch._C._jit_pass_dce(graph)
    graph.eraseInput(0)
    return str(graph), tensors


FEW = {"time_sequence": (0,)}
"""Arguments that have defaults: graphs know none."""


@pytest.mark.parametrize("case", CASES)
def test_theirs_is_read_here(case: str, folder: Path) -> None:
    theirs = peer_of(made(case), case, folder, exports=False)
    text, tensors = their_text(theirs, case)
    read = flambeau.script(create_function_from_graph("read", parse_ir(text)), backend="interpreter")
    assert str(read.graph) == text
    given = [flambeau.from_numpy(t.detach().numpy()) for t in tensors]
    answer = theirs(*inputs(case, torch.from_numpy))
    assert_same(read(*inputs(case), *FEW.get(case, ()), *given), answer, 1e-4)


@pytest.mark.parametrize("case", CASES)
def test_ours_is_read_there(case: str) -> None:
    """Traces, without the scopes: those, and the nodes without results in checks of sizes, TorchScript prints but does
    not read.
    """
    model = made(case)
    text, tensors = our_text(model, case)
    read = torch._C._create_function_from_graph("read", torch._C.parse_ir(text))
    given = [torch.from_numpy(t.detach().numpy()) for t in tensors]
    assert_same(model(*inputs(case)), read(*inputs(case, torch.from_numpy), *given), 1e-4)
