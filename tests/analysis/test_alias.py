"""Aliasing and effects: what may be the same memory, who writes it, and what may change places."""

from __future__ import annotations

from itertools import pairwise

import pytest

import flambeau.ops  # noqa: F401
from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import has_effect, is_pure, is_random, may_raise, writes_memory
from flambeau.ir import Graph, Node, Value, parse_ir

HEAD = "graph(%x : Tensor, %y : Tensor, %n : int, %c : bool, %l : Tensor[], %m : __torch__.M):\n "


def parsed(body: str) -> tuple[AliasAnalysis, dict[str, Value], Graph]:
    graph = parse_ir(HEAD + body + "\n return ()")
    values = {v.name: v for v in graph.parameters}
    for node in graph.all_nodes():
        values |= {v.name: v for v in node.results}
        values |= {v.name: v for b in node.nested_blocks for v in b.parameters}
    return AliasAnalysis(graph), values, graph


ALIASING = [
    ("%a = aten::relu(%x)", "a", "x", False),
    ("%a = aten::relu_(%x)", "a", "x", True),
    ("%a = aten::t(%x)\n %b = aten::t(%a)", "b", "x", True),
    ("%a = aten::relu(%x)\n %b = aten::relu(%x)", "a", "b", False),
    ("", "x", "y", True),
    ("", "x", "n", False),
    ("%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)", "a", "k", False),
    ("%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)\n %b = aten::__getitem__(%k, %n)", "a", "b", True),
    ("%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)\n %b = aten::__getitem__(%l, %n)", "a", "b", False),
    ("%a = aten::relu(%x)\n %k : Tensor[] = aten::append(%l, %a)\n %b = aten::__getitem__(%l, %n)", "a", "b", True),
    ("%a = aten::relu(%x)\n %k : Tensor[] = aten::append(%l, %a)", "a", "y", True),
    (
        "%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)\n %j : Tensor[] = aten::add(%k, %l)\n"
        " %b = aten::__getitem__(%j, %n)",
        "a",
        "b",
        True,
    ),
    (
        "%a = aten::relu(%x)\n %t : (Tensor, int) = prim::TupleConstruct(%a, %n)\n"
        " %b : Tensor, %i : int = prim::TupleUnpack(%t)",
        "a",
        "b",
        True,
    ),
    (
        "%a = aten::relu(%x)\n %b = prim::If(%c)\n block0():\n -> (%a)\n block1():\n %d = aten::exp(%x)\n -> (%d)",
        "a",
        "b",
        True,
    ),
    (
        "%a = aten::relu(%x)\n %b = prim::If(%c)\n block0():\n -> (%a)\n block1():\n %d = aten::exp(%x)\n -> (%d)",
        "x",
        "b",
        False,
    ),
    (
        "%a = aten::relu(%x)\n %e = aten::exp(%x)\n %b, %f = prim::Loop(%n, %c, %a, %e)\n block0(%i : int, %p, %q):\n"
        " -> (%c, %q, %p)",
        "a",
        "f",
        True,
    ),
    ("%a = aten::relu(%x)\n %b = ^f()(%a)\n %d = aten::__getitem__(%l, %n)", "a", "d", True),
    ("%a = aten::relu(%x)\n %b = ^f()(%n)", "a", "b", False),
    ('%a = prim::GetAttr[name="w"](%m)\n %b = prim::GetAttr[name="w"](%m)', "a", "b", True),
    ('%a = aten::relu(%x)\n = prim::SetAttr[name="w"](%m, %a)\n %b = prim::GetAttr[name="w"](%m)', "a", "b", True),
]


@pytest.mark.parametrize(("body", "a", "b", "expected"), ALIASING)
def test_which_values_may_share_memory(body: str, a: str, b: str, expected: bool) -> None:
    aliases, values, _ = parsed(body)
    assert aliases.may_alias(values[a], values[b]) is expected
    assert aliases.may_alias(values[b], values[a]) is expected


def test_containers_contain_what_is_put_in() -> None:
    aliases, v, _ = parsed("%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)\n %b = aten::exp(%x)")
    assert aliases.may_contain_alias(v["k"], v["a"])
    assert not aliases.may_contain_alias(v["k"], v["b"])
    assert not aliases.may_contain_alias([v["b"], v["n"]], [v["a"]])
    aliases, v, _ = parsed(
        "%a = aten::relu(%x)\n %k : Tensor[] = aten::split(%a, %n, %n)\n %b = aten::__getitem__(%k, %n)"
    )
    assert aliases.may_alias(v["b"], v["a"])


WRITING = [
    ("%a = aten::relu(%x)\n %w = aten::relu_(%a)", "a", ["aten::relu_"]),
    ("%a = aten::relu(%x)\n %w = aten::relu_(%a)", "x", []),
    ("%a = aten::relu(%x)\n %v = aten::t(%a)\n %w = aten::relu_(%v)", "a", ["aten::relu_"]),
    ("%w = aten::relu_(%y)", "x", ["aten::relu_"]),
    ("%w = aten::relu_(%y)", "l", ["aten::relu_"]),
    ("%w : Tensor[] = aten::append(%l, %x)", "x", []),
    (
        "%a = aten::relu(%x)\n %k : Tensor[] = prim::ListConstruct(%a)\n %b = aten::__getitem__(%k, %n)\n"
        " %w = aten::relu_(%b)",
        "k",
        ["aten::relu_"],
    ),
    ("%a = aten::relu(%x)\n %b = ^f()(%a)", "a", ["^f"]),
    ("%a = aten::relu(%x)\n %b = ^f()(%n)", "a", []),
    ("%b = ^f()(%n)", "x", ["^f"]),
    (
        "%a : int[] = prim::ListConstruct(%n)\n %b : int[] = prim::ListConstruct(%n)\n"
        " %d : int[] = aten::append(%a, %n)",
        "b",
        [],
    ),
    ("%o = aten::exp(%x, %y)", "y", ["aten::exp"]),
]


@pytest.mark.parametrize(("body", "value", "writers"), WRITING)
def test_who_writes(body: str, value: str, writers: list[str]) -> None:
    aliases, values, _ = parsed(body)
    assert [n.op for n in aliases.writers(values[value])] == writers
    assert aliases.has_writers(values[value]) == bool(writers)


def test_what_escapes_and_leaves() -> None:
    aliases, v, graph = parsed("%a = aten::relu(%x)\n %b = aten::exp(%x)\n %k : Tensor[] = aten::append(%l, %a)")
    assert aliases.escapes(v["a"])
    assert not aliases.escapes(v["b"])
    graph.add_return(v["b"])
    assert AliasAnalysis(graph).leaves(v["b"])


MOVES = [
    ("%a = aten::relu(%x)\n %b = aten::exp(%y)", True),
    ("%a = aten::relu(%x)\n %b = aten::exp(%a)", False),
    ("%a = aten::relu_(%x)\n %b = aten::exp(%y)", False),
    ("%a = aten::exp(%y)\n %b = aten::relu_(%x)", False),
    ("%e = aten::exp(%x)\n %a = aten::relu_(%e)\n %b = aten::exp(%y)", True),
    ("%s : int = aten::neg(%n)\n = prim::Print(%n)", True),
    ("%s = aten::exp(%x)\n = prim::Print(%n)", False),
    ("%l2 : Tensor[] = aten::append(%l, %x)\n %b : int = aten::floordiv(%n, %n)", False),
    ("%l2 : Tensor[] = aten::append(%l, %x)\n %b : int = aten::mul(%n, %n)", True),
    (" = prim::Print(%n)\n = prim::Print(%c)", False),
    (
        "%a = prim::If(%c)\n block0():\n %w = aten::relu_(%x)\n -> (%w)\n block1():\n -> (%x)\n %b = aten::exp(%y)",
        False,
    ),
]


@pytest.mark.parametrize(("body", "expected"), MOVES)
def test_what_may_change_places(body: str, expected: bool) -> None:
    aliases, _, graph = parsed(body)
    nodes: list[Node] = list(graph.nodes())
    first, second = list(pairwise(nodes))[-1]
    assert aliases.may_exchange(first, second) is expected
    assert aliases.can_move_before(second, first) is expected
    assert aliases.can_move_after(first, second) is expected
    assert not aliases.can_move_before(first, second)
    assert not aliases.can_move_after(second, first)


EFFECTS = [
    ("%a = aten::relu(%x)", "relu", (False, False, True, False, True)),
    ("%a = aten::relu_(%x)", "relu_", (False, False, True, True, True)),
    ("%a : int = aten::add(%n, %n)", "add", (False, False, True, False, False)),
    ("%a : int = aten::floordiv(%n, %n)", "floordiv", (False, False, True, False, True)),
    (" = prim::Print(%n)", "Print", (True, False, False, False, True)),
    ('= prim::SetAttr[name="w"](%m, %x)', "SetAttr", (True, False, False, True, True)),
    ("%a = some::thing(%x)", "thing", (True, False, False, True, True)),
    ("%a = ^f()(%x)", "^f", (True, False, False, True, True)),
    (
        "%p : float = prim::Constant[value=0.5]()\n %a = aten::dropout(%x, %p, %c)",
        "dropout",
        (False, True, False, False, True),
    ),
    *[
        (
            f"%p : float = prim::Constant[value={p}]()\n %o : NoneType = prim::Constant()\n"
            " %f : bool = prim::Constant[value=0]()\n"
            " %a = aten::scaled_dot_product_attention(%x, %y, %x, %o, %p, %f, %o, %f)",
            "attention",
            (False, p > 0, p == 0, False, True),
        )
        for p in (0.5, 0.0)
    ],
    (
        "%a = prim::If(%c)\n block0():\n = prim::Print(%n)\n -> (%x)\n block1():\n -> (%x)",
        "If",
        (True, False, False, False, True),
    ),
    ("%a = prim::If(%c)\n block0():\n -> (%x)\n block1():\n -> (%y)", "If", (False, False, True, False, False)),
]


@pytest.mark.parametrize(("body", "kind", "expected"), EFFECTS)
def test_effects(body: str, kind: str, expected: tuple[bool, ...]) -> None:
    _, _, graph = parsed(body)
    node = next(n for n in graph.nodes() if n.op.endswith(kind))
    assert (has_effect(node), is_random(node), is_pure(node), writes_memory(node), may_raise(node)) == expected
