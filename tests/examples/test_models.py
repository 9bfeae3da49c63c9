"""The whole models of the examples: scripted, interpreted and native, and traced, beside themselves in plain Python;
and beside the same source run by PyTorch, eager and compiled by TorchScript, where that is installed.
"""

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
import pytest

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
FIXED_BY_TRACING = frozenset({"time_sequence"})
"""Models that loop over as many steps as their input has."""


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


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("case", CASES)
def test_scripted(case: str, backend: Any) -> None:
    model = made(case)
    scripted = flambeau.script(model, backend=backend)
    for _ in range(2):  # the second call runs what the first has prepared
        assert_same(scripted(*inputs(case)), model(*inputs(case)))


@pytest.mark.parametrize("case", [c for c in CASES if c not in FIXED_BY_TRACING])
def test_traced(case: str) -> None:
    model = made(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = flambeau.trace(model, inputs(case))
    assert_same(traced(*inputs(case)), model(*inputs(case)))


@pytest.mark.parametrize("case", CASES)
def test_frozen(case: str) -> None:
    model = made(case)
    frozen = flambeau.jit.freeze(flambeau.script(model))
    assert_same(frozen(*inputs(case)), model(*inputs(case)))
    assert not list(frozen.parameters())


@pytest.mark.parametrize("case", ["mnist", "unet", "vae", "dcgan", "resnet"])
def test_scripted_while_training(case: str) -> None:
    """Batch statistics and dropout: the same random numbers, the same running statistics afterwards."""
    results = []
    for wrap in (lambda m: m, lambda m: flambeau.script(m, backend="interpreter")):
        model = made(case).train()
        flambeau.manual_seed(1)
        results.append((wrap(model)(*inputs(case)), list(model.state_dict().values())))
    assert_same(*results)


def test_text_is_generated() -> None:
    model = made("nano_gpt")
    start = flambeau.tensor([[3]])
    texts = []
    for one in (model, flambeau.script(model)):
        flambeau.manual_seed(0)
        texts.append(one.generate(start, 20, 0.9, 4).tolist())
    assert texts[0] == texts[1]
    assert len(texts[0][0]) == 21


def test_a_curve_goes_on() -> None:
    model = made("time_sequence")
    curve = flambeau.from_numpy(normal(2, 5))
    assert_same(flambeau.script(model)(curve, 3), model(curve, 3))
    assert model(curve, 3).shape == (2, 8)


def test_waves_run() -> None:
    wave = module_of("pde").Wave()
    drop = module_of("pde").drop(16)
    assert_same(flambeau.script(wave).run(drop, 10), wave.run(drop, 10))


def test_a_pole_is_balanced() -> None:
    actor = module_of("actor_critic")
    policy = actor.Policy(8)
    steps = []
    for one in (policy, flambeau.script(policy)):
        flambeau.manual_seed(3)
        steps.append(actor.episode(one))
    assert steps[0] == steps[1] > 5
    np.testing.assert_allclose(actor.returns([1.0, 1.0], 0.5).tolist(), [np.sqrt(0.5), -np.sqrt(0.5)], rtol=1e-5)


def test_what_led_to_more_becomes_likelier() -> None:
    reinforce = module_of("reinforce")
    policy = reinforce.Policy(8).eval()
    found = []
    for agent in (reinforce.Agent(policy, 0.9), flambeau.script(reinforce.Agent(policy, 0.9))):
        flambeau.manual_seed(3)
        found.append(reinforce.episode(agent, 12))
        assert (agent.rewards, agent.log_chances) == ([], [])
    assert found[0][0] == found[1][0] > 5
    assert_same(found[0][1], found[1][1])


@pytest.mark.parametrize("case", ["actor_critic", "word_language", "vae", "reinforce"])
def test_main_shows_something(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    module_of(case).main()
    assert "scripted" in capsys.readouterr().out


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ModuleType]:
    """The models' modules with PyTorch's name for ours."""
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    folder = tmp_path_factory.mktemp("models")

    def load(case: str) -> ModuleType:
        name = case.partition("-")[0]
        path = folder / f"peer_model_{name}.py"
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        path.write_text(re.sub(r"\bflambeau\b", "torch", text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_same_as_torch(case: str, peers: Callable[[str], ModuleType]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

    model = made(case)
    theirs = eval(CASES[case][0], vars(peers(case))).eval()
    state = {name: torch.from_numpy(value.detach().numpy().copy()) for name, value in model.state_dict().items()}
    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict(state)
    assert_same(model(*inputs(case)), theirs(*inputs(case, torch.from_numpy)), 1e-4)
    scripted = torch.jit.script(theirs)
    assert_same(flambeau.script(model)(*inputs(case)), scripted(*inputs(case, torch.from_numpy)), 1e-4)
