"""Native functions share blocks and looks at the clock; what is linked elsewhere is whole."""

from __future__ import annotations

import re

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.graph import shared_runtime
from flambeau.codegen.graph.runtime import ask_text, clock_text, runtime_text
from flambeau.codegen.graph.shared_runtime import SHARED, shared_addresses, sharing
from flambeau.codegen.llvm.effort import OPT
from flambeau.codegen.llvm.engine import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code")


@flambeau.script
def grown(x: Tensor, n: int) -> list[Tensor]:
    kept = [x]
    for k in range(n):
        kept.append(kept[k] * 2 + k)
    return kept


def defined(text: str) -> set[str]:
    return set(re.findall(r"^define internal [^@\n]*@(\w+)\(", text, re.MULTILINE))


def test_a_function_is_linked_with_what_is_shared() -> None:
    x = flambeau.ones(3)
    assert [t.tolist() for t in grown(x, 4)] == [[v] * 3 for v in (1.0, 2.0, 5.0, 12.0, 27.0)]
    text = grown.llvm_ir
    assert "call ptr @new_block(" in text
    assert "call i64 @look_at_clock(" in text
    assert defined(text).isdisjoint({*SHARED, "fresh_block", "ask_serve"})
    assert defined(text) >= {"retain", "release", "ask"}  # which are inlined


def test_what_is_shared_is_compiled_once() -> None:
    assert set(shared_addresses()) == set(SHARED)
    assert shared_addresses() is shared_addresses()


@pytest.mark.parametrize("opt", ["0", "2"])
def test_what_is_shared_needs_nothing_of_a_module(opt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT, opt)
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    monkeypatch.setattr(shared_runtime, "_compiled", {})
    assert all(shared_addresses().values())


def test_only_what_begins_with_all_of_it_shares() -> None:
    whole = "\n".join((runtime_text(), clock_text(), ask_text(), "; behind"))
    shared = sharing(whole)
    assert shared.endswith("; behind")
    assert "declare i64 @look_at_clock(ptr) cold" in shared
    assert defined(whole) - defined(shared) == {*SHARED, "fresh_block", "ask_serve"}
    assert sharing(runtime_text()) == runtime_text()  # as of a shim, with another look at the clock
    assert sharing(shared) == shared
