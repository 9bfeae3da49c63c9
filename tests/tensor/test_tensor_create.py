"""Tensors from Python data, NumPy and DLPack."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau as fb
from flambeau.schema.dtype import ALL
from flambeau.tensor import sequences


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        (3, "int64", 3),
        (3.5, "float32", 3.5),
        (True, "bool", True),
        (1j, "complex64", 1j),
        ([], "float32", []),
        ([1, 2.5], "float32", [1.0, 2.5]),
        ([True, 2], "int64", [1, 2]),
        (1 << 40, "int64", 1 << 40),
        ([[1, 2], [3, 4]], "int64", [[1, 2], [3, 4]]),
        (((1,), (2,)), "int64", [[1], [2]]),
        (range(3), "int64", [0, 1, 2]),
        ([np.float64(1.5), 2], "float64", [1.5, 2.0]),
        ([np.int8(1), np.uint8(2)], "int16", [1, 2]),
        ([np.float16(1), 2], "float16", [1.0, 2.0]),
        ([np.float16(1), 2.5], "float32", [1.0, 2.5]),
        ([[np.bool_(True)], [np.bool_(False)]], "bool", [[True], [False]]),
        ([np.array([1, 2], np.int16), [3, 4]], "int64", [[1, 2], [3, 4]]),
        ([fb.tensor(1, dtype=fb.int8), fb.tensor([2], dtype=fb.float16)[0]], "float16", [1.0, 2.0]),
        ([fb.zeros(0, dtype=fb.float64)], "float64", [[]]),
        ([[], []], "float32", [[], []]),
    ],
)
def test_dtype_follows_the_numbers(data, dtype, values) -> None:
    t = fb.tensor(data)
    assert t.dtype.name == dtype
    assert t.tolist() == values


def test_from_tensors_and_arrays() -> None:
    source = fb.ones(2, dtype=fb.int8)
    assert not fb.tensor(source).shares_storage(source)
    assert fb.tensor([fb.tensor(1), fb.tensor(2)]).tolist() == [1, 2]
    assert fb.tensor([fb.ones(2), fb.zeros(2)]).shape == (2, 2)
    array = np.arange(3, dtype=np.int16)
    assert fb.tensor(array).dtype is fb.int16
    assert fb.as_tensor(array)._array.base is not None or fb.as_tensor(array)._array is array
    assert fb.as_tensor(array, dtype="float64").tolist() == [0.0, 1.0, 2.0]
    assert fb.as_tensor(source) is source
    assert fb.tensor([1, 2], dtype=float).dtype is fb.float64
    assert fb.tensor([1.0], requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fb.tensor(1 << 63), ValueError, "Overflow when unpacking long long"),
        (
            lambda: fb.tensor(2**31, dtype=fb.int32),
            RuntimeError,
            "value cannot be converted to type int32 without overflow",
        ),
        (
            lambda: fb.tensor(300, dtype=fb.uint8),
            RuntimeError,
            "value cannot be converted to type uint8 without overflow",
        ),
        (
            lambda: fb.tensor(math.nan, dtype=fb.int64),
            RuntimeError,
            "cannot be converted to type int64 without overflow",
        ),
        (lambda: fb.tensor([[1], [2, 3]]), ValueError, "expected sequence of length 1 at dim 1 (got 2)"),
        (lambda: fb.tensor("a"), TypeError, "new(): invalid data type 'str'"),
        (lambda: fb.tensor([1, "a"]), TypeError, "new(): invalid data type 'str'"),
        (lambda: fb.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
        (lambda: fb.tensor(object()), RuntimeError, "Could not infer dtype of object"),
        (lambda: fb.tensor(1j, dtype=fb.float32), TypeError, "must be real number, not complex"),
        (lambda: fb.tensor(1, device="cuda"), RuntimeError, "no tensor can be put on device 'cuda' here"),
        (lambda: fb.tensor(1, device="foo"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda: fb.frombuffer(b"", dtype=fb.int8), ValueError, "both buffer length (0) and count (-1) must not be 0"),
        (lambda: fb.frombuffer(b"ab", dtype=fb.int8, offset=2), ValueError, "offset (2 bytes) must be non-negative"),
        (lambda: fb.frombuffer(b"abc", dtype=fb.int16), ValueError, "buffer length (3 bytes) after offset"),
        (lambda: fb.frombuffer(b"abc", dtype=fb.int16, count=2), ValueError, "requested buffer length (2 * 2 bytes)"),
        (lambda: fb.frombuffer([1], dtype=fb.int8), TypeError, "a bytes-like object is required, not 'list'"),
        (lambda: fb.frombuffer(b"ab", dtype=fb.int8).add_(1), ValueError, "read-only"),
        (lambda: fb.from_numpy(3), TypeError, "expected np.ndarray (got int)"),
        (lambda: fb.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type <U1"),
        (
            lambda: fb.from_numpy(np.arange(3)[::-1]),
            ValueError,
            "At least one stride in the given numpy array is negative",
        ),
        (lambda: fb.from_dlpack(3), TypeError, "expected an object with __dlpack__, got int"),
        (
            lambda: fb.set_default_dtype(fb.int64),
            TypeError,
            "only floating-point types are supported as the default type",
        ),
        (lambda: fb.asarray([1], copy=False), ValueError, "can't alias arbitrary sequence"),
    ],
)
def test_refusals(call, error, message) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_numpy_memory_is_shared_with_its_strides() -> None:
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    for array in (base, base.T, base[::2, 1:], np.broadcast_to(base[0], (2, 4))):
        t = fb.from_numpy(array)
        assert t.stride() == tuple(s // 4 for s in array.strides)
        assert np.may_share_memory(t.numpy(), base)
    fb.from_numpy(base)[0, 0] = 9
    assert base[0, 0] == 9


def test_read_only_memory_is_not_written() -> None:
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    t = fb.from_numpy(array)
    for write in (lambda: t.fill_(1), lambda: t.copy_(fb.ones(3)), lambda: t.masked_fill_(t == 0, 1)):
        with pytest.raises(RuntimeError, match="the tensor's memory is read-only"):
            write()
    assert t.clone().fill_(1).tolist() == [1.0, 1.0, 1.0]


def test_dlpack_both_ways() -> None:
    t = fb.arange(6.0).reshape(2, 3).t()
    array = np.from_dlpack(t)
    assert array.strides == (4, 12)
    assert np.may_share_memory(array, t.numpy())
    back = fb.from_dlpack(np.ones(2, np.float32))
    assert back.tolist() == [1.0, 1.0]
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        np.from_dlpack(fb.ones(2, requires_grad=True))


def test_dlpack_with_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = torch.zeros(3)
    ours = fb.from_dlpack(theirs)
    ours[1] = 5
    assert theirs.tolist() == [0.0, 5.0, 0.0]
    assert torch.from_dlpack(fb.ones(2, 2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_capsules_are_taken_once_on_the_same_memory() -> None:
    x = fb.arange(6.0)
    capsule = fb.utils.dlpack.to_dlpack(x)
    taken = fb.from_dlpack(capsule)
    taken[0] = 9
    assert x[0] == 9
    with pytest.raises(RuntimeError, match="whose tensor was taken already"):
        fb.from_dlpack(capsule)
    turned = fb.from_dlpack(fb.utils.dlpack.to_dlpack(x.view(2, 3).t()[1:]))
    assert turned.stride() == (1, 3)
    turned.mul_(2)
    assert x.tolist() == [9.0, 2.0, 4.0, 3.0, 8.0, 10.0]
    assert fb.from_dlpack(fb.utils.dlpack.to_dlpack(fb.zeros(0, 3))).shape == (0, 3)


def test_asarray() -> None:
    array = np.zeros(2, np.float32)
    assert np.may_share_memory(fb.asarray(array).numpy(), array)
    assert not np.may_share_memory(fb.asarray(array, copy=True).numpy(), array)
    assert fb.asarray([1, 2]).tolist() == [1, 2]
    assert fb.asarray(array, requires_grad=True).requires_grad


def test_default_dtype() -> None:
    try:
        fb.set_default_dtype(fb.float64)
        assert fb.tensor(1.5).dtype is fb.float64
        assert fb.zeros(1).dtype is fb.float64
        assert fb.tensor(1j).dtype is fb.complex128
    finally:
        fb.set_default_dtype(fb.float32)
    assert fb.get_default_dtype() is fb.float32


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "bool", "complex64"]
)
@pytest.mark.parametrize("value", [300, -1, 2.7, -2.7, 1e6, 1e39, math.inf, math.nan, 1j, 1 + 0j, 2**63])
def test_numbers_fit_as_in_torch(dtype, value) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    for make in (
        lambda m, d: m.full((1,), value, dtype=d),
        lambda m, d: m.zeros(1, dtype=d).fill_(value),
        lambda m, d: m.tensor([value], dtype=d),
    ):
        try:
            expected = make(torch, getattr(torch, dtype)).tolist()
        except (RuntimeError, ValueError, TypeError) as refused:
            words = str(refused) if isinstance(refused, RuntimeError) else ""
            with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
                make(fb, getattr(fb, dtype))
            assert str(caught.value).startswith(words)
        else:
            assert str(make(fb, getattr(fb, dtype)).tolist()) == str(expected)


def test_numbers_alone_make_no_quantised_tensor() -> None:
    with pytest.raises(RuntimeError, match="quantize_per_tensor") as caught:
        fb.tensor([1, 2], dtype=fb.quint8)
    assert "do not say what integers of quint8 stand for" in str(caught.value)


def test_buffers_share_their_memory() -> None:
    memory = bytearray(np.arange(4, dtype=np.float32).tobytes())
    t = fb.frombuffer(memory, dtype=fb.float32)
    t[1] = 7
    assert np.frombuffer(memory, np.float32).tolist() == [0.0, 7.0, 2.0, 3.0] == t.tolist()
    assert fb.frombuffer(memory, dtype=fb.float32, count=2, offset=4).tolist() == [7.0, 2.0]
    assert fb.frombuffer(memoryview(np.array([0.5])), dtype=fb.float64, requires_grad=True).requires_grad
    assert fb.frombuffer(np.ones((2, 2), np.int16), dtype=fb.int16).tolist() == [1, 1, 1, 1]
    assert fb.frombuffer(b"\x80\x3f", dtype=fb.bfloat16).tolist() == [1.0]
    assert fb.frombuffer(b"\x01\x00", dtype=fb.bool).tolist() == [True, False]


OF_ONE_KIND = [
    3, 3.5, True, -0.0, float("nan"), 1e300, 2**63, 2**63 - 1, -(2**63), 2**70, 10**400, [], [[]], [1, 2], [1.0, 2],
    [True, 2], [True, False], [1j], [[1, 2], [3, 4]], [[1, 2], [3]], [[1], 2], [1, [2]], [[True], [False]],
    [[1.5, 2.5]], [[[1, 2]], [[3, 4]]], (1, 2), [(1, 2), (3, 4)], ["a"], [None], [np.float32(1), 2], range(3), [2**63],
    [1e300, -0.0], [2**53 + 1, 2], [[], []], [1, 2**64],
]  # fmt: skip


@pytest.mark.parametrize("default", [fb.float32, fb.float64], ids=str)
@pytest.mark.parametrize("data", OF_ONE_KIND, ids=repr)
def test_numbers_of_one_kind_give_what_others_do(data, default, monkeypatch) -> None:
    """They have a shorter way, which gives just what the one that looks at each number gives, and its errors."""

    def outcome(dtype):
        try:
            array = sequences.array_of(data, dtype)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            return type(error), str(error)
        return array.dtype, array.shape, array.tobytes(), array.flags.c_contiguous

    before = fb.get_default_dtype()
    fb.set_default_dtype(default)
    try:
        wanted = [None, *ALL]
        short = [outcome(dtype) for dtype in wanted]
        monkeypatch.setattr(sequences, "_of_one_kind", lambda data, target: None)
        assert short == [outcome(dtype) for dtype in wanted]
    finally:
        fb.set_default_dtype(before)


def test_layouts_that_no_tensor_has_are_refused() -> None:
    x = fb.ones(2)
    assert x.layout is fb.strided is not fb.sparse_coo
    assert fb.zeros_like(x, layout=fb.strided).tolist() == [0.0, 0.0]
    for call in (lambda **k: fb.zeros(2, **k), lambda **k: fb.rand_like(x, **k), lambda **k: x.to(**k)):
        with pytest.raises(RuntimeError, match=r"strided here, but a call asks for layout=flambeau\.sparse_csr"):
            call(layout=fb.sparse_csr)


def test_tensors_of_one_element_are_numbers_in_a_list():
    for first, second in ((1.0, 2.0), (-0.5, 7.0)):
        zero_d, vector = fb.tensor(first), fb.tensor([second])
        assert fb.tensor([zero_d, vector]).tolist() == [first, second]
        assert fb.tensor([vector, zero_d, 3]).tolist() == [second, first, 3.0]
        assert fb.tensor([[vector, 4], [5, fb.tensor([[first]])]]).tolist() == [[second, 4.0], [5.0, first]]
    assert fb.tensor([fb.tensor([1]), fb.tensor([2])]).shape == (2,)
    assert fb.tensor([fb.tensor([1.5]), 1j]).dtype == fb.complex64
    assert fb.tensor([fb.tensor([1, 2]), fb.tensor([3, 4])]).shape == (2, 2)
    with pytest.raises(ValueError, match=r"only one element tensors .* flambeau\.stack"):
        fb.tensor([3, fb.tensor([1, 2])])
