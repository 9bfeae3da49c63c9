"""Modules as functions of their parameters, and layers under transforms."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.func import functional_call, grad, jvp, replace_all_batch_norm_modules_, stack_module_state, vmap
from flambeau.util.trees import flatten

m = flambeau


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    ).eval()


def test_an_ensemble() -> None:
    models = [network() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert all(p.requires_grad and p.is_leaf for p in parameters.values())
    x = m.randn(2, 1, 6, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", m.PerformanceWarning)
        together = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    for model, result in zip(models, together, strict=True):
        assert m.allclose(model(x), result, atol=1e-6)


def test_gradients_of_each_example() -> None:
    model = network()
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    images, labels = m.randn(4, 1, 6, 6), m.tensor([0, 2, 1, 1])

    def loss(p: Any, image: Any, label: Any) -> Any:
        return nn.functional.cross_entropy(functional_call(model, p, (image.unsqueeze(0),)), label.unsqueeze(0))

    with warnings.catch_warnings():
        warnings.simplefilter("error", m.PerformanceWarning)
        together = vmap(grad(loss), (None, 0, 0))(parameters, images, labels)
    alone = grad(loss)(parameters, images[1], labels[1])
    for name, gradient in together.items():
        assert m.allclose(gradient[1], alone[name], atol=1e-5)


def test_batch_norms_without_running_statistics_are_transformed() -> None:
    model = network().train()
    examples, parameters = m.randn(3, 2, 1, 6, 6), {n: p.detach() for n, p in model.named_parameters()}
    assert replace_all_batch_norm_modules_(model) is model
    assert list(model.named_buffers()) == []
    together = vmap(lambda x: functional_call(model, parameters, (x,)))(examples)
    for x, result in zip(examples, together, strict=True):
        assert m.allclose(model(x), result, atol=1e-5)
    alone = nn.BatchNorm1d(2)
    assert replace_all_batch_norm_modules_(alone).running_var is None
    alone.eval()
    assert m.allclose(alone(m.tensor([[1.0, 2.0], [3.0, 6.0]])), m.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4)


LAYERS: dict[str, Any] = {
    "GRU": lambda: (nn.GRU(3, 4), [m.randn(5, 2, 3)]),
    "MultiheadAttention": lambda: (nn.MultiheadAttention(4, 2), [m.randn(3, 2, 4)] * 3),
    "TransformerEncoderLayer": lambda: (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), [m.randn(3, 2, 4)]),
    "Embedding": lambda: (nn.Embedding(7, 3), [m.tensor([1, 2, 3])]),
    "GroupNorm": lambda: (nn.GroupNorm(2, 4), [m.randn(2, 4, 3)]),
    "LayerNorm": lambda: (nn.LayerNorm(4), [m.randn(2, 4)]),
    "BatchNorm1d": lambda: (nn.BatchNorm1d(4, track_running_stats=False), [m.randn(5, 4)]),
    "Bilinear": lambda: (nn.Bilinear(3, 4, 5), [m.randn(2, 3), m.randn(2, 4)]),
    "ConvTranspose1d": lambda: (nn.ConvTranspose1d(4, 2, 3, groups=2), [m.randn(2, 4, 5)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    m.manual_seed(0)
    layer, inputs = LAYERS[name]()
    layer.double()
    inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    parameters = {key: p.detach() for key, p in layer.named_parameters()}

    def loss(p: Any, scale: Any) -> Any:
        results = flatten(functional_call(layer, p, tuple(inputs)))[0]
        return sum((r * scale).sin().sum() for r in results if r is not None)

    scale = m.tensor(2.0).double()
    alone = grad(loss)(parameters, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", m.PerformanceWarning)
        together = vmap(grad(loss), (None, 0))(parameters, m.stack([scale / 2, scale]))
    assert all(m.allclose(together[key][1], alone[key]) for key in alone)
    along = jvp(lambda p: loss(p, scale), (parameters,), (parameters,))[1]
    assert m.allclose(along, sum((alone[key] * parameters[key]).sum() for key in alone))


REFUSED: dict[str, Any] = {
    "no dictionary": (lambda: functional_call(network(), 3, m.ones(1)), ValueError, "Expected parameter_and_buffer_di"),
    "twice": (lambda: functional_call(nn.ReLU(), ({"a": m.ones(1)},) * 2, m.ones(1)), ValueError, "multiple dictio"),
    "strict": (
        lambda: functional_call(nn.Linear(1, 1), {"weight": m.ones(1, 1)}, m.ones(1), strict=True),
        RuntimeError,
        "Error.s. in reparametrizing for Linear",
    ),
    "none": (lambda: stack_module_state([]), RuntimeError, "Expected at least one model, got 0"),
    "classes": (lambda: stack_module_state([nn.Tanh(), nn.ReLU()]), RuntimeError, "to be of the same class"),
    "modes": (lambda: stack_module_state([nn.Tanh(), nn.Tanh().eval()]), RuntimeError, "the same training/eval mode"),
    "sizes": (
        lambda: stack_module_state([nn.Linear(2, 2), nn.Linear(2, 3)]),
        RuntimeError,
        "stack expects each tensor to be equal size",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    run, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run()
