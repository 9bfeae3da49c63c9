"""Which examples are native from end to end, and why the others are not: a list that says when either changes.

An example that stops being native fails here, and so does one that becomes native without a word in this list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from examples import fannkuch, image, kmeans, life, lstm, mandelbrot, mlp, nbody, newton, spectral_norm
from examples.models import transformer_encoder
from flambeau.codegen import available
from flambeau.executor.executor import forget_all_plans
from flambeau.util.record import dataclass
from tests.examples.model_cases import inputs, made

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")


def _points() -> tuple[Any, ...]:
    draw = np.random.default_rng(3)
    return flambeau.from_numpy(draw.normal(size=(60, 2))), flambeau.from_numpy(draw.normal(size=(3, 2)))


@dataclass(frozen=True, slots=True)
class Example:
    """A function, arguments, and what has no native form in it: nothing for most."""

    function: Any
    arguments: Callable[[], tuple[Any, ...]]
    interpreted: str = ""
    """The kinds of the nodes that have no native form, in order."""

    @property
    def name(self) -> str:
        """For the test's name."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.name}"


EXAMPLES = (
    Example(fannkuch.fannkuch, lambda: (6,)),
    Example(image.otsu, lambda: (image.load(),)),
    Example(image.sobel, lambda: (image.load(),)),
    Example(kmeans.kmeans, _points),
    Example(life.run, lambda: (life.place(12, 12, life.GLIDER, 1, 1), 4)),
    Example(lstm.lstm, lambda: lstm.arguments(7, 3, 5, 6)),
    Example(mandelbrot.area, lambda: (20, 20, 20)),
    Example(mandelbrot.escape_time, lambda: (0.1, 0.2, 20)),
    Example(mandelbrot.image, lambda: (9, 7, 20)),
    Example(nbody.simulate, lambda: (*nbody.bodies(), 20)),
    Example(newton.root, lambda: ([1.0, 0.0, -2.0, -5.0], 2.0)),
    Example(newton.square_root, lambda: (flambeau.tensor([2.0, 1e-3, 1e6], dtype=flambeau.float64),)),
    Example(spectral_norm.spectral_norm, lambda: (20,)),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_examples_are_native_from_end_to_end(example: Example) -> None:
    function = flambeau.script(example.function.__wrapped__)
    for _ in range(4):  # what has no loops is native from the third call on
        function(*example.arguments())
    found = function.explain(measure=False)
    kinds = " ".join(sorted({n.kind for n in found.interpreted if "no native form" in n.reason.partition(":")[0]}))
    assert kinds == example.interpreted, f"the list above says {example.interpreted or 'native'!r}:\n{found}"
    assert found.is_native == (not example.interpreted), str(found)
    assert found.is_native == (not found.interpreted)


def test_the_perceptron_is_native() -> None:
    """Its weights are attributes, and need gradients, which nothing records here."""
    flambeau.manual_seed(0)
    model = flambeau.script(mlp.Perceptron(8, 32, 4))
    for _ in range(4):
        model(flambeau.randn(3, 8))
    found = model.explain(measure=False)
    assert found.is_native, str(found)


@pytest.mark.parametrize("way", ["scripted", "traced", "frozen"])
def test_layers_behind_each_other_are_known_at_once(way: str) -> None:
    """Every layer asks for the rank of what the one before gives: no question is left for any number of them."""
    flambeau.manual_seed(0)
    model = transformer_encoder.Classifier(20, 8, 2, 4).eval()
    given = (flambeau.randint(0, 20, (6, 2)), flambeau.zeros(2, 6, dtype=flambeau.bool))
    made = flambeau.trace(model, given) if way == "traced" else flambeau.script(model)
    if way == "frozen":
        made = flambeau.jit.freeze(made)
    graph = made.graph_for(*given)
    assert not [n for n in graph.all_nodes() if n.op in ("aten::dim", "aten::__is__", "prim::unchecked_cast")]
    questions = {"scripted": 8, "frozen": 4, "traced": 0}  # of the number of features and the padding
    assert len(graph.find_all("prim::If")) == questions[way]


MODELS = {
    "vae": "", "actor_critic": "", "reinforce": "", "pde": "", "dcgan-judge": "", "dcgan": "", "mnist": "",
    "alexnet": "", "resnet": "", "resnet-deep": "", "unet": "", "super_resolution": "",
    "word_language": "", "word_language-gru": "", "transformer_encoder": "", "nano_gpt": "", "style_transfer": "",
}  # fmt: skip
"""What keeps a scripted model from being native from end to end: nothing for these. Where there is something, what
stands between is interpreted, all else native; native code has Python run it where there are loops besides.
"""


@pytest.mark.parametrize("case", MODELS)
def test_what_of_models_is_interpreted(case: str) -> None:
    forget_all_plans()  # modules of one class share their plans, and other tests train some
    model = flambeau.script(made(case))
    with flambeau.no_grad():  # parameters ask for gradients, which attention looks at
        for _ in range(4):
            model(*inputs(case))
    found = model.explain(measure=False)
    kinds = " ".join(sorted({n.kind for n in found.interpreted if "no native form" in n.reason.partition(":")[0]}))
    assert kinds == MODELS[case], str(found)
    assert found.is_native == (not MODELS[case]), str(found)
    assert not [n for n in found.interpreted if "not called" in n.reason]
