"""Layers that the table of layers has no row for: with random places, two results, or a setting that is a tensor."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.functions import loss_in_chunks
from tests.nn.peers import assert_close, taken, ways

rng = np.random.default_rng(2)


def normal(*sizes: int) -> np.ndarray:
    return rng.standard_normal(sizes).astype(np.float32)


# -- fractional pooling -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::flambeau.jit.TracerWarning")
@pytest.mark.parametrize("indices", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("FractionalMaxPool2d", {"output_size": (3, 4)}),
        ("FractionalMaxPool2d", {"output_size": 3}),
        ("FractionalMaxPool2d", {"output_ratio": 0.5}),
        ("FractionalMaxPool2d", {"output_ratio": (0.5, 0.7)}),
        ("FractionalMaxPool3d", {"output_ratio": (0.5, 0.7, 0.3)}),
        ("FractionalMaxPool3d", {"output_size": (1, 2, 3)}),
    ],
)
def test_fractional_pooling(kind: str, options: dict[str, Any], indices: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    dims = int(kind[-2])
    for lead in ((2, 3), (3,)):
        x = normal(*lead, *(8, 9, 7)[:dims])
        places = rng.random((lead[0] if len(lead) == 2 else 1, 3, dims), np.float32)
        x[..., 0] = np.nan
        given = {**options, "return_indices": indices}
        theirs = getattr(torch.nn, kind)(2, _random_samples=torch.from_numpy(places), **given)
        mine = getattr(nn, kind)(2, _random_samples=flambeau.from_numpy(places), **given).eval()
        assert list(mine.state_dict()) == list(theirs.state_dict())
        for run in ways(mine, flambeau.from_numpy(x)):
            assert_close(run(flambeau.from_numpy(x)), theirs(torch.from_numpy(x)), 0)


def test_fractional_pooling_at_random_places() -> None:
    x = flambeau.arange(64, dtype=flambeau.float32).reshape(1, 8, 8)
    pool = nn.FractionalMaxPool2d(2, output_ratio=0.7, return_indices=True)
    for run in (pool, flambeau.script(pool)):
        values, places = run(x)
        assert values.shape == (1, 5, 5)
        assert flambeau.equal(values, places.float())
        assert places[0, -1, -1].item() == 63
    assert len({tuple(pool(x)[0].flatten().tolist()) for _ in range(20)}) > 1


POOL = "fractional_max_pool2d(): "
ones = flambeau.ones


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda f: nn.FractionalMaxPool2d(2), ValueError, "requires specifying either an output size, or a pooling"),
        (lambda f: nn.FractionalMaxPool2d(2, 3, 0.5), ValueError, "only one of output_size and output_ratio may be"),
        (lambda f: nn.FractionalMaxPool3d(2, None, 1.5), ValueError, "output_ratio must be between 0 and 1 (got 1.5)"),
        (lambda f: f(ones(1, 1, 6, 6), 2), ValueError, "requires specifying either an output_size or an output_ratio"),
        (lambda f: f(ones(1, 1, 6, 6), 2, (6, 6)), RuntimeError, POOL + "pool height 2 too large relative to input"),
        (lambda f: f(ones(1, 1, 6, 6), 2, (3, 6)), RuntimeError, POOL + "pool width 2 too large relative to input"),
        (lambda f: f(ones(1, 1, 6, 6), 2, (3, 0)), RuntimeError, POOL + "kernel_size and output_size must be greater"),
        (lambda f: f(ones(1, 0, 6, 6), 2, 3), RuntimeError, "non-zero size for non-batch dimensions"),
        (lambda f: f(ones(1, 1, 1, 6, 6), 2, 3), RuntimeError, POOL + "Expected 3D or 4D tensor"),
        (lambda f: f(ones(1, 1, 6, 6), 2, 3, _random_samples=ones(1, 2)), RuntimeError, "to have 3 dimensions, got 2"),
        (lambda f: f(ones(1, 1, 6, 6), 2, 3, _random_samples=ones(1, 1, 3)), RuntimeError, "equals to 2; got 3."),
        (lambda f: f(ones(1, 1, 6, 6), 2, 3, _random_samples=ones(1, 2, 2)), RuntimeError, "equals to input channel"),
        (lambda f: f(ones(2, 1, 6, 6), 2, 3, _random_samples=ones(1, 1, 2)), RuntimeError, "no less then input batch"),
        (lambda f: f(ones(1, 1, 6, 6), 2, 3, _random_samples=ones(1, 1, 2).double()), RuntimeError, "the same dtype"),
    ],
)
def test_fractional_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        run(nn.functional.fractional_max_pool2d)


# -- adaptive softmax -------------------------------------------------------------------------------------------------


class Everything(nn.Module):
    def __init__(self, layer: nn.AdaptiveLogSoftmaxWithLoss) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer.log_prob(x), self.layer.predict(x)


@pytest.mark.parametrize(("cutoffs", "div", "bias"), [([5, 10], 2.0, True), ([1], 4.0, False), ([3, 4, 19], 1.5, True)])
def test_adaptive_softmax(cutoffs: list[int], div: float, bias: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs, div, head_bias=bias)
    mine = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs, div, head_bias=bias).eval()
    assert repr(mine) == repr(theirs)
    mine.load_state_dict(taken(theirs.state_dict()))
    x, y = normal(30, 8), rng.integers(0, 20, 30)
    runs = ways(mine, flambeau.from_numpy(x), flambeau.from_numpy(y))
    for part in (slice(None), slice(0, 3), slice(0, 0)):
        want = theirs(torch.from_numpy(x[part]), torch.from_numpy(y[part]))
        for run in runs:
            assert_close(tuple(run(flambeau.from_numpy(x[part]), flambeau.from_numpy(y[part]))), tuple(want))
    want = theirs(torch.from_numpy(x[0]), torch.tensor(y[0]))
    assert_close(tuple(mine(flambeau.from_numpy(x[0]), flambeau.tensor(int(y[0])))), tuple(want))
    found = flambeau.script(Everything(mine))(flambeau.from_numpy(x))
    assert_close(found, (theirs.log_prob(torch.from_numpy(x)), theirs.predict(torch.from_numpy(x))))
    mine.reset_parameters()


def adaptive(*arguments: Any) -> nn.AdaptiveLogSoftmaxWithLoss:
    return nn.AdaptiveLogSoftmaxWithLoss(8, 20, *arguments)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: adaptive([]), ValueError, "length larger than 0"),
        (lambda: adaptive([5, 5]), ValueError, "unique, positive integers sorted in an increasing order"),
        (lambda: adaptive([20]), ValueError, "value is between 1 and n_classes-1"),
        (lambda: adaptive([5.0]), ValueError, "unique, positive integers"),
        (lambda: adaptive([5], 0.0), ValueError, "div_value should be positive"),
        (lambda: adaptive([5])(ones(3, 8), flambeau.tensor([1, 2])), RuntimeError, "the same size in the batch"),
        (lambda: adaptive([5])(ones(2, 8), flambeau.tensor([1, 20])), RuntimeError, "values in range [1, 20] were"),
        (lambda: adaptive([5])(ones(2, 8), flambeau.tensor([[1]])), RuntimeError, "multi-target not supported"),
        (lambda: adaptive([5])(ones(2, 8), flambeau.tensor(1)), RuntimeError, "0D target tensor expects 1D input"),
    ],
)
def test_adaptive_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        run()


# -- linear layer and loss --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({}, "classes"),
        ({"bias": True, "out_features": (2, 3)}, "classes"),
        ({"reduction": "none", "ignore_index": 1}, "classes"),
        ({"label_smoothing": 0.1, "out_features": (2,)}, "chances"),
        ({"reduction": "sum"}, "one"),
    ],
)
def test_linear_cross_entropy(options: dict[str, Any], target: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    weight = None if target == "chances" else rng.random(5, np.float32)
    given = [None if weight is None else library.from_numpy(weight) for library in (torch, flambeau)]
    theirs = torch.nn.LinearCrossEntropyLoss(4, 5, weight=given[0], **options)
    mine = nn.LinearCrossEntropyLoss(4, 5, weight=given[1], **options).eval()
    assert repr(mine) == repr(theirs)
    mine.load_state_dict(taken(theirs.state_dict()))
    more, x = options.get("out_features", ()), normal(3, 4)
    y = rng.integers(0, 5, (3, *more)) if target != "chances" else rng.random((3, 5, *more), np.float32)
    if target == "one":
        x, y = x[0], np.array(2)
    want = theirs(torch.from_numpy(x), torch.from_numpy(y))
    for run in ways(mine, flambeau.from_numpy(x), flambeau.from_numpy(y)):
        assert_close(run(flambeau.from_numpy(x), flambeau.from_numpy(y)), want)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((ones(3, 4), ones(5, 4), ones(3, 5)), {"ignore_index": 2}, "ignore_index cannot be specified when target"),
        ((ones(4), ones(5, 2, 4), ones(2)), {}, "requires batched input, (N, 4), got unbatched input"),
        ((ones(3, 4), ones(4), ones(2)), {}, "expected linear_weight with dimensionality at least 2, got 1"),
        ((ones(3, 4), ones(5, 3), ones(3)), {}, "last dimensions (in_features), got 4 and 3, respectively"),
        ((ones(1, 3, 4), ones(5, 4), ones(3)), {}, "expected input (features) or (batch, features), got [1, 3, 4]"),
        ((ones(3, 4), ones(5, 4), ones(3)), {"options": 1}, "nn.LinearCrossEntropyOptions, got int"),
    ],
)
def test_linear_cross_entropy_refusals(arguments: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(text)):
        nn.functional.linear_cross_entropy(*arguments, **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("kind", ["classes", "weighted", "chances", "one"])
def test_linear_cross_entropy_in_chunks_is_the_loss_at_once(reduction: str, kind: str) -> None:
    x, w, b = (flambeau.from_numpy(normal(*s)).double().requires_grad_() for s in ((7, 3), (5, 3), (5,)))
    y = flambeau.tensor([0, 4, 1, 2, 2, 3, 1]) if kind != "chances" else flambeau.rand(7, 5, dtype=flambeau.float64)
    options: dict[str, Any] = {"reduction": reduction, "linear_bias": b, "label_smoothing": 0.1}
    if kind == "weighted":
        options |= {"weight": flambeau.arange(5, dtype=flambeau.float64) + 1, "ignore_index": 2}
    if kind == "one":
        x, y = x.detach()[0].requires_grad_(), y[1]
    chunks = nn.LinearCrossEntropyOptions(batch_chunk_size=3)
    found = []
    for each in ({}, {"options": chunks}):
        loss = nn.functional.linear_cross_entropy(x, w, y, **options, **each)
        first = flambeau.autograd.grad((loss * loss.detach()).sum(), (x, w, b), create_graph=True)
        second = flambeau.autograd.grad(sum((g * g).sum() for g in first), (x, w, b))
        found.append([loss, *first, *second])
    for whole, piecewise in zip(*found, strict=True):
        assert whole.shape == piecewise.shape
        assert flambeau.allclose(whole, piecewise)


def test_options_of_linear_cross_entropy() -> None:
    samples_of_chunk = loss_in_chunks.samples_of_chunk
    chunks = nn.LinearCrossEntropyOptions
    assert samples_of_chunk(chunks(), 1024, 16, 256) == 32
    assert samples_of_chunk(chunks(chunking_method="aspect_ratio"), 1024, 16, 256) == 64
    assert samples_of_chunk(chunks(chunking_method="aspect_ratio:64"), 1024, 16, 256) == 1
    assert samples_of_chunk(chunks(chunking_method=None), 10, 2, 3) == 10
    assert samples_of_chunk(chunks(batch_chunk_size=4), 10, 2, 3) == 4
    for bad in ({"acc_policy": "x"}, {"chunking_method": "ratio"}, {"batch_chunk_size": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            chunks(**bad)
    with pytest.raises(ValueError, match="batch_chunk_size=4 and chunking_method='aspect_ratio', which means 64"):
        samples_of_chunk(chunks(batch_chunk_size=4, chunking_method="aspect_ratio"), 1024, 16, 256)
    several = nn.LinearCrossEntropyLoss(4, 5, out_features=(2,), options=chunks())
    with pytest.warns(UserWarning, match="several losses for each sample is computed at once"):
        several(flambeau.ones(3, 4), flambeau.zeros(3, 2, dtype=flambeau.int64))
    assert "options=LinearCrossEntropyOptions(" in repr(several)


# -- others -----------------------------------------------------------------------------------------------------------


def test_normalisation_over_processes() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    model = nn.Sequential(nn.BatchNorm2d(3, momentum=0.3), nn.Sequential(nn.BatchNorm1d(2, affine=False)), nn.ReLU())
    weight = model[0].weight
    made = nn.SyncBatchNorm.convert_sync_batchnorm(model.eval())
    assert [type(m).__name__ for m in made.modules()] == [
        "Sequential", "SyncBatchNorm", "Sequential", "SyncBatchNorm", "ReLU",
    ]  # fmt: skip
    assert (made[0].weight is weight, made[0].momentum, made[0].training, made[1][0].weight) == (True, 0.3, False, None)
    x = normal(4, 3, 2, 2, 2, 2)
    mine, theirs = nn.SyncBatchNorm(3), torch.nn.SyncBatchNorm(3)
    assert_close(flambeau.script(mine)(flambeau.from_numpy(x)), theirs(torch.from_numpy(x)))
    assert_close(list(mine.state_dict().values()), list(theirs.state_dict().values()))
    with pytest.raises(ValueError, match=r"expected at least 2D input \(got 1D input\)"):
        mine(ones(3))
    with pytest.raises(ValueError, match="there is one process here"):
        nn.SyncBatchNorm(3, process_group=object())


def test_older_names() -> None:
    with pytest.warns(FutureWarning, match="write NLLLoss, which is the same"):
        assert isinstance(nn.NLLLoss2d(ignore_index=1), nn.NLLLoss)


@pytest.mark.parametrize("pad", [0, 2])
def test_convolution_of_time_batch_channels(pad: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    arrays = normal(6, 2, 3), normal(3, 3, 4), normal(4)
    mine = nn.functional.conv_tbc(*map(flambeau.from_numpy, arrays), pad)
    assert_close(mine, torch.conv_tbc(*map(torch.from_numpy, arrays), pad))
    for sizes, text in [
        (((3, 4), (3, 4, 5), (5,)), "Input must have 3 dims"),
        (((3, 2, 4), (3, 4), (5,)), "Weight tensor must have 3 dims"),
        (((3, 2, 4), (3, 4, 5), (5, 1)), "Bias must be 1-D"),
        (((3, 2, 4), (3, 5, 4), (4,)), r"is not == dim 1 in the weight"),
        (((3, 2, 4), (3, 4, 5), (4,)), "Bias size must equal dim 2"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            flambeau.conv_tbc(*(ones(*s) for s in sizes))
