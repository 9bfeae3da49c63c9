"""float16 and bfloat16 in native code of the host: what eager operators give, with and without instructions for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import backend
from flambeau.codegen.kernel import parse_kernel
from flambeau.codegen.llvm.emitter import Emitter, Target, Value
from flambeau.codegen.llvm.engine import Engine, using
from flambeau.codegen.llvm.half_precision import narrow, widen
from flambeau.codegen.llvm.processor import LEVELS

DTYPES = {flambeau.float16: np.dtype(np.float16), flambeau.bfloat16: np.dtype(ml_dtypes.bfloat16)}
ONE = {flambeau.float16: 2.0**-11, flambeau.bfloat16: 2.0**-8}
"""Half a unit in the last place of numbers from 1 on."""
HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 7e4, -65520.0, 6e-8, 3e-8, 2.9e-8, 1e-40, 3.4e38, 1.00390625, 65519.0]


@pytest.fixture(params=list(DTYPES), ids=str)
def dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


def _tensor(dtype: Any, *shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    array = np.asarray(np.random.default_rng(seed).normal(size=shape) * scale, np.float32)
    return flambeau.from_numpy(array).to(dtype)


def _hostile(dtype: Any, *shape: int) -> Tensor:
    array = np.array(np.random.default_rng(1).normal(size=shape) * 4, np.float32)
    array.reshape(-1)[: len(HOSTILE)] = HOSTILE[: array.size]
    return flambeau.from_numpy(array).to(dtype)


def _same(got: Tensor, want: Tensor) -> None:
    assert got.dtype is want.dtype
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.float().numpy(), want.float().numpy())
    zeros = want.float().numpy() == 0
    np.testing.assert_array_equal(
        np.signbit(got.float().numpy())[zeros], np.signbit(want.float().numpy())[zeros]
    )  # fmt: skip


@flambeau.script
def chain(x: Tensor, y: Tensor) -> Tensor:
    return (x * y + 1.5).relu() * x - y


@flambeau.script
def choice(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.where(x > y, x, -y).to(flambeau.float32) * 2


@flambeau.script
def there_and_back(x: Tensor) -> Tensor:
    return (x.to(flambeau.float32) * 1.0000001).to(x.dtype)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (33, 65), (2, 3, 17)], ids=str)
def test_elements_are_those_of_one_operator_after_the_other(dtype: Any, shape: tuple[int, ...]) -> None:
    x, y = _hostile(dtype, *shape), _tensor(dtype, *shape)
    for function in (chain, choice):
        with flambeau.disabled():
            want = function(x, y)
        function.compile(x, y)
        _same(function(x, y), want)
    assert "native from end to end" in str(chain.explain())


def test_every_other_lies_as_it_does(dtype: Any) -> None:
    x, y = _hostile(dtype, 33, 64)[:, ::2], _tensor(dtype, 32, 33).t()
    with flambeau.disabled():
        want = chain(x, y)
    chain.compile(x, y)
    _same(chain(x, y), want)


def test_all_bits_there_and_back(dtype: Any) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype])
    x = flambeau.from_numpy(bits.astype(np.float32)).to(dtype)
    there_and_back.compile(x)
    got = there_and_back(x).float().numpy()
    with np.errstate(all="ignore"):
        want = (bits.astype(np.float32) * np.float32(1.0000001)).astype(bits.dtype).astype(np.float32)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("rows", [1, 2, 5, 17, 64])
@pytest.mark.parametrize(("depth", "columns"), [(1, 1), (31, 65), (64, 64), (200, 33)])
def test_products_are_sums_in_float32_rounded_once(dtype: Any, rows: int, depth: int, columns: int) -> None:
    x, w, b = (_tensor(dtype, *s, seed=k) for k, s in enumerate([(rows, depth), (columns, depth), (columns,)]))
    wide = [t.double().numpy() for t in (x, w, b)]
    for got, want in (
        (product(x, w.t()), wide[0] @ wide[1].T),
        (product(x, w.t().contiguous()), wide[0] @ wide[1].T),
        (product(w, x.t()), wide[1] @ wide[0].T),
        (layer(x, w, b), np.maximum(wide[0] @ wide[1].T + wide[2], 0)),
    ):
        assert got.dtype is dtype
        error = np.abs(got.double().numpy() - want) / (np.abs(want) + 1e-3 * np.sqrt(depth))
        assert error.max() <= ONE[dtype] * 1.02
    assert "native from end to end" in str(layer.explain())


@flambeau.script
def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


@flambeau.script
def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return nn.functional.linear(x, w, b).relu()


def test_products_of_stacks_and_vectors(dtype: Any) -> None:
    x, y, v = _tensor(dtype, 3, 5, 33), _tensor(dtype, 3, 33, 18, seed=1), _tensor(dtype, 33, seed=2)
    for a, b in ((x, y), (x[0], v), (v, y[0]), (v, v), (x[:, :0], y), (x[..., :0], y[:, :0])):
        want = np.matmul(a.double().numpy(), b.double().numpy())
        got = product(a, b)
        assert got.dtype is dtype
        assert got.shape == want.shape
        np.testing.assert_allclose(got.double().numpy(), want, rtol=ONE[dtype] * 1.02, atol=1e-3)


@flambeau.script
def network(x: Tensor, w: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    y = nn.functional.max_pool2d(nn.functional.conv2d(x, w, None, 1, 1).relu(), 2)
    return nn.functional.group_norm(y, 2, scale, shift)


@flambeau.script
def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return nn.functional.scaled_dot_product_attention(q, k, v)


def test_routines_run_in_float32(dtype: Any) -> None:
    """Convolutions, windows and attention: each rounded once, as eager operators are."""
    x, w = _tensor(dtype, 2, 3, 8, 8), _tensor(dtype, 4, 3, 3, 3, seed=1)
    scale, shift = _tensor(dtype, 4, seed=2), _tensor(dtype, 4, seed=3)
    with flambeau.disabled():
        want = network(x, w, scale, shift)
    network.compile(x, w, scale, shift)
    got = network(x, w, scale, shift)
    assert "native from end to end" in str(network.explain())
    np.testing.assert_allclose(got.float().numpy(), want.float().numpy(), rtol=4 * ONE[dtype], atol=8 * ONE[dtype])

    q, k, v = (_tensor(dtype, 2, 9, 16, seed=s) for s in range(3))
    wide = [t.double() for t in (q, k, v)]
    attention.compile(q, k, v)
    got = attention(q, k, v)
    assert "native from end to end" in str(attention.explain())
    np.testing.assert_allclose(got.double().numpy(), attention(*wide).numpy(), rtol=2 * ONE[dtype], atol=2 * ONE[dtype])


@flambeau.script
def rows(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return x.sum(-1), x.softmax(-1), x.mean(), x.amax(0)


def test_folds_round_once(dtype: Any) -> None:
    x = _tensor(dtype, 33, 70)
    wide = x.double().numpy()
    powers = np.exp(wide - wide.max(-1, keepdims=True))
    wanted = wide.sum(-1), powers / powers.sum(-1, keepdims=True), wide.mean(), wide.max(0)
    rows.compile(x)
    for got, want in zip(rows(x), wanted, strict=True):
        assert got.dtype is dtype
        np.testing.assert_allclose(got.double().numpy(), want, rtol=ONE[dtype] * 1.02, atol=1e-4)
    assert "native from end to end" in str(rows.explain())


def test_gradients_through_a_compiled_function(dtype: Any) -> None:
    x, w, b = (_tensor(dtype, *s, seed=k).requires_grad_() for k, s in enumerate([(5, 7), (3, 7), (3,)]))
    got = flambeau.autograd.grad(layer(x, w, b).sum(), (x, w, b))
    with flambeau.disabled():
        want = flambeau.autograd.grad(layer(x, w, b).sum(), (x, w, b))
    for one, other in zip(got, want, strict=True):
        assert one.dtype is dtype
        np.testing.assert_allclose(one.float().numpy(), other.float().numpy(), rtol=4 * ONE[dtype], atol=4 * ONE[dtype])


def test_an_instruction_converts_where_there_is_one() -> None:
    plain, quick = Emitter(Target()), Emitter(Target(converted_halves=("float16",)))
    for e in (plain, quick):
        narrow(e, widen(e, Value("%x", "i16", 8), "float16"), "float16")
    assert any("fpext <8 x half>" in line for line in quick.lines)
    assert not any("fpext" in line or "fptrunc" in line for line in plain.lines)


TWICE = """
kernel twice {
  axes i
  in x: DTYPE[i]
  out y: DTYPE[i]
  for i {
    %0: DTYPE = load x[i]
    %1: float32 = cast %0
    %2: float32 = add %1, %1
    %3: DTYPE = cast %2
    store y[i], %3
  }
}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_levels_of_processors_give_the_same_bits(dtype: Any, level: str, engine_of: Callable[[str], Engine]) -> None:
    """Arithmetic on bits stands in for an instruction on processors that have none."""
    kernel = parse_kernel(TWICE.replace("DTYPE", dtype.name))
    x = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype])
    with using(engine_of(level)), np.errstate(all="ignore"):
        run = backend.compile_kernel(kernel)
        for part in (x, x[::3], x[:5]):
            got = run(part)
            want = (part.astype(np.float32) * 2).astype(part.dtype)
            np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
            zeros = want == 0
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))
