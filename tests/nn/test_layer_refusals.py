"""What layers refuse, when they are made and when they run, in Python and in programs."""

from __future__ import annotations

import re
from typing import Any

import pytest

import flambeau
from flambeau import nn

ones = flambeau.ones
MADE: list[tuple[str, type[Exception], str]] = [
    ("nn.Conv2d(3, 4, 3, groups=2)", ValueError, "in_channels must be divisible by groups, got 3 and 2"),
    ("nn.Conv2d(4, 3, 3, groups=2)", ValueError, "out_channels must be divisible by groups, got 3 and 2"),
    ("nn.Conv2d(4, 4, 3, groups=0)", ValueError, "groups must be a positive integer, got 0"),
    ("nn.Conv2d(4, 4, 3, padding='odd')", ValueError, "padding string 'odd', should be one of {'same', 'valid'}"),
    ("nn.Conv2d(4, 4, 3, 2, 'same')", ValueError, "padding='same' is not supported for strided convolutions"),
    ("nn.Conv2d(4, 4, 3, padding_mode='odd')", ValueError, "padding_mode must be one of {'zeros', 'reflect'"),
    ("nn.Conv2d(4, 4, (3, 3, 3))", ValueError, "kernel_size must be one int or 2 of them, got (3, 3, 3)"),
    ("nn.ConvTranspose2d(4, 4, 3, padding_mode='reflect')", ValueError, 'Only "zeros" padding mode is supported'),
    ("nn.ZeroPad2d((1, 2, 3))", ValueError, "padding must be one int or 4 of them, got (1, 2, 3)"),
    ("nn.Dropout(1.5)", ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
    ("nn.GroupNorm(2, 3)", ValueError, "num_channels (3) must be divisible by num_groups (2)"),
    ("nn.Hardtanh(2.0, 1.0)", ValueError, "max_val must be larger than min_val, got 1.0 and 2.0"),
    ("nn.Bilinear(0, 1, 1)", ValueError, "in1_features must be > 0, but got 0"),
    ("nn.Unflatten(1, (2, 'a'))", TypeError, "found element of type str at pos 1"),
    ("nn.Embedding(3, 2, padding_idx=3)", AssertionError, "Padding_idx must be within num_embeddings (3), got 3"),
    ("nn.Embedding(3, 2, _weight=ones(3, 3))", AssertionError, "Shape of weight does not match"),
    ("nn.Embedding.from_pretrained(ones(3))", AssertionError, "expected to be 2-dimensional, got 1D"),
    ("nn.EmbeddingBag(3, 2, mode='odd')", ValueError, "mode has to be one of sum, mean or max, got 'odd'"),
    ("nn.MultiMarginLoss(p=3)", ValueError, "only p == 1 and p == 2 supported, got 3"),
    ("nn.MultiMarginLoss(weight=ones(2, 2))", ValueError, "weight must be None or have one dimension, got 2"),
    ("nn.TripletMarginLoss(margin=0)", ValueError, "expected margin to be greater than 0, got 0"),
    ("nn.TripletMarginWithDistanceLoss(margin=-1.0)", ValueError, "expected margin to be greater than 0"),
]
RUN: list[tuple[str, tuple[Any, ...], str]] = [
    ("nn.BatchNorm1d(3)", (ones(2, 3, 4, 4),), "expected 2D or 3D input (got 4D input)"),
    ("nn.BatchNorm2d(3)", (ones(2, 3),), "expected 4D input (got 2D input)"),
    ("nn.BatchNorm3d(3)", (ones(2, 3),), "expected 5D input (got 2D input)"),
    ("nn.BatchNorm2d(3)", (ones(2, 4, 2, 2),), "running_mean should contain 4 elements not 3"),
    ("nn.BatchNorm1d(3)", (ones(1, 3),), "Expected more than 1 value per channel when training"),
    ("nn.InstanceNorm2d(3)", (ones(2, 3),), "expected 3D or 4D input (got 2D input)"),
    ("nn.InstanceNorm1d(3, affine=True)", (ones(2, 4, 5),), "to match num_features (3), but got: 4."),
    ("nn.LayerNorm(3)", (ones(2, 4),), "Given normalized_shape=[3], expected input with shape [*, 3]"),
    ("nn.Linear(3, 2)", (ones(4),), "mat1 and mat2 shapes cannot be multiplied (1x4 and 3x2)"),
    ("nn.Conv2d(3, 2, 3)", (ones(2, 4, 5, 5),), "expected input[2, 4, 5, 5] to have 3 channels, but got 4 channels"),
    ("nn.Conv1d(3, 2, 3)", (ones(3),), "Expected 2D (unbatched) or 3D (batched) input to conv1d"),
    ("nn.ConvTranspose2d(1, 1, 3, 2)", (ones(1, 1, 4, 4), [12, 9]), "valid sizes range from 9 to 10 in dimension 0"),
    ("nn.ConvTranspose2d(1, 1, 3, 2)", (ones(1, 1, 4, 4), [9]), "output_size must have 2 or 4 elements (got 1)"),
    ("nn.MaxUnpool2d(2)", (ones(1, 2, 2), ones(1, 2, 2).long(), [9, 9]), "invalid output_size [9, 9]"),
    ("nn.MaxUnpool2d(2)", (ones(1, 2, 2), ones(1, 2, 2).long(), [4]), "containing 2 or 4 elements"),
    ("nn.Softmax2d()", (ones(2, 3),), "expected input to be 3D or 4D, got 2D instead"),
    ("nn.Embedding(3, 2)", (flambeau.tensor([3]),), "index out of range in self"),
    ("nn.EmbeddingBag(3, 2)", (flambeau.tensor([1]),), "offsets has to be a 1D Tensor but got None"),
    ("nn.EmbeddingBag(3, 2)", (flambeau.tensor([[1]]), flambeau.tensor([0])), "if input is 2D, then offsets has to be"),
    ("nn.EmbeddingBag(3, 2)", (flambeau.tensor([[[1]]]),), "input has to be 1D or 2D Tensor"),
    ("nn.EmbeddingBag(3, 2)", (flambeau.tensor([[1]]), None, ones(1, 1)), "only supported for mode='sum'"),
    ("nn.EmbeddingBag(3, 2, mode='sum')", (flambeau.tensor([[1]]), None, ones(1)), "must have the same shape"),
    ("nn.CrossEntropyLoss()", (ones(2, 3), flambeau.tensor([0, 3])), "Target 3 is out of bounds."),
    ("nn.Linear(3, 2)", (ones([]),), "both arguments to linear need to be at least 1D, but they are 0D and 2D"),
    ("nn.ConvTranspose2d(1, 1, 3)", (ones(1, 1, 4, 0),), "Only zero batch or zero channel inputs are supported"),
    ("nn.ReplicationPad1d(1)", (ones(1, 1, 0),), "with possibly 0 batch size and other non-zero dimensions"),
    ("nn.Fold(4, 2)", (ones(3),), "Expected 2D or 3D (batch mode) tensor for input"),
    ("nn.GaussianNLLLoss()", (ones(2, 3), ones(2, 3), ones(3)), "var is of incorrect size: [3], for an input"),
    ("nn.GaussianNLLLoss()", (ones(2), ones(2), -ones(2)), "var has negative entry/entries"),
    ("nn.TripletMarginLoss()", (ones(3), ones(2, 3), ones(2, 3)), "got: anchor 1D, positive 2D, and negative 2D"),
    ("nn.TripletMarginWithDistanceLoss()", (ones(3), ones(2, 3), ones(2, 3)), "got: anchor 1D, positive 2D, and"),
    ("nn.CosineEmbeddingLoss()", (ones(3), ones(2, 3), ones(2)), "1D target tensor expects 2D input tensors, but"),
    ("nn.CosineEmbeddingLoss()", (ones(3), ones(2, 3), ones(2, 1)), "multi-target not supported"),
    ("nn.MultiheadAttention(8, 2)", (ones(5, 2, 6),) * 3, "was expecting embedding dimension of 8, but got 6"),
    ("nn.Upsample(scale_factor=2, mode='bilinear')", (ones(1, 1, 4),), "Got 3D input, but bilinear mode needs 4D"),
]


@pytest.mark.parametrize(("make", "error", "text"), MADE)
def test_making(make: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        eval(make)


@pytest.mark.parametrize(("make", "inputs", "text"), RUN, ids=[f"{m} {t[:20]}" for m, _, t in RUN])
def test_running(make: str, inputs: tuple[Any, ...], text: str) -> None:
    layer: nn.Module = eval(make)
    with pytest.raises(Exception, match=re.escape(text)):
        layer(*inputs)
    with pytest.raises(Exception, match=re.escape(text)):
        flambeau.script(layer, backend="interpreter")(*inputs)


def test_output_sizes_are_kept() -> None:
    up = nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1)
    for wanted in ([7, 8], [1, 1, 7, 8]):
        assert up(ones(1, 2, 4, 4), wanted).shape == (1, 1, 7, 8)
        assert flambeau.script(up)(ones(1, 2, 4, 4), wanted).shape == (1, 1, 7, 8)
    pooled = nn.MaxPool1d(2, return_indices=True)(flambeau.arange(5, dtype=flambeau.float32).reshape(1, 5))
    assert nn.MaxUnpool1d(2)(*pooled, output_size=[5]).tolist() == [[0.0, 1.0, 0.0, 3.0, 0.0]]


def test_tables_from_elsewhere() -> None:
    table = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    assert layer(flambeau.tensor([1])).tolist() == [[3.0, 4.0]]
    assert nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad
    assert nn.Embedding(4, 2, padding_idx=-1).weight[3].tolist() == [0.0, 0.0]


def test_a_variance_for_each_row() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    sizes = [(4, 3), (4,), (4, 1)]
    x = [[0.5, 1.0, -1.0]] * 4
    for given in sizes:
        results = [
            float(lib.nn.GaussianNLLLoss(full=True)(lib.tensor(x), lib.ones(4, 3), lib.full(given, 2.0)))
            for lib in (flambeau, torch)
        ]
        assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_integers_and_what_they_are_beside() -> None:
    for loss, expected in ((nn.MSELoss(), 0.125), (nn.SmoothL1Loss(), 0.0625)):
        assert loss(flambeau.tensor([1, 2]), flambeau.tensor([1.0, 2.5])).item() == expected
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            loss(flambeau.tensor([1]), flambeau.tensor([2]))
