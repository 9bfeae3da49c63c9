"""Statistics, areas, distances, windows and joins that plans write as other operators: NumPy's answers, natively, and
the operator's own words where it refuses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
ROWS, CUBE, LINE = RNG.standard_normal((4, 5)), RNG.standard_normal((2, 3, 4)), RNG.standard_normal(5)
ODD = np.array([[1.0, -np.inf, 3.0], [np.inf, 0.0, np.nan]])
CLASSES = np.array([0, 4, 2, 2])
SEVERAL = np.array([[0, 3, -1, 0, 0], [-1, 1, 1, 1, 1], [4, 2, 1, 0, 3], [2, -1, 4, -1, 0]])


def margins(x: Array, target: Array, p: int, margin: float, weight: Array | None) -> Array:
    losses = []
    for row, label in zip(x, target, strict=True):
        lacks = [max(0.0, margin - row[label] + other) ** p for k, other in enumerate(row) if k != label]
        losses.append(sum(lacks) * (1 if weight is None else weight[label]) / len(row))
    return np.array(losses)


def several_margins(x: Array, target: Array) -> Array:
    losses = []
    for row, listed in zip(x, target, strict=True):
        named = list(itertools.takewhile(lambda c: c >= 0, listed))
        pairs = [(c, k) for c in named for k in range(len(row)) if k not in named]
        losses.append(sum(max(0.0, 1 - row[c] + row[k]) for c, k in pairs) / len(row))
    return np.array(losses)


def columns(x: Array, kernel: tuple[int, int], dilation: int, padding: int, stride: int) -> Array:
    image = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    spans = [dilation * (k - 1) + 1 for k in kernel]
    seen = np.lib.stride_tricks.sliding_window_view(image, spans, (2, 3))[:, :, ::stride, ::stride]
    parts = seen[..., ::dilation, ::dilation].transpose(0, 1, 4, 5, 2, 3)
    return parts.reshape(len(x), x.shape[1] * kernel[0] * kernel[1], -1)


def cut_down(x: Array, p: float, axis: int, most: float) -> Array:
    others = tuple(k for k in range(x.ndim) if k != axis)
    norms = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return x * np.where(norms > most, most / (norms + 1e-7), 1)


def blocks(*parts: Array) -> Array:
    rows = [np.atleast_2d(p) for p in parts]
    result = np.zeros((sum(len(r) for r in rows), sum(r.shape[1] for r in rows)))
    at = left = 0
    for row in rows:
        result[at : at + len(row), left : left + row.shape[1]] = row
        at, left = at + len(row), left + row.shape[1]
    return result


def eager(call: str, *arrays: Array) -> Any:
    """What the operator gives outside of programs."""
    names = dict(zip("abc", map(flambeau.from_numpy, arrays), strict=False))
    return eval(f"flambeau.{call}", {"flambeau": flambeau, **names}).numpy()


CASES: dict[str, tuple[str, list[Array], Callable[..., Any]]] = {
    "both extremes": ("stack(flambeau.aminmax(a))", [ODD], lambda a: [a.min(), a.max()]),
    "extremes of rows": ("stack(flambeau.aminmax(a, dim=1))", [ODD], lambda a: [a.min(1), a.max(1)]),
    "kept axes": (
        "stack(flambeau.aminmax(a, dim=0, keepdim=True))", [CUBE],
        lambda a: [a.min(0, keepdims=True), a.max(0, keepdims=True)],
    ),
    "in order": ("msort(a)", [CUBE], lambda a: np.sort(a, 0)),
    "covariances": ("cov(a)", [ROWS], np.cov),
    "covariances of all": ("cov(a, correction=0)", [ROWS], lambda a: np.cov(a, ddof=0)),
    "a variance": ("cov(a)", [LINE], np.cov),
    "a row's variance": ("cov(a)", [ROWS[:1]], np.cov),
    "correlations": ("corrcoef(a)", [ROWS], np.corrcoef),
    "a correlation": ("corrcoef(a)", [LINE], np.corrcoef),
    "areas": ("trapezoid(a, dx=0.5)", [CUBE], lambda a: np.trapezoid(a, dx=0.5)),
    "areas over places": ("trapezoid(a, b)", [ROWS, LINE], np.trapezoid),
    "areas over others": ("trapezoid(a, b, dim=0)", [ROWS, ROWS**2], lambda a, b: np.trapezoid(a, b, axis=0)),
    "areas so far": (
        "cumulative_trapezoid(a, dim=1)", [CUBE], lambda a: ((a[:, 1:] + a[:, :-1]) / 2).cumsum(1)
    ),
    "differences twice": ("diff(a, 2, 0)", [ROWS], lambda a: np.diff(a, 2, 0)),
    "differences of one more": (
        "diff(a, 1, 1, b, b)", [ROWS, ROWS[:, :2]], lambda a, b: np.diff(a, 1, 1, prepend=b, append=b)
    ),
    "differences of a few": ("diff(a, 7, 1)", [ROWS], lambda a: np.diff(a, 7, 1)),
    "no differences": ("diff(a, 0)", [ROWS], lambda a: a),
    "differences of bools": ("diff(a, 2)", [ROWS > 0], lambda a: np.diff(a, 2)),
    "short slices": ("renorm(a, 2, 0, 1.0)", [CUBE], lambda a: cut_down(a, 2, 0, 1.0)),
    "short columns": ("renorm(a, 1, -1, 0.7)", [ROWS], lambda a: cut_down(a, 1, 1, 0.7)),
    "distances": ("pdist(a)", [ROWS], lambda a: [np.linalg.norm(x - y) for x, y in itertools.combinations(a, 2)]),
    "distances of one": ("pdist(a)", [ROWS[:1]], lambda a: np.zeros(0)),
    "sums of distances": (
        "pdist(a, 1.0)", [ROWS], lambda a: [abs(x - y).sum() for x, y in itertools.combinations(a, 2)]
    ),
    "areas of no points": ("trapezoid(a, dim=0)", [ROWS[:0]], lambda a: np.zeros(5)),
    "areas so far of a point": ("cumulative_trapezoid(a, dim=0)", [ROWS[:1]], lambda a: np.zeros((0, 5))),
    "covariances of too few": ("cov(a, correction=5)", [ROWS], lambda a: eager("cov(a, correction=5)", a)),
    "margins": (
        "nn.functional.multi_margin_loss(a, b)", [ROWS, CLASSES], lambda a, b: margins(a, b, 1, 1.0, None).mean()
    ),
    "square margins": (
        "nn.functional.multi_margin_loss(a, b, p=2, margin=0.5, weight=c, reduction='none')", [ROWS, CLASSES, LINE],
        lambda a, b, c: margins(a, b, 2, 0.5, c),
    ),
    "margins of several": (
        "nn.functional.multilabel_margin_loss(a, b, reduction='sum')", [ROWS, SEVERAL],
        lambda a, b: several_margins(a, b).sum(),
    ),
    "margins of each": (
        "nn.functional.multilabel_margin_loss(a, b, reduction='none')", [ROWS, SEVERAL], several_margins
    ),
    "windows": (
        "nn.functional.unfold(a, (2, 3))", [RNG.standard_normal((2, 3, 5, 6))], lambda a: columns(a, (2, 3), 1, 0, 1)
    ),
    "windows apart": (
        "nn.functional.unfold(a, 2, dilation=2, padding=1, stride=2)", [RNG.standard_normal((1, 2, 5, 6))],
        lambda a: columns(a, (2, 2), 2, 1, 2),
    ),
    "blocks": ("block_diag(a, b, c)", [ROWS, LINE, np.array(2.0)], blocks),
    "pairs of two": (
        "cartesian_prod(a, b)", [LINE, LINE[:2]], lambda a, b: np.array(list(itertools.product(a, b)))
    ),
    "pairs": ("combinations(a)", [LINE], lambda a: np.array(list(itertools.combinations(a, 2)))),
    "pairs with themselves": (
        "combinations(a, 2, True)", [LINE], lambda a: np.array(list(itertools.combinations_with_replacement(a, 2)))
    ),
    "no pairs": ("combinations(a)", [LINE[:1]], lambda a: np.zeros((0, 2))),
    "broadcast": (
        "stack(flambeau.broadcast_tensors(a, b))", [ROWS, ROWS[:, :1]],
        lambda a, b: np.stack(np.broadcast_arrays(a, b)),
    ),
    "a copied part": ("narrow_copy(a, 1, 1, 2)", [ROWS], lambda a: a[:, 1:3]),
    "copied and turned": ("permute_copy(a, [2, 0, 1])", [CUBE], lambda a: a.transpose(2, 0, 1)),
    "copied and broadcast": ("expand_copy(a, [4, 5])", [LINE], lambda a: np.broadcast_to(a, (4, 5))),
    "copied windows": (
        "unfold_copy(a, 1, 2, 2)", [ROWS], lambda a: np.stack([a[:, :2], a[:, 2:4]], 1)
    ),
}  # fmt: skip


def function_of(call: str, count: int) -> Any:
    head = ", ".join(f"{name}: Tensor" for name in "abc"[:count])
    return flambeau.jit.CompilationUnit(f"def f({head}) -> Tensor:\n    return flambeau.{call}\n").f


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_numpy(name: str, dtype: type) -> None:
    call, arrays, reference = CASES[name]
    function = function_of(call, len(arrays))
    given = [a.astype(dtype) if a.dtype == np.float64 else a for a in arrays]
    with np.errstate(invalid="ignore"):
        wanted = np.asarray(reference(*given))
    tensors = [flambeau.from_numpy(np.array(a)) for a in given]
    for _ in range(4):
        result = function(*tensors)
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-12 if dtype is np.float64 else 2e-4, atol=1e-6)
    alone = eval(f"flambeau.{call}", {"flambeau": flambeau, **dict(zip("abc", tensors, strict=False))})
    assert (result.dtype, result.stride()) == (alone.dtype, alone.stride())
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


REFUSED = {
    "aminmax(a)[0]": [np.zeros((0, 3))],
    "aminmax(a, dim=0)[0]": [np.zeros((0, 3))],
    "trapezoid(a, b)": [ROWS, LINE[:3]],
    "diff(a, 1, 0, b)": [ROWS, ROWS[:, :2]],
    "renorm(a, 2, 0, 1.0)": [LINE],
    "nn.functional.multi_margin_loss(a, b)": [ROWS, np.array([0, 5, 0, 0])],
    "nn.functional.multilabel_margin_loss(a, b)": [ROWS, SEVERAL + 1],
    "nn.functional.unfold(a, 4)": [RNG.standard_normal((1, 1, 3, 5))],
    "narrow_copy(a, 1, 4, 2)": [ROWS],
    "cartesian_prod(a, b)": [ROWS, LINE],
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_they_refuse_is_refused_in_their_words(call: str) -> None:
    tensors = [flambeau.from_numpy(np.array(a)) for a in REFUSED[call]]
    function = function_of(call, len(tensors))
    with pytest.raises((IndexError, RuntimeError)) as wanted:
        eval(f"flambeau.{call}", {"flambeau": flambeau, **dict(zip("ab", tensors, strict=False))})
    for _ in range(4):
        with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value).splitlines()[0])):
            function(*tensors)
