"""Recurrent networks: packed batches, states, refusals."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import rnn

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def pair(kind: str, **options: Any) -> tuple[Any, Any]:
    theirs = getattr(torch.nn, kind)(3, 4, **options)
    mine = getattr(nn, kind)(3, 4, **options)
    mine.load_state_dict({k: flambeau.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    return mine, theirs


def arrays(*sizes: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(sizes).astype(np.float32)


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-5)


def given(hx: list[np.ndarray] | None, kind: str, make: Any) -> list[Any]:
    """The state as an argument, if there is one."""
    if hx is None:
        return []
    return [tuple(map(make, hx))] if kind == "LSTM" else [make(hx[0])]


@pytest.mark.parametrize("lengths", [[5, 3, 1], [2, 5, 4]])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed(kind: str, bidirectional: bool, lengths: list[int]) -> None:
    mine, theirs = pair(kind, num_layers=2, bidirectional=bidirectional)
    x = arrays(5, 3, 3)
    is_sorted = lengths == sorted(lengths, reverse=True)
    ours = rnn.pack_padded_sequence(flambeau.from_numpy(x), lengths, enforce_sorted=is_sorted)
    other = torch.nn.utils.rnn.pack_padded_sequence(torch.from_numpy(x), lengths, enforce_sorted=is_sorted)
    same(ours.data, other.data)
    assert ours.batch_sizes.tolist() == other.batch_sizes.tolist()
    start = arrays(4 if bidirectional else 2, 3, 4)
    states = (2 if kind == "LSTM" else 1) * [start]
    for hx in (None, states):
        (found, end), (want, last) = (
            run(batch, *given(hx, kind, make))
            for run, batch, make in ((mine, ours, flambeau.from_numpy), (theirs, other, torch.from_numpy))
        )
        for a, b in zip(rnn.pad_packed_sequence(found), torch.nn.utils.rnn.pad_packed_sequence(want), strict=True):
            same(a, b)
        for a, b in zip(end if kind == "LSTM" else [end], last if kind == "LSTM" else [last], strict=True):
            same(a, b)


class Packing(nn.Module):
    """Packs, runs and pads again."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.rnn = getattr(nn, kind)(3, 4, bidirectional=True)

    def forward(self, x: flambeau.Tensor, lengths: flambeau.Tensor) -> tuple[flambeau.Tensor, flambeau.Tensor]:
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, _ = self.rnn(packed)
        return rnn.pad_packed_sequence(output)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_batches_in_programs(kind: str) -> None:
    model = Packing(kind)
    x, lengths = flambeau.from_numpy(arrays(5, 3, 3)), flambeau.tensor([2, 5, 4])
    want = model(x, lengths)
    found = flambeau.script(model)(x, lengths)
    same(found[0], want[0])
    assert found[1].tolist() == [2, 5, 4]


def test_padding_and_packing() -> None:
    parts = [flambeau.arange(n, dtype=flambeau.float32) + 1 for n in (2, 3, 1)]
    peers = [torch.arange(n, dtype=torch.float32) + 1 for n in (2, 3, 1)]
    for options in ({}, {"batch_first": True, "padding_value": 9.0}, {"padding_side": "left"}):
        same(rnn.pad_sequence(parts, **options), torch.nn.utils.rnn.pad_sequence(peers, **options))
        same(rnn.pad_sequence(iter(parts), **options), rnn.pad_sequence(parts, **options))
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert [p.tolist() for p in rnn.unpack_sequence(packed)] == [p.tolist() for p in parts]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert padded.shape == (3, 4)
    assert lengths.tolist() == [2, 3, 1]
    assert [p.tolist() for p in rnn.unpad_sequence(padded, lengths, True)] == [p.tolist() for p in parts]


def test_a_new_parameter_is_used_and_copies_are_whole() -> None:
    layer = nn.GRU(2, 2)
    layer.weight_ih_l0 = nn.Parameter(flambeau.zeros(6, 2))
    twin = copy.deepcopy(layer)
    x = flambeau.ones(3, 1, 2)
    same(layer(x)[0], layer(x * 5)[0])
    nn.init.ones_(layer.weight_ih_l0)
    assert not flambeau.equal(layer(x)[0], twin(x)[0])
    assert twin._flat_weights[0] is twin.weight_ih_l0
    assert twin.double()(x.double())[0].dtype is flambeau.float64


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: nn.LSTM(3, 2)(flambeau.ones(4, 4, 4)), RuntimeError, "must be equal to input_size. Expected 3, got 4"),
        (lambda: nn.LSTM(3, 2)(flambeau.ones(4)), ValueError, "Expected input to be 2D or 3D, got 1D tensor instead"),
        (lambda: nn.GRU(3, 2)(flambeau.ones(4, 1, 3), flambeau.ones(1, 2)), RuntimeError, "hx should also be 3-D"),
        (lambda: nn.GRU(3, 2)(flambeau.ones(4, 1, 3), flambeau.ones(1, 2, 2)), RuntimeError, "Expected hidden size"),
        (lambda: nn.RNN(3, 2, nonlinearity="odd"), ValueError, "Unknown nonlinearity 'odd'"),
        (lambda: nn.RNNCell(3, 2, nonlinearity="odd")(flambeau.ones(1, 3)), RuntimeError, "Unknown nonlinearity"),
        (lambda: nn.LSTM(3, 2, dropout=2.0), ValueError, "dropout should be a number in range"),
        (lambda: nn.RNNBase("odd", 3, 2), ValueError, "Unrecognized RNN mode: odd; write one of LSTM, GRU"),
        (lambda: nn.LSTM(3, 0), ValueError, "must be greater than zero"),
        (lambda: nn.LSTM(3, 2, proj_size=2), ValueError, "proj_size has to be smaller than hidden_size"),
        (lambda: nn.GRUCell(3, 2)(flambeau.ones(1, 1, 3)), ValueError, "GRUCell: Expected input to be 1D or 2D"),
        (lambda: nn.GRUCell(3, 2)(flambeau.ones(1, 3), flambeau.ones(1, 1, 2)), ValueError, "Expected hidden to be"),
        (lambda: rnn.pack_padded_sequence(flambeau.ones(3, 2), [1, 3]), RuntimeError, "sorted in decreasing order"),
        (lambda: rnn.pad_sequence([]), RuntimeError, "empty list of sequences"),
        (lambda: rnn.pad_sequence(3), RuntimeError, "Expected iterable for input sequences, but got arg of type"),
        (
            lambda: nn.LSTM(2, 3)(flambeau.ones(4, 1, 2), flambeau.ones(1, 1, 3)), TypeError,
            r"tuple of hidden states and memories, \(h_0, c_0\)",
        ),
        (lambda: rnn.pad_sequence([flambeau.ones(1)], padding_side="up"), ValueError, "padding_side must be"),
        (
            lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(flambeau.ones(3, 1), [3]), total_length=2),
            ValueError, "total_length to be at least",
        ),
    ],
)  # fmt: skip
def test_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


def test_dropout_without_a_second_layer_is_noted() -> None:
    with pytest.warns(UserWarning, match="expects num_layers greater than 1"):
        nn.GRU(2, 2, dropout=0.5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients_reach_the_weights_of_whole_sequences(kind: str) -> None:
    layer = getattr(flambeau.nn, kind)(3, 4, num_layers=2, bidirectional=True)
    x = flambeau.randn(5, 2, 3, requires_grad=True)
    output, _ = layer(x)
    output.square().sum().backward()
    assert x.grad is not None
    assert all(p.grad is not None for p in layer.parameters())
    weight = layer.weight_hh_l0_reverse
    step = 1e-2
    with flambeau.no_grad():
        ahead, behind = weight.clone(), weight.clone()
        ahead[1, 2] += step
        behind[1, 2] -= step
        sums = []
        for value in (ahead, behind):
            weight.copy_(value)
            sums.append(float(layer(x)[0].square().sum()))
    assert abs((sums[0] - sums[1]) / (2 * step) - float(weight.grad[1, 2])) < 1e-2


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_gradients_and_their_gradients_are_pytorchs(kind: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="compares with torch, which is not installed")
    theirs = getattr(torch.nn, kind)(3, 4, dtype=torch.float64, **options)
    ours = getattr(nn, kind)(3, 4, dtype=flambeau.float64, **options)
    ours.load_state_dict({name: flambeau.from_numpy(value.numpy()) for name, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(5, 2, 3))
    results = []
    for library, layer, leaf in ((flambeau, ours, flambeau.from_numpy(x)), (torch, theirs, torch.from_numpy(x))):
        leaves = [leaf.requires_grad_(), *layer.parameters()]
        output, state = layer(leaf)
        states = state if isinstance(state, tuple) else (state,)
        total = (output * output.sin()).sum() + sum((one**3).sum() for one in states)
        first = library.autograd.grad(total, leaves, create_graph=True)
        second = library.autograd.grad(sum((g * g.cos()).sum() for g in first), leaves)
        results.append([t.detach().numpy() for t in (*first, *second)])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11)


def test_a_layer_is_one_node_of_the_tape() -> None:
    output, _ = nn.LSTM(3, 4)(flambeau.randn(5, 2, 3))
    assert output.grad_fn.name() == "RecurrentLayerBackward0"
    assert output.grad_fn.next_functions[0][0] is None
    assert output.grad_fn.next_functions[3][0].name() == "torch::autograd::AccumulateGrad"


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)])
def test_the_way_back_takes_operands_in_any_layout_and_leaves_them_alone(kind: str, gates: int) -> None:
    draw = np.random.default_rng(1)
    memory = (2, 3) if kind == "lstm" else (0,)
    shapes = [(4, 2, 5), (2, 3), memory, (3 * gates, 5), (3 * gates, 3), (3 * gates,), (3 * gates,)]
    operands = [draw.normal(size=shape) for shape in shapes]
    grads = [draw.normal(size=shape) for shape in ((4, 2, 3), (2, 3), memory)]
    layer, back = (flambeau.ops.flambeau.recurrent_layer, flambeau.ops.flambeau.recurrent_layer_backward)

    def run(order: Any) -> list[Any]:
        own = [flambeau.from_numpy(np.array(a, order=order)) for a in (*operands, *grads)]
        results = list(layer(own[:7], kind))
        outcome = [t.numpy() for t in (*results, *back(own[7:], own[:7], results[3], kind, None, False))]
        for tensor, array in zip(own, (*operands, *grads), strict=True):
            np.testing.assert_array_equal(tensor.numpy(), array)
        return outcome

    for row_major, column_major in zip(run("C"), run("F"), strict=True):
        np.testing.assert_allclose(row_major, column_major, rtol=1e-12)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients_and_their_gradients_of_packed_batches_are_pytorchs(kind: str) -> None:
    theirs = getattr(torch.nn, kind)(3, 4, dtype=torch.float64, bidirectional=True)
    ours = getattr(nn, kind)(3, 4, dtype=flambeau.float64, bidirectional=True)
    ours.load_state_dict({name: flambeau.from_numpy(value.numpy()) for name, value in theirs.state_dict().items()})
    x, results = np.random.default_rng(0).normal(size=(5, 3, 3)), []
    for library, layer, leaf in ((flambeau, ours, flambeau.from_numpy(x)), (torch, theirs, torch.from_numpy(x))):
        leaves = [leaf.requires_grad_(), *layer.parameters()]
        packed = library.nn.utils.rnn.pack_padded_sequence(leaf, [5, 3, 1])
        output, state = layer(packed)
        states = state if isinstance(state, tuple) else (state,)
        total = (output.data * output.data.sin()).sum() + sum((one**3).sum() for one in states)
        first = library.autograd.grad(total, leaves, create_graph=True)
        second = library.autograd.grad(sum((g * g.cos()).sum() for g in first), leaves)
        results.append([t.detach().numpy() for t in (*first, *second)])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11)
