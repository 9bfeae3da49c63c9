"""`_jit_set_inline_everything_mode`: graphs with calls, or with what is called in their place."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator

import pytest

import flambeau as fb
from flambeau import Tensor, nn
from flambeau.ir.graph import Graph

_C = fb._C


@pytest.fixture
def inlining() -> Iterator[None]:
    _C._jit_set_inline_everything_mode(True)
    try:
        yield
    finally:
        _C._jit_set_inline_everything_mode(False)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = self.inner(x) + self.offset(n)
        return x

    def offset(self, n: int) -> int:
        return 1 if n <= 0 else n - 1


def kinds(graph: Graph) -> set[str]:
    return {node.kind() for node in graph.all_nodes()}


def test_calls_are_inlined_where_it_is_on(inlining: None) -> None:
    assert _C._jit_get_inline_everything_mode()
    module = fb.jit.script(Outer())
    assert not any(kind.startswith("prim::Call") for kind in kinds(module.graph))
    buffer = io.BytesIO()
    fb.jit.save(module, buffer)
    buffer.seek(0)
    loaded = fb.jit.load(buffer)
    for x, n in ((fb.ones(2), 3), (fb.tensor([-1.5, 2.0, 0.0]), 1), (fb.ones(0), 2), (fb.ones(1), 0)):
        wanted = Outer()(x, n).tolist()
        assert module(x, n).tolist() == loaded(x, n).tolist() == wanted
    module.inner.scale = -1.0
    assert module(fb.ones(2), 1).tolist() == [-1.0, -1.0]


def test_functions_that_call_themselves_and_each_other(inlining: None) -> None:
    text = """
def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
def twice(n: int) -> int:
    return 2 * fib(n)
"""
    unit = fb.CompilationUnit(text)
    assert [unit.twice(n) for n in range(8)] == [0, 2, 2, 4, 6, 10, 16, 26]
    assert [unit.fib(n) for n in (10, 1)] == [55, 1]


def test_it_is_off_at_first_and_of_one_thread(inlining: None) -> None:
    stands = []
    thread = threading.Thread(target=lambda: stands.append(_C._jit_get_inline_everything_mode()))
    thread.start()
    thread.join()
    assert stands == [False]
    _C._jit_set_inline_everything_mode(False)

    class Again(Outer): ...

    module = fb.jit.script(Again())
    assert "prim::CallMethod" in kinds(module.graph)
    _C._jit_set_inline_everything_mode(True)
    assert "prim::CallMethod" in kinds(fb.jit.script(Again()).graph)  # what is compiled already stays
    assert module(fb.ones(1), 2).tolist() == Again()(fb.ones(1), 2).tolist() == [7.0]


def test_type_comments() -> None:
    decl = _C.parse_type_comment("# type: (int, List[Tensor]) -> Tuple[Tensor, int]")
    assert [p.ident.name for p in decl.params] == ["", ""]
    assert "(ident List)" in str(decl.params[1].annotation)
    assert "(ident Tuple)" in str(decl.returns)
    assert len(_C.parse_type_comment("  # type: () -> None ").params) == 0
    for comment in ("type: (int) -> int", "# type: int", "# type: (int) ->", ""):
        with pytest.raises(RuntimeError, match=r"expected a type comment like '# type: \(A, B\) -> C'"):
            _C.parse_type_comment(comment)
    with pytest.raises(TypeError, match="expected a comment's text, but got a int"):
        _C.parse_type_comment(3)  # type: ignore[arg-type]
