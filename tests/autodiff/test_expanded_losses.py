"""Losses, distances, joins and folds that plans write as others: eager answers, natively, in the operators' words where
they fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

RNG = np.random.default_rng(7)
TENSORS = {
    "x": flambeau.from_numpy(RNG.normal(size=(4, 6)).astype(np.float32)),
    "y": flambeau.from_numpy(RNG.normal(size=(4, 6)).astype(np.float32)),
    "p": flambeau.from_numpy(RNG.random((4, 6)).astype(np.float32)),
    "s": flambeau.from_numpy(np.sign(RNG.normal(size=(4, 6))).astype(np.float32)),
    "v": flambeau.from_numpy(RNG.normal(size=6).astype(np.float32)),
    "z": flambeau.from_numpy(RNG.normal(size=(2, 6, 3)).astype(np.float32)),
    "c": flambeau.from_numpy(RNG.integers(0, 6, 4)),
    "t": flambeau.tensor([-1.0, 0.0, 1.0]),
    "n": flambeau.from_numpy(np.where(RNG.random((4, 6)) < 0.3, np.nan, 1.5).astype(np.float32)),
}


def named(expression: str) -> list[str]:
    """The tensors that it names."""
    return [name for name in TENSORS if re.search(rf"(?<![.\w]){name}\b", expression)]


def scripted(expression: str) -> tuple[Any, list[flambeau.Tensor]]:
    names = named(expression)
    text = f"def f({', '.join(f'{n}: Tensor' for n in names)}):\n    return {expression}\n"
    return flambeau.jit.CompilationUnit(text).f, [TENSORS[n] for n in names]


def eager(expression: str) -> Any:
    return eval(expression, {"flambeau": flambeau, **TENSORS})


LOSSES = [
    "mse_loss(x, y)", "mse_loss(x, v[0])", "l1_loss(x, y, reduction='sum')", "smooth_l1_loss(x, y, beta=0.5)",
    "smooth_l1_loss(x, y, beta=0.0)", "huber_loss(x, y, delta=0.3)", "kl_div(x, p, reduction='batchmean')",
    "binary_cross_entropy(p, s.relu())", "binary_cross_entropy(p, p, weight=p, reduction='none')",
    "binary_cross_entropy_with_logits(x, p, pos_weight=v.abs())", "soft_margin_loss(x, s)",
    "hinge_embedding_loss(x, s)", "margin_ranking_loss(x, y, s)", "triplet_margin_loss(x, y, p)",
    "cosine_embedding_loss(x, y, s[:, 0])", "poisson_nll_loss(x, p * 9, full=True)", "cross_entropy(x, c)",
    "cross_entropy(x, c, v.abs(), label_smoothing=0.1)", "cross_entropy(x, p)",
    "cross_entropy(z, z.softmax(1), reduction='sum', label_smoothing=0.2)", "cross_entropy(x[:0], p[:0])",
    "cross_entropy(v, v.softmax(0))", "cosine_similarity(x, v, dim=1)", "cosine_similarity(x[:, :1], y)",
    "pairwise_distance(x, v)", "one_hot(c, 6)",
]  # fmt: skip
OTHERS = [
    "concat([x, y], 1)", "hstack([x, y])", "hstack([v, v])", "vstack([x, v])", "dstack([v, v])",
    "column_stack([v, v])", "atleast_2d(v)", "atleast_3d(x)", "atleast_1d(x.sum())", "tile(z, [2, 1])",
    "tile(v, [2, 3])", "flipud(x)", "fliplr(x)", "tensor_split(x, 4, 1)", "tensor_split(x, [3, 1, 9, -1])",
    "tensor_split(v, 7)", "hsplit(v, 2)", "vsplit(x, 2)", "dsplit(z, [1])", "channel_shuffle(z, 3)", "nansum(n)",
    "nansum(n, [0], True)", "nanmean(n)", "nanmean(n, 1)", "allclose(x, x)", "allclose(n, n)",
    "allclose(n, n, equal_nan=True)", "inner(v, v)", "inner(x, y)", "inner(z[:, :, 0], x)", "addr(x, x[:, 0], v)",
    "dist(x, v)", "dist(x, y, 1.0)", "masked_fill(x, y > 0, v[0])", "masked_fill(c, c > 2, 7)",
    "masked_fill(c, c > 2, c[0])", "rot90(x)", "rot90(x, 2)", "rot90(z, 3, [1, 2])", "where(x > 0)", "diagflat(v, 1)",
    "bucketize(x, t)", "bucketize(x, t, out_int32=True, right=True)", "ops.aten.frobenius_norm(x, [1], True)",
    "ops.aten.pad_sequence([x, y[:2], x[1:]])", "ops.aten.pad_sequence([v, v[:2]], True, 1.5, 'left')",
]  # fmt: skip
EXPRESSIONS = [f"flambeau.nn.functional.{e}" for e in LOSSES] + [f"flambeau.{e}" for e in OTHERS]
EXPRESSIONS += ["v.expand_as(x)", "x.view_as(y)", "x.reshape_as(y.t())"]


@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning")  # of losses that broadcast
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_answers_are_those_of_eager_calls(expression: str) -> None:
    function, arguments = scripted(expression)
    for _ in range(3):
        answer = function(*arguments)
    wanted = eager(expression)
    for one, other in zip(_listed(answer), _listed(wanted), strict=True):
        if isinstance(other, flambeau.Tensor):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-5, atol=1e-6)
            assert (one.dtype, one.stride()) == (other.dtype, other.stride())
        else:
            assert one is other
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


def _listed(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else [answer]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("flambeau.nn.functional.binary_cross_entropy(x, p)", "all elements of input should be between 0 and 1"),
        ("flambeau.nn.functional.one_hot(c, 2)", "Class values must be smaller than num_classes."),
        ("flambeau.nn.functional.one_hot(c - 6, 2)", "Class values must be non-negative."),
        ("flambeau.hsplit(x, 4)", "the size of the dimension 6 is not divisible by the split_size 4"),
        ("flambeau.channel_shuffle(z, 4)", "Number of channels must be divisible by groups. Got 6 channels and 4"),
        ("flambeau.nn.functional.huber_loss(x, y, delta=0.0)", "huber_loss does not support non-positive values"),
    ],
)  # fmt: skip
def test_refusals_are_in_the_operators_words(expression: str, message: str) -> None:
    function, arguments = scripted(expression)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=message.replace("(", r"\(")):
            function(*arguments)


@pytest.mark.parametrize(
    "expression",
    [
        "flambeau.nn.functional.normalize(x) * y", "flambeau.nn.functional.cosine_similarity(x, y)",
        "flambeau.nn.functional.triplet_margin_loss(x, y, p)", "flambeau.nn.functional.cross_entropy(x, p)",
        "x.expand_as(y) * y", "flambeau.nn.functional.binary_cross_entropy(x.sigmoid(), p)",
        "flambeau.nn.functional.cross_entropy(x, c, v.abs(), label_smoothing=0.1)",
    ],
)  # fmt: skip
def test_gradients_go_through_them_natively(expression: str) -> None:
    """The graph's gradient is the tape's, with no operator left to Python."""
    names = named(expression)
    head = ", ".join(f"{n}: Tensor" for n in names)
    f = flambeau.jit.CompilationUnit(f"def f({head}):\n    return ({expression}).sum()\n").f
    call = f"flambeau.grad(f, {names.index('x')})({', '.join(names)})"
    g = flambeau.jit.CompilationUnit(f"def g({head}):\n    return {call}\n").g
    assert f.name == "f"  # which the text below names
    arguments = [TENSORS[n] for n in names]
    for _ in range(3):
        answer = g(*arguments)
    leaf = TENSORS["x"].clone().requires_grad_()
    eval(expression, {"flambeau": flambeau, **TENSORS, "x": leaf}).sum().backward()
    np.testing.assert_allclose(answer.numpy(), leaf.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert g.explain(measure=False).is_native, str(g.explain(measure=False))
