"""Initial values: distributions, patterns, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import init


def filled(name: str, *sizes: int, **options: Any) -> np.ndarray:
    flambeau.manual_seed(0)
    tensor = flambeau.empty(list(sizes))
    assert getattr(init, name)(tensor, **options) is tensor
    return tensor.numpy()


@pytest.mark.parametrize(
    ("name", "options", "std", "bound"),
    [
        ("xavier_uniform_", {"gain": 2.0}, 2 * math.sqrt(2 / 500), 2 * math.sqrt(6 / 500)),
        ("xavier_normal_", {}, math.sqrt(2 / 500), math.inf),
        ("kaiming_uniform_", {"nonlinearity": "relu"}, math.sqrt(2 / 200), math.sqrt(6 / 200)),
        ("kaiming_uniform_", {"a": math.sqrt(5)}, math.sqrt(1 / 600), 1 / math.sqrt(200)),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, 5 / 3 / math.sqrt(300), math.inf),
        ("normal_", {"mean": 0.0, "std": 3.0}, 3.0, math.inf),
        ("uniform_", {"a": -1.0, "b": 1.0}, 1 / math.sqrt(3), 1.0),
        ("trunc_normal_", {"std": 2.0, "a": -2.0, "b": 2.0}, 1.0797, 2.0),
    ],
)
def test_spread(name: str, options: dict[str, Any], std: float, bound: float) -> None:
    values = filled(name, 300, 200, **options)
    assert values.std() == pytest.approx(std, rel=0.02)
    assert abs(values.mean()) < 0.02 * std
    assert np.abs(values).max() <= bound * 1.0001


def test_patterns() -> None:
    np.testing.assert_array_equal(filled("eye_", 2, 3), np.eye(2, 3))
    np.testing.assert_array_equal(filled("ones_", 2), [1, 1])
    np.testing.assert_array_equal(filled("constant_", 2, val=0.5), [0.5, 0.5])
    conv = nn.Conv2d(2, 4, 3, padding=1, groups=2, bias=False)
    init.dirac_(conv.weight, groups=2)
    x = flambeau.randn(1, 2, 4, 4)
    np.testing.assert_array_equal(conv(x).detach().numpy()[:, [0, 2]], x.numpy())


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(sizes: tuple[int, ...]) -> None:
    flat = filled("orthogonal_", *sizes, gain=2.0).reshape(sizes[0], -1) / 2
    small = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)


def test_sparse() -> None:
    values = filled("sparse_", 10, 6, sparsity=0.25, std=1.0)
    assert ((values == 0).sum(axis=0) == 3).all()


def test_generators_are_used() -> None:
    tensors = [flambeau.empty([4]), flambeau.empty([4])]
    for tensor in tensors:
        init.uniform_(tensor, generator=flambeau.Generator().manual_seed(3))
    assert tensors[0].tolist() == tensors[1].tolist()


def test_parameters_are_filled_without_a_record() -> None:
    layer = nn.Linear(3, 2)
    init.zeros_(layer.weight)
    assert layer.weight.requires_grad
    assert layer.weight.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: init.xavier_uniform_(flambeau.empty([3])), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(flambeau.empty([3, 3]), mode="fan"), "Mode fan not supported"),
        (lambda: init.calculate_gain("odd"), "Unsupported nonlinearity odd"),
        (lambda: init.calculate_gain("leaky_relu", True), "not a valid number"),
        (lambda: init.eye_(flambeau.empty([3])), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(flambeau.empty([3, 3])), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(flambeau.empty([3, 3, 3]), 2), "divisible by groups"),
        (lambda: init.orthogonal_(flambeau.empty([3])), "Only tensors with 2 or more dimensions"),
        (lambda: init.sparse_(flambeau.empty([3]), 0.5), "Only tensors with 2 dimensions"),
    ],
)
def test_refusals(run: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        run()


def test_vectors_of_parameters() -> None:
    model = nn.Linear(2, 2)
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.tolist() == [*np.ravel(model.weight.tolist()), *model.bias.tolist()]
    nn.utils.vector_to_parameters(flambeau.arange(6, dtype=flambeau.float32), model.parameters())
    assert model.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(TypeError, match="expected a Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0], model.parameters())


def test_zeros_of_sparse_weights_have_no_sign() -> None:
    weight = nn.init.sparse_(flambeau.empty(6, 5), 0.5)
    zeros = weight.numpy()[weight.numpy() == 0]
    assert zeros.size == 15
    assert not np.signbit(zeros).any()


LAYERS = [
    "Linear(300, 200)", "Bilinear(30, 40, 50)", "Conv1d(40, 60, 5, groups=2)", "Conv2d(30, 40, 5)", "Conv3d(10, 20, 3)",
    "ConvTranspose1d(60, 40, 5)", "ConvTranspose2d(30, 40, 5, groups=2)", "Embedding(300, 100, padding_idx=2)",
    "EmbeddingBag(300, 100)", "LSTM(60, 70, 2, bidirectional=True, proj_size=20)", "GRU(60, 70)", "RNNCell(60, 70)",
    "LSTMCell(60, 70)", "MultiheadAttention(120, 4)", "MultiheadAttention(120, 4, kdim=60, vdim=80, add_bias_kv=True)",
    "Transformer(64, 4, 1, 1, 128)", "BatchNorm2d(30)", "LayerNorm(40)", "GroupNorm(3, 30)", "PReLU(10, 0.3)",
    "AdaptiveLogSoftmaxWithLoss(100, 200, [50, 100])", "LinearCrossEntropyLoss(100, 50, bias=True)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", LAYERS)
def test_first_values_are_drawn_as_in_torch(make: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    flambeau.manual_seed(0)
    torch.manual_seed(0)
    mine, theirs = (eval(f"nn.{make}", {"nn": library.nn}).state_dict() for library in (flambeau, torch))
    for name, value in mine.items():
        x, y = (v.detach().numpy().astype(np.float64).ravel() for v in (value, theirs[name]))
        slack = 6 * y.std() / math.sqrt(x.size)
        assert abs(x.std() - y.std()) <= slack, name
        assert abs(x.mean() - y.mean()) <= 2 * slack, name
        if x.size > 2000:
            assert np.abs(x).max() == pytest.approx(np.abs(y).max(), rel=0.15), name
