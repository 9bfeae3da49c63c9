"""Which declaration may take the place of an older one."""

from __future__ import annotations

import random

import pytest

from flambeau.schema.function import parse_schema

FORMS = [
    # old, new, backward, forward
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor", True, True),
    ("f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor", False, False),
    ("f(Tensor x) -> Tensor", "f.o(Tensor x) -> Tensor", False, False),
    ("f(Tensor x) -> Tensor", "f(Tensor? x) -> Tensor", True, False),
    ("f(Tensor? x) -> Tensor", "f(Tensor x) -> Tensor", False, True),
    ("f(Tensor x) -> Tensor?", "f(Tensor x) -> Tensor", True, True),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor?", False, True),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)", False, False),
    ("f(Tensor x) -> Tensor a", "f(Tensor x) -> Tensor b", False, True),
    ("f(Tensor x) -> Tensor", "f(Tensor y) -> Tensor", False, False),
    ("f(int a, *, int b) -> int", "f(int a, int b) -> int", True, True),
    ("f(int a, int b) -> int", "f(int a, *, int b) -> int", False, False),
    ("f(int a) -> int", "f(int a=1) -> int", True, False),
    ("f(int a=1) -> int", "f(int a) -> int", False, False),
    ("f(int a=1) -> int", "f(int a=2) -> int", False, False),
    ("f(int a) -> int", "f(int a, int b=1) -> int", True, True),
    ("f(int a) -> int", "f(int a, int[] b=[]) -> int", True, False),
    ("f(int a) -> int", "f(int a, int b) -> int", False, False),
    ("f(int a, int b=1) -> int", "f(int a) -> int", False, True),
    ("f(int a, *, Tensor(a!) out) -> int", "f(int a, int b=1, *, Tensor(a!) out) -> int", True, True),
    ("f(int a, *, Tensor(a!) out) -> int", "f(int a, *, Tensor(a!) out, Tensor(b!) o2) -> int", True, False),
    ("f(Tensor(a!) x) -> int", "f(Tensor x) -> int", False, False),
]
REASONS = [
    ("f(int a, *, Tensor(a!) out) -> int", "f(int a) -> int", "same number of out arguments"),
    ("f(int b) -> int", "f(int? b) -> int", "'b' is not forward compatible with the older version of the schema"),
    ("f(int b) -> int", "f(int b, int c) -> int", "the new argument 'c' of type int did not provide a default value"),
    (
        "f(int b) -> int", "f(int b, int[] c=[1]) -> int",
        "Function schema is not forward compatible since the new argument 'c' of type int[] has a container type as "
        "its default value.",
    ),
    ("f(*, Tensor(a!) o) -> int", "f(*, Tensor(a!) p) -> int", "Out argument 'p' is not forward compatible"),
    ("f() -> int", "g() -> int", "different names, overloads or numbers of results"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "backward", "forward"), FORMS)
def test_compatible(old: str, new: str, backward: bool, forward: bool) -> None:
    before, after = parse_schema(f"any::{old}"), parse_schema(f"any::{new}")
    if "-> Tensor a" not in old:
        assert after.check_forward_compatible_with(before)[0] is forward
    assert after.is_backward_compatible_with(before) is backward


@pytest.mark.parametrize(("old", "new", "reason"), REASONS)
def test_reasons(old: str, new: str, reason: str) -> None:
    is_compatible, text = parse_schema(f"any::{new}").check_forward_compatible_with(parse_schema(f"any::{old}"))
    assert not is_compatible
    assert reason in text


def test_as_the_peer_says() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = random.Random(4)
    texts = [f"any::{text}" for old, new, *_ in (*FORMS, *REASONS) for text in (old, new)]
    for _ in range(3000):
        old, new = rng.choice(texts), rng.choice(texts)
        theirs = torch._C.parse_schema(new), torch._C.parse_schema(old)
        try:
            backward = theirs[0].is_backward_compatible_with(theirs[1])
            forward = theirs[0].check_forward_compatible_with(theirs[1])[0]
        except IndexError:
            continue  # fewer arguments without out than before
        ours = parse_schema(new), parse_schema(old)
        assert ours[0].is_backward_compatible_with(ours[1]) is backward, (old, new)
        assert ours[0].check_forward_compatible_with(ours[1])[0] is forward, (old, new)


def test_every_operator_is_declared_as_it_prints() -> None:
    import flambeau  # noqa: F401  (declares the operators)
    from flambeau.schema import registry

    schemas = [d.schema for d in registry.all_definitions()]
    assert len(schemas) > 1000
    assert [str(s) for s in schemas if parse_schema(str(s)) != s] == []
