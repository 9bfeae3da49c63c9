"""The whole models of the examples with small inputs, and the same models in PyTorch."""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import flambeau
from flambeau import nn

FOLDER = Path(__file__).parents[2] / "examples" / "models"
DRAW = np.random.default_rng(4)


def normal(*sizes: int) -> np.ndarray:
    return DRAW.standard_normal(sizes).astype(np.float32)


ZERO = np.zeros((2, 2, 12), np.float32)
IMAGE = normal(1, 1, 20, 24)
CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "mnist": ("Net()", (normal(2, 1, 28, 28),)),
    "unet": ("UNet(width=4, depth=2)", (IMAGE,)),
    "vae": ("VAE(hidden=20, code=5)", (normal(3, 784),)),
    "word_language": ("LSTMModel(11, 6, 12, 2)", (DRAW.integers(0, 11, (5, 2)), (ZERO, ZERO))),
    "word_language-gru": ("GRUModel(11, 6, 12, 2)", (DRAW.integers(0, 11, (5, 2)), ZERO)),
    "transformer_encoder": (
        "Classifier(20, 8, 2, 2)", (DRAW.integers(0, 20, (6, 2)), np.array([[False] * 6, [False] * 4 + [True] * 2]))
    ),
    "nano_gpt": ("GPT(15, 8, 2, 2, 8)", (DRAW.integers(0, 15, (2, 8)),)),
    "recommender": (
        "Recommender(5, (20, 7), 4)",
        (normal(3, 5), [DRAW.integers(0, 7, 4), DRAW.integers(0, 7, 6)], [np.array([0, 1, 1]), np.array([0, 2, 5])]),
    ),
    "actor_critic": ("Policy(16)", (normal(3, 4),)),
    "style_transfer": ("TransformerNet(width=4, blocks=1)", (IMAGE,)),
    "pde": ("Heat()", (IMAGE,)),
    "pde-wave": ("Wave()", (IMAGE, IMAGE)),
    "dcgan": ("Generator(6, 2)", (normal(2, 6, 1, 1),)),
    "dcgan-judge": ("Discriminator(2)", (normal(2, 1, 32, 32),)),
    "super_resolution": ("SuperResolution(2, 4)", (IMAGE,)),
    "time_sequence": ("Sequence(6)", (normal(2, 5),)),
    "snli": ("Classifier(20, 4, 6)", (DRAW.integers(0, 20, (5, 2)), DRAW.integers(0, 20, (3, 2)))),
    "alexnet": ("AlexNet(4, 3)", (normal(1, 3, 64, 64),)),
    "resnet": ("ResNet(BasicBlock, [1, 2, 1, 1], 4, 4)", (normal(2, 3, 36, 32),)),
    "resnet-deep": ("ResNet(Bottleneck, [1, 2, 1, 1], 4, 2)", (normal(1, 3, 36, 32),)),
    "reinforce": ("Policy(16)", (normal(3, 4),)),
}  # fmt: skip


def module_of(case: str) -> ModuleType:
    return importlib.import_module(f"examples.models.{case.partition('-')[0]}")


def made(case: str) -> nn.Module:
    flambeau.manual_seed(0)
    model: nn.Module = eval(CASES[case][0], vars(module_of(case)))
    return model.eval()


def given(value: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """The arrays of an argument as tensors of their own."""
    if isinstance(value, np.ndarray):
        return make(value.copy())
    return type(value)(given(v, make) for v in value)


def inputs(case: str, make: Callable[[np.ndarray], Any] = flambeau.from_numpy) -> tuple[Any, ...]:
    return tuple(given(v, make) for v in CASES[case][1])


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [value]


def assert_same(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    for x, y in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=tolerance, atol=tolerance)


def peer_module(case: str, folder: Path, *, exports: bool = True) -> ModuleType:
    """The model's source with PyTorch's name for ours; without `exports` no method is marked as exported."""
    name = case.partition("-")[0]
    path = folder / f"peer_model_{name}.py"
    text = re.sub(r"\bflambeau\b", "torch", (FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    path.write_text(text if exports else re.sub(r"@torch\.jit\.export\n *", "", text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def peer_of(model: nn.Module, case: str, folder: Path, *, exports: bool = True) -> Any:
    """PyTorch's model from the same source, with the same parameters and buffers."""
    import torch

    theirs = eval(CASES[case][0], vars(peer_module(case, folder, exports=exports))).eval()
    state = {name: torch.from_numpy(value.detach().numpy().copy()) for name, value in model.state_dict().items()}
    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict(state)
    return theirs
