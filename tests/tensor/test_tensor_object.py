"""What a tensor is: storage, views, Python's protocols, copies and pickles."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.codegen import native_call
from flambeau.tensor.tensor import share, view_of, wrap
from flambeau.util.native_type import is_supported


@pytest.fixture
def grid() -> fb.Tensor:
    return wrap(np.arange(6, dtype=np.float32).reshape(2, 3))


def test_wrap_shares_the_array() -> None:
    array = np.zeros((2, 3), np.float32)
    t = wrap(array)
    t._array[0, 0] = 5
    assert array[0, 0] == 5
    assert (t.shape, t.stride(), t.dtype, t.storage_offset()) == ((2, 3), (3, 1), fb.float32, 0)
    assert repr(t.shape) == "flambeau.Size([2, 3])"
    assert t.shape.numel() == 6
    assert str(t.device) == "cpu"


def test_numpy_scalars_become_zero_dimensional() -> None:
    assert wrap(np.float64(3)).shape == ()
    assert wrap(np.float64(3)).dtype is fb.float64


def test_views_share_the_storage(grid: fb.Tensor) -> None:
    column = view_of(grid, (2,), (3,), 1)
    assert column.tolist() == [1.0, 4.0]
    assert column.shares_storage(grid)
    assert column.storage_offset() == 1
    assert share(grid, grid._array.T).stride() == (1, 3)
    column._array[...] = 9
    assert grid.tolist() == [[0.0, 9.0, 2.0], [3.0, 9.0, 5.0]]
    grid.bump_version()
    assert column._version == 1


def test_views_stay_within_the_storage(grid: fb.Tensor) -> None:
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        view_of(grid, (7,), (1,))
    assert view_of(grid, (0, 5), (5, 1)).shape == (0, 5)


def test_storage_of_strided_array() -> None:
    base = np.arange(12, dtype=np.int64)
    t = wrap(base[1::2])
    assert t.stride() == (2,)
    assert t.untyped_storage().nbytes() == 88
    assert view_of(t, (11,), (1,)).tolist() == list(range(1, 12))


def test_python_numbers(grid: fb.Tensor) -> None:
    assert wrap(np.array(2.5)).item() == 2.5
    assert int(wrap(np.array([2.5]))) == 2
    assert float(wrap(np.array(3))) == 3.0
    assert complex(wrap(np.array(3))) == 3 + 0j
    assert [10, 20][wrap(np.array(1))] == 20
    assert bool(wrap(np.array(0.0))) is False
    assert f"{wrap(np.array(2.5)):.3f}" == "2.500"
    assert len(grid) == 2
    assert [row.tolist() for row in grid] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert 4 in grid
    assert 7 not in grid
    assert grid.size() == (2, 3)
    assert grid.size(-1) == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bool(fb.ones(2)), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda: bool(fb.ones(0)), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: fb.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: int(fb.ones(2)), ValueError, "only one element tensors can be converted to Python scalars"),
        (lambda: float(fb.tensor(1j)), RuntimeError, "value cannot be converted to type double without overflow"),
        (
            lambda: [1][fb.tensor(0.5)],
            TypeError,
            "only integer tensors of a single element can be converted to an index",
        ),
        (lambda: len(fb.tensor(1)), TypeError, "len() of a 0-d tensor"),
        (lambda: list(fb.tensor(1)), TypeError, "iteration over a 0-d tensor"),
        (lambda: "a" in fb.ones(2), RuntimeError, "Tensor.__contains__ only supports Tensor or scalar"),
        (lambda: fb.ones(2).foo, AttributeError, "'Tensor' object has no attribute 'foo'"),
        (lambda: fb.ones(2).symeig(), RuntimeError, "now removed. Write linalg.eigh(A)"),
        (lambda: fb.ones(2) + "a", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
        (lambda: operator.add(fb.ones(2), [1, 2]), TypeError, "unsupported operand type(s) for +: 'Tensor' and 'list'"),
        (lambda: fb.ones(2) < "a", TypeError, "'<' not supported between instances of 'Tensor' and 'str'"),
        (lambda: None + fb.ones(2), TypeError, "unsupported operand type(s) for +: 'NoneType' and 'Tensor'"),
        (lambda: ~fb.ones(2), TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
        (
            lambda: fb.ones(2, dtype=fb.int64).requires_grad_(),
            RuntimeError,
            "only Tensors of floating point dtype can require gradients",
        ),
        (
            lambda: fb.ones(2, requires_grad=True).numpy(),
            RuntimeError,
            "Can't call numpy() on Tensor that requires grad",
        ),
        (lambda: format(fb.ones(2), ".1f"), TypeError, "unsupported format string passed to Tensor.__format__"),
        (lambda: fb.ones(3).mT, RuntimeError, "tensor.mT is only supported on matrices or batches of matrices"),
        (lambda: fb.ones(3).H, RuntimeError, "tensor.H is only supported on matrices (2-D tensors). Got 1-D tensor."),
    ],
)
def test_refusals(call, error, message) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_equality_with_other_things_is_identity() -> None:
    t = fb.ones(2)
    assert (t == None) is False  # noqa: E711
    assert (t != "a") is True
    assert {t: 1}[t] == 1
    assert len({t, fb.ones(2)}) == 2


def test_numpy_takes_tensors(grid: fb.Tensor) -> None:
    assert np.asarray(grid) is not None
    assert np.add(grid, 1).tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    summed = np.ones(3, np.float32) + grid
    assert isinstance(summed, fb.Tensor)
    assert summed.dtype is fb.float32
    assert np.array(grid, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match=r"needs a copy|Unable to avoid copy"):
        np.asarray(grid, dtype=np.int8, copy=False)


def test_deepcopy_and_pickle_keep_sharing(grid: fb.Tensor) -> None:
    pair = {"whole": grid, "part": grid.t()[1:]}
    for copied in (copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert copied["part"].tolist() == [[1.0, 4.0], [2.0, 5.0]]
        assert copied["part"].stride() == (1, 3)
        copied["whole"][0, 1] = 7
        assert copied["part"][0, 0].item() == 7.0
        assert not copied["whole"].shares_storage(grid)
    assert grid[0, 1].item() == 1.0


def test_deepcopy_of_a_computed_tensor_is_refused(grid: fb.Tensor) -> None:
    grid._node = object()
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(grid)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        grid.requires_grad_(False)


def test_a_computed_tensor_is_pickled_as_a_leaf_that_asks() -> None:
    computed = fb.ones(2, requires_grad=True) * 2
    loaded = pickle.loads(pickle.dumps(computed))
    assert (loaded.tolist(), loaded.requires_grad, loaded.is_leaf) == ([2.0, 2.0], True, True)


@pytest.mark.parametrize(("items", "kind"), [([2, "a"], "str"), ([2, 2.5], "float"), ([2, None], "NoneType")])
def test_sizes_are_ints(items: list[Any], kind: str) -> None:
    with pytest.raises(TypeError, match=rf"Size\(\) takes an iterable of 'int' \(item 1 is '{kind}'\)"):
        fb.Size(items)
    assert repr(fb.Size([2, True])) == "flambeau.Size([2, 1])"


def test_size_is_a_tuple() -> None:
    size = fb.Size((2, 3))
    assert size[1:] == (3,)
    assert isinstance(size[1:] + size[:1], fb.Size)
    assert isinstance(size * 2, fb.Size)
    assert pickle.loads(pickle.dumps(size)) == size


def test_bfloat16_and_complex32_values() -> None:
    t = fb.ones(2).to(fb.bfloat16)
    assert t.tolist() == [1.0, 1.0]
    assert type(t[0].item()) is float
    assert fb.tensor([1 + 2j]).to(fb.complex32).tolist() == [1 + 2j]
    assert fb.tensor(1 + 2j).to(fb.complex32).item() == 1 + 2j


@pytest.mark.parametrize(
    "kind", [np.bool_, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64, np.complex64]
)
@pytest.mark.parametrize(
    "combine", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.eq]
)
def test_a_number_of_numpy_is_a_python_number_on_either_side(kind: type, combine: Callable[[Any, Any], Any]) -> None:
    number = kind(2)
    for dtype in (fb.int64, fb.float32, fb.complex64):
        x = fb.tensor([1, 2]).to(dtype)
        if combine is operator.sub and kind is np.bool_:
            continue
        for wanted, result in (
            (combine(number.item(), x), combine(number, x)),
            (combine(x, number.item()), combine(x, number)),
            (fb.mul(number.item(), x), fb.mul(number, x)),
        ):
            assert result.dtype is wanted.dtype
            assert result.tolist() == wanted.tolist()
    assert np.int64(7) // fb.tensor([2]) == 3
    assert np.int64(7) % fb.tensor([4]) == 3


def test_data_and_casts(grid: fb.Tensor) -> None:
    assert grid.data.shares_storage(grid)
    assert grid.float() is grid
    assert grid.double().dtype is fb.float64
    assert grid.type() == "torch.FloatTensor"
    assert grid.type("torch.FloatTensor") is grid
    assert grid.type("torch.DoubleTensor").dtype is grid.type(fb.DoubleTensor).dtype is fb.float64
    assert grid.type(fb.int8).dtype is fb.int8
    assert grid.type(int).dtype is fb.int64
    for kind in ("Double", "torch.SmallTensor", str):
        with pytest.raises(ValueError, match=r"invalid type: .*write x\.to"):
            grid.type(kind)
    assert grid.new_tensor([1]).dtype is fb.float32
    assert grid.real is grid
    assert grid.T.stride() == (1, 3)
    assert [t.tolist() for t in grid.nonzero(as_tuple=True)] == [[0, 0, 1, 1, 1], [1, 2, 0, 1, 2]]


@pytest.mark.skipif(not is_supported(), reason="native entries need CPython as it usually is")
def test_native_entries_know_every_slot() -> None:
    layouts = native_call.object_layouts()
    assert layouts is not None, "a slot of Tensor or Storage is not in codegen.llvm.tensor_objects: all calls are slow"


def test_a_tensor_is_looked_for_as_it_is_broadcast() -> None:
    x = fb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert fb.tensor([5.0, 4.0]) in x
    assert fb.tensor([4.0, 5.0]) not in x
    with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match the size of tensor b \(3\)"):
        _ = fb.ones(3) in x
