"""Products: ranks, dtypes, beta and alpha, and the words of every refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor import dispatch
from tests.ops import peer

FLOAT = np.float32


def ones(*shape: int, dtype: Any = FLOAT) -> Any:
    return flambeau.from_numpy(np.ones(shape, dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 2))],
)
def test_matmul(dtype: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    a = (np.arange(np.prod(left)).reshape(left) * 7 % 5).astype(dtype)
    b = (np.arange(np.prod(right)).reshape(right) * 3 % 4).astype(dtype)
    wanted = torch.matmul(torch.from_numpy(a), torch.from_numpy(b))
    peer.assert_same(flambeau.matmul(flambeau.from_numpy(a), flambeau.from_numpy(b)), wanted)
    peer.assert_same(flambeau.from_numpy(a) @ flambeau.from_numpy(b), wanted)


def test_small_integers_wrap() -> None:
    a = flambeau.from_numpy(np.array([100, 100], np.int8))
    assert flambeau.dot(a, a).item() == np.int64(20000).astype(np.int8)


def test_nan_does_not_count_with_beta_zero() -> None:
    nothing = flambeau.from_numpy(np.full((2, 2), np.nan, FLOAT))
    assert flambeau.addmm(nothing, ones(2, 2), ones(2, 2), beta=0).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_in_place() -> None:
    x = ones(2, 2)
    assert x.addmm_(ones(2, 3), ones(3, 2)) is x
    assert x.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_transposed_operands_need_no_copy_to_be_right() -> None:
    a = np.arange(6, dtype=FLOAT).reshape(2, 3)
    got = flambeau.mm(flambeau.from_numpy(a).t(), flambeau.from_numpy(a))
    np.testing.assert_array_equal(got.numpy(), a.T @ a)


REFUSED = [
    ("matmul", (ones(3), ones(4)), "inconsistent tensor size, expected tensor [3] and src [4] to have the same number"),
    ("matmul", (ones(2, 3), ones(4)), "size mismatch, got input (2), mat (2x3), vec (4)"),
    ("matmul", (ones(4), ones(3, 2)), "mat1 and mat2 shapes cannot be multiplied (1x4 and 3x2)"),
    ("matmul", (ones(5, 2, 3), ones(4, 3, 2)), "The size of tensor a (5) must match the size of tensor b (4)"),
    ("matmul", (ones(5, 2, 3), ones(4, 2)), "mat1 and mat2 shapes cannot be multiplied (10x3 and 4x2)"),
    ("matmul", (ones(), ones(2)), "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
    (
        "matmul",
        (ones(2, dtype=np.int64), ones(2)),
        "dot : expected both vectors to have same dtype, but found Long and Float",
    ),
    ("mm", (ones(2), ones(2)), "self must be a matrix"),
    (
        "mm",
        (ones(1, 2), ones(2, 1, dtype=np.float64)),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        "bmm",
        (ones(1, 2, 3), ones(1, 2, 3)),
        "Expected size for first two dimensions of batch2 tensor to be: [1, 3] but got: [1, 2].",
    ),
    ("bmm", (ones(1, 2, 3), ones(1, 3, 3, dtype=np.float64)), "expected scalar type Float but found Double"),
    ("mv", (ones(3), ones(2)), "vector + matrix @ vector expected, got 1, 1, 1"),
    (
        "addmm",
        (ones(4), ones(2, 3), ones(3, 3)),
        "The expanded size of the tensor (3) must match the existing size (4)",
    ),
    (
        "addbmm",
        (ones(3), ones(1, 2, 3), ones(2, 3, 3)),
        "batch1 and batch2 must have same number of batches, got 1 and 2",
    ),
    ("outer", (ones(2, 2), ones(2)), "outer: Expected 1-D argument self, but got 2-D"),
    (
        "inner",
        (ones(2, 3), ones(2, 4)),
        "inner() the last dimension must match on both input tensors but got shapes [2, 3]",
    ),
    ("trace", (ones(3),), "trace: expected a matrix, but got tensor with dim 1"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSED)
def test_refusals(name: str, args: tuple[Any, ...], text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        dispatch.call(f"aten::{name}", *args)
    assert text in str(caught.value)


@pytest.mark.parametrize(("name", "kernel"), [("mm", "addmm_impl_cpu_"), ("bmm", "bmm"), ("dot", "dot")])
def test_bools_have_no_product(name: str, kernel: str) -> None:
    rank = {"mm": 2, "bmm": 3, "dot": 1}[name]
    x = ones(*(2,) * rank, dtype=np.bool_)
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Bool'"):
        getattr(flambeau, name)(x, x)
