"""Text that a transformer writes token by token, in a loop of its own, with the keys and values of what it has read."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import flambeau
from benchmarks.harness import Call, Cost, Goal, Workload
from examples.models import cached_gpt

MODELS = {"growing": "GrowingGPT", "written in place": "StaticGPT"}
"""Caches that get longer with each token, and of the longest length, whose parts are written."""
WORDS, GIVEN = 256, 8


def workloads(small: bool) -> Iterator[Workload]:
    """Fifty tokens by four layers of 128 units, one text and eight at once."""
    steps, layers, width = (5, 1, 16) if small else (50, 4, 128)
    for cache, name in MODELS.items():
        for texts in (1, 8):
            sizes = {"words": WORDS, "longest": GIVEN + steps, "layers": layers, "heads": 4, "width": width}
            tokens = np.random.default_rng(0).integers(0, WORDS, (texts, GIVEN))
            yield Workload(
                name=f"{steps} tokens, {texts} text{'s' if texts > 1 else ''}, cache {cache}",
                kind="generation",
                peers={
                    "flambeau": partial(_ours, name, sizes, tokens, steps),
                    "torch": partial(_torch, name, sizes, tokens, steps, lambda _, model: model),
                    "torch.jit": partial(_torch, name, sizes, tokens, steps, _scripted),
                },
                expected=partial(_expected, sizes, tokens, steps),
                cost=Cost(),
                goal=Goal(times=2.0),
            )


def _made(module: ModuleType, name: str, sizes: dict[str, int]) -> Any:
    """A model whose weights are the same for all: so large that the most likely token is so by far."""
    model = getattr(module, name)(**sizes).eval()
    numbers = np.random.default_rng(1)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
        drawn = numbers.standard_normal(tuple(parameter.shape)).astype(np.float32)
        parameter.copy_(_tensor(module, drawn / np.float32(max(1, parameter.shape[-1])) ** 0.5))
    return model


def _tensor(module: ModuleType, array: np.ndarray) -> Any:
    return (flambeau if module is cached_gpt else module.torch).tensor(array)


def _ours(name: str, sizes: dict[str, int], tokens: np.ndarray, steps: int) -> Call:
    model = _made(cached_gpt, name, sizes)
    return Call(flambeau.script(model), (flambeau.tensor(tokens), steps))


def _expected(sizes: dict[str, int], tokens: np.ndarray, steps: int) -> np.ndarray:
    model = _made(cached_gpt, "GrowingGPT", sizes)
    return np.asarray(model(flambeau.tensor(tokens), steps).numpy())


def _scripted(torch: Any, model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is deprecated
        return torch.jit.script(model)


def _torch(
    name: str, sizes: dict[str, int], tokens: np.ndarray, steps: int, compiled: Callable[[Any, Any], Any]
) -> Call:
    """The same source with PyTorch's names."""
    import torch

    module = _with_torch()
    model = compiled(torch, _made(module, name, sizes))
    return Call(model, (torch.from_numpy(tokens.copy()), steps))


def _with_torch() -> ModuleType:
    """The example's module for PyTorch. TorchScript reads a module's file, which lasts as long as the process."""
    source = Path(str(cached_gpt.__file__)).read_text(encoding="utf-8").replace("flambeau", "torch")
    path = Path(tempfile.mkdtemp()) / "cached_gpt_of_torch.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
