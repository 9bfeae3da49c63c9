"""The formulas of factors, spectra, statistics, distances, folded writes, grids and bags, beside differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional as F
from tests.autograd.numeric import check, check_second_order

m = flambeau
Function = Callable[..., Any]
DRAW = np.random.default_rng(11)
PLACES = m.tensor([[0, 1, 1, 0], [2, 0, 1, 2]])
ZEROS = np.array([[1.5, 0.0, -0.5, 2.0], [0.0, 0.7, 0.0, 1.1], [0.9, 1.3, 0.4, -1.2]])
SOURCE = np.array([[0.5, 0.0, 1.7, -0.6], [1.2, 0.8, -1.4, 0.3]])


def drawn(*sizes: int) -> Any:
    return np.random.default_rng(len(sizes) + sum(sizes)).uniform(0.3, 1.9, sizes)


def matrix(*sizes: int) -> Any:
    """Well conditioned, with singular values apart."""
    return drawn(*sizes) + 2 * np.eye(*sizes[-2:]) * np.arange(1, sizes[-1] + 1)


def lower(a: Any) -> Any:
    return a.tril() + m.eye(a.shape[-1], dtype=a.dtype)


FACTORS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "cholesky_ex": (lambda a: m.linalg.cholesky_ex(a @ a.mT)[0], (3, 3)),
    "cholesky upper": (lambda a: m.linalg.cholesky(a @ a.mT, upper=True), (2, 3, 3)),
    "cholesky_inverse": (lambda a: m.cholesky_inverse(lower(a)), (3, 3)),
    "cholesky_inverse upper": (lambda a: m.cholesky_inverse(lower(a).mT, True), (3, 3)),
    "cholesky_solve": (lambda a: m.cholesky_solve(a[:, :2], lower(a)), (3, 3)),
    "lu": (lambda a: m.linalg.lu(a)[1:], (3, 3)),
    "lu tall": (lambda a: m.linalg.lu(a)[1:], (4, 2)),
    "lu wide": (lambda a: m.linalg.lu(a)[1:], (2, 4)),
    "lu_factor": (lambda a: m.linalg.lu_factor(a)[0], (2, 3, 3)),
    "lu_solve": (lambda a: m.linalg.lu_solve(*m.linalg.lu_factor(a), a[:, :2]), (3, 3)),
    "lu_solve adjoint, from the right": (
        lambda a: m.linalg.lu_solve(*m.linalg.lu_factor(a), a[:2], left=False, adjoint=True),
        (3, 3),
    ),
    "qr": (m.linalg.qr, (4, 3)),
    "qr wide": (m.linalg.qr, (2, 4)),
    "householder": (lambda a: m.linalg.householder_product(a, a[0] / 5), (4, 3)),
    "ormqr": (lambda a: m.ormqr(a[:, :2], a[0, :2] / 5, a, True, True), (4, 4)),
    "triangular_solve": (lambda a: m.triangular_solve(a[:, :2], a, True, True)[0], (3, 3)),
    "eigvals": (lambda a: m.view_as_real(m.linalg.eigvals(a)).sum(0), (3, 3)),
    "eig": (lambda a: m.linalg.eig(a)[1].abs(), (3, 3)),
    "svd": (lambda a: [m.linalg.svd(a, False)[0].abs(), m.linalg.svd(a)[2].abs()], (4, 3)),
    "pinv": (m.linalg.pinv, (4, 3)),
    "pinv wide": (m.linalg.pinv, (2, 4)),
    "lstsq": (lambda a: m.linalg.lstsq(a, a[:, :1].exp())[:2], (5, 2)),
    "cond": (lambda a: [m.linalg.cond(a), m.linalg.cond(a, 1), m.linalg.cond(a, -2)], (3, 3)),
}


@pytest.mark.parametrize("case", FACTORS)
def test_of_matrices(case: str) -> None:
    function, sizes = FACTORS[case]
    check(function, matrix(*sizes))
    check_second_order(function, matrix(*sizes))


@pytest.mark.parametrize("case", ["cholesky_ex", "lu tall", "qr wide", "pinv", "eig", "lu_solve", "householder", "svd"])
def test_of_complex_matrices(case: str) -> None:
    function, sizes = FACTORS[case]
    mirrored = case in ("cholesky_ex",)

    def of_parts(real: Any, imaginary: Any) -> Any:
        a = m.complex(real, imaginary)
        results = m.linalg.cholesky(a @ a.mH) if mirrored else function(a)
        listed = results if isinstance(results, list | tuple) else [results]
        return [m.view_as_real(r) if r.is_complex() else r for r in listed]

    check(of_parts, matrix(*sizes), drawn(*sizes[::-1]).T / 3 if len(sizes) == 2 else drawn(*sizes))


def test_the_determinant_of_a_singular_matrix_has_its_cofactors() -> None:
    a = m.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=m.float64).requires_grad_()
    m.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], rtol=1e-12)
    sign = m.complex(m.tensor(matrix(3, 3)), m.tensor(drawn(3, 3))).requires_grad_()
    check(lambda re, im: m.view_as_real(m.linalg.slogdet(m.complex(re, im))[0]), matrix(3, 3), drawn(3, 3))
    assert sign.requires_grad


STATISTICS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "cov": (lambda x: m.cov(x, aweights=x[0]), (2, 4)),
    "corrcoef": (m.corrcoef, (3, 4)),
    "quantile": (lambda x: m.quantile(x, m.tensor([0.1, 0.55], dtype=m.float64), 1), (3, 5)),
    "quantile by a number": (lambda x: m.quantile(x, 0.3, 0, True, interpolation="midpoint"), (4, 2)),
    "nanquantile": (lambda x: m.nanquantile(x.log().masked_fill(x > 1.5, float("nan")), 0.4, 1), (3, 6)),
    "trapezoid": (lambda x: m.trapezoid(x, x.cumsum(1)), (2, 4)),
    "cumulative_trapezoid": (lambda x: m.cumulative_trapezoid(x, dx=0.5, dim=0), (3, 2)),
    "vander": (lambda x: [m.vander(x, 4), m.linalg.vander(x)], (3,)),
    "combinations": (lambda x: m.combinations(x, 2, True).prod(1), (4,)),
    "renorm": (lambda x: m.renorm(x, 2, 0, 1.5), (3, 4)),
    "frexp": (lambda x: m.frexp(x * 3)[0], (4,)),
    "pdist": (lambda x: [F.pdist(x), F.pdist(x, 1.5), F.pdist(x, float("inf"))], (4, 3)),
    "cdist": (lambda x: [m.cdist(x, x.exp()), m.cdist(x[:, :2], x[1:, 1:], 3.0)], (4, 3)),
    "stft": (lambda x: m.stft(x, 8, 3, 6, x[:6], return_complex=True).abs(), (20,)),
    "istft": (lambda x: m.istft(m.stft(x, 8, return_complex=True), 8, window=x[:8]), (20,)),
    "bincount": (lambda x: m.bincount(m.tensor([2, 0, 2]), x).exp(), (3,)),
}


@pytest.mark.parametrize("case", STATISTICS)
def test_of_statistics(case: str) -> None:
    function, sizes = STATISTICS[case]
    check(function, drawn(*sizes))
    check_second_order(function, drawn(*sizes))


@pytest.mark.parametrize("includes_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "prod"])
def test_of_folded_writes(reduce: str, includes_self: bool) -> None:
    def scattered(x: Any, source: Any) -> Any:
        return x.scatter_reduce(0, PLACES, source, reduce, include_self=includes_self)

    check(scattered, ZEROS.copy(), SOURCE.copy())
    check_second_order(scattered, ZEROS.copy(), SOURCE.copy())
    if reduce != "sum":
        index = m.tensor([1, 1])
        check(lambda x, s: x.index_reduce(0, index, s, reduce, include_self=includes_self), ZEROS.copy(), SOURCE.copy())


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_of_grids(mode: str, padding: str) -> None:
    image, grid = drawn(1, 2, 3, 4), DRAW.uniform(-1.6, 1.6, (1, 3, 2, 2))
    check(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=False), image, grid)
    if mode == "bilinear":
        volume, places = drawn(1, 1, 2, 3, 2), DRAW.uniform(-0.9, 0.9, (1, 2, 1, 2, 3))
        check(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=True), volume, places)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_of_bags(mode: str) -> None:
    indices, offsets = m.tensor([1, 3, 3, 0, 2, 1]), m.tensor([0, 2, 2, 5])
    check(lambda w: F.embedding_bag(indices, w, offsets, mode=mode, padding_idx=-2), drawn(4, 3))
    if mode == "sum":
        weighted = lambda w, s: F.embedding_bag(indices, w, offsets, mode="sum", per_sample_weights=s)  # noqa: E731
        check(weighted, drawn(4, 3), drawn(6))


def test_of_alignments() -> None:
    targets = m.tensor([[1, 2, 2], [2, 1, 0]])

    def loss(x: Any) -> Any:
        return F.ctc_loss(x.log_softmax(2), targets, [4, 3], [3, 2], reduction="none")

    check(loss, drawn(4, 2, 3))
    one = m.tensor([[1, 1]])
    check_second_order(lambda x: F.ctc_loss(x.log_softmax(2), one, [3], [2]), drawn(3, 1, 2))
    x = m.tensor(drawn(2, 1, 3)).requires_grad_()
    loss_of_none = F.ctc_loss(x.log_softmax(2), m.tensor([[1, 1, 1]]), [2], [3], zero_infinity=True)
    loss_of_none.backward()
    assert x.grad.abs().sum().item() == 0


def test_of_determinants_that_are_zero_the_gradient_is_the_cofactors() -> None:
    x = m.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 3.0]], [[2.0, 1.0], [0.0, 3.0]]]).requires_grad_()
    m.linalg.det(x).sum().backward()
    want = [[[4.0, -2.0], [-2.0, 1.0]], [[3.0, 0.0], [-1.0, 0.0]], [[3.0, 0.0], [-1.0, 2.0]]]
    np.testing.assert_allclose(x.grad.numpy(), want, atol=1e-5)
    nothing = m.tensor([[[m.nan, 1.0], [1.0, 1.0]]]).requires_grad_()
    m.linalg.det(nothing).sum().backward()
    assert nothing.grad.isnan().all().item()


def test_of_products_through_zeros() -> None:
    for rows in ([[2.0, 0.0, 3.0, 0.0, 1.5]], [[0.0, 4.0, 0.5, 2.0, 0.0]], [[1.0, 2.0, 3.0, 4.0, 5.0]]):
        check(lambda x: x.cumprod(1), np.array(rows))
        check_second_order(lambda x: x.cumprod(1), np.array(rows))
        check(lambda x: x.prod(1), np.array(rows))
    x = m.complex(m.tensor(drawn(3, 5)), m.tensor(drawn(3, 5))).requires_grad_()
    (slope,) = m.autograd.grad(x.cumprod(1).abs().sum(), x, create_graph=True)
    slope.abs().sum().backward()
    check(lambda re, im: m.view_as_real(m.complex(re, im).cumprod(0)), drawn(3, 2), drawn(3, 2))


def test_running_statistics_may_move_before_the_way_back() -> None:
    norm, x = flambeau.nn.BatchNorm1d(3), m.tensor(drawn(4, 3), dtype=m.float32).requires_grad_()
    (norm(x).exp().sum() + norm(x * 2).exp().sum()).backward()
    assert x.grad is not None
    shown = norm.eval()(x).sum()
    norm.train()(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        shown.backward()


def test_the_gradient_of_maxima_over_windows_is_an_operator() -> None:
    x = m.tensor(drawn(1, 2, 4, 4))
    indices = F.max_pool2d(x, 2, return_indices=True)[1]
    run = flambeau.ops.aten.max_pool2d_with_indices_backward
    check(lambda g: run(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, indices), drawn(1, 2, 2, 2))


def test_of_losses_with_margins_and_norms() -> None:
    y = m.tensor([1, 0, 3])
    check(lambda x: [F.multi_margin_loss(x, y, p) for p in (1, 2)], drawn(3, 4))
    several = m.tensor([[1, 3, -1, 0], [0, -1, 2, 2], [2, 1, 0, -1]])
    check(lambda x: F.multilabel_margin_loss(x, several, reduction="none"), drawn(3, 4))
    check(lambda x: m.native_group_norm(x, x[0, :, 0], None, 2, 4, 3, 2, 1e-5), drawn(2, 4, 3))
    check(lambda x: F.group_norm(x, 2, x[0, :, 0], x[1, :, 1]), drawn(2, 4, 3))
    check_second_order(lambda x: F.group_norm(x, 2, x[0, :, 0]), drawn(2, 4, 3))


def test_of_convolutions_with_padding_of_the_output() -> None:
    def run(x: Any, w: Any) -> Any:
        return F.conv_transpose2d(x, w, stride=1, padding=1, output_padding=1, dilation=2)

    check(run, drawn(1, 2, 3, 4), drawn(2, 1, 2, 2))


def test_of_views_of_parts_of_memory() -> None:
    base = m.tensor(drawn(12))

    def window(x: Any) -> Any:
        return x.as_strided((2, 3), (1, 2), 1).exp()

    check(window, drawn(9))
    part = base[3:9].detach().requires_grad_()
    part.as_strided((2, 2), (1, 2), 4).sum().backward()
    assert part.grad.tolist() == [0, 1, 1, 1, 1, 0]
    assert [list(g.shape) for g in m.meshgrid(m.ones(2).requires_grad_(), m.ones(3), indexing="xy")] == [[3, 2]] * 2


def test_updates_in_place_that_others_stand_in_for() -> None:
    out = m.tensor(drawn(3))
    source = m.tensor(drawn(2)).requires_grad_()
    start = out.clone().requires_grad_()
    whole = start * 1
    whole[:2].index_reduce_(0, m.tensor([0, 1]), source, "prod")
    by_start, by_source = m.autograd.grad(whole.sum(), [start, source])
    np.testing.assert_allclose(by_start.numpy(), [*source.detach().numpy(), 1.0])
    np.testing.assert_allclose(by_source.numpy(), out.numpy()[:2])


def test_chance_is_drawn_once() -> None:
    for run in (
        lambda x: F.alpha_dropout(x, 0.5, True),
        lambda x: F.rrelu(x, 0.1, 0.9, True),
        lambda x: F.feature_alpha_dropout(x.reshape(2, 3, 2), 0.5, True),
    ):
        x = m.tensor(DRAW.normal(size=12)).requires_grad_()
        m.manual_seed(3)
        recorded = run(x)
        m.manual_seed(3)
        np.testing.assert_allclose(recorded.detach().numpy(), run(x.detach()).numpy(), rtol=1e-6)
        (slope,) = m.autograd.grad(recorded.sum(), x)
        assert ((slope == 0) | (slope.abs() > 0.05)).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_gradients_keep_the_dtype(dtype: str) -> None:
    x = m.tensor(drawn(3, 4)).to(getattr(m, dtype)).requires_grad_()
    wide = m.tensor(2.0, dtype=m.float64)
    for result in (x * 2.5, x * wide, m.cov(x), x.renorm(2, 0, 1.0), x.softmax(1), F.group_norm(x.unsqueeze(0), 3)):
        assert str(result.dtype) == f"flambeau.{dtype}"
        assert m.autograd.grad(result.sum(), x)[0].dtype == x.dtype
