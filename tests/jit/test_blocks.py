"""Contexts that programs know: blocks that stay Python, blocks with a name, blocks that must be fused."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit

OFFSET = 10


def sums(n: int) -> int:
    with jit._IgnoreContextManager(n="inp:int", total="out:int", parts="out:List[int]"):
        total = sum({n, 2 * n, OFFSET})
        parts = [n for _ in range(2)]
    return total * 100 + parts[0] + len(parts)


def in_a_loop(n: int) -> int:
    last = 0
    for i in range(n):
        with jit._IgnoreContextManager(i="inp:int", last="inp:int", found="out:int"):
            found = last + next(x for x in (i, 7) if x > 1)
        last = found
    return last


def nothing_comes_out(x: Tensor) -> Tensor:
    with jit._IgnoreContextManager(x="inp:Tensor"):
        x.add_(1)
    return x * 2


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_a_block_stays_python(backend: Any) -> None:
    assert flambeau.script(sums, backend=backend)(3) == sums(3) == 1905
    assert flambeau.script(in_a_loop, backend=backend)(4) == in_a_loop(4)
    x = flambeau.ones(2)
    assert flambeau.script(nothing_comes_out, backend=backend)(x).tolist() == [4.0, 4.0]
    assert x.tolist() == [2.0, 2.0]


def test_errors_in_a_python_block_point_into_it() -> None:
    @flambeau.script
    def fails(n: int) -> int:
        with jit._IgnoreContextManager(n="inp:int", m="out:int"):
            m = {1: 2}[n]
        return m

    assert fails(1) == 2
    with pytest.raises(RuntimeError, match="KeyError: 5") as caught:
        fails(5)
    chain: Any = caught.value.__cause__ or caught.value.__context__
    lines = [frame.line for frame in traceback.extract_tb(chain.__traceback__)] if chain else []
    assert not lines or "m = {1: 2}[n]" in lines


def wrong_direction(n: int) -> int:
    with jit._IgnoreContextManager(n="in:int"):
        pass
    return n


def positional(n: int) -> int:
    with jit._IgnoreContextManager("n"):  # type: ignore[call-arg]
        pass
    return n


def returns(n: int) -> int:
    with jit._IgnoreContextManager(n="inp:int"):
        if n > 2:
            return 3
    return n


def breaks(n: int) -> int:
    for _ in range(n):
        with jit._IgnoreContextManager(n="inp:int"):
            for _ in range(3):
                break
            break
    return n


def unknown_type(n: int) -> int:
    with jit._IgnoreContextManager(n="inp:int", m="out:Foo"):
        m = 3
    return m


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (wrong_direction, 'takes what its statements read and write by name, with the types: .*\n(.*\n)+.*n="in:int"'),
        (positional, "takes what its statements read and write by name"),
        (returns, "'return' cannot leave statements that stay Python"),
        (breaks, "'break' cannot leave statements that stay Python"),
        (unknown_type, "Unknown type name 'Foo'"),
    ],
)
def test_what_a_python_block_refuses(fn: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flambeau.script(fn)


# -- names ------------------------------------------------------------------------------------------------------------


def test_named_blocks_are_scopes() -> None:
    def f(x: Tensor) -> Tensor:
        with jit.record_function("outer"):
            y = x + 1
            with jit.record_function("inner"):
                z = y * 2
        return z - 1

    scripted = flambeau.script(f)
    scopes = {n.op: n.scope for n in scripted.graph.nodes() if n.op.startswith("aten::")}
    assert scopes == {"aten::add": "outer", "aten::mul": "outer/inner", "aten::sub": ""}
    assert scripted(flambeau.ones(1)).tolist() == f(flambeau.ones(1)).tolist() == [3.0]


def test_a_block_needs_a_known_name() -> None:
    def unknown(x: Tensor, name: str) -> Tensor:
        with jit.record_function(name):
            return x

    def named(x: Tensor) -> Tensor:
        with jit.record_function("a") as a:
            return x + a  # type: ignore[no-any-return, operator]

    with pytest.raises(RuntimeError, match="takes the name of the block, a text that is known"):
        flambeau.script(unknown)
    with pytest.raises(RuntimeError, match="nothing to give a name to"):
        flambeau.script(named)


# -- fusion -----------------------------------------------------------------------------------------------------------


def fused(x: Tensor) -> Tensor:
    with jit.strict_fusion():
        y = (x + 1).relu()
        return y * 3


def partly_fused(x: Tensor) -> Tensor:
    before = x.sort()[0]
    with jit.strict_fusion():
        y = sorted_twice(x + 1)
    return y + before


def sorted_twice(x: Tensor) -> Tensor:
    return x.sort()[0] * 2


def test_strict_blocks_that_fuse_run() -> None:
    scripted = flambeau.script(fused)
    for _ in range(4):
        assert scripted(flambeau.ones(3)).tolist() == [6.0] * 3
    assert scripted.graph_for(flambeau.ones(3)).find("prim::StrictFusion") is None
    with pytest.warns(UserWarning, match="Only works in script mode"):
        assert fused(flambeau.ones(1)).tolist() == [6.0]


def test_strict_blocks_that_do_not_fuse_raise() -> None:
    with pytest.raises(RuntimeError, match="Found unfused operators") as caught:
        flambeau.script(partly_fused)(flambeau.ones(3))
    assert str(caught.value).count("aten::sort") == 1
    assert "with jit.strict_fusion():\n    ~~~~" in str(caught.value)


@pytest.mark.parametrize("options", [{"backend": "interpreter"}, {"backend": "reference"}, {"without": ("fuse",)}])
def test_only_fused_code_can_be_strict(options: Any) -> None:
    with pytest.warns(UserWarning, match="Only works in script mode"):
        expected = partly_fused(flambeau.ones(3))
    assert flambeau.equal(flambeau.script(partly_fused, **options)(flambeau.ones(3)), expected)


def test_strict_fusion_takes_nothing() -> None:
    def f(x: Tensor) -> Tensor:
        with jit.strict_fusion(3):  # type: ignore[call-arg]
            return x

    with pytest.raises(RuntimeError, match="strict_fusion takes no arguments"):
        flambeau.script(f)


