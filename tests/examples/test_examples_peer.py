"""The examples compiled by TorchScript from the same source: same answers, graphs of the same structure, and each reads
what the other prints.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from examples import lstm, nbody
from flambeau.ir import parse_ir
from flambeau.jit import create_function_from_graph
from flambeau.jit.function import ScriptFunction

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

EXAMPLES = Path(__file__).parents[2] / "examples"
DRAW = np.random.default_rng(7)
POINTS = DRAW.standard_normal((40, 2))
BOARD = DRAW.integers(0, 2, (9, 11))
CASES: dict[str, tuple[Any, ...]] = {
    "image.otsu": (DRAW.random((12, 10)),),
    "image.sobel": (DRAW.random((12, 10)),),
    "kmeans.assign": (POINTS, POINTS[:3]),
    "kmeans.kmeans": (POINTS, POINTS[:3]),
    "kmeans.inertia": (POINTS, POINTS[:3], DRAW.integers(0, 3, 40)),
    "life.neighbours": (BOARD,),
    "life.generation": (BOARD,),
    "life.run": (BOARD, 5),
    "life.place": (8, 9, [(0, 1), (1, 2), (2, 0)], 2, 3),
    "lstm.lstm": tuple(t.numpy() for t in lstm.arguments(3, 2, 4, 5)),
    "mandelbrot.escape_time": (-0.5, 0.6, 50),
    "mandelbrot.image": (6, 5, 30),
    "mandelbrot.area": (12, 9, 30),
    "nbody.simulate": (*nbody.bodies(), 3),
    "newton.root": ([-2.0, 0.0, 1.0], 1.5),
    "newton.square_root": (DRAW.random(5) + 0.1,),
    "spectral_norm.spectral_norm": (6,),
}
"""Arguments of each function; arrays become tensors. The others of the examples say more than TorchScript can read."""
LEAVES_LOOPS = frozenset({
    "image.otsu", "kmeans.kmeans", "life.run", "mandelbrot.escape_time", "mandelbrot.image", "mandelbrot.area",
    "newton.root", "newton.square_root", "spectral_norm.spectral_norm",
})  # fmt: skip
"""Those that end a loop early: TorchScript then counts the iterations itself; here it has a count and a condition."""
COUNTS = frozenset({
    "aten::__and__", "aten::__not__", "aten::add", "aten::lt", "aten::gt", "aten::__range_length",
    "aten::__derive_index",
})  # fmt: skip
"""What such counting is made of."""
IGNORED = frozenset({"prim::Constant", "prim::Uninitialized", "prim::unchecked_cast"})
"""Constants are pooled and folded by passes; casts to a type that a value has already are not emitted here."""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ModuleType]]:
    """The examples' modules, with PyTorch's names for ours."""
    folder = tmp_path_factory.mktemp("examples")
    made = {}
    for name in sorted({case.partition(".")[0] for case in CASES}):
        text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        text = re.sub(r"\bflambeau\.linear\b", "torch.nn.functional.linear", text)
        text = re.sub(r"\bflambeau\.script\b", "torch.jit.script", text)
        path = folder / f"peer_{name}.py"
        path.write_text(re.sub(r"\bflambeau\b", "torch", text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peer is deprecated
            spec.loader.exec_module(module)
        made[name] = module
    yield made
    for module in made.values():
        del sys.modules[module.__name__]


def ours(case: str) -> ScriptFunction:
    module, _, function = case.partition(".")
    found: ScriptFunction = getattr(importlib.import_module(f"examples.{module}"), function)
    return found


def given(case: str, from_numpy: Any) -> list[Any]:
    return [from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in CASES[case]]


def check_same(mine: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        assert len(mine) == len(expected)
        for a, b in zip(mine, expected, strict=True):
            check_same(a, b)
        return
    if isinstance(expected, torch.Tensor):
        assert (mine.numpy().dtype, mine.shape) == (expected.numpy().dtype, tuple(expected.shape))
        mine, expected = mine.numpy(), expected.numpy()
    np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_same_answers(case: str, theirs: dict[str, ModuleType]) -> None:
    module, _, function = case.partition(".")
    expected = getattr(theirs[module], function)(*given(case, torch.from_numpy))
    check_same(ours(case)(*given(case, flambeau.from_numpy)), expected)


def their_outline(nodes: Any, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if node.kind() not in IGNORED:
            types = ", ".join(o.type().annotation_str for o in node.outputs())
            lines.append(f"{'  ' * depth}{node.kind()}({len(list(node.inputs()))}) -> {types}")
            for block in node.blocks():
                lines += their_outline(block.nodes(), depth + 1)
    return lines


def our_outline(nodes: Any, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if node.op not in IGNORED:
            types = ", ".join(o.static_type.annotation for o in node.results)
            lines.append(f"{'  ' * depth}{node.op}({len(node.operands)}) -> {types}")
            for block in node.nested_blocks:
                lines += our_outline(block, depth + 1)
    return lines


@pytest.mark.parametrize("case", CASES)
def test_same_structure(case: str, theirs: dict[str, ModuleType]) -> None:
    module, _, function = case.partition(".")
    expected = getattr(theirs[module], function)
    mine, peers = our_outline(ours(case).graph.body), their_outline(expected.graph.nodes())
    if case in LEAVES_LOOPS:
        mine, peers = computed(mine), computed(peers)
    assert mine == peers, list(difflib.ndiff(mine, peers))


def computed(outline: list[str]) -> list[str]:
    """What an outline computes, without how it goes from turn to turn."""
    kinds = [line.strip().partition("(")[0] for line in outline]
    return sorted(k for k in kinds if k.startswith("aten::") and k not in COUNTS)


UNREADABLE = frozenset({"kmeans.kmeans", "life.place", "nbody.simulate", "newton.root"})
"""Nodes without results and functions that were inlined: what TorchScript itself prints of them it cannot read."""


@pytest.mark.parametrize("case", CASES)
def test_each_reads_what_the_other_prints(case: str, theirs: dict[str, ModuleType]) -> None:
    module, _, function = case.partition(".")
    expected = getattr(theirs[module], function)
    read = create_function_from_graph("read", parse_ir(str(expected.inlined_graph)))
    arguments = given(case, torch.from_numpy)
    missing = len(expected.schema.arguments) - len(arguments)
    arguments += [a.default_value for a in expected.schema.arguments[len(arguments) :]] if missing else []
    answer = expected(*arguments)
    mine = [*given(case, flambeau.from_numpy), *arguments[len(CASES[case]) :]]
    check_same(flambeau.script(read)(*mine), answer)
    if case in UNREADABLE:
        with pytest.raises(RuntimeError, match=r"expected ident but found '='|unknown type specifier"):
            torch._C.parse_ir(str(expected.inlined_graph))
        return
    graph = torch._C.parse_ir(str(ours(case).inlined_graph))
    arguments = [*given(case, torch.from_numpy), *arguments[len(CASES[case]) :]]
    check_same_torch(torch._C._create_function_from_graph("back", graph)(*arguments), answer)


def check_same_torch(back: Any, answer: Any) -> None:
    if isinstance(answer, tuple | list):
        for a, b in zip(back, answer, strict=True):
            check_same_torch(a, b)
    else:
        np.testing.assert_allclose(np.asarray(back), np.asarray(answer), rtol=1e-5, atol=1e-12)


TRACED = ("image.sobel", "kmeans.assign", "life.neighbours", "life.generation", "lstm.lstm")
"""Functions of tensors that give tensors: those that TorchScript, too, can trace."""
PLUMBING = frozenset({
    "prim::Constant", "prim::NumToTensor", "aten::Int", "aten::ScalarImplicit", "prim::ListConstruct", "aten::slice",
})  # fmt: skip
"""Sizes are ints here, which go through tensors there; a slice that takes all of a dimension is nothing here."""
CALLED = {"aten::__and__": "aten::bitwise_and", "aten::__or__": "aten::bitwise_or"}
"""Python's operators, recorded there under their own names."""


@pytest.mark.parametrize("case", TRACED)
def test_traces_have_the_same_structure(case: str, theirs: dict[str, ModuleType]) -> None:
    module, _, function = case.partition(".")
    python = getattr(theirs[module], function)._torchdynamo_inline
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = torch.jit.trace(python, tuple(given(case, torch.from_numpy)))
        mine = flambeau.trace(ours(case).__wrapped__, tuple(given(case, flambeau.from_numpy)), guard=False)
    check_same(mine(*given(case, flambeau.from_numpy)), peer(*given(case, torch.from_numpy)))
    expected = [CALLED.get(n.kind(), n.kind()) for n in peer.graph.nodes() if n.kind() not in PLUMBING]
    assert [n.op for n in mine.graph.nodes() if n.op not in PLUMBING] == expected
