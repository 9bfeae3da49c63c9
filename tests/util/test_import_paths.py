"""Names are imported from the paths that PyTorch's programs import them from."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import flambeau
from flambeau.util.import_paths import _PATHS

TOPLEVEL = ("flambeau.futures", "flambeau.profiler", "flambeau.random")


@pytest.mark.parametrize("path", [*TOPLEVEL, *_PATHS])
def test_paths_are_imported_and_reached_by_attributes(path: str) -> None:
    module = import_module(path)
    reached = flambeau
    for name in path.split(".")[1:]:
        reached = getattr(reached, name)
    assert reached is module
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name, module) is not module


@pytest.mark.parametrize("path", _PATHS)
def test_what_a_path_has_pytorch_has_there(path: str) -> None:
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = import_module("torch" + path.removeprefix("flambeau"))
    assert [name for name in import_module(path).__all__ if not hasattr(theirs, name)] == []


def test_attributes_need_no_import() -> None:
    code = """
import flambeau as torch
assert torch.nn.modules.linear.Linear is torch.nn.Linear
assert torch.distributions.normal.Normal is torch.distributions.Normal
assert torch.utils.hooks.RemovableHandle and torch.utils.data.dataloader.DataLoader and torch.optim.adamw.AdamW
assert issubclass(torch.Tensor, torch.autograd.variable.Variable) and torch.version.cuda is None
from flambeau.nn.modules.pooling import *
assert MaxPool2d is torch.nn.MaxPool2d
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_not_there() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'Conv2d' from 'flambeau.nn.modules.linear'"):
        from flambeau.nn.modules.linear import Conv2d  # noqa: F401
    with pytest.raises(AttributeError, match=r"module 'flambeau.nn.modules' has no attribute 'lines'"):
        _ = flambeau.nn.modules.lines
    with pytest.raises(AttributeError, match="computes in one process"):
        _ = flambeau.nn.parallel.DistributedDataParallel
