"""The formulas of operators beside differences of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd.rule import gradient_of
from flambeau.nn import functional as F
from flambeau.schema import registry
from tests.autograd.numeric import check, check_second_order

m = flambeau


def drawn(*sizes: int, low: float = 0.2, high: float = 0.9) -> Any:
    return np.random.default_rng(sum(sizes) + len(sizes)).uniform(low, high, sizes)


X, Y = drawn(3, 4), drawn(4)
S = drawn(3, 3) + 3 * np.eye(3)
INDEX = flambeau.tensor([2, 0, 2])
MASK = flambeau.tensor([True, False, True, True])

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "atanh",
    "erf",
    "erfc",
    "erfinv",
    "sigmoid",
    "lgamma",
    "digamma",
    "neg",
    "abs",
    "square",
    "reciprocal",
    "sinc",
    "logit",
    "frac",
    "deg2rad",
    "rad2deg",
    "i0",
    "positive",
]
ACTIVATIONS = [
    "relu",
    "relu6",
    "hardtanh",
    "leaky_relu",
    "gelu",
    "elu",
    "celu",
    "selu",
    "silu",
    "mish",
    "softplus",
    "hardsigmoid",
    "hardswish",
    "hardshrink",
    "softshrink",
    "logsigmoid",
    "tanhshrink",
    "softsign",
]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    check(getattr(m, name), drawn(3, 2))
    check_second_order(getattr(m, name), drawn(3))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    x = np.array([-2.3, -0.6, -0.2, 0.3, 0.7, 2.1, 4.4])
    check(getattr(F, name), x)


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "atan2",
        "hypot",
        "fmod",
        "maximum",
        "minimum",
        "xlogy",
        "logaddexp",
        "float_power",
    ],
)
def test_functions_of_two_numbers_that_broadcast(name: str) -> None:
    check(getattr(m, name), drawn(2, 3), drawn(3, low=1.1, high=1.9))
    check(getattr(m, name), drawn(2, 1), drawn(1, 3, low=1.1, high=1.9))


CASES = {
    "sum": lambda x: x.sum(),
    "sum of axes": lambda x: x.sum([0]),
    "mean": lambda x: x.mean(1, keepdim=True),
    "prod": lambda x: x.prod(),
    "prod of an axis": lambda x: x.prod(0),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(1)[0],
    "min": lambda x: x.min(),
    "median": lambda x: x.median(1)[0],
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(),
    "var_mean": lambda x: m.var_mean(x, 1),
    "logsumexp": lambda x: x.logsumexp(1),
    "norm": lambda x: x.norm(),
    "norm 3": lambda x: x.norm(3, 0),
    "norm inf": lambda x: m.linalg.vector_norm(x, float("inf")),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1)[0],
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(2, 1)[0],
    "kthvalue": lambda x: x.kthvalue(2, 1)[0],
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "transpose": lambda x: x.t() * x.t(),
    "permute": lambda x: x.permute(1, 0).exp(),
    "view": lambda x: x.view(2, 6) ** 2,
    "select": lambda x: x[1] * x[2],
    "slice": lambda x: x[:, 1:3] * 2,
    "steps": lambda x: x[::2, ::3].exp(),
    "unbind": lambda x: x.unbind(1)[2] * 3,
    "chunk": lambda x: [p * k for k, p in enumerate(x.chunk(2, 1))],
    "split": lambda x: x.split([1, 3], 1)[1].exp(),
    "tensor_split": lambda x: x.tensor_split(3, 1)[0] * 2,
    "expand": lambda x: x[:, :1].expand(3, 5).exp(),
    "repeat": lambda x: x.repeat(2, 3),
    "tile": lambda x: m.tile(x, (2,)),
    "flip": lambda x: x.flip(0, 1).cumsum(1),
    "roll": lambda x: x.roll(1, 1).cumsum(1),
    "rot90": lambda x: m.rot90(x).exp(),
    "diagonal": lambda x: x.diagonal(1).exp(),
    "diag": lambda x: m.diag(x[0]).exp(),
    "triu": lambda x: x.triu(1).exp(),
    "unfold": lambda x: x.unfold(1, 2, 1).exp(),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 3), 1).exp(),
    "movedim": lambda x: x.movedim(0, 1).cumsum(0),
    "cat": lambda x: m.cat([x, x * x], 1),
    "stack": lambda x: m.stack([x, x.exp()]),
    "hstack": lambda x: m.hstack([x, x.exp()]),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1).exp(),
    "index": lambda x: x[INDEX] ** 2,
    "pairs": lambda x: x[INDEX, INDEX].exp(),
    "mask": lambda x: x[:, MASK].exp(),
    "index_select": lambda x: x.index_select(0, INDEX).exp(),
    "gather": lambda x: x.gather(0, INDEX.unsqueeze(1)).exp(),
    "take": lambda x: x.take(INDEX).exp(),
    "masked_fill": lambda x: x.masked_fill(MASK, 2.0).exp(),
    "masked_select": lambda x: x.masked_select(MASK).exp(),
    "where": lambda x: m.where(x > 0.5, x.exp(), x * x),
    "clamp": lambda x: x.clamp(0.3, 0.7).exp(),
    "index_add": lambda x: x.index_add(0, INDEX, x.exp()),
    "index_copy": lambda x: x.index_copy(0, flambeau.tensor([1]), x[:1].exp()),
    "scatter_add": lambda x: x.scatter_add(0, INDEX.unsqueeze(1), x.exp()),
    "index_put": lambda x: x.index_put((INDEX,), x.exp(), True),
    "renamed": lambda x: x.swapaxes(0, 1).cumsum(0),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "normalize": lambda x: F.normalize(x),
    "pad": lambda x: F.pad(x, (1, 2)).exp(),
    "reflect": lambda x: F.pad(x, (2, 1), "reflect").cumsum(1),
    "replicate": lambda x: F.pad(x, (2, 1), "replicate").cumsum(1),
    "fft": lambda x: m.view_as_real(m.fft.fft(x)),
    "rfft": lambda x: m.fft.rfft(x).abs(),
    "irfft": lambda x: m.fft.irfft(m.complex(x, x)),
    "einsum": lambda x: m.einsum("ij,kj->ik", x, x.exp()),
    "diagonals": lambda x: m.einsum("ii->i", x[:, :3]),
    "complex": lambda x: (m.complex(x, x * x) * (2 + 1j)).abs(),
    "angle": lambda x: m.complex(x, x * x).angle(),
    "numbers": lambda x: 2.0**x + x**3 + 1 / x - (5 - x),
    "max_pool": lambda x: F.max_pool1d(x.unsqueeze(0), 2).exp(),
    "avg_pool": lambda x: F.avg_pool1d(x.unsqueeze(0), 3, 2, 1).exp(),
    "adaptive": lambda x: F.adaptive_avg_pool1d(x.unsqueeze(0), 3).exp(),
    "interpolate": lambda x: F.interpolate(x.unsqueeze(0), size=7, mode="linear").exp(),
    "nearest": lambda x: F.interpolate(x.unsqueeze(0), scale_factor=2.0).exp(),
    "cross_entropy": lambda x: F.cross_entropy(x, flambeau.tensor([1, 0, 3])),
    "nll of some": lambda x: F.nll_loss(x, flambeau.tensor([1, -100, 3])),
    "bce": lambda x: F.binary_cross_entropy(x, flambeau.tensor(Y).expand(3, 4)),
    "mse": lambda x: F.mse_loss(x, x * x),
    "smooth": lambda x: F.smooth_l1_loss(x, x * x * 3),
    "kl": lambda x: F.kl_div(x.log(), flambeau.tensor(Y).expand(3, 4), reduction="sum"),
    "group_norm": lambda x: F.group_norm(x.unsqueeze(0), 3),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True).exp(),
    "cdist": lambda x: m.cdist(x, x * 2),
    "glu": lambda x: F.glu(x),
    "prelu": lambda x: F.prelu(x - 0.5, x[0, :1]),
}


@pytest.mark.parametrize("case", CASES)
def test_of_one_tensor(case: str) -> None:
    check(CASES[case], X.copy())


TWO = {
    "mm": (lambda a, b: a @ b, (3, 4), (4, 2)),
    "bmm": (m.bmm, (2, 3, 4), (2, 4, 2)),
    "mv": (lambda a, b: a @ b, (3, 4), (4,)),
    "dot": (lambda a, b: a @ b, (4,), (4,)),
    "batches": (lambda a, b: a @ b, (2, 1, 3, 4), (5, 4, 2)),
    "outer": (m.outer, (3,), (4,)),
    "vector by batches": (lambda a, b: a @ b, (4,), (2, 4, 3)),
    "batches by vector": (lambda a, b: a @ b, (2, 3, 4), (4,)),
    "linear": (F.linear, (2, 3, 4), (5, 4)),
    "inner": (m.inner, (2, 4), (3, 4)),
    "kron": (m.kron, (2, 2), (2, 3)),
    "tensordot": (lambda a, b: m.tensordot(a, b, 2), (2, 3, 4), (3, 4, 2)),
    "cross": (lambda a, b: m.linalg.cross(a, b), (2, 3), (2, 3)),
    "conv1d": (lambda a, b: F.conv1d(a, b, stride=2, padding=1), (2, 4, 7), (3, 4, 3)),
    "conv2d": (lambda a, b: F.conv2d(a, b, padding=1, groups=2, dilation=2), (1, 4, 6, 5), (4, 2, 2, 3)),
    "conv same": (lambda a, b: F.conv1d(a, b, padding="same"), (1, 2, 5), (2, 2, 4)),
    "conv_transpose": (
        lambda a, b: F.conv_transpose2d(a, b, stride=2, padding=1, output_padding=1),
        (1, 3, 3, 3),
        (3, 2, 3, 3),
    ),
    "embedding": (lambda a, b: F.embedding(INDEX, a) * b, (3, 4), (4,)),
    "bilinear": (lambda a, b: F.bilinear(a, a, b), (2, 3), (2, 3, 3)),
    "cosine": (F.cosine_similarity, (3, 4), (3, 4)),
    "attention": (lambda a, b: F.scaled_dot_product_attention(a, b, b), (2, 3, 4), (2, 5, 4)),
}


@pytest.mark.parametrize("case", TWO)
def test_of_two_tensors(case: str) -> None:
    function, *sizes = TWO[case]
    check(function, *[drawn(*size) for size in sizes])


MATRICES = {
    "inv": m.linalg.inv,
    "det": m.linalg.det,
    "slogdet": lambda a: m.linalg.slogdet(a)[1],
    "solve": lambda a: m.linalg.solve(a, a[0]),
    "cholesky": lambda a: m.linalg.cholesky(a @ a.t()),
    "matrix_exp": lambda a: m.linalg.matrix_exp(a / 4),
    "matrix_power": lambda a: m.linalg.matrix_power(a, 3),
    "eigvalsh": lambda a: m.linalg.eigvalsh(a + a.t()),
    "svdvals": m.linalg.svdvals,
    "qr": lambda a: m.linalg.qr(a)[1].abs(),
    "trace": lambda a: a.exp().trace(),
    "nuclear": lambda a: m.linalg.matrix_norm(a, "nuc"),
    "triangular": lambda a: m.linalg.solve_triangular(a.triu(), a, upper=True),
}


@pytest.mark.parametrize("case", MATRICES)
def test_of_matrices(case: str) -> None:
    check(MATRICES[case], S.copy())


def test_at_points_without_a_derivative_it_is_what_pytorch_chose() -> None:
    x = flambeau.tensor([0.0, 1.0, 1.0]).requires_grad_()
    got = flambeau.autograd.grad([x.abs().sum(), x.relu().sum(), x.max()], x, retain_graph=True)[0]
    assert got.tolist() == [0.0, 2.5, 2.5]
    tied = flambeau.tensor([1.0]).requires_grad_()
    assert flambeau.autograd.grad(flambeau.maximum(x, tied).sum(), tied)[0].tolist() == [2.0]


def test_the_text_of_a_derived_formula_can_be_read() -> None:
    gradient = gradient_of(registry.get("aten::tanh"))
    assert gradient is not None
    from flambeau.schema.gradient import Call

    formula = gradient.formula("self", Call())
    assert formula is not None
    assert formula.source == "def tanh_self(f, grad, result):\n    return grad * (1 - result * result)"


def test_a_missing_formula_is_said_by_name() -> None:
    packed = flambeau.geqrf(flambeau.eye(2).requires_grad_())[0]
    assert packed.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for aten::geqrf is not implemented"):
        packed.sum().backward()
    y = flambeau.igamma(flambeau.ones(2).requires_grad_(), flambeau.ones(2))
    with pytest.raises(NotImplementedError, match="the derivative for 'igamma: input' is not implemented"):
        y.sum().backward()


def test_norms_of_nothing_and_norms_without_statistics() -> None:
    nothing = flambeau.zeros(0, dtype=flambeau.float64)
    x, weight = nothing.clone().requires_grad_(), nothing.clone().requires_grad_()
    F.batch_norm(x, nothing, nothing, weight, None, training=True).sum().backward()
    assert x.grad is not None
    assert weight.grad is not None
    assert x.grad.shape == weight.grad.shape == (0,)
    image = (np.arange(12.0) ** 1.5).reshape(2, 2, 3)

    def alone(*args: Any) -> Any:
        return flambeau._native_batch_norm_legit(*args, True, 0.1, 1e-5)

    check(lambda x, w, b: alone(x, w, b)[0], image, np.array([2.0, -1.0]), np.array([0.5, 0.25]))
    both = alone(flambeau.tensor(image), None, None), F.batch_norm(flambeau.tensor(image), None, None, training=True)
    assert both[0][0].tolist() == both[1].tolist()


def test_norms_of_single_channels_and_their_second_derivatives() -> None:
    image = (np.arange(24.0) ** 1.5).reshape(2, 3, 4)
    affine = np.array([2.0, -1.0, 0.5]), np.array([0.5, 0.25, 0.0])
    check(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), image, *affine)
    check_second_order(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), image / 20, *affine)
    mean = flambeau.zeros(3, dtype=flambeau.float64)
    x = flambeau.tensor(image).requires_grad_()
    F.instance_norm(x, mean, flambeau.ones(3, dtype=flambeau.float64), momentum=1.0).sum().backward()
    np.testing.assert_allclose(mean.numpy(), image.mean(axis=(0, 2)))
