"""Loops that operators run natively over many elements: what NumPy gives, in every form of index, and where NumPy is to
do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops.families.element_loops import LEAST, loop_for, places_of
from flambeau.util import inversions

F = flambeau.nn.functional
draw = np.random.default_rng(0)
TABLE = draw.standard_normal((40, 30)).astype(np.float32)
ROWS = draw.integers(0, 40, 200)
COLUMNS = draw.integers(0, 30, (200, 30))


def _tensor(a: Any) -> Any:
    return flambeau.from_numpy(np.array(a, order="C"))


def _bags(mode: str, **options: Any) -> Callable[[], Any]:
    ends = np.sort(draw.integers(0, 200, 20))
    offsets = _tensor(np.concatenate([[0], ends]))
    return lambda: F.embedding_bag(_tensor(ROWS), _tensor(TABLE), offsets, mode=mode, **options)


SOURCE = draw.standard_normal((200, 30)).astype(np.float32)
CALLS: dict[str, Callable[[], Any]] = {
    "index_add": lambda: _tensor(TABLE).index_add(0, _tensor(ROWS), _tensor(SOURCE)),
    "index_add of columns": lambda: _tensor(TABLE.T).index_add(1, _tensor(ROWS), _tensor(SOURCE.T), alpha=2),
    "index_add, float64": lambda: _tensor(TABLE).double().index_add(0, _tensor(ROWS), _tensor(SOURCE).double()),
    "index_put of rows": lambda: _tensor(TABLE).index_put((_tensor(ROWS - 40),), _tensor(SOURCE), True),
    "index_put of elements": lambda: _tensor(TABLE).index_put(
        (_tensor(ROWS)[:, None], _tensor(COLUMNS)), _tensor(SOURCE), True
    ),
    "index_put, broadcast": lambda: _tensor(TABLE).index_put((_tensor(ROWS),), _tensor(SOURCE[:1]), True),
    "index_put behind": lambda: _tensor(TABLE.T).index_put((None, _tensor(ROWS)), _tensor(SOURCE.T), True),
    "index_put into what is turned": lambda: _tensor(TABLE).t().index_put((_tensor(COLUMNS[:, 0]),),
        _tensor(draw.standard_normal((200, 40)).astype(np.float32) * 0 + 1), True),
    "scatter_add": lambda: _tensor(TABLE).scatter_add(0, _tensor(np.tile(ROWS[:, None], 30)), _tensor(SOURCE)),
    "scatter_add of part": lambda: _tensor(TABLE).scatter_add(0, _tensor(np.tile(ROWS[:, None], 22)), _tensor(SOURCE)),
    "scatter_add along rows": lambda: _tensor(SOURCE).scatter_add(1, _tensor(COLUMNS), _tensor(SOURCE)),
    "embedding_bag sum": _bags("sum"),
    "embedding_bag mean": _bags("mean"),
    "embedding_bag, padding": _bags("mean", padding_idx=3),
    "embedding_bag, weighted": _bags("sum", per_sample_weights=_tensor(SOURCE[:, 0])),
    "cdist": lambda: flambeau.cdist(_tensor(TABLE), _tensor(SOURCE)),
    "cdist, first norm": lambda: flambeau.cdist(_tensor(TABLE.T)[:, ::2], _tensor(SOURCE.T)[:, :20], p=1.0),
    "pdist": lambda: F.pdist(_tensor(SOURCE)),
}  # fmt: skip
IMAGE, GRID = draw.standard_normal((2, 3, 20, 20)), draw.uniform(-1.5, 1.5, (2, 30, 30, 2))
GRID[0, 0, 0], GRID[0, 1, 1] = np.nan, (np.inf, 0)
READ = draw.standard_normal((2, 3, 30, 30))


def _reading(mode: str, padding: str) -> Callable[[], Any]:
    def run() -> Any:
        image, grid = (_tensor(a).requires_grad_() for a in (IMAGE, GRID))
        result = F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=False)
        gradients = flambeau.autograd.grad([result], [image, grid], [_tensor(READ)], allow_unused=True)
        return flambeau.cat([t.detach().flatten() for t in (result, *gradients) if t is not None])

    return run


CALLS |= {
    "reading nearest": _reading("nearest", "border"),
    "reading bicubic": _reading("bicubic", "reflection"),
}


def _distances(function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    def run() -> Any:
        tensors = [_tensor(a).requires_grad_() for a in arrays]
        result = function(*tensors)
        gradients = flambeau.autograd.grad([result], tensors, [_tensor(np.cos(result.detach().numpy() * 9))])
        return flambeau.cat([t.detach().flatten() for t in (result, *gradients)])

    return run


LEVELS = np.round(SOURCE[:60] * 2) / 2
CALLS |= {
    f"gradients of distances, {p}": _distances(lambda a, b, p=p: flambeau.cdist(a, b, p=p), TABLE, LEVELS)
    for p in (1.0, 1.5, 3.0)
}
CALLS |= {
    f"gradients of pairs, {p}": _distances(lambda a, p=p: F.pdist(a, p), LEVELS) for p in (1.0, 2.0, 2.5)
}
WITH_ZEROS = SOURCE * (draw.uniform(size=SOURCE.shape) > 0.05)
TRIANGLES = np.tril(draw.standard_normal((3, 90, 90)) / 90 + np.eye(90))
CALLS |= {
    f"products along {dim}": _distances(lambda a, dim=dim: a.prod(dim), WITH_ZEROS) for dim in (0, 1)
}
CALLS |= {
    f"partial products along {dim}": _distances(lambda a, dim=dim: a.cumprod(dim), WITH_ZEROS) for dim in (0, 1)
}
CALLS |= {
    f"triangular systems, {upper}": _distances(
        lambda a, b, upper=upper: flambeau.linalg.solve_triangular(
            a.mT if upper else a, b, upper=upper, unitriangular=upper
        ),
        TRIANGLES, draw.standard_normal((3, 90, 20)),
    )
    for upper in (True, False)
}  # fmt: skip
CALLS["gradients of batches"] = _distances(
    lambda a, b: flambeau.cdist(a, b, p=1.0), READ[:, :, :20], np.stack([READ[0, :, 5:]] * 1)
)
EACH = np.random.default_rng(12).integers(0, 40, (40, 40))
CALLS |= {
    f"put along {dim}": lambda dim=dim: flambeau.zeros(40, 40, dtype=flambeau.float64).scatter(
        dim, _tensor(EACH), _tensor(np.sin(EACH + np.arange(40.0)))
    )
    for dim in (0, 1)
}
SPOTTED = np.where(EACH == 7, np.nan, np.sin(EACH + np.arange(40.0)))
CALLS |= {
    f"folds along {dim}, {reduce}, {kept}": lambda dim=dim, reduce=reduce, kept=kept: _tensor(
        np.cos(EACH.T / 3.0)
    ).scatter_reduce(dim, _tensor(EACH), _tensor(SPOTTED), reduce, include_self=kept)
    for dim in (0, 1) for reduce in ("amax", "amin", "sum") for kept in (True, False)
}  # fmt: skip
WITH_NAN = TABLE.copy()
WITH_NAN[5:9, 3], WITH_NAN[11] = np.nan, WITH_NAN[3]
ENDS = _tensor(np.array([0, 0, 50, 51, 51, 130]))
CALLS |= {
    f"largest of bags, {padding}": lambda padding=padding: F.embedding_bag(
        _tensor(ROWS), _tensor(WITH_NAN), ENDS, mode="max", padding_idx=padding
    )
    for padding in (None, 3)
}
CALLS["gradient of the largest of bags"] = _distances(
    lambda table: F.embedding_bag(_tensor(ROWS), table, ENDS, mode="max"), WITH_NAN
)
BY_NUMPY = ("index_put, broadcast", "index_put into what is turned")


@pytest.mark.parametrize("call", CALLS)
def test_native_loops_give_what_numpy_gives(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    provided = inversions.ELEMENT_LOOPS.implementation

    def noted(function: Any) -> Any:
        ran.append(function)
        return provided(function)

    monkeypatch.setattr(inversions.ELEMENT_LOOPS, "implementation", noted)
    natively = CALLS[call]().numpy()
    assert bool(ran) == (call not in BY_NUMPY)
    monkeypatch.setattr(inversions.ELEMENT_LOOPS, "implementation", lambda function: None)
    want = CALLS[call]().numpy()
    if "add" in call or "put" in call:
        np.testing.assert_array_equal(natively, want)  # one addition after another, in the same order
    np.testing.assert_allclose(natively, want, rtol=1e-5, atol=1e-5)
    assert natively.dtype == want.dtype


def test_small_calls_are_numpys() -> None:
    def loop() -> None:
        raise AssertionError

    assert loop_for(loop, LEAST - 1) is None


def test_places_that_are_not_there_are_refused_as_before() -> None:
    far = np.full(200, 40)
    with pytest.raises(IndexError, match=r"out of (range|bounds)"):
        _tensor(TABLE).index_put((_tensor(far),), _tensor(SOURCE), True)
    with pytest.raises(IndexError, match="out of range"):
        _tensor(TABLE).index_add(0, _tensor(far), _tensor(SOURCE))
    assert places_of((far,), TABLE.shape) is None


def test_elements_that_are_overwritten_by_others_of_the_same_tensor_are_those_before() -> None:
    x = _tensor(np.arange(1600.0).reshape(40, 40))
    expected = x.scatter(1, _tensor(EACH), x.clone())
    assert x.scatter_(1, _tensor(EACH), x).tolist() == expected.tolist()


def test_nan_stays_where_it_was_added() -> None:
    source = SOURCE.copy()
    source[3, 4] = np.nan
    found = _tensor(TABLE).index_add(0, _tensor(ROWS), _tensor(source)).numpy()
    assert np.argwhere(np.isnan(found)).tolist() == [[ROWS[3], 4]]


@pytest.mark.parametrize(
    ("mode", "padding"), [("bilinear", "zeros"), ("bilinear", "reflection"), ("nearest", "border")]
)
def test_reading_and_its_gradients_are_pytorchs(mode: str, padding: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    grid = np.nan_to_num(GRID, posinf=3.0)
    found = []
    for library, make in ((flambeau, _tensor), (torch, lambda a: torch.from_numpy(a.copy()))):
        image, places = make(IMAGE).requires_grad_(), make(grid).requires_grad_()
        read = library.nn.functional.grid_sample
        result = read(image, places, mode=mode, padding_mode=padding, align_corners=False)
        first = library.autograd.grad([result], [image, places], [make(READ)], allow_unused=True)
        found.append([t.detach().numpy() for t in (result, *first) if t is not None and bool((t != 0).any())])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 4)])
def test_nearest_places_have_gradients_of_zero(padding: str, sizes: tuple[int, ...]) -> None:
    image = flambeau.tensor(np.full((1, 2, *sizes), np.inf, np.float32))
    grid = np.linspace(-1.5, 1.5, 2 * len(sizes) * 4, dtype=np.float32).reshape(1, *[2] * len(sizes), -1)
    grid = np.ascontiguousarray(grid[..., : len(sizes)])
    grid.flat[:3] = np.nan, np.inf, -np.inf
    places = flambeau.tensor(grid, requires_grad=True)

    def read(x: Any, at: Any) -> Any:
        return flambeau.nn.functional.grid_sample(x, at, "nearest", padding, align_corners=False)

    read(image, places).sum().backward()
    assert places.grad.tolist() == np.zeros_like(grid).tolist()
    zeros = np.zeros_like(grid)
    zero = flambeau.zeros(1, 2, *sizes, requires_grad=True)
    read(zero, flambeau.tensor(zeros)).sum().backward()
    assert zero.grad.sum().item() == 2 * 2 ** len(sizes)


def test_second_gradients_of_reading_are_finite_differences() -> None:
    places = _tensor(np.array([[[0, 3, -1], [2, 2, 1]]]))
    rows, weights = _tensor(draw.standard_normal((1, 2, 5))), _tensor(draw.standard_normal((1, 2, 3)))
    read, add, weigh = (getattr(flambeau.ops.flambeau, name) for name in ("read_weighted", "add_weighted", "weigh"))
    numbers = _tensor(draw.standard_normal((1, 2, 3)))
    for function, operands in (
        (lambda a, b: read(a, places, b), (rows, weights)),
        (lambda a, b: add(a, places, b, 5), (numbers, weights)),
        (lambda a, b: weigh(a, b, places), (numbers, rows)),
    ):
        leaves = tuple(t.clone().requires_grad_() for t in operands)
        assert flambeau.autograd.gradcheck(function, leaves)
        assert flambeau.autograd.gradgradcheck(function, leaves)
