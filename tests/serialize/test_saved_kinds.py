"""Plain values of every kind in files of `flambeau.save`, read by `flambeau.load` and by `torch.load`."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from tests.serialize.handmade import pickled, zipped

VALUES: dict[str, Any] = {
    "bytes": bytes(range(256)), "set": {1, "a", (2, 3)}, "counter": Counter("abca"), "size": flambeau.Size([2]),
    "dtype": flambeau.int8, "device": flambeau.device("cpu"), "number": 1 - 2j,
}  # fmt: skip


def test_torch_reads_it() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    file = io.BytesIO()
    flambeau.save(VALUES | {"row": [np.int64(3), np.bool_(True), np.float32(0.5)]}, file)
    file.seek(0)
    back = torch.load(file, weights_only=True)
    for name in ("bytes", "set", "counter"):
        assert type(back[name]) is type(VALUES[name])
        assert back[name] == VALUES[name]
    assert back["row"] == [3, True, 0.5]
    assert list(map(type, back["row"])) == [int, bool, float]


def test_what_was_saved_comes_back_as_what_it_was() -> None:
    file = io.BytesIO()
    flambeau.save(VALUES | {"parameter": nn.Parameter(flambeau.ones(2)), "scalar": np.float32(0.5)}, file)
    file.seek(0)
    back = flambeau.load(file)
    assert isinstance(back["parameter"], nn.Parameter)
    assert back["parameter"].requires_grad
    assert type(back["scalar"]) is float
    assert back["scalar"] == 0.5
    for name, value in VALUES.items():
        assert type(back[name]) is type(value)
        assert back[name] == value
    file = io.BytesIO()
    flambeau.save([nn.Parameter(flambeau.ones(1), requires_grad=False), b"", set(), Counter()], file)
    file.seek(0)
    fixed, *empty = flambeau.load(file)
    assert isinstance(fixed, nn.Parameter)
    assert not fixed.requires_grad
    assert empty == [b"", set(), Counter()]


def test_members_of_sets_without_a_form_are_told() -> None:
    with pytest.raises(RuntimeError, match=r"cannot save .*: a value of type frozenset has no form in an archive"):
        flambeau.save({"kinds": {frozenset((1, 2))}}, io.BytesIO())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, "latin1"), "bytes are made of something that is no text of latin1 letters: 3"),
        (("a", "utf8"), "bytes are made of something that is no text of latin1 letters: 'a'"),
        (("\u20ac", "latin1"), "bytes are made of a text with other letters than those of latin1"),
    ],
)
def test_bytes_are_made_of_letters(arguments: tuple[Any, ...], message: str) -> None:
    pickle = b"\x80\x02c_codecs\nencode\n" + pickled(arguments) + b"R."
    file = io.BytesIO(zipped({"x/data.pkl": pickle, "x/version": "3\n"}))
    with pytest.raises(RuntimeError, match=message):
        flambeau.load(file)
