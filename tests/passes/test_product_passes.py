"""Products gathered, sums taken into them, chunks and expansions: before and after, and the same values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import _C
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.verify import verify
from flambeau.passes import batch_mm, canonicalize_ops, fuse_addmm, peephole, remove_expands
from flambeau.tensor.tensor import Tensor
from tests.passes.before_after import expect, expect_same
from tests.passes.test_torch_passes import kinds

ONES = "  %1 : int = prim::Constant[value=1]()\n  %2 : int = prim::Constant[value=2]()\n"


def matrices(count: int, *shape: int) -> list[Tensor]:
    random = np.random.default_rng(count)
    return [flambeau.tensor(random.standard_normal(shape or (3, 3))) for _ in range(count)]


def same_values(run: Callable[[Graph], bool], graph: Graph, arguments: list[Tensor]) -> Graph:
    """Both graphs give the same, up to the order of sums."""
    after = clone_graph(graph)
    assert run(after)
    verify(after)
    for own, other in zip(evaluate(after, arguments), evaluate(graph, arguments), strict=True):
        assert own.dtype is other.dtype
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-12, equal_nan=True)
    return after


def sum_of(count: int, between: str = "", last: str = "") -> str:
    inputs = ", ".join(f"%a{k} : Tensor, %b{k} : Tensor" for k in range(count))
    lines = [f"  %m{k} : Tensor = aten::mm(%a{k}, %b{k})" for k in range(count)]
    sums = [f"  %s{k} : Tensor = aten::add(%{'m0' if k == 1 else f's{k - 1}'}, %m{k}, %1)" for k in range(1, count)]
    body = "\n".join([*lines, *([between] if between else []), *sums])
    return f"graph({inputs}):\n{ONES}{body}\n  return (%s{count - 1}{last})"


@pytest.mark.parametrize("shape", [(3, 3), (0, 0), (1, 1)])
def test_a_sum_of_four_products_is_one(shape: tuple[int, ...]) -> None:
    graph = parse_ir(sum_of(4))
    after = same_values(batch_mm.do, graph, matrices(8, *shape))
    assert kinds(after) == ["MMTreeReduce"]


def test_factors_of_other_shapes_are_multiplied_one_by_one() -> None:
    values = [flambeau.full(shape, 1.5) for k in (1, 2, 3, 4) for shape in ((2, k), (k, 2))]
    assert kinds(same_values(batch_mm.do, parse_ir(sum_of(4)), values)) == ["MMTreeReduce"]
    values[0] = flambeau.full((1, 1), 3.0)  # a product of one row, which the sum broadcasts
    values[1] = flambeau.full((1, 2), 3.0)
    same_values(batch_mm.do, parse_ir(sum_of(4)), values)


KEPT = [
    sum_of(3),
    sum_of(4, last=", %m0"),
    sum_of(4, "  %w : Tensor = aten::zero_(%a0)"),
    sum_of(4, '  %t : str = prim::Constant[value="now"]()\n   = prim::Print(%t)'),
    sum_of(4).replace("%m3, %1)", "%m3, %2)"),
]


@pytest.mark.parametrize("text", KEPT)
def test_sums_that_stay(text: str) -> None:
    expect_same(batch_mm.do, text)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shapes", ["alike", "apart"])
def test_products_with_one_factor_are_gathered(side: int, shapes: str) -> None:
    inputs = ", ".join(f"%b{k} : Tensor" for k in range(8))
    pairs = ["%a, %b{}", "%b{}, %a"]
    body = "\n".join(f"  %m{k} : Tensor = aten::mm({pairs[side].format(k)})" for k in range(8))
    text = f"graph(%a : Tensor, {inputs}):\n{body}\n  return ({', '.join(f'%m{k}' for k in range(8))})"
    sizes = [3] * 8 if shapes == "alike" else range(8)
    others = [flambeau.full((3, n) if side == 0 else (n, 3), 1.25) for n in sizes]
    after = same_values(batch_mm.do, parse_ir(text), [flambeau.full((3, 3), 0.5), *others])
    assert kinds(after) == ["MMBatchSide"]
    fewer = "\n".join(line for line in text.splitlines() if "%m7 " not in line).replace(", %m7)", ")")
    expect_same(batch_mm.do, fewer)


TYPED = "graph(%x : Double(3, 4), %w : Double(4, 2), %b : {}):\n" + ONES


@pytest.mark.parametrize("bias", ["Double(2)", "Double(3, 2)", "Double(1)", "Double(3, 1)", "Double()"])
def test_a_sum_goes_into_its_product(bias: str) -> None:
    shape = tuple(int(n) for n in bias[7:-1].split(",") if n)
    for operands in ("%m, %b", "%b, %m"):
        text = f"  %m : Double(3, 2) = aten::mm(%x, %w)\n  %y : Double(3, 2) = aten::add({operands}, %1)\n  return (%y)"
        arguments = [*matrices(1, 3, 4), *matrices(1, 4, 2), flambeau.full(shape, 2.5, dtype=flambeau.float64)]
        assert kinds(same_values(fuse_addmm.do, parse_ir(TYPED.format(bias) + text), arguments)) == ["addmm"]


@pytest.mark.parametrize("bias", ["Tensor", "Double(5, 3, 2)", "Double(*)", "Float(2)", "Double(6, 2)"])
def test_sums_that_broadcast_the_product_stay(bias: str) -> None:
    text = "  %m : Double(3, 2) = aten::mm(%x, %w)\n  %y : Tensor = aten::add(%m, %b, %1)\n  return (%y)"
    expect_same(fuse_addmm.do, TYPED.format(bias) + text)


def test_products_that_are_used_again_or_written_over_stay() -> None:
    head = TYPED.format("Double(2)") + "  %m : Double(3, 2) = aten::mm(%x, %w)\n"
    expect_same(fuse_addmm.do, head + "  %y : Double(3, 2) = aten::add(%m, %b, %1)\n  return (%y, %m)")
    expect_same(fuse_addmm.do, head + "  %y : Double(3, 2) = aten::add(%m, %b, %2)\n  return (%y)")
    write = "  %z : Double(3, 4) = aten::zero_(%x)\n  %y : Double(3, 2) = aten::add(%m, %b, %1)\n  return (%y)"
    expect_same(fuse_addmm.do, head + write)


def test_chunks_are_taken_apart_at_once() -> None:
    expect(
        canonicalize_ops.do,
        f"graph(%x : Tensor):\n{ONES}  %l : Tensor[] = aten::chunk(%x, %2, %1)\n"
        "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n  return (%a, %b)",
        f"graph(%x : Tensor):\n{ONES}"
        "  %a : Tensor, %b : Tensor = prim::ConstantChunk[chunks=2, dim=1](%x)\n  return (%a, %b)",
    )
    for text in (
        "  %l : Tensor[] = aten::chunk(%x, %n, %1)\n  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n  return (%a)",
        "  %l : Tensor[] = aten::chunk(%x, %2, %1)\n  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n  return (%l)",
        "  %l : Tensor[] = aten::chunk(%x, %2, %1)\n  return (%l)",
    ):
        expect_same(canonicalize_ops.do, f"graph(%x : Tensor, %n : int):\n{ONES}{text}")


EXPANDED = """graph(%x : Tensor, %y : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value={}]()
  %s : int[] = prim::ListConstruct(%n, %n)
  %e : Tensor = aten::expand(%x, %s, %t)
"""


def test_implicit_expansions_are_left_to_operators_that_broadcast() -> None:
    text = EXPANDED.format(1) + "  %z : Tensor = aten::add(%y, %e, %1)\n  return (%z)"
    after = same_values(remove_expands.do, parse_ir(text), [*matrices(1, 1, 3), *matrices(1, 3, 3), 3])  # type: ignore[list-item]
    assert "expand" not in kinds(after)
    expect_same(remove_expands.do, text.replace("[value=1]()\n  %s", "[value=0]()\n  %s"))
    expect_same(remove_expands.do, EXPANDED.format(1) + "  return (%e)")
    for name in ("exp", "t"):
        expect_same(remove_expands.do, EXPANDED.format(1) + f"  %z : Tensor = aten::{name}(%e)\n  return (%z)")


def test_a_tensor_transposed_twice_is_itself_where_its_elements_count() -> None:
    head = f"graph(%x : Tensor, %y : Tensor, %n : int):\n{ONES}"
    twice = "  %a : Tensor = aten::t(%x)\n  %b : Tensor = aten::t(%a)\n  %z : Tensor = aten::mul(%b, %y)\n  return (%z)"
    graph = parse_ir(head + twice)
    assert peephole.do(graph)
    assert graph.find("aten::mul").operand(0) is graph.parameters[0]  # type: ignore[union-attr]
    exchanged = twice.replace("aten::t(%x)", "aten::transpose(%x, %1, %2)").replace("t(%a)", "transpose(%a, %2, %1)")
    graph = parse_ir(head + exchanged)
    assert peephole.do(graph)
    assert graph.find("aten::mul").operand(0) is graph.parameters[0]  # type: ignore[union-attr]
    for other in (
        twice.replace("return (%z)", "return (%b)"),
        twice.replace("aten::mul(", "aten::mul_("),
        exchanged.replace("%2, %1)", "%2, %n)"),
    ):
        expect_same(peephole.do, head + other)


def test_type_as_of_the_same_type_is_nothing() -> None:
    text = (
        "graph(%x : Float(2, device=cpu), %y : {}):\n  %z : Tensor = aten::type_as(%x, %y)\n"
        "  %e : Tensor = aten::exp(%z)\n  return (%e)"
    )
    graph = parse_ir(text.format("Float(3, device=cpu)"))
    assert peephole.do(graph)
    assert kinds(graph) == ["exp"]
    for other in ("Double(3, device=cpu)", "Float(3)", "Tensor"):
        expect_same(peephole.do, text.format(other))


TORCH = [
    ("batch_mm", sum_of(4)),
    ("batch_mm", sum_of(3)),
    ("batch_mm", sum_of(5)),
    ("batch_mm", sum_of(4, last=", %m0")),
    ("remove_expands", EXPANDED.format(1) + "  %z : Tensor = aten::add(%y, %e, %1)\n  return (%z)"),
    ("remove_expands", EXPANDED.format(0) + "  %z : Tensor = aten::add(%y, %e, %1)\n  return (%z)"),
    (
        "canonicalize_graph_fuser_ops",
        f"graph(%x : Tensor):\n{ONES}  %l : Tensor[] = aten::chunk(%x, %2, %1)\n"
        "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n  return (%a, %b)",
    ),
    (
        "remove_mutation",
        f"graph(%a : Tensor, %b : Tensor):\n{ONES}  %l : Tensor[] = prim::ListConstruct(%a)\n"
        "  %c : Tensor[] = aten::append(%l, %b)\n  %y : Tensor = aten::stack(%l, %1)\n  return (%y)",
    ),
]


@pytest.mark.parametrize(("name", "text"), TORCH)
def test_passes_leave_the_nodes_that_pytorchs_leave(name: str, text: str) -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch's own passes")
    theirs = torch._C.parse_ir(text)
    getattr(torch._C, f"_jit_pass_{name}")(theirs)
    torch._C._jit_pass_dce(theirs)
    ours = _C.parse_ir(text)
    _C.run_pass(name, ours)
    _C.run_pass("dce", ours)
    wanted = [n.kind() for n in theirs.nodes() if n.kind() != "prim::Constant"]
    assert [n.kind() for n in ours.nodes() if n.kind() != "prim::Constant"] == wanted
