"""Schemas whose arguments are read one by one, and those that take the whole parser, come to the same."""

from __future__ import annotations

import pytest

from flambeau.schema.function import _in_parts, _whole, parse_schema
from flambeau.util.errors import ParseError


@pytest.mark.parametrize("text", [
    "f(Tensor(a!) self, int idx, t(b -> *) el) -> ()",
    "f(Dict(str, Tensor)(a!) d, (int, int) t) -> (int a, int b)",
    "f(int  x=1, bool b=False, Device? d=None, *, int[2] stride=1) -> (Tensor[] values, Tensor(a))",
    "f(int[3] x=[1, 2, 3], Tensor[] y=[], int[] dims=-1) -> Tensor?",
    "f(float x=1, int y=1, bool z=1, Scalar s=1.5e-3) -> Scalar",
    "f(MemoryFormat m=contiguous_format, ScalarType? dtype=long, Layout l=strided) -> t",
    "f(__torch__.A.B self) -> NoneType",
])  # fmt: skip
def test_arguments_are_what_the_whole_parser_makes_of_them(text: str) -> None:
    apart = _in_parts(text)
    assert apart is not None
    whole = _whole(text, None)
    assert apart == whole
    assert str(apart) == str(whole)
    for one, other in zip((*apart.arguments, *apart.returns), (*whole.arguments, *whole.returns), strict=True):
        assert repr(one) == repr(other)  # 1, 1.0 and True are equal


@pytest.mark.parametrize("text", [
    "f(Tensor x=) -> Tensor", "f(int x=1 2) -> int", "f(int x==1) -> int", "f(Tensor) -> Tensor", "f(x) -> Tensor",
    "f(Foo x) -> int", "f(int x y) -> int", "f(int x=]) -> int", "f(float x=-word) -> int", "f(int[] x=[1 2]) -> int",
])  # fmt: skip
def test_what_is_no_argument_is_told_with_its_place(text: str) -> None:
    with pytest.raises(ParseError, match="<--- HERE"):
        parse_schema(text)
