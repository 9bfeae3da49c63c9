"""Names of PyTorch that are not here: what is said of them, wherever they are asked for."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import flambeau
from flambeau.util.absent_names import ABSENT

INSTEAD = {
    "sparse": "index_add", "sparse_coo_tensor": r"scipy\.sparse", "onnx": r"torch\.onnx\.export",
    "hub": "downloads nothing", "compile": r"flambeau\.script\(f\)", "export": r"flambeau\.trace\(f, x\)",
    "nested": "pack_padded_sequence", "ao": r"flambeau\.jit\.load", "distributed": "DistributedSampler",
    "package": r"jit\.save", "lobpcg": r"linalg\.eigh", "float8_e4m3fn": "bfloat16", "monitor": r"profiler\.profile",
    "optim.SparseAdam": r"optim\.Adam", "nn.parallel.DistributedDataParallel": "DistributedSampler",
    "utils.data.IterDataPipe": "IterableDataset", "serialization.add_safe_globals": "makes no objects of classes",
    "backends.cuda.enable_flash_sdp": r"nn\.attention\.sdpa_kernel", "nn.attention.flex_attention": "attn_mask",
    "utils.cpp_extension": "custom_op", "compiler.reset": "follows no Python bytecode",
}  # fmt: skip
"""Names with a part of what to do."""


def value_of(name: str) -> Any:
    owner, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"flambeau.{owner}".rstrip(".")), last)


@pytest.mark.parametrize("name", INSTEAD)
def test_a_name_that_is_not_here_says_what_to_do(name: str) -> None:
    with pytest.raises(AttributeError, match=INSTEAD[name]):
        value_of(name)


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_said_to_be_absent_is(name: str) -> None:
    with pytest.raises(AttributeError) as info:
        value_of(name)
    assert str(info.value) == ABSENT[name]


@pytest.mark.parametrize("name", ["sparse", "onnx", "utils.cpp_extension", "nn.attention.flex_attention"])
def test_imports_of_absent_modules_say_so_too(name: str) -> None:
    with pytest.raises(ModuleNotFoundError) as info:
        importlib.import_module(f"flambeau.{name}")
    assert str(info.value) == f"No module named 'flambeau.{name}': {ABSENT[name]}"
    assert info.value.name == f"flambeau.{name}"


def test_other_names_are_wrong_as_ever() -> None:
    with pytest.raises(AttributeError, match=r"^module 'flambeau\.nn' has no attribute 'Linnear'$"):
        _ = flambeau.nn.Linnear
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'flambeau\.nothing'$"):
        importlib.import_module("flambeau.nothing")
