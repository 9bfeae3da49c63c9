"""Every function of `nn.functional` says the same in a program as in Python, in all the ways that it is called."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor

CALLS = """
F.relu(x, True); F.relu(x, inplace=True); F.relu(x); F.relu6(x, inplace=True); F.selu(x, True); F.silu(x, inplace=True)
F.mish(x, inplace=True); F.hardswish(x, inplace=True); F.hardsigmoid(x, True); F.elu(x, 0.5); F.elu(x, alpha=0.5)
F.elu(x, 0.5, True); F.celu(x); F.celu(x, 2.0, inplace=True); F.leaky_relu(x, 0.1, True); F.threshold(x, 0.1, 2.0)
F.threshold(x, 0.1, 2.0, True); F.rrelu(x); F.hardtanh(x, -2.0, 2.0); F.hardtanh(x, inplace=True); F.softsign(x)
F.tanhshrink(x); F.logsigmoid(x); F.sigmoid(x); F.tanh(x); F.prelu(x, m[:1]); F.glu(x); F.gelu(x, approximate="tanh")
F.softplus(x, 2.0); F.softmax(x, dim=1); F.softmax(x, 1, dtype=flambeau.float64); F.softmax(x); F.log_softmax(x, -1)
F.softmin(x, 1); F.gumbel_softmax(x, 1.0, False, dim=-1); F.gumbel_softmax(x, hard=True)
F.dropout(x, training=False); F.dropout(x, 0.5, True, True); F.alpha_dropout(x, 0.2, True); F.dropout2d(x, 0.5)
F.dropout1d(x[0], 0.5); F.dropout3d(x); F.feature_alpha_dropout(x, 0.5, True)
F.max_pool2d(x, 2); F.max_pool2d(x, (2, 2), stride=1, padding=1); F.max_pool2d(x, 2, return_indices=True)
F.max_pool2d(x, 2, None, 0, 1, False, True); F.max_pool1d(x[0], 2); F.max_pool1d(x[0], 2, return_indices=True)
F.max_pool3d(x, 2); F.max_pool3d(x, 2, return_indices=True); F.max_pool2d(x, kernel_size=2, stride=2, ceil_mode=True)
F.fractional_max_pool2d(x, 2, 3); F.fractional_max_pool2d(x, (2, 1), output_ratio=0.5)
F.fractional_max_pool2d(x, 2, (2, 3), None, True); F.fractional_max_pool3d(x, (1, 2, 2), output_ratio=(0.5, 0.7, 0.5))
F.fractional_max_pool2d(x, 2, output_size=2, return_indices=True); F.native_channel_shuffle(x, 2)
F.conv_tbc(x[0], x[1], w[0], 1); F.linear_cross_entropy(x[0, 0], w, i[:4])
F.linear_cross_entropy(x[0, 0], w, i[:4], linear_bias=w[:, 0], ignore_index=1, reduction="sum")
F.avg_pool2d(x, 2); F.avg_pool2d(x, 2, stride=1, padding=1, count_include_pad=False)
F.lp_pool1d(x[0], 2.0, 2); F.lp_pool2d(x, 2.0, 2, stride=1); F.lp_pool2d(x, 2, (2, 1)); F.lp_pool3d(x, 2.0, 2)
F.adaptive_avg_pool2d(x, 1); F.adaptive_avg_pool2d(x, (1, 1)); F.adaptive_avg_pool2d(x, (None, 2))
F.adaptive_avg_pool1d(x[0], 2); F.adaptive_avg_pool3d(x, (None, 2, 1)); F.adaptive_max_pool2d(x, 2)
F.adaptive_max_pool2d(x, 2, return_indices=True); F.adaptive_max_pool1d(x[0], 2); F.adaptive_max_pool3d(x, 2)
F.interpolate(x, scale_factor=2.0); F.interpolate(x, scale_factor=2); F.interpolate(x, size=(3, 3), mode="bilinear")
F.interpolate(x, 3, mode="bilinear", align_corners=True); F.interpolate(x, 5, mode="bicubic")
F.interpolate(x, scale_factor=(2.0, 1.0), recompute_scale_factor=True); F.interpolate(x, 2, mode="nearest-exact")
F.interpolate(x, size=x.shape[2:], mode="nearest"); F.interpolate(x, 2, mode="area"); F.upsample(x, scale_factor=2.0)
F.interpolate(x, 2, mode="bicubic", antialias=True); F.interpolate(x, 2, mode="bilinear", antialias=True)
F.upsample_nearest(x, scale_factor=2); F.upsample_bilinear(x, (5, 6)); F.pdist(x[0, 0], 1.0)
F.interpolate(x, size=[x.size(2) * 2, 3]); F.interpolate(x[0], 7, mode="linear")
F.grid_sample(x, g, align_corners=False); F.grid_sample(x, g, "nearest", "border"); F.grid_sample(x, g, "bicubic")
F.affine_grid(x[0, :, :2, :3], [2, 1, 4, 4], False)
F.linear(x, w); F.bilinear(x, x, b3); F.embedding(i, w); F.embedding(i, w, padding_idx=0); F.layer_norm(x, (4,))
F.embedding(i, w, max_norm=0.5); F.layer_norm(x, x.shape[1:]); F.rms_norm(x, [4]); F.group_norm(x, 2)
F.batch_norm(x, None, None, training=True); F.batch_norm(x, m, m); F.instance_norm(x); F.local_response_norm(x, 2)
F.local_response_norm(x[0], 2); F.normalize(x, dim=1); F.normalize(x, p=1, dim=-1)
F.normalize(x, 2.0, (1, 2)); F.unfold(x, 2)
F.fold(F.unfold(x, (2, 2)), (4, 4), 2); F.one_hot(i, num_classes=5); F.pad(x, (1, 1))
F.pad(x[0], (1, 1), mode="reflect")
F.pixel_shuffle(x.reshape(2, 4, 4, 2), 2); F.cosine_similarity(x, y, dim=1); F.pairwise_distance(x, y)
F.conv2d(x, k, padding="same"); F.conv2d(x, k, None, 2, (1, 0)); F.conv_transpose2d(x, k.transpose(0, 1), stride=2)
F.scaled_dot_product_attention(x, x, x, is_causal=True)
F.mse_loss(x, y); F.mse_loss(x, y, reduction="sum"); F.mse_loss(x, y, weight=y.abs()); F.l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y); F.huber_loss(x, y); F.soft_margin_loss(x, y.sign())
F.nll_loss(F.log_softmax(x[0, 0], 1), i[:4] * 0)
F.cross_entropy(x[0, 0], i[:4]); F.cross_entropy(x, x.softmax(1), label_smoothing=0.1)
F.binary_cross_entropy(x.sigmoid(), y.sigmoid()); F.binary_cross_entropy_with_logits(x, y.sigmoid())
F.kl_div(x, y.sigmoid(), reduction="batchmean"); F.kl_div(x, y.sigmoid()); F.poisson_nll_loss(x, y)
F.gaussian_nll_loss(x, y, y.abs()); F.gaussian_nll_loss(x, y, 0.5, full=True); F.hinge_embedding_loss(x, y.sign())
F.margin_ranking_loss(x, y, y.sign()); F.cosine_embedding_loss(x[0, 0], y[0, 0], y[0, 0, 0].sign())
F.triplet_margin_loss(x, y, x + y); F.multilabel_soft_margin_loss(x[0, 0], (y[0, 0] > 0).to(x.dtype))
F.mse_loss(x, y, size_average=False); F.mse_loss(x, y, reduce=False)
"""


def arguments() -> dict[str, Tensor]:
    rng = np.random.default_rng(5)

    def normal(*sizes: int) -> Tensor:
        return flambeau.from_numpy(rng.standard_normal(sizes).astype(np.float32))

    return {
        "x": normal(2, 2, 4, 4), "y": normal(2, 2, 4, 4), "w": normal(5, 4), "b3": normal(3, 4, 4),
        "i": flambeau.tensor([1, 2, 3, 0, 1]), "m": flambeau.ones(2), "k": normal(3, 2, 3, 3), "g": normal(2, 3, 2, 2),
    }  # fmt: skip


def function_of(expression: str, name: str) -> tuple[Callable[..., Any], list[str]]:
    """A Python function that returns the expression, with source that can be had, and its parameters."""
    used = [v for v in arguments() if re.search(rf"\b{v}\b", expression)]
    text = f"def f({', '.join(f'{v}: Tensor' for v in used)}):\n    return {expression}\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"flambeau": flambeau, "F": F, "Tensor": Tensor, "__name__": "functional_calls"}
    exec(compile(text, name, "exec"), scope)
    return scope["f"], used


def assert_same(want: Any, got: Any) -> None:
    for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (want, got)), strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")  # older names and settings left out, of which Python is warned
@pytest.mark.parametrize("expression", [e.strip() for e in CALLS.replace("\n", ";").split(";") if e.strip()])
def test_call(expression: str) -> None:
    function, used = function_of(expression, f"<call {expression}>")
    results = []
    for run in (function, flambeau.script(function, backend="interpreter")):
        flambeau.manual_seed(0)
        given = arguments()
        results.append(run(*[given[name] for name in used]))
    assert_same(*results)


def test_inplace_writes_its_input() -> None:
    function, _ = function_of("F.leaky_relu(x, 0.1, inplace=True)", "<in place>")
    x = flambeau.tensor([[-1.0, 2.0]])
    assert flambeau.script(function)(x).data_ptr() == x.data_ptr()
    np.testing.assert_allclose(x.numpy(), [[-0.1, 2.0]], rtol=1e-6)


def test_a_plain_call_is_the_operator() -> None:
    function, _ = function_of("F.relu(x)", "<plain>")
    assert "aten::relu(" in str(flambeau.script(function).graph)


def test_what_chooses_a_type_must_be_constant() -> None:
    def pooled(x: Tensor, flag: bool) -> Tensor:
        return F.max_pool2d(x, 2, return_indices=flag)

    with pytest.raises(flambeau.jit.CompileError, match=r"max_pool2d\(\) returns different types.*return_indices"):
        flambeau.script(pooled)


@pytest.mark.parametrize(
    ("expression", "error", "text"),
    [
        ("F.dropout(x, 2.0)", ValueError, "dropout probability has to be between 0 and 1, but got 2"),
        ("F.hardtanh(x, 1.0, -1.0, inplace=True)", ValueError, "min_val cannot be greater than max_val"),
        ("F.mse_loss(x, y, reduction='middle')", ValueError, "middle is not a valid value for reduction"),
        ("F.interpolate(x)", ValueError, "either size or scale_factor should be defined"),
        ("F.interpolate(x, 2, 2.0)", ValueError, "only one of size or scale_factor"),
        ("F.interpolate(x, 2, mode='nearest', align_corners=True)", ValueError, "align_corners option can only be set"),
        ("F.interpolate(x[0], 2, mode='bilinear')", NotImplementedError, "Got 3D input, but bilinear mode needs 4D"),
        ("F.interpolate(x, 2, mode='odd')", NotImplementedError, "got odd"),
        ("F.interpolate(x, 2, antialias=True)", ValueError, "Anti-alias option is only supported for bilinear"),
        ("F.interpolate(x, (2, 2, 2))", ValueError, "same number of spatial dimensions"),
        ("F.interpolate(x, scale_factor=(2.0,))", ValueError, "same number of spatial dimensions"),
        ("F.batch_norm(x[:1, :, 0, 0], None, None, training=True)", ValueError, "more than 1 value per channel"),
        ("F.group_norm(x[:1, :1, 0, 0], 1)", ValueError, "Expected more than 1 value per channel"),
        ("F.group_norm(x[0, 0, 0], 1)", RuntimeError, "at least 2 dimensions"),
        ("F.instance_norm(x[:, :, 0, :1])", ValueError, "Expected more than 1 spatial element"),
        ("F.local_response_norm(x[0, 0], 2)", ValueError, "Expected 3D or higher"),
        ("F.embedding(i, w, padding_idx=9)", AssertionError, "Padding_idx must be within num_embeddings"),
        ("F.triplet_margin_loss(x, y, x, margin=0.0)", ValueError, "margin must be greater than 0"),
        ("F.binary_cross_entropy(x, y[0])", ValueError, "that is different to the input size"),
        ("F.binary_cross_entropy_with_logits(x, y[0])", ValueError, "must be the same as input size"),
        ("F.margin_ranking_loss(x, y, y[0])", RuntimeError, "should have same dimension"),
        ("F.adaptive_avg_pool2d(x[0, 0], (None, 2))", ValueError, "at least 3"),
        ("F.adaptive_avg_pool3d(x[0], (None, 2, 2))", ValueError, "at least 4"),
        ("F.dropout1d(x)", RuntimeError, "Expected 2D or 3D input, but received a 4D input"),
        ("F.grid_sample(x, g, 'odd')", ValueError, "expected mode to be"),
        ("F.grid_sample(x, g, padding_mode='odd')", ValueError, "expected padding_mode to be"),
    ],
)
def test_refusal(expression: str, error: type[Exception], text: str) -> None:
    function, used = function_of(expression, f"<refused {expression}>")
    given = [arguments()[name] for name in used]
    with pytest.raises(error, match=re.escape(text)):
        function(*given)
    with pytest.raises(Exception, match=re.escape(text)):
        flambeau.script(function, backend="interpreter")(*given)
