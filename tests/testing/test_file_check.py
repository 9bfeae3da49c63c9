"""Checks on printed text: each kind where it holds and where it does not, and against PyTorch's on random texts."""

from __future__ import annotations

import random
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.testing import CheckError, FileCheck

TEXT = "a = load x\nb = load y  # twice\nc = add a, b\nreturn c\n"
HIGHLIGHTED = """
def f(x):
    return x.splork(n)
           ~~~~~~~~ <--- HERE
    return x.other
"""
HOLDS = {
    "in order": FileCheck().check("load").check("add").check("return"),
    "next": FileCheck().check("load x").check_next("load y").check_next("add"),
    "same": FileCheck().check("b =").check_same("load").check_same("twice"),
    "not between": FileCheck().check("load y").check_not("load").check("return"),
    "not to the end": FileCheck().check("add").check_not("load"),
    "not at all": FileCheck().check_not("store"),
    "count": FileCheck().check_count("load", 2).check("add"),
    "count of more": FileCheck().check_count("load", 1).check("load"),
    "count, exactly": FileCheck().check_count("load", 2, exactly=True),
    "none, exactly": FileCheck().check_count("store", 0, exactly=True),
    "any order": FileCheck().check_dag("load y").check_dag("load x").check("add"),
    "any order, one place for two": FileCheck().check_dag("add").check_dag("add a").check("return"),
    "pattern": FileCheck().check_regex(r"add \w, \w\n").check("return"),
}
FAILS = {
    "order": (FileCheck().check("add").check("load"), "CHECK: load\nnot found; searched from line 3 on"),
    "next": (FileCheck().check("load x").check_next("add"), "CHECK-NEXT: add\nfound 2 line(s) later"),
    "same": (FileCheck().check("a =").check_same("add"), "CHECK-SAME: add\nfound 2 line(s) later"),
    "not": (FileCheck().check("load x").check_not("load").check("add"), "CHECK-NOT: load\nfound in line 2"),
    "not, at the end": (FileCheck().check("add").check_not("return"), "CHECK-NOT: return\nfound in line 4"),
    "count": (FileCheck().check_count("load", 3), "CHECK-COUNT-3: load\nfound 2 of 3"),
    "exactly": (FileCheck().check_count("load", 1, exactly=True), "CHECK-NOT: load\nfound in line 2"),
    "any order": (FileCheck().check_dag("add").check_dag("store"), "CHECK-DAG: store\nnot found"),
    "pattern": (FileCheck().check_regex(r"add \d"), "CHECK-REGEX: add \\d\nno match"),
}


EXPECTED = {
    "order": 'Expected to find "load" but did not find it',
    "next": 'Expected to not find "\\n" but found it',
    "same": 'Expected to not find "\\n" but found it',
    "not": 'Expected to not find "load" but found it',
    "not, at the end": 'Expected to not find "return" but found it',
    "count": 'Expected to find "load" but did not find it',
    "exactly": 'Expected to not find "load" but found it',
    "any order": 'Expected to find "store" but did not find it',
    "pattern": 'Expected to find regex "add \\d" but did not find it',
}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_what_was_expected_is_said_first(name: str) -> None:
    check, _ = FAILS[name]
    with pytest.raises(CheckError) as caught:
        check.run(TEXT)
    assert str(caught.value).startswith(EXPECTED[name])


@pytest.mark.parametrize("name", list(HOLDS))
def test_what_holds(name: str) -> None:
    HOLDS[name].run(TEXT)


@pytest.mark.parametrize("name", list(FAILS))
def test_what_does_not(name: str) -> None:
    check, message = FAILS[name]
    with pytest.raises(CheckError) as caught:
        check.run(TEXT)
    assert message in str(caught.value)


def test_highlighted() -> None:
    FileCheck().check_source_highlighted("x.splork").run(HIGHLIGHTED)
    FileCheck().check("def f").check_source_highlighted("x.splork").check("other").run(HIGHLIGHTED)
    with pytest.raises(CheckError, match=r'Expected to find "splork" highlighted(.|\n)*below it stands'):
        FileCheck().check_source_highlighted("splork").run(HIGHLIGHTED)
    with pytest.raises(CheckError, match="not found"):
        FileCheck().check_source_highlighted("nowhere").run(HIGHLIGHTED)


def test_checks_in_text() -> None:
    checks = """
        # a comment
        # CHECK: load x
        # CHECK-NEXT: load y
        # CHECK-NOT: store
        # CHECK-COUNT-EXACTLY-1: add
        # CHECK-SAME: a, b
    """
    FileCheck().run(checks, TEXT)
    with pytest.raises(CheckError, match="CHECK-NOT: store"):
        FileCheck().run(checks, TEXT.replace("c = ", "store; c = "))
    with pytest.raises(ValueError, match="Could not parse check at: '# CHECK-NXT: add'; write CHECK, CHECK-NEXT"):
        FileCheck().run("# CHECK-NXT: add", TEXT)


def test_misuse() -> None:
    with pytest.raises(ValueError, match="No checks have been added"):
        FileCheck().run(TEXT)
    with pytest.raises(TypeError, match="got 3 arguments"):
        FileCheck().run(TEXT, TEXT, TEXT)
    with pytest.raises(ValueError, match="write check_not"):
        FileCheck().check_count("load", 0)


def test_a_graph() -> None:
    def f(x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = x.tanh() + 1
        return x

    graph = flambeau.script(f).graph
    FileCheck().check("prim::Loop").check_next("block0").check("aten::tanh").check("aten::add").check_not("prim::If").run(
        graph
    )


KINDS = ("check", "check_not", "check_next", "check_same", "check_dag", "check_count")


def holds(maker: Any, steps: list[tuple[str, str, int]], text: str) -> bool:
    check = maker()
    for kind, wanted, count in steps:
        check = check.check_count(wanted, count) if kind == "check_count" else getattr(check, kind)(wanted)
    try:
        check.run(text)
    except RuntimeError:
        return False
    return True


def test_like_pytorchs() -> None:
    theirs = pytest.importorskip("torch.testing", reason="torch is a peer, not a dependency").FileCheck
    draw = random.Random(10)
    found = set()
    for _ in range(3_000):
        text = "".join(draw.choice(["a", "b", "c", "\n", " "]) for _ in range(draw.randint(1, 14))) + "\n"
        steps = [("check", draw.choice("abc"), 1)]
        for _ in range(draw.randint(0, 2)):
            steps.append((draw.choice(KINDS), draw.choice(["a", "b", "c", "ab"]), draw.randint(1, 2)))
        mine = holds(FileCheck, steps, text)
        assert mine == holds(theirs, steps, text), (steps, text)
        found.add(mine)
    assert found == {True, False}
