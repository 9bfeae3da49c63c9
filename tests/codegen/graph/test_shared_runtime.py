"""Native functions share blocks and looks at the clock; what is linked elsewhere is whole."""

from __future__ import annotations

import re

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.graph import shared_runtime
from flambeau.codegen.graph.routines import generators, matrices, transforms
from flambeau.codegen.graph.routines.copies import COPY
from flambeau.codegen.graph.routines.library import addresses_of, routine_addresses
from flambeau.codegen.graph.runtime import ask_text, clock_text, runtime_text
from flambeau.codegen.graph.shared_runtime import SHARED, shared_addresses, sharing
from flambeau.codegen.llvm.effort import OPT
from flambeau.codegen.llvm.engine import available
from flambeau.codegen.tensor_draws import FILL

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


def test_nobody_looks_for_routines_that_are_not_called() -> None:
    homes = matrices.loop_addresses, transforms.loop_addresses, generators.function_addresses
    for find in homes:
        find.cache_clear()
    known = addresses_of([COPY])
    assert known.keys() == {COPY}
    assert known[COPY] == routine_addresses()[COPY]
    assert [find.cache_info().currsize for find in homes] == [0, 0, 0]
    wanted = [next(iter(matrices.loop_addresses())), *list(transforms.loop_addresses())[:2], COPY, FILL]
    assert all(address > 0 for address in addresses_of(wanted).values())
    assert addresses_of([]) == {}
