"""Reductions over special values, dtypes, dimensions and layouts, against NumPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from tests.ops import peer
from tests.together import together

INF, NAN = np.inf, np.nan
SPECIAL = np.array([[1, -2, NAN, INF], [-0.0, 0.0, -INF, 3], [5, 5, -7, 0.5]], np.float32)
PLAIN = np.array([[1, -2, 7, 4], [0, 0, -3, 3], [5, 5, -7, 2]], np.float32)
DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
WHOLE = (
    "sum",
    "prod",
    "mean",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "var",
    "std",
    "nansum",
    "median",
    "max",
    "min",
)
ALONG = (
    *WHOLE, "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "logsumexp", "nanmedian", "softmax", "log_softmax",
    "count_nonzero",
)  # fmt: skip


def ours_and_theirs(name: str, array: Any, *args: Any, **kwargs: Any) -> None:
    """Both raise, or both give the same."""
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine = flambeau.from_numpy(array)
    yours = torch.from_numpy(array.copy(order="K"))
    try:
        wanted = getattr(torch, name)(yours, *args, **kwargs)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(flambeau, name)(mine, *args, **kwargs)
        return
    rtol, atol = (2e-3, 1e-3) if array.dtype == np.float16 else (2e-5, 1e-5)
    peer.assert_same(getattr(flambeau, name)(mine, *args, **kwargs), wanted, rtol=rtol, atol=atol)


@together("name", WHOLE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        ours_and_theirs(name, PLAIN.astype(dtype))


@together("name", ALONG)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, -1])
def test_along(name: str, dtype: str, dim: int) -> None:
    with np.errstate(all="ignore"):
        array = (PLAIN + np.arange(12).reshape(3, 4) / 16).astype(dtype)
    if dtype.startswith("complex") and name == "logcumsumexp":
        pytest.skip("logarithms of complex numbers differ by whole turns")
    ours_and_theirs(name, array, dim)


@together("name", ALONG)
@pytest.mark.parametrize("dim", [0, 1])
def test_nan_and_infinity(name: str, dim: int) -> None:
    ours_and_theirs(name, SPECIAL, dim)


@pytest.mark.filterwarnings("ignore:(var|std):UserWarning")
@together("name", ALONG)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1, 1)])
def test_small_and_empty(name: str, shape: tuple[int, ...]) -> None:
    ours_and_theirs(name, np.ones(shape, np.float32), 0)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "argmax", "any"])
def test_layouts(name: str) -> None:
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (base.transpose(2, 0, 1), base[:, ::2], np.broadcast_to(base[:1], (3, 3, 4)).copy()):
        ours_and_theirs(name, array, 1)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "any", "var"])
def test_several_dims_and_keepdim(name: str) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ours_and_theirs(name, array, [0, 2])
    ours_and_theirs(name, array, [0, -1], keepdim=True)
    ours_and_theirs(name, array, [0, -3])


def test_columns_of_floats_are_summed_in_double() -> None:
    column = np.full((100_000, 2), 0.1, np.float32)
    total = flambeau.sum(flambeau.from_numpy(column), 0)
    np.testing.assert_allclose(total.numpy(), 10_000, rtol=1e-6)


def test_halves_are_summed_in_single() -> None:
    many = flambeau.from_numpy(np.ones(4096, np.float16))
    assert flambeau.sum(many).item() == 4096


def test_named_results() -> None:
    found = flambeau.max(flambeau.from_numpy(PLAIN), 1)
    assert found.values.tolist() == [7.0, 3.0, 5.0]
    assert found.indices.tolist() == [2, 3, 0]


def test_out_is_resized_and_cast_is_checked() -> None:
    x = flambeau.from_numpy(PLAIN)
    out = flambeau.from_numpy(np.empty(0, np.float64))
    assert flambeau.sum(x, 1, out=out) is out
    assert out.tolist() == [10.0, 0.0, 5.0]
    ints = flambeau.from_numpy(np.empty(3, np.int64))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        flambeau.sum(x, 1, out=ints)


@pytest.mark.parametrize(
    ("name", "args", "error", "text"),
    [
        ("mean", (np.ones(2, np.int64),), RuntimeError, "mean(): could not infer output dtype. Input dtype must be"),
        ("std", (np.ones(2, np.int64),), RuntimeError, "std and var only support floating point and complex dtypes"),
        ("amax", (np.ones((0, 2)), 0), IndexError, "amax(): Expected reduction dim 0 to have non-zero size."),
        ("max", (np.ones(0),), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0."),
        (
            "argmax",
            (np.ones(0),),
            IndexError,
            "argmax(): Expected reduction dim to be specified for input.numel() == 0.",
        ),
        ("sum", (np.ones((2, 2)), [0, 0]), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        ("argmax", (np.ones(2, np.bool_),), RuntimeError, "argmax(): does not support bool input"),
        ("sort", (np.ones(2, np.complex64),), RuntimeError, "Sort does not support complex dtypes on CPU"),
        ("nansum", (np.ones(2, np.complex64),), RuntimeError, "nansum on CPU does not support complex inputs"),
        (
            "nanmean",
            (np.ones(2, np.int64),),
            RuntimeError,
            "nanmean(): expected input to have floating point or complex",
        ),
        ("histc", (np.ones(2), 0), RuntimeError, "bins must be > 0, but got 0 for dimension 0"),
        ("histc", (np.ones(2, np.int64),), NotImplementedError, "\"histogram_cpu\" not implemented for 'Long'"),
        ("quantile", (np.ones(2, np.int64), 0.5), RuntimeError, "input tensor must be either float or double dtype"),
        ("logcumsumexp", (np.ones(2, np.int64), 0), NotImplementedError, '"logcumsumexp_out_cpu" not implemented'),
        ("median", (np.ones(2, np.bool_),), NotImplementedError, "\"median_cpu\" not implemented for 'Bool'"),
        ("mode", (np.ones((0, 2)), 0), IndexError, "mode(): Expected reduction dim 0 to have non-zero size."),
    ],
)
def test_refusals(name: str, args: tuple[Any, ...], error: type[Exception], text: str) -> None:
    given = [flambeau.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    with pytest.raises(error) as caught:
        getattr(flambeau, name)(*given)
    assert text in str(caught.value)
