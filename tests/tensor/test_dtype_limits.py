"""Limits of dtypes, in Python and in programs."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_as_the_peer_says(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    kind = "finfo" if name in FLOATS else "iinfo"
    ours, theirs = getattr(flambeau, kind)(getattr(flambeau, name)), getattr(torch, kind)(getattr(torch, name))
    parts = ("eps", "tiny", "smallest_normal", "resolution") if kind == "finfo" else ()
    for part in ("min", "max", "bits", *parts):
        assert getattr(ours, part) == pytest.approx(getattr(theirs, part), rel=1e-6), part
    assert ours.dtype == theirs.dtype
    if name in ("float32", "float64", "int8", "uint8"):
        assert repr(ours) == repr(theirs)


def masked(x: Tensor, mask: Tensor) -> Tensor:
    return flambeau.masked_fill(x, mask, flambeau.finfo(x.dtype).min)


def limits(x: Tensor) -> tuple[float, float, int, int, int]:
    known = flambeau.finfo(flambeau.float16)
    return known.eps, flambeau.finfo().max, known.bits, flambeau.iinfo(x.dtype).max, flambeau.iinfo(flambeau.int8).min


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_in_programs(backend: Any) -> None:
    f, g = flambeau.script(masked, backend=backend), flambeau.script(limits, backend=backend)
    mask = flambeau.tensor([True, False])
    for dtype in (flambeau.float32, flambeau.float64, flambeau.float16):
        x = flambeau.ones(2, dtype=dtype)
        for _ in range(3):
            assert f(x, mask).tolist() == masked(x, mask).tolist() == [flambeau.finfo(dtype).min, 1.0]
    x = flambeau.ones(1, dtype=flambeau.int32)
    assert g(x) == limits(x) == (2.0**-10, flambeau.finfo(flambeau.float32).max, 16, 2**31 - 1, -128)
    with pytest.raises(RuntimeError, match=r"TypeError: iinfo\(\) requires an integer dtype, but flambeau.float32"):
        g(flambeau.ones(1))


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"finfo\(\) requires a floating point dtype, but flambeau.int8 is none; iinfo"):
        flambeau.finfo(flambeau.int8)
    with pytest.raises(TypeError, match=r"iinfo\(\) requires an integer dtype, but flambeau.bool is none; finfo"):
        flambeau.iinfo(flambeau.bool)
    for call in (flambeau.finfo, flambeau.iinfo):
        with pytest.raises(TypeError, match=r"info\(\) takes a dtype, such as flambeau\.\w+, not a int"):
            call(3)  # type: ignore[arg-type]


def test_programs_ask_for_what_there_is() -> None:
    def unknown(x: Tensor) -> float:
        return flambeau.finfo(x.dtype).nope  # type: ignore[attr-defined, no-any-return]

    def several(x: Tensor) -> float:
        return flambeau.finfo(x.dtype, x.dtype).min  # type: ignore[call-arg]

    with pytest.raises(RuntimeError, match="finfo has no attribute 'nope'"):
        flambeau.script(unknown)
    with pytest.raises(RuntimeError, match="finfo takes one dtype"):
        flambeau.script(several)
