"""Stretches of tensor operators between strings, dicts and objects are native functions: values, strides, what is
written and errors are the interpreter's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.executor.attribute_reads import read_once
from flambeau.executor.native_parts import parts_of
from flambeau.ir import parse_ir
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
CALLS = 8
"""As many as it takes until stretches are native, and their entries have served."""


def agree(source: str, arguments: Callable[[], tuple[Any, ...]], regions: int) -> Any:
    """Call a function by each backend; it has so many native regions afterwards."""
    by = one_meaning.functions(source)
    expected = one_meaning.outcome(by["interpreter"], arguments())
    for _ in range(CALLS):
        one_meaning.same(one_meaning.outcome(by["native"], arguments()), expected, "native parts")
    if len(expected) == 4:
        one_meaning.same(one_meaning.outcome(by["reference"], arguments()), expected, "the reference")
    (plan,) = by["native"]._executor.plans
    assert len(plan.regions or ()) == regions, plan.graph
    assert all(r.natives and not r.reason for r in plan.regions or ()), [r.reason for r in plan.regions or ()]
    assert all(r.calls >= CALLS - 3 for r in plan.regions or ()), [r.calls for r in plan.regions or ()]
    return by["native"]


def tensor(*shape: int) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return (flambeau.arange(count, dtype=flambeau.float32) * 0.5 - 1.0).reshape(shape)


def test_a_dict_of_results() -> None:
    source = """
def f(x: Tensor, name: str):
    y = (x[1:].t().contiguous()[0] + 1.0).sum(0)
    z = flambeau.cat([x, x * 2.0])[1]
    z[0] = y.item()
    return {name: y, name + "2": z}
"""
    agree(source, lambda: (tensor(3, 2), "a"), 1)


def test_views_of_arguments_that_are_written_are_those_arguments() -> None:
    source = """
def f(x: Tensor, names: List[str]):
    row = x[0]
    row.mul_(2.0)
    x.t()[1].add_(row.sum())
    view = x.view(-1)[1:]
    same = x.add_(0.5)
    names.append("seen")
    return view, same, row, names
"""
    agree(source, lambda: (tensor(3, 3), ["a"]), 1)
    agree(source, lambda: (tensor(6, 3).reshape(3, 6)[:, ::2], ["a"]), 1)


def test_errors_within_a_stretch_are_the_programs_and_what_was_written_before_stays() -> None:
    source = """
def f(x: Tensor, n: int, names: Dict[str, int]):
    names["n"] = n
    x.add_(1.0)
    x[0].mul_(3.0)
    y = x[n]
    y.sub_(0.25)
    names["end"] = 1
    return y, names
"""
    agree(source, lambda: (tensor(3, 2), 2, {"a": 1}), 1)
    agree(source, lambda: (tensor(3, 2), 5, {"a": 1}), 1)
    agree(source, lambda: (tensor(3, 2), -4, {"a": 1}), 1)


def test_branches_within_and_around_stretches() -> None:
    source = """
def f(x: Tensor, k: int, name: str):
    y = x * 2.0
    if k > 0:
        y = y.t().contiguous()
        y[0] = 1.0
    z = y.sum() + k
    if name == "a":
        a = x.clone()
        a[0] = z
        b = a.t() @ a
        return [b, a[0]], name
    if k < 0:
        raise ValueError("k is " + str(k))
    return [z], name
"""
    for k in (0, 2, -1):
        for name in ("a", "b"):
            arguments = tensor(2, 3), k, name
            function = one_meaning.functions(source)
            expected = one_meaning.outcome(function["interpreter"], arguments)
            for _ in range(CALLS):
                one_meaning.same(one_meaning.outcome(function["native"], arguments), expected, "native parts")


def test_lists_from_outside_are_not_copied_into_stretches() -> None:
    source = """
def f(xs: List[Tensor], name: str):
    a = xs[0] * 2.0
    b = a.t().contiguous()
    b[0].add_(1.0)
    xs.append(b)
    xs[0].add_(1.0)
    c = flambeau.stack([b, b])
    d = c.sum(0).view(-1)
    d[0] = 7.0
    return xs, d, name
"""
    agree(source, lambda: ([tensor(2, 2), tensor(1)], "a"), 2)


def test_none_and_other_dtypes_and_ranks_after_the_first() -> None:
    source = """
def f(x: Tensor, bias: Optional[Tensor], name: str):
    y = x.clone()
    y[0] = 2
    z = y + 1
    if bias is not None:
        z = z + bias
        z[0] = 4
    w = z.sum(0, True).expand(2, -1).contiguous() if x.dim() == 2 else z
    return w, name
"""
    by = one_meaning.functions(source)
    kinds = [
        (tensor(3, 2), None, "a"), (tensor(3, 2), tensor(2), "a"), (tensor(3), None, "b"), (tensor(3, 1), None, "c"),
        (tensor(3, 2).to(flambeau.float64), None, "a"), (tensor(3, 2).to(flambeau.int64), None, "a"),
        (tensor(6, 2)[::2], tensor(1, 2), "a"),
    ]  # fmt: skip
    for arguments in kinds * 4 + [k for k in kinds for _ in range(CALLS)]:
        expected = one_meaning.outcome(by["interpreter"], arguments)
        one_meaning.same(one_meaning.outcome(by["native"], arguments), expected, "native parts")


class State(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory: Tensor
        self.register_buffer("memory", flambeau.zeros(3, 2))
        self.names: dict[str, int] = {"calls": 0}
        self.at = 0
        self.last = flambeau.zeros(2)

    def forward(self, x: Tensor, k: int) -> Tensor:
        self.names["calls"] += 1
        self.at = self.at + 1
        self.memory[self.at % 3].copy_(x)
        self.memory.mul_(0.5)
        self.last = self.memory.sum(0)
        self.memory[0] = self.last * float(6 // k)
        self.at += 1
        return self.memory.t().clone() + self.at


def test_objects_with_state_are_as_the_interpreter_leaves_them() -> None:
    states = [State() for _ in range(2)]
    native, plain = flambeau.jit.script(states[0]), states[1]
    for k in (1, 2, 3, 1, 1, 2, 3, 2, 0, 1, 0, 2):
        x = tensor(2) + float(k)
        outcomes: list[Any] = []
        for module in (native, plain):
            try:
                outcomes.append(module(x, k).tolist())
            except ZeroDivisionError:
                outcomes.append("division by zero")
            outcomes.append((module.at, module.last.tolist(), module.memory.tolist(), module.names["calls"]))
        assert outcomes[:2] == outcomes[2:], k
    assert "region_0" in str(native.explain(measure=False))


READS = """
graph(%self : __torch__.M, %x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = prim::GetAttr[name="a"](%self)
  %b : Tensor = aten::add_(%a, %x, %one)
  %c : Tensor = prim::GetAttr[name="a"](%self)
   = prim::SetAttr[name="a"](%self, %x)
  %d : Tensor = prim::GetAttr[name="a"](%self)
  %e : Tensor = prim::CallMethod[name="g"](%self, %x)
  %f : Tensor = prim::GetAttr[name="a"](%self)
  %g : Tensor = prim::GetAttr[name="a"](%self)
  %r : (Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%b, %c, %d, %f, %g)
  return (%r)
"""


def test_attributes_are_read_once_between_what_may_assign_them() -> None:
    graph = parse_ir(READS)
    read_once(graph)
    (made,) = graph.find_all("prim::TupleConstruct")
    _, c, d, f, g = made.operands
    assert len(graph.find_all("prim::GetAttr")) == 2
    assert c.defining_node.op == "prim::GetAttr"
    assert d is graph.parameters[1]
    assert f is g
    assert f.defining_node.op == "prim::GetAttr"


def test_what_enters_contexts_has_no_stretches() -> None:
    source = """
def f(x: Tensor, name: str):
    with flambeau.no_grad():
        y = x.clone()
        y[0] = 1.0
        z = y.t().contiguous()
    return z, name
"""
    graph = flambeau.CompilationUnit(source).f.graph
    assert not any(part.is_native for part in parts_of(graph.body))


@flambeau.jit.ignore
def _one_more(n: int) -> int:
    return n + 1


def test_lists_in_a_tuple_that_may_be_none_are_changed() -> None:
    @flambeau.script
    def f(n: int) -> list[int]:
        pair: tuple[list[int], int] | None = None
        if n > 3:
            pair = ([1, 2, 3], 5)
        more = _one_more(n)  # which keeps the function from being native as a whole
        for i in range(n):
            if pair is not None:
                items, first = pair
                items.append(first + i)
        if pair is None:
            return [more]
        return pair[0]

    for n in (0, 2, 4, 5, 300, 2, 400):
        assert f(n) == ([n + 1] if n <= 3 else [1, 2, 3, *range(5, 5 + n)])
    assert "region_0" in str(f.explain(measure=False))
