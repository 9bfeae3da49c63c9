"""The whole models of the examples: scripted, interpreted and native, and traced, beside themselves in plain Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.examples.model_cases import CASES, assert_same, inputs, made, module_of, normal

FIXED_BY_TRACING = frozenset({"time_sequence"})
"""Models that loop over as many steps as their input has."""


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
