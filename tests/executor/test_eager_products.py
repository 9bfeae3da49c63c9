"""Products of small matrices and vectors, and layers: native code has NumPy's bits, and leaves the rest to Python."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.codegen.llvm.entry_products import KERNELS
from flambeau.codegen.llvm.tensor_entry import any_entry
from flambeau.executor import eager
from flambeau.ops.families.entry_kernel import EntryKernel, OwnEntry
from flambeau.schema import registry
from flambeau.util import blas
from flambeau.util.native_type import direct, is_supported, tell

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")

SIZES = {
    (1, 1): [((5,), (5,)), ((1,), (1,)), ((300,), (300,))],
    (2, 1): [((3, 4), (4,)), ((1, 4), (4,)), ((4, 1), (1,)), ((64, 33), (33,))],
    (1, 2): [((4,), (4, 3)), ((4,), (4, 1)), ((1,), (1, 3)), ((33,), (33, 64))],
    (2, 2): [
        ((3, 4), (4, 5)), ((1, 4), (4, 1)), ((1, 1), (1, 1)), ((17, 33), (33, 9)), ((4, 1), (1, 4)),
        ((8, 64), (64, 256)), ((100, 100), (100, 2)),
    ],
    (3, 3): [((5, 3, 4), (5, 4, 2)), ((1, 3, 4), (1, 4, 2)), ((7, 1, 4), (7, 4, 1))],
    (3, 2): [((5, 3, 4), (4, 2)), ((1, 3, 4), (4, 1)), ((7, 1, 4), (4, 3))],
    (4, 4): [((2, 5, 3, 4), (2, 5, 4, 2)), ((1, 5, 3, 4), (1, 5, 4, 2)), ((3, 1, 1, 4), (3, 1, 4, 2))],
    (4, 2): [((2, 5, 3, 4), (4, 2)), ((3, 1, 1, 4), (4, 1))],
}
NOT_SERVED = [
    ((3, 4), (5, 6)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((5, 3, 4), (1, 4, 2)), ((2, 1, 3, 4), (2, 2, 4, 3)),
    ((1, 2, 3, 4), (2, 2, 4, 3)), ((4, 2, 3, 4), (2, 4, 4, 3)), ((2, 3, 4), (2, 2, 4, 3)), ((0, 2, 3, 4), (0, 2, 4, 3)),
    ((), (3,)), ((170, 170), (170, 170)),
]  # fmt: skip
SEVERAL_THREADS = [
    ((100, 100), (100, 2)), ((80, 80), (80, 80)), ((1, 200), (200, 300)), ((90, 200), (200, 90)),
    ((150, 100), (100, 1)), ((40000,), (40000,)), ((2, 3, 100, 30), (2, 3, 30, 100)), ((3, 1, 100), (100, 300)),
]  # fmt: skip
"""Products for which BLAS would take all its threads, or nearly."""
LAYOUTS = "dense", "columns", "apart"


def array(sizes: tuple[int, ...], layout: str, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Normal numbers, some of them 0, that lie in one of several ways."""
    numbers = np.random.default_rng(len(sizes)).standard_normal(sizes)
    dense = np.asarray(np.where(numbers > 1.5, 0, numbers), dtype)
    if layout == "columns":
        return np.asfortranarray(dense)
    if layout == "apart":
        memory = np.zeros([2 * n for n in sizes], dtype)
        memory[tuple([slice(None, None, 2)] * len(sizes))] = dense
        return memory[tuple([slice(None, None, 2)] * len(sizes))]
    return dense


def missed(*arguments: Any) -> str:
    return "missed"


def entry(name: str) -> Callable[..., Any]:
    """What an entry does itself; "missed" where it leaves a call to Python."""
    assert eager.machine.products is not None
    alone = EntryKernel(name, OwnEntry(name.removeprefix("any_")), missed)
    tell(alone, 0, missed)
    direct(alone, eager.machine.products[name])
    return alone


def assert_bits(result: Any, expected: Any) -> None:
    assert isinstance(result, fb.Tensor)
    assert (result.numpy().dtype, result.numpy().shape) == (expected.dtype, expected.shape)
    assert result.is_contiguous()
    assert result.detach().numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_products_have_numpys_bits(name: str, dtype: Any) -> None:
    native, of_any = entry(name), entry(any_entry(name))
    for ranks, sizes in SIZES.items():
        for (left, right), one, other in itertools.product(sizes, LAYOUTS, LAYOUTS):
            a, b = array(left, one, dtype), array(right, other, dtype)
            operands = fb.from_numpy(a), fb.from_numpy(b)
            if ranks not in KERNELS[name]:
                assert native(*operands) == "missed"
                continue
            assert_bits(native(*operands), np.matmul(a, b))
            assert native(operands[0], operands[1].requires_grad_()) == "missed"
            assert_bits(of_any(*operands), np.matmul(a, b))
            assert_bits(of_any(fb.nn.Parameter(operands[0]), operands[1]), np.matmul(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_for_which_blas_has_several_threads_have_one(dtype: Any) -> None:
    native, control = entry("matmul"), blas._control()
    assert control is not None
    put, get = control
    before = get()
    put(4)
    try:
        for left, right in SEVERAL_THREADS:
            for one, other in itertools.product(LAYOUTS, LAYOUTS):
                a, b = array(left, one, dtype), array(right, other, dtype)
                for left_operand, right_operand in ((a, b), (b.T, a.T), (a, a.T))[: 3 if a.ndim == 2 else 1]:
                    result = native(fb.from_numpy(left_operand), fb.from_numpy(right_operand))
                    assert get() == 4
                    with blas.threads_for(1):
                        expected = np.matmul(left_operand, right_operand)
                    assert_bits(result, expected)
    finally:
        put(before)


def test_products_of_one_memory_are_made_by_one_thread() -> None:
    x = np.ones((200, 100), np.float32)
    assert not blas.is_small(x, x.T)
    assert not blas.is_small(x.T[:3], x)
    assert blas.is_small(x[:3], np.ones((100, 200), np.float32))
    assert not blas.is_small(x[:1], np.ones((100, 200), np.float32))


@pytest.mark.parametrize("name", KERNELS)
def test_what_products_leave_to_python(name: str) -> None:
    native = entry(name)
    for left, right in NOT_SERVED:
        assert native(fb.from_numpy(array(left, "dense")), fb.from_numpy(array(right, "dense"))) == "missed"
    left, right = SIZES[KERNELS[name][0]][0]
    a, b = fb.from_numpy(array(left, "dense")), fb.from_numpy(array(right, "dense"))
    calls = [(a, b.double()), (a.half(), b.half()), (a.long(), b.long()), (a,), (a, b, a), (a, 2.0), (a, None)]
    assert [native(*call) for call in calls] == ["missed"] * len(calls)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers_have_numpys_bits(dtype: Any) -> None:
    linear, addmm = entry("any_linear"), entry("any_addmm")
    for sizes, outputs in itertools.product([(3, 4), (1, 4), (3, 1), (2, 3, 4), (2, 1, 3, 4), (1,) * 8], (5, 1)):
        for of_weight, of_bias in itertools.product(LAYOUTS, LAYOUTS):
            x, w = array(sizes, "dense", dtype), array((outputs, sizes[-1]), of_weight, dtype)
            b = array((outputs,), of_bias, dtype)
            operands = fb.from_numpy(x), fb.from_numpy(w)
            product = np.matmul(x.reshape(-1, sizes[-1]), w.T).reshape(*sizes[:-1], outputs)
            assert_bits(linear(*operands, None), product)
            assert_bits(linear(*operands, fb.nn.Parameter(fb.from_numpy(b))), product + b)
            if x.ndim == 2:
                assert_bits(addmm(fb.from_numpy(b), operands[0], operands[1].t(), 1, 1), product + b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [0, 16, 4096])
def test_rows_of_one_element_may_be_any_distance_apart(step: int, dtype: Any) -> None:
    linear = entry("any_linear")
    for sizes in [(2, 3, 1), (5, 2, 1), (2, 3, 1, 1), (1, 4, 1)]:
        dense = array(sizes, "dense", dtype)
        strides = [step if n == 1 else s for n, s in zip(sizes, dense.strides, strict=True)]
        x, w = np.lib.stride_tricks.as_strided(dense, sizes, strides), array((4, 1), "dense", dtype)
        product = np.matmul(dense.reshape(-1, 1), w.T).reshape(*sizes[:-1], 4)
        assert x.flags.c_contiguous
        assert_bits(linear(fb.from_numpy(x), fb.from_numpy(w), None), product)
        assert_bits(fb.nn.functional.linear(fb.from_numpy(x), fb.from_numpy(w)), product)


def test_what_layers_leave_to_python() -> None:
    linear, addmm = entry("linear"), entry("addmm")
    x, w, b = fb.rand(2, 3, 4), fb.rand(5, 4), fb.rand(5)
    calls = [
        (x.transpose(0, 1), w, b), (x, w, fb.rand(4)), (x, w, fb.rand(1)), (x, w, b.double()), (x, w, fb.rand(5, 1)),
        (x[0, 0], w, b), (x, w[0], None), (x, fb.rand(5, 3), None), (x, w), (x[:0], w, b), (fb.rand(*[1] * 8, 4), w, b),
        (x, w, b.clone().requires_grad_()),
    ]  # fmt: skip
    assert [linear(*call) for call in calls] == ["missed"] * len(calls)
    calls = [(b, x[0], w.t(), 2, 1), (b, x[0], w.t(), 1, 1.0), (b, x, w.t(), 1, 1), (fb.rand(3, 5), x[0], w.t(), 1, 1)]
    assert [addmm(*call) for call in calls] == ["missed"] * len(calls)


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("aten::mm", ((2, 3), (4, 5)), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
        ("aten::mm", ((3,), (3,)), "self must be a matrix"),
        ("aten::dot", ((2,), (3,)), "inconsistent tensor size"),
        ("aten::mv", ((2, 3), (2,)), "size mismatch, got input (2), mat (2x3), vec (2)"),
        ("aten::linear", ((2, 3), (4, 5), (4,)), "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)"),
        ("aten::linear", ((2, 3), (4, 3), (5,)), "must match the existing size (5)"),
        ("aten::addmm", ((4,), (2, 3), (3, 5)), "must match the existing size (4)"),
    ],
)
def test_errors_are_those_of_python(name: str, sizes: Any, message: str) -> None:
    operator = fb.nn.functional.linear if name == "aten::linear" else getattr(fb, name.removeprefix("aten::"))
    assert isinstance(registry.overloads(name)[0].kernel, EntryKernel)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            operator(*[fb.rand(*size) for size in sizes])


def test_products_are_native_where_hooks_pack_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, b = fb.rand(8, 64, requires_grad=True), fb.rand(256, 64, requires_grad=True), fb.rand(256)
    fb.nn.functional.linear(x, w, b)  # the first call connects the kernel to native code
    kernel = registry.get("aten::linear").kernel
    expected = np.matmul(x.detach().numpy(), w.detach().numpy().T) + b.numpy()

    def refused(*arguments: Any) -> Any:
        raise AssertionError("Python ran a product")

    monkeypatch.setattr(kernel, "run", refused)
    with fb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        for _ in range(3):
            result = fb.nn.functional.linear(x, w, b)
            assert result.grad_fn is not None
            assert result.detach().numpy().tobytes() == expected.tobytes()
            with pytest.raises(AssertionError, match="Python ran"):
                fb.nn.functional.linear(x.double(), w.double(), b.double()[:, None])
