"""Tensors of uint16, uint32 and uint64: values are NumPy's, natively, interpreted and eagerly."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor.options import Options

DTYPES = ("uint16", "uint32", "uint64")
UNIT = flambeau.CompilationUnit("""
def arithmetic(a: Tensor, b: Tensor, s: Tensor):
    return (a + b, a - b, a * b, a // b, a % b, a & b, a ^ b, a | b, a << s, a >> s, ~a, -a, a < b, a >= b, a == b,
            flambeau.maximum(a, b), flambeau.where(a > b, a, b), a.to(flambeau.float64) * 2, a.to(flambeau.float32) + 1,
            a.to(flambeau.int64) - 1, a.to(flambeau.int8) + 1, a / b, a + 1, a.clamp(2, 30000))
def folds(a: Tensor):
    return a.max(), a.min(), a.argmax(), a.sum(), a.any(), a.max(0)[0], a.cumsum(0), a.sort()[0], a.prod(), a.unique()
def converted(x: Tensor, dtype: int):
    return (x * 1.5).to(dtype=dtype), (x - 1).to(dtype=dtype)
def elements(a: Tensor):
    n = 0
    for i in range(a.size(0)):
        n += int(a[i] % 7)
        a[i] = a[i] * 3 + i
    return n, a
""")


def operands(dtype: str, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    most = np.iinfo(dtype).max
    a, b = (rng.integers(1, most, count, dtype=dtype, endpoint=True) for _ in range(2))
    a[:3] = 0, most, most // 2 + 1
    return a, b, rng.integers(0, 15, count).astype(dtype)


def numpys(a: np.ndarray, b: np.ndarray, s: np.ndarray) -> tuple[Any, ...]:
    one, dtype = a.dtype.type(1), a.dtype
    single = (a.astype(np.float32) / b.astype(np.float32))
    return (
        a + b, a - b, a * b, a // b, a % b, a & b, a ^ b, a | b, a << s, a >> s, ~a, -a, a < b, a >= b, a == b,
        np.maximum(a, b), np.where(a > b, a, b), a.astype(np.float64) * 2, a.astype(np.float32) + np.float32(1),
        a.astype(np.int64) - 1, a.astype(np.int8) + np.int8(1), single, a + one,
        np.clip(a, dtype.type(2), dtype.type(30000)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [3, 7, 64, 1000])
@pytest.mark.filterwarnings("ignore:overflow")
def test_arithmetic_is_numpys(dtype: str, count: int) -> None:
    arrays = operands(dtype, count)
    tensors = [flambeau.from_numpy(x) for x in arrays]
    with np.errstate(all="ignore"):
        expected = numpys(*arrays)
    for backend in ("reference", "interpreter", "native", "native"):
        got = UNIT.arithmetic.with_options(Options(backend=backend))(*tensors)
        for k, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
            assert ours.numpy().dtype == theirs.dtype, k
            assert np.array_equal(ours.numpy(), theirs), (backend, k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_folds_and_elements_are_numpys(dtype: str) -> None:
    a = operands(dtype, 100)[0]
    x = flambeau.from_numpy(a)
    words = a.astype(np.int64)
    with np.errstate(all="ignore"):
        expected = (
            a.max(), a.min(), a.argmax(), words.sum(), np.True_, a.max(), words.cumsum(), np.sort(a), words.prod(),
            np.unique(a),
        )  # fmt: skip
        changed = a * a.dtype.type(3) + np.arange(100).astype(a.dtype)
    for backend in ("reference", "interpreter", "native"):
        got = UNIT.folds.with_options(Options(backend=backend))(x)
        for ours, theirs in zip(got, expected, strict=True):
            assert np.array_equal(ours.numpy(), theirs)
        total, written = UNIT.elements.with_options(Options(backend=backend))(x.clone())
        assert total == int((a % a.dtype.type(7)).astype(np.int64).sum())
        assert np.array_equal(written.numpy(), changed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_floats_are_cut(dtype: str) -> None:
    most = np.iinfo(dtype).max
    x = np.array([0, 1.9, 70000.5, 2.0**31, 2.0**32 + 4096, 2.0**40, -1.0, np.nan, np.inf, 2.0**63, 1.5 * 2.0**63])
    low = [int(v) & most for v in (x[:7] * 1.5).tolist()]
    high = [1 << 63 if dtype == "uint64" else 0] * 2 + [3 << 62 if dtype == "uint64" else 0]
    for backend in ("reference", "interpreter", "native"):
        run = UNIT.converted.with_options(Options(backend=backend))
        got, _ = run(flambeau.from_numpy(x), getattr(flambeau, dtype).code)
        assert got.tolist()[:10] == low + high, backend


def test_elements_beyond_63_bits_are_no_ints_of_programs() -> None:
    unit = flambeau.CompilationUnit("def f(x: Tensor) -> int:\n    return int(x[0])")
    for backend in ("reference", "interpreter", "native"):
        run = unit.f.with_options(Options(backend=backend))
        for _ in range(3):
            assert run(flambeau.tensor([2**63 - 1], dtype=flambeau.uint64)) == 2**63 - 1
            with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
                run(flambeau.tensor([2**63], dtype=flambeau.uint64))
    assert flambeau.tensor(2**64 - 1, dtype=flambeau.uint64).item() == 2**64 - 1


def test_other_integers_have_no_dtype_in_common_with_them() -> None:
    x = flambeau.ones(2, dtype=flambeau.uint32)
    assert flambeau.promote_types(flambeau.uint32, flambeau.float16) is flambeau.float16
    assert flambeau.promote_types(flambeau.bool, flambeau.uint32) is flambeau.uint32
    for other in (flambeau.int64, flambeau.uint8, flambeau.uint64):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            x + flambeau.ones(2, dtype=other)


def test_what_they_are() -> None:
    for dtype, code in (("uint16", 27), ("uint32", 28), ("uint64", 29)):
        kind = getattr(flambeau, dtype)
        assert (kind.code, kind.is_signed, kind.is_floating_point) == (code, False, False)
        assert flambeau.iinfo(kind).max == np.iinfo(dtype).max
        assert flambeau.iinfo(kind).min == 0
        assert repr(flambeau.tensor([1, 2], dtype=kind)) == f"tensor([1, 2], dtype=flambeau.{dtype})"
        assert flambeau.full((2,), 7, dtype=kind).dtype is kind
        assert flambeau.from_numpy(np.ones(1, dtype)).numpy().dtype == dtype
        assert flambeau.tensor([-1], dtype=kind).tolist() == [np.iinfo(dtype).max]
        with pytest.raises(RuntimeError, match="without overflow"):
            flambeau.full((1,), -2.0**70, dtype=kind)


class Tables(flambeau.nn.Module):
    """A module with a buffer of each."""

    def __init__(self) -> None:
        super().__init__()
        for dtype in DTYPES:
            self.register_buffer(dtype, flambeau.from_numpy(np.array([1, np.iinfo(dtype).max], dtype)))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.uint64.to(flambeau.float64)


@pytest.mark.filterwarnings("ignore:.*torch.jit.load.*:DeprecationWarning")
def test_archives_keep_them() -> None:
    file = io.BytesIO()
    flambeau.jit.save(flambeau.script(Tables()), file)
    loaded = flambeau.jit.load(io.BytesIO(file.getvalue()))
    for dtype in DTYPES:
        assert np.array_equal(getattr(loaded, dtype).numpy(), np.array([1, np.iinfo(dtype).max], dtype))
    assert loaded(flambeau.ones(2)).tolist() == [1.0, 2.0**64]
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.jit.load(io.BytesIO(file.getvalue()))
    assert theirs.uint64.tolist() == [1, 2**64 - 1]
    assert theirs.uint16.dtype is torch.uint16


def test_files_of_tensors_keep_them(tmp_path: Any) -> None:
    path = str(tmp_path / "tensors.pt")
    values = {d: flambeau.from_numpy(np.array([[1, np.iinfo(d).max], [3, 4]], d)).t() for d in DTYPES}
    flambeau.save(values, path)
    loaded = flambeau.load(path)
    for d in DTYPES:
        assert np.array_equal(loaded[d].numpy(), values[d].numpy())
        assert loaded[d].stride() == (1, 2)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for d, theirs in torch.load(path).items():
        assert np.array_equal(theirs.numpy(), values[d].numpy())
    torch.save({d: torch.from_numpy(v.numpy())[1:] for d, v in values.items()}, path)
    for d, ours in flambeau.load(path).items():
        assert np.array_equal(ours.numpy(), values[d].numpy()[1:])


def torchs(torch: Any) -> dict[str, Callable[[Any], Any]]:
    """What PyTorch computes of them."""
    return {
        "mul": lambda x: x * x, "and": lambda x: x & 3, "eq": lambda x: x == 1, "sum": lambda x: x.sum(),
        "prod": lambda x: x.prod(), "cumsum": lambda x: x.cumsum(0), "sort": lambda x: x.sort()[0],
        "div": lambda x: x / 2, "float": lambda x: x.float(), "bool": lambda x: x.bool(),
        "bytes": lambda x: x.view(torch.uint8), "unique": lambda x: x.unique(), "cat": lambda x: torch.cat([x, x]),
        "add": lambda x: x + 1.5, "any": lambda x: x.any(), "fill": lambda x: x.clone().fill_(3),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_pytorch_has_is_the_same(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    a = np.array([1, 2, np.iinfo(dtype).max, 7], dtype)
    ours, theirs = torchs(flambeau), torchs(torch)
    for name, function in ours.items():
        got, expected = function(flambeau.from_numpy(a)), theirs[name](torch.from_numpy(a))
        assert str(got.dtype).partition(".")[2] == str(expected.dtype).partition(".")[2], name
        assert np.array_equal(got.numpy(), expected.numpy()), name
