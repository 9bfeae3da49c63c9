"""Schemas that annotations say: the text of each type, defaults, what is written, and what no schema has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

import pytest

import flambeau
from flambeau import Tensor
from flambeau.library import custom_op, infer_schema
from flambeau.schema.function import parse_schema


def everything(
    x: Tensor, n: int = 3, by: Optional[float] = None, sizes: Sequence[int] = None,  # type: ignore[assignment]  # noqa: RUF013, UP045
    kind: flambeau.dtype = flambeau.float32, place: flambeau.device = "cpu",  # type: ignore[assignment]
    number: Union[int, float, bool] = 1, more: Optional[Sequence[Tensor]] = None, *, name: str = "a",  # noqa: UP007, UP045
) -> tuple[Tensor, int]:  # fmt: skip
    raise NotImplementedError


def fills(x: Tensor, y: Tensor, value: float) -> None: ...


def test_texts() -> None:
    assert infer_schema(everything, mutates_args=()) == (
        '(Tensor x, SymInt n=3, float? by=None, SymInt[] sizes=None, ScalarType kind=6, Device place="cpu", '
        'Scalar number=1, Tensor[]? more=None, *, str name="a") -> (Tensor, SymInt)'
    )
    assert infer_schema(fills, mutates_args={"y"}) == "(Tensor x, Tensor(a1!) y, float value) -> ()"
    unknown = infer_schema(fills, mutates_args="unknown", op_name="mine::fills")
    assert unknown == "mine::fills(Tensor(a0!) x, Tensor(a1!) y, float value) -> ()"


@pytest.mark.parametrize("text", ['a"b', "a\\b", "it's", "x\ny", "", "é"])
def test_texts_as_defaults_are_kept(text: str) -> None:
    def named(x: Tensor, name: str = text) -> Tensor:
        return x.clone() if name == text else -x

    operator = custom_op(f"schema_texts::of_{len(text)}_{sum(map(ord, text))}", named, mutates_args=())
    assert operator(flambeau.ones(1)).item() == 1.0
    assert parse_schema(f"own::f{infer_schema(named, mutates_args=())}").arguments[1].default == text


def by_place(x: Tensor, /) -> Tensor:
    return x


def odd_default(x: Tensor, n: list[int] = [1]) -> Tensor:  # noqa: B006
    return x


def gives_text(x: Tensor) -> set[int]:
    return set()


REFUSED = {
    "by place": (by_place, (), "We do not support positional-only args, varargs, or varkwargs"),
    "default": (odd_default, (), r"Parameter n has an unsupported default value type list: .* this is \[1\]"),
    "result": (gives_text, (), "Return has unsupported type set"),
    "names": (fills, ("z",), r"infer_schema\(func\): {'z'} in mutates_args were not found in the custom op's"),
    "number": (fills, ("value",), "Parameter value is in mutable_args but only Tensors or collections of Tensors"),
}


@pytest.mark.parametrize(("fn", "written", "text"), REFUSED.values(), ids=REFUSED)
def test_refusals(fn: Callable[..., Any], written: tuple[str, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        infer_schema(fn, mutates_args=written)
    assert "Got func with signature (x" in str(caught.value)


def test_operators_with_a_schema_of_their_own_and_for_devices() -> None:
    @custom_op("test_inferred::scaled", mutates_args=(), schema="(Tensor x, *, float by=2.0) -> Tensor")
    def scaled(x, by):  # type: ignore[no-untyped-def]
        return x * by

    assert scaled(flambeau.ones(1), by=3.0).tolist() == [3.0]

    @custom_op("test_inferred::on_cards", mutates_args=(), device_types="cuda")
    def on_cards(x: Tensor) -> Tensor:
        return x * 1

    with pytest.raises(NotImplementedError, match=r"Could not run 'test_inferred::on_cards' .* \[CUDA\]"):
        on_cards(flambeau.ones(1))

    @custom_op("test_inferred::here", mutates_args=(), device_types=("cpu", "cuda"))
    def here(x: Tensor, n: int = 2, *, by: float = 1.0) -> Tensor:
        return x * n * by

    assert here(flambeau.ones(1)).tolist() == [2.0]
    assert here(flambeau.ones(1), 3, by=2.0).tolist() == [6.0]
    on_cards.register_kernel("cpu", lambda x: x + 1)
    assert on_cards(flambeau.ones(1)).tolist() == [2.0]

    @custom_op("test_inferred::writes", mutates_args="unknown")
    def writes(x: Tensor) -> None:
        x.add_(1)

    x = flambeau.ones(1)
    writes(x)
    assert x.tolist() == [2.0]
