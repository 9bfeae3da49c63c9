"""The stubs name every operator that Python callers can reach."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flambeau
from flambeau.ops import surface
from flambeau.schema.function import parse_schema
from flambeau.tools import stubs

ADVICE = "run `python -m flambeau.tools.stubs`"
ROOT = Path(flambeau.__file__).parent


def names_in(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    return set(re.findall(r"def (\w+)\(", text)) | set(re.findall(r" as (\w+)$", text, re.MULTILINE))


def test_every_function_has_a_stub() -> None:
    missing = set(surface.function_names()) - names_in(ROOT / "__init__.pyi")
    assert not {m for m in missing if m.isidentifier()}, ADVICE


def test_every_method_has_a_stub() -> None:
    own = stubs.own_names((ROOT / "tensor" / "tensor.py").read_text(encoding="utf-8"))
    properties = {n for n, v in vars(flambeau.Tensor).items() if isinstance(v, property)}
    missing = set(surface.methods()) - names_in(ROOT / "tensor" / "methods.pyi") - own - properties
    assert not missing, ADVICE


def test_types_of_parameters() -> None:


    schema = parse_schema(
        "aten::f(Tensor self, int[2] size, Scalar? p=None, *, ScalarType? dtype=None, Tensor[] rest, Device device) "
        "-> (Tensor, Tensor[])"
    )
    assert list(stubs.parameters(schema.arguments)) == [
        "self: _Tensor",
        "size: _Sequence[_int] | _int",
        "p: _Number | None = ...",
        "*",
        "dtype: _DType | None = ...",
        "rest: _Sequence[_Tensor]",
        "device: _Device | str",
    ]
    assert stubs.result_type(schema) == "tuple[_Tensor, list[_Tensor]]"


@pytest.mark.parametrize(
    ("schema", "spread"),
    [
        ("aten::f(int[] size, *, ScalarType? dtype=None) -> Tensor", "*size: _int, dtype: _DType | None = ..."),
        ("aten::f(Tensor self, int[] dims) -> Tensor", "self: _Tensor, *dims: _int"),
        ("aten::f(Tensor[] tensors) -> Tensor[]", "*tensors: _Tensor"),
        ("aten::f(Tensor self, int[] dims, int n) -> Tensor", None),
        ("aten::f(Tensor self, float[] x) -> Tensor", None),
    ],
)
def test_sizes_one_by_one(schema: str, spread: str | None) -> None:
    forms = list(stubs.signatures(parse_schema(schema).arguments))
    assert forms[1:] == ([] if spread is None else [spread])


def test_a_stale_stub_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.pyi"
    monkeypatch.setattr(stubs, "stubs", lambda: {path: "new text"})
    assert stubs.main(["--check"]) == 1
    assert "is out of date" in capsys.readouterr().err
    assert stubs.main([]) == 0
    assert path.read_text(encoding="utf-8") == "new text"
    assert stubs.main(["--check"]) == 0
