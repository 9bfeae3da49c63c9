"""Attention as a routine, in compiled functions and by itself, beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
SIZES = [(1, 1, 1, 1), (1, 50, 8, 8), (17, 130, 64, 64), (128, 128, 64, 64), (70, 65, 33, 5), (100, 64, 3, 40)]


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def exact(array: Any) -> Any:
    tensor = torch.tensor(np.ascontiguousarray(array))
    return tensor.double() if tensor.is_floating_point() else tensor


def program(mask: Any, causal: bool, scale: float | None, groups: bool) -> Any:
    call = "flambeau.nn.functional.scaled_dot_product_attention"
    options = f"{'None' if mask is None else 'm'}, 0.0, {causal}, scale={scale}, enable_gqa={groups}"
    source = f"def f(q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:\n    return {call}(q, k, v, {options})\n"
    return flambeau.jit.CompilationUnit(source).f


def compare(
    q: Any, k: Any, v: Any, mask: Any = None, *, causal: bool = False, scale: float | None = None, groups: bool = False
) -> None:
    function = program(mask, causal, scale, groups)
    tensors = [flambeau.from_numpy(a) for a in (q, k, v)]
    own_mask = None if mask is None else flambeau.from_numpy(mask)
    for _ in range(4):
        found = function(*tensors, tensors[0] if own_mask is None else own_mask)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))
    options: dict[str, Any] = {"is_causal": causal, "scale": scale, "enable_gqa": groups}
    attend = torch.nn.functional.scaled_dot_product_attention
    wanted = attend(*map(exact, (q, k, v)), None if mask is None else exact(mask), 0.0, **options)
    eager = flambeau.nn.functional.scaled_dot_product_attention(*tensors, own_mask, 0.0, **options)
    tolerance = 1e-4 if q.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(found.numpy(), eager.numpy())
    assert found.stride() == eager.stride()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", SIZES)
def test_attention_is_that_of_torch(dtype: Any, sizes: tuple[int, int, int, int]) -> None:
    queries, keys, features, width = sizes

    def made(*shape: int) -> Any:
        return numbers(*shape, dtype=dtype)

    for causal in (False, True):
        compare(made(2, 3, queries, features), made(2, 3, keys, features), made(2, 3, keys, width), causal=causal)
    compare(made(queries, features), made(keys, features), made(keys, width), scale=-0.3)
    allowed = np.random.default_rng(0).random((queries, keys)) > 0.3
    allowed[:, 0] = True
    compare(made(2, queries, features), made(2, keys, features), made(2, keys, width), allowed)
    added = made(2, 1, 1, keys)
    compare(made(2, 3, queries, features), made(2, 1, keys, features), made(1, 3, keys, width), added)
    compare(made(2, 6, queries, features), made(2, 2, keys, features), made(2, 3, keys, width), groups=True)


def test_heads_that_lie_beside_each_other_and_values_turned() -> None:
    q, k = numbers(2, 70, 3, 8).transpose(0, 2, 1, 3), numbers(2, 90, 3, 8).transpose(0, 2, 1, 3)
    compare(q, k, numbers(3, 5, 90, 2).transpose(3, 0, 2, 1), causal=True)
    compare(q, np.swapaxes(np.ascontiguousarray(np.swapaxes(k, 2, 3)), 2, 3), k)  # by the operator's parts


def test_a_tensor_that_is_everything_at_once() -> None:
    x = numbers(20, 20)
    compare(x, x, x, x)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_special_values_stay_in_their_rows(number: float) -> None:
    q, k, v = numbers(1, 2, 20, 8), numbers(1, 2, 90, 8), numbers(1, 2, 90, 8)
    with np.errstate(all="ignore"):
        for place in range(3):
            arrays = [q.copy(), k.copy(), v.copy()]
            arrays[place][0, 0, 3, 2] = number
            compare(*arrays)
            compare(*arrays, causal=True)
        added = np.zeros((20, 90), np.float32)
        added[6, 3] = number
        compare(q, k, v, added)
        compare(q * 1e4, k * 1e4, v)


def test_queries_that_may_look_at_nothing_give_zeros() -> None:
    q, k, v = numbers(1, 2, 20, 8), numbers(1, 2, 90, 8), numbers(1, 2, 90, 8)
    allowed = np.ones((20, 90), np.bool_)
    allowed[4] = False
    compare(q, k, v, allowed)
    added = np.zeros((20, 90), np.float32)
    added[4], added[5, :70] = -np.inf, -np.inf
    compare(q, k, v, added)
    x = flambeau.from_numpy(q)
    found = flambeau.nn.functional.scaled_dot_product_attention(x, x, x, flambeau.zeros(20, 20, dtype=flambeau.bool))
    np.testing.assert_array_equal(found.numpy(), np.zeros_like(q))


def test_what_the_operator_refuses_and_attention_of_nothing() -> None:
    attend = flambeau.nn.functional.scaled_dot_product_attention
    q, k = flambeau.ones(2, 3, 4), flambeau.ones(2, 5, 4)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        attend(q, k, k, flambeau.ones(3, 5), 0.0, True)
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        attend(q, k.double(), k)
    with pytest.raises(RuntimeError):
        attend(q, flambeau.ones(2, 5, 3), k)
    assert tuple(attend(flambeau.ones(2, 0, 4), k, k).shape) == (2, 0, 4)
    np.testing.assert_array_equal(attend(q, k[:, :0], k[:, :0]).numpy(), np.zeros((2, 3, 4)))


def test_arguments_that_ask_for_gradients_are_recorded() -> None:
    function = program(None, True, None, False)
    arrays = [numbers(2, 7, 4), numbers(2, 9, 4), numbers(2, 9, 4)]
    tensors = [flambeau.tensor(a, requires_grad=True) for a in arrays]
    others = [torch.tensor(a, requires_grad=True) for a in arrays]
    function(*tensors, tensors[0]).sum().backward()
    torch.nn.functional.scaled_dot_product_attention(*others, is_causal=True).sum().backward()
    for tensor, other in zip(tensors, others, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-5)
