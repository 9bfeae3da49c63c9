"""Weights to and from safetensors files, which PyTorch's side of the library reads and writes too."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.utils import safetensors

pytest.importorskip("safetensors", reason="an extra of its own")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def tensors() -> dict[str, flambeau.Tensor]:
    base = flambeau.arange(6.0).reshape(2, 3)
    by_dtype = {name: base.to(getattr(flambeau, name)) for name in DTYPES}
    return by_dtype | {
        "turned": flambeau.arange(6.0).reshape(2, 3).t(),
        "empty": flambeau.ones(0, 2),
        "one": flambeau.tensor(3.0),
    }


def assert_same(a: dict[str, flambeau.Tensor], b: dict[str, flambeau.Tensor]) -> None:
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        assert (tensor.dtype, tensor.shape) == (b[name].dtype, b[name].shape), name
        assert flambeau.equal(tensor, b[name]), name


def test_there_and_back(tmp_path: Path) -> None:
    safetensors.save_file(tensors(), tmp_path / "x.safetensors", {"made": "by tests"})
    assert_same(safetensors.load_file(tmp_path / "x.safetensors"), tensors())
    loaded = safetensors.load(safetensors.save(tensors()))
    assert_same(loaded, tensors())
    loaded["one"].fill_(4.0)


def test_pytorch_reads_what_we_write_and_we_what_it_writes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    from safetensors import torch as theirs

    plain = {name: t for name, t in tensors().items() if name != "bfloat16"}
    safetensors.save_file(plain, tmp_path / "x.safetensors")
    for name, tensor in theirs.load_file(tmp_path / "x.safetensors").items():
        np.testing.assert_array_equal(tensor.numpy(), plain[name].numpy())
    theirs.save_file({"w": torch.arange(3.0).bfloat16()}, tmp_path / "y.safetensors")
    assert_same(safetensors.load_file(tmp_path / "y.safetensors"), {"w": flambeau.arange(3.0).to(flambeau.bfloat16)})


def test_models_with_shared_weights(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        safetensors.save_file(model.state_dict(), tmp_path / "x.safetensors")
    safetensors.save_model(model, tmp_path / "x.safetensors")
    other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    other[1].weight = other[0].weight
    assert safetensors.load_model(other, tmp_path / "x.safetensors") == (set(), [])
    assert_same(dict(other.state_dict()), dict(model.state_dict()))


def test_what_the_format_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Key `z`: the format has no tensors of dtype complex128"):
        safetensors.save({"z": flambeau.ones(1, dtype=flambeau.complex128)})
    with pytest.raises(ValueError, match="Key `n` is invalid, expected Tensor but received <class 'int'>"):
        safetensors.save({"n": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="metadata are texts by name"):
        safetensors.save({}, {"n": 3})  # type: ignore[dict-item]
    (tmp_path / "broken").write_bytes(b"no such file")
    with pytest.raises(Exception, match=r"(?i)header"):
        safetensors.load_file(tmp_path / "broken")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match="pip install safetensors"):
        safetensors.save({})
