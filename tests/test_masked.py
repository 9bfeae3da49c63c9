"""`flambeau.masked`: what is masked out takes no part, whatever it is; nothing is left in the second row."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

import flambeau
from flambeau import masked

X = flambeau.tensor([[1.0, nan, 3.0], [4.0, nan, -6.0]])
MASK = flambeau.tensor([[True, False, True], [False, False, False]])
FOLDS: dict[str, tuple[list[float], float]] = {  # of each row, and of all
    "sum": ([4.0, 0.0], 4.0), "prod": ([3.0, 1.0], 3.0), "amax": ([3.0, -inf], 3.0), "amin": ([1.0, inf], 1.0),
    "mean": ([2.0, nan], 2.0), "var": ([2.0, nan], 2.0), "std": ([2**0.5, nan], 2**0.5),
    "logsumexp": ([3.126928, -inf], 3.126928),
}  # fmt: skip


def is_near(got: flambeau.Tensor, wanted: Any) -> bool:
    return flambeau.allclose(got, flambeau.tensor(wanted), rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", FOLDS)
def test_folds(name: str) -> None:
    fold = getattr(masked, name)
    of_rows, of_all = FOLDS[name]
    assert is_near(fold(X, 1, mask=MASK), of_rows)
    assert is_near(fold(X, mask=MASK), of_all)
    assert fold(X, (0, 1), keepdim=True, mask=MASK).shape == (1, 1)
    assert is_near(fold(X[:, :1], 1, mask=MASK[:1, :1]), fold(X[:, :1], 1).tolist())  # the mask is broadcast
    whole = X.nan_to_num(2.0)
    assert flambeau.allclose(fold(whole, 0), fold(whole, 0, mask=flambeau.ones(2, 3).bool()), equal_nan=True)


@pytest.mark.parametrize("name", FOLDS)
def test_gradients_go_to_what_takes_part(name: str) -> None:
    x = X[:1].clone().requires_grad_()
    getattr(masked, name)(x, mask=MASK[:1]).backward()
    assert x.grad is not None
    assert x.grad[0, 1].item() == 0.0
    assert bool(x.grad[0, ::2].isfinite().all())


def test_integers() -> None:
    x = flambeau.tensor([[1, 2], [3, 4]], dtype=flambeau.int8)
    assert masked.sum(x, mask=x > 1).dtype is flambeau.int64
    assert masked.prod(x * 40, mask=x > 1).item() == 80 * 120 * -96  # 160 is -96 in a byte
    assert masked.amax(x, 0, mask=x < 3).tolist() == [1, 2]
    assert masked.amax(x, 0, mask=x < 0).tolist() == [-128, -128]
    assert masked.argmax(x, mask=x < 4).item() == 2
    with pytest.raises(TypeError, match=r"mean of masked elements .* got flambeau\.int8"):
        masked.mean(x)


def test_places_medians_and_norms() -> None:
    x = flambeau.tensor([[5.0, 1.0, 3.0, 9.0]])
    assert (masked.argmax(x, 1, mask=x < 9).item(), masked.argmin(x, mask=x > 1).item()) == (0, 2)
    assert masked.median(x, mask=x < 9).tolist() == [3.0]
    assert masked.median(x, mask=x < 0).isnan().all()
    assert masked.norm(x, -inf, mask=x > 1).item() == 3.0
    with pytest.raises(ValueError, match="nan takes part"):
        masked.median(x * nan, mask=x > 1)


def test_lines() -> None:
    x, mask = flambeau.tensor([2.0, nan, 3.0]), flambeau.tensor([True, False, True])
    assert masked.cumsum(x, 0, mask=mask).tolist() == [2.0, 2.0, 5.0]
    assert masked.cumprod(x, 0, mask=mask).tolist() == [2.0, 2.0, 6.0]
    soft = masked.softmax(x, 0, mask=mask)
    assert is_near(soft, [0.268941, 0.0, 0.731059])
    assert is_near(masked.softmin(x, 0, mask=mask), [0.731059, 0.0, 0.268941])
    assert flambeau.allclose(masked.log_softmax(x, 0, mask=mask), soft.log())
    assert masked.softmax(x, 0, mask=flambeau.zeros(3).bool()).isnan().all()
    assert is_near(masked.normalize(x, 1.0, 0, mask=mask), [0.4, 0.0, 0.6])
    assert is_near(masked.logaddexp(x, x, input_mask=mask, other_mask=mask)[::2].exp(), [14.778112, 40.171074])


def test_wrong_calls() -> None:
    with pytest.raises(IndexError, match="mask cannot be broadcast to input"):
        masked.sum(flambeau.ones(2), mask=flambeau.ones(1, 2).bool())
    with pytest.raises(RuntimeError, match="dim=-1 appears multiple times"):
        masked.sum(X, (1, -1))
    with pytest.raises(IndexError, match="Dimension out of range"):
        masked.sum(X, 2)
    with pytest.raises(ValueError, match="Only one of unbiased and correction"):
        masked.var(X, unbiased=True, correction=0)
    with pytest.raises(AttributeError, match="keep the mask beside the values"):
        masked.MaskedTensor  # noqa: B018


def test_without_dimensions() -> None:
    x = flambeau.tensor(3.0)
    assert [masked.sum(x, dim).item() for dim in (None, 0, -1)] == [3.0] * 3
    assert masked.sum(X, ()).shape == (2, 3)
    assert masked.amax(x, mask=flambeau.tensor(False)).item() == -inf
