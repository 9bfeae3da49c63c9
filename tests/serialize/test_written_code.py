"""Code that is run as it is written gives what its graph gives, or gives up before anybody could tell."""

from __future__ import annotations

import gc
import json
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.interpreter.machine import call
from flambeau.program.written import GivenUpError
from flambeau.testing import archives
from tests.serialize.handmade import archive, load, module

DATA = Path(__file__).parent.parent / "data" / "archives"
GIVEN_UP = {"forked_script", "nograd_script"}
"""Archives whose calls fork, or enter contexts."""
LONG = "while True:\n    pass"
X = flambeau.tensor([[1.0, -2.0, 3.0], [0.0, 5.0, -6.0]])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


def as_written(method: Any, *arguments: Any, records: bool = False) -> Any:
    """What the text of a method gives."""
    result, _ = method.script_function.as_written.run((method.owner, *arguments), records=records)
    return result


def by_graph(method: Any, *arguments: Any) -> Any:
    """What its graph gives, an operator at a time."""
    return call(method.script_function, method.owner, *arguments)


def forward(*lines: str, takes: str = "x: Tensor", gives: str = "Tensor", more: Sequence[str] = ()) -> Any:
    """The method of an archive with these lines in it."""
    body = "".join(f"\n  {line}" for line in lines)
    code = module(f"def forward(self: __torch__.M, {takes}) -> {gives}:{body}")
    return load(archive(code + "".join(f"{text}\n" for text in more), version="10\n")).forward


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(DATA.glob("*.pt")), ids=lambda path: path.stem)
def test_archives_give_what_their_graphs_give(path: Path) -> None:
    def calls() -> list[tuple[str, list[Any]]]:
        with np.load(path.with_name(f"{path.stem}.inputs.npz")) as inputs:
            return [
                (c["method"], [archives.decoded(v, inputs) for v in c["args"]])
                for c in json.loads(str(inputs["spec"]))
                if not c.get("kwargs")
            ]

    for (name, arguments), (_, others) in zip(calls(), calls(), strict=True):
        name = "forward" if name == "__call__" else name
        methods = [getattr(flambeau.jit.load(path), name) for _ in range(2)]
        with flambeau.no_grad():
            bound, other = [m._signature.bind(tuple(a), {}) for m, a in zip(methods, (arguments, others), strict=True)]
            if path.stem in GIVEN_UP:
                with pytest.raises(GivenUpError):
                    as_written(methods[0], *bound)
                continue
            found = as_written(methods[0], *bound)
            assert not methods[0].script_function.is_compiled
            assert list(archives.differences(found, by_graph(methods[1], *other))) == []
            assert list(archives.differences(bound, other)) == []


@pytest.mark.parametrize(
    ("lines", "gives"),
    [
        (("y = torch.relu(x)", "return torch.add(y, torch.mul(x, 2.))"), "Tensor"),
        (("n = (torch.size(x))[1]", "return torch.mul(n, 4611686018427387904)"), "int"),
        (("return torch.add(9223372036854775807, torch.dim(x))",), "int"),
        (("return torch.sub(-9223372036854775808, torch.dim(x))",), "int"),
        (
            ("return (torch.div(-7, 2), torch.floordiv(-7, 2), torch.remainder(-7, 2), -inf)",),
            "Tuple[float, int, int, float]",
        ),
        (("v, i = torch.max(x, 1)", "return (i, v)"), "Tuple[Tensor, Tensor]"),
        (("a, b = torch.size(x)", "return torch.add(a, b)"), "int"),
        (
            (
                "y = annotate(List[Tensor], [])",
                "for i in range(3):",
                "  _0 = torch.append(y, torch.add(x, i))",
                "return torch.stack(y)",
            ),
            "Tensor",
        ),
        (("i = 0", "while torch.lt(i, 5):", "  i = torch.add(i, 2)", "return i"), "int"),
        (("if torch.gt((torch.size(x))[0], 1):", "  y = torch.neg(x)", "else:", "  y = x", "return y"), "Tensor"),
        (('d = {"a": 1, "b": 2}', 'return d["b"]'), "int"),
        (
            (
                "y = annotate(Optional[Tensor], None)",
                "if torch.__is__(y, None):",
                "  z = x",
                "else:",
                "  z = unchecked_cast(Tensor, y)",
                "return z",
            ),
            "Tensor",
        ),
        (
            ("return (bool(torch.sum(x)), int(torch.sum(x)), float(torch.sum(x)), str(3))",),
            "Tuple[bool, int, float, str]",
        ),
        (("y = torch.clone(x)", "_0 = torch.mul_(y, 2)", "return torch.add_(torch.select(y, 0, 0), 1)"), "Tensor"),
        (("return torch.dropout(x, 0.5, False)",), "Tensor"),
        (
            ('return torch.arange(1, 5, dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False)',),
            "Tensor",
        ),
        (("return annotate(int, torch.sum(torch.gt(x, 0)))",), "int"),
        (("return isinstance(torch.size(x)[0], int)",), "bool"),
        (("return torch.index(x, [None, torch.tensor([0, 2])])",), "Tensor"),
        (("n = torch.add(1., 2)", "return n"), "float"),
        (("return torch.add(-1.+2.j, 1.)",), "complex"),
        (("return sorted([3, 1, 2])",), "List[int]"),
        (('return torch.add("abc"[1], "d")',), "str"),
        (
            (
                "s = annotate(Optional[List[float]], None)",
                "y = torch.unsqueeze(torch.unsqueeze(x, 0), 0)",
                "return torch.upsample_bilinear2d(y, [4, 5], False, s)",
            ),
            "Tensor",
        ),
        (("y = torch.clone(x)", "if True:", *["  _0 = torch.neg_(y)"] * 51, "else:", "  pass", "return y"), "Tensor"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else value,
)
def test_text_and_graph_agree(lines: Sequence[str], gives: str) -> None:
    method = forward(*lines, gives=gives)
    found = as_written(method, X)
    assert not method.script_function.is_compiled
    expected = by_graph(method, X)
    assert type(found) is type(expected)
    assert list(archives.differences(found, expected)) == []


@pytest.mark.parametrize(
    ("lines", "takes", "value", "why"),
    [
        (("_0 = torch.add_(x, 1)", "return print"), "x: Tensor", X, "no value print"),
        (("y = torch.select(x, 0, 0)", "_0 = torch.zero_(y)", "_1 = torch.neg_(x)", LONG), "x: Tensor", X, "often"),
        (("_0 = torch.append(x, 1)", "_1 = torch.append(x, 2)", "return print"), "x: List[int]", [1], "print"),
        (("_0 = torch.append(x[0], 1)", "_1 = torch.clear(x)", LONG), "x: List[List[int]]", [[1]], "often"),
        (('_0 = torch._set_item(x, "b", 2)', "return print"), "x: Dict[str, int]", {"a": 1}, "print"),
        (("_0 = torch.add_(x, 1)", "return x"), "x: Tensor", flambeau.zeros(1 << 22 | 1), "writes to what was there"),
        (("return torch.dropout(x, 0.5, True)",), "x: Tensor", X, "does more than compute"),
        (("return torch.rand_like(x)",), "x: Tensor", X, "does more than compute"),
        (("ops.prim.Print(x)", "return x"), "x: Tensor", X, "ops.prim.Print|prim::Print"),
        (('ops.prim.RaiseException("no")', "return x"), "x: Tensor", X, "RaiseException"),
        (("for i in range(1000):", "  x = torch.add(x, 1)", "return x"), "x: Tensor", X, "it loops often"),
        (("return torch.reshape(x, [7])",), "x: Tensor", X, "RuntimeError"),
        (("return (torch.size(x))[5]",), "x: Tensor", X, "IndexError"),
        (("return torch.requires_grad_(torch.clone(x))",), "x: Tensor", X, "changes more than elements"),
        (
            ("return torch.batch_norm(x, None, None, self.n, self.n, True, 0.1, 1e-5, True)",),
            "x: Tensor",
            X,
            "attribute n",
        ),
        (("y = 9223372036854775808", "return x"), "x: Tensor", X, "a number is too large"),
        (("return torch.div(3, x)",), "x: List[int]", [1], "no overload"),
        (("a, b = x", "return a"), "x: Tuple[int, int, int]", (1, 2, 3), "takes something else apart"),
        (("return torch.max(x, 1)",), "x: Tensor", X, "several results are one value"),
        (("return print",), "x: Tensor", X, "there is no value print"),
        (('return __import__("os")',), "x: Tensor", X, "it calls __import__"),
        (("return x.__class__",), "x: Tensor", X, "something else than an object"),
        (("if x:", "  pass", "else:", "  pass", "return x"), "x: Tensor", X, "a condition is no bool"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) and value and isinstance(value[0], str) else None,
)
def test_what_is_given_up(lines: Sequence[str], takes: str, value: Any, why: str) -> None:
    before = value.clone() if isinstance(value, flambeau.Tensor) else repr(value)
    with pytest.raises(GivenUpError, match=why):
        as_written(forward(*lines, takes=takes, gives="Any"), value)
    after = value if isinstance(value, flambeau.Tensor) else repr(value)
    assert list(archives.differences(after, before)) == []


def test_attributes_are_set_and_set_back() -> None:
    for last, becomes in (("return self.n", 8), ("return print", 3)):
        code = module(
            f"def forward(self: __torch__.M, k: int) -> int:\n  self.n = torch.add(self.n, k)\n  {last}",
            attributes="n : int",
        )
        method = load(archive(code, {"n": 3}, version="10\n")).forward
        if last == "return print":
            with pytest.raises(GivenUpError):
                as_written(method, 5)
        else:
            assert as_written(method, 5) == 8
        assert method.owner.get("n") == becomes
    method = forward("self.n = 1.5", "return x")
    with pytest.raises(GivenUpError, match="another type than attribute n"):
        as_written(method, X)


def test_functions_call_each_other_and_recursion_ends() -> None:
    double = (
        "def double(x: Tensor, by: number=2, *, more: int=0) -> Tensor:\n  return torch.add(torch.mul(x, by), more)"
    )
    method = forward("f = __torch__.double", "return torch.add(f(x, ), __torch__.double(x, 3, more=1))", more=(double,))
    assert list(archives.differences(as_written(method, X), X * 2 + X * 3 + 1)) == []
    endless = forward("return (self).forward(x, )")
    with pytest.raises(GivenUpError, match="calls within calls"):
        as_written(endless, X)


def test_types_are_looked_at_where_functions_are_called() -> None:
    half = "def half(n: int) -> int:\n  return torch.div(n, 2)"
    with pytest.raises(GivenUpError, match="returns another type"):
        as_written(forward("return __torch__.half(3, )", gives="int", more=(half,)), X)
    with pytest.raises(GivenUpError, match="another type for n"):
        as_written(forward("return __torch__.half(3., )", gives="int", more=(half,)), X)
    with pytest.raises(GivenUpError, match="of another type than is written"):
        as_written(forward("return annotate(List[int], [x])", gives="List[int]"), X)


def test_errors_are_those_of_the_graph() -> None:
    method = forward("y = torch.relu(x)", "return torch.reshape(y, [7])")
    with pytest.raises(RuntimeError) as caught:
        method(X)
    assert "reshape(y, [7])" in str(caught.value)
    assert method.explain().first_calls == 1
    raising = forward('ops.prim.RaiseException("not so", "builtins.ValueError")', "return x")
    with pytest.raises(flambeau.jit.ScriptError, match="ValueError: not so"):
        raising(X)


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    method = forward("y = torch.neg(x)", "_0 = torch.add_(x, 1)", "ops.prim.Print(1)", "return y")
    x = X.clone()
    assert flambeau.equal(method(x), -X)
    assert flambeau.equal(x, X + 1)
    assert capsys.readouterr().out == "1\n"


def test_a_changed_graph_is_what_runs() -> None:
    method = forward("return torch.relu(x)")
    assert "aten::relu" in str(method.graph)  # from now on it may be changed in place
    with pytest.raises(GivenUpError, match="may have been changed"):
        as_written(method, X)
    assert flambeau.equal(method(X), X.relu())


def test_gradients_are_recorded_or_the_text_is_given_up() -> None:
    x = X.clone().requires_grad_()
    as_written(forward("return torch.sum(torch.mul(x, x))"), x, records=True).backward()
    assert flambeau.equal(x.grad, 2 * X)
    for line, why in (
        ("return torch.add_(torch.clone(x), 1)", "writes while gradients are recorded"),
        ("return torch.mul(x, float(torch.sum(x)))", "makes a number of a tensor"),
        ("return ops.prim.requires_grad(x)", "is about gradients"),
    ):
        with pytest.raises(GivenUpError, match=why):
            as_written(forward(line, gives="Any"), x, records=True)


def test_the_text_answers_until_the_plan_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "off")
    method = forward("return torch.tanh(torch.mul(x, 3.))")
    expected = (X * 3.0).tanh()
    for calls in range(1, 4):
        assert flambeau.allclose(method(X), expected)
        assert method.script_function.is_compiled is (calls > 1)
        assert method.explain().first_calls == 1
    assert len(method.explain().compilations) == 1


def test_the_first_run_has_no_collection_go_over_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    method = forward("y = torch.relu(x)", "return torch.add(y, 1)")
    program = type(method.script_function.as_written)
    run, seen = program.run, []

    def watched(self: Any, arguments: Sequence[Any], *, records: bool) -> Any:
        seen.append(gc.isenabled())
        return run(self, arguments, records=records)

    monkeypatch.setattr(program, "run", watched)
    for k in range(2):
        assert method(X + k).tolist() == [[max(v + k, 0.0) + 1 for v in row] for row in X.tolist()]
    assert seen[:1] == [False]
    assert gc.isenabled()


def test_what_is_not_needed_any_more_takes_no_memory() -> None:
    lines = [f"x{k + 1} = torch.exp(x{k or ''})" for k in range(20)]
    method = forward(*lines, "return x20")
    large = flambeau.zeros(1 << 18)
    as_written(method, X)
    tracemalloc.start()
    try:
        as_written(method, large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * large.nbytes


def test_threads_that_call_first_agree() -> None:
    method = load(
        archive(module("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.exp(x)"))
    ).forward
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(method(X))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(results) == 8
    assert all(flambeau.allclose(result, X.exp()) for result in results)


def test_operators_of_older_archives_mean_what_they_did() -> None:
    for name, line, args in (
        ("div", "return torch.div(x, 2)", flambeau.tensor([7, -7])),
        ("div of numbers", "return torch.add(x, torch.div(7, 2))", X),
        ("div of floats", "return torch.div(x, 2)", flambeau.tensor([7.0, -7.0])),
        ("full", "return torch.full([2], 3, dtype=None, layout=None, device=None, pin_memory=None)", X),
        ("full of floats", "return torch.full([2], 3., dtype=None, layout=None, device=None, pin_memory=None)", X),
        ("linspace", "return torch.linspace(0, 1, 3, dtype=None, layout=None, device=None, pin_memory=None)", X),
    ):
        text = f"def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  {line}"
        old = load(archive(module(text), version="3\n")).forward
        if name in ("div", "full"):
            with pytest.raises(GivenUpError, match="meant something else"):
                as_written(old, args)
        else:
            assert list(archives.differences(as_written(old, args), by_graph(old, args))) == []
