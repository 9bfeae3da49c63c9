"""Copies, conversions and overwriting of small tensors run natively: the bits, strides and versions of Python's way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.executor import eager
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.schema import registry
from flambeau.tensor import dispatch
from flambeau.util.native_type import is_supported

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")

DTYPES = (
    fb.float32, fb.float64, fb.float16, fb.bfloat16, fb.int64, fb.int32, fb.int16, fb.int8, fb.uint8, fb.bool,
    fb.complex64,
)  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 1e-45, 3e38, 255.0, 1e10, -2.0]
LAYOUTS: dict[str, Callable[[fb.Tensor], fb.Tensor]] = {
    "dense": lambda x: x,
    "columns": lambda x: x.t(),
    "apart": lambda x: x[:, ::2],
    "broadcast": lambda x: x[:, :1].expand(3, 5),
    "row": lambda x: x[1],
    "element": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
    "one": lambda x: x[:1, :1],
}


@functools.cache
def kernel(name: str) -> EntryKernel:
    found = registry.get(name).kernel
    assert isinstance(found, EntryKernel)
    return found


@pytest.fixture(autouse=True)
def anew() -> None:
    """Patterns are bounded, and tests have many."""
    eager._forget_all()


def drawn(dtype: Any) -> fb.Tensor:
    """Twelve numbers, among them extreme ones where there are such."""
    if dtype.is_floating_point:
        return fb.tensor(NUMBERS, dtype=fb.float64).to(dtype).view(3, 4)
    return fb.arange(12).to(dtype).view(3, 4)


def bits(x: fb.Tensor) -> Any:
    return x.dtype, x.shape, x.stride(), x.detach().contiguous().view(-1)._array.tobytes(), x.is_contiguous()


def in_python(call: Callable[[], Any]) -> Any:
    """The result with every kernel run in Python."""

    def handler(definition: Any, arguments: Any, proceed: Any) -> Any:
        run = definition.kernel
        return run.run(*arguments) if isinstance(run, EntryKernel) else proceed(arguments)

    with dispatch.intercepting(handler):
        return call()


def thrice(call: Callable[[], Any]) -> Any:
    """The result of a call that was made before."""
    call()
    call()
    return call()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_and_conversions(dtype: Any, layout: str) -> None:
    x = LAYOUTS[layout](drawn(dtype))
    calls = [lambda: x.clone(), lambda: x.to(dtype, copy=True)]
    calls += [lambda to=to: x.to(to) for to in DTYPES]
    for call in calls:
        expected = in_python(call)
        result = thrice(call)
        assert bits(result) == bits(expected)
        assert (result is x) == (expected is x)
        assert result is x or not np.shares_memory(result._array, x._array)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_overwriting(dtype: Any, layout: str) -> None:
    if layout == "broadcast":
        pytest.skip("elements that refer to one place are not written")
    source = LAYOUTS[layout](drawn(dtype))
    writes: list[Callable[[fb.Tensor], Any]] = [lambda x: x.zero_(), lambda x: x.copy_(source)]
    writes += [lambda x, to=to: x.copy_(LAYOUTS[layout](drawn(to))) for to in (fb.float32, fb.int64, fb.bool)]
    if not dtype.is_complex:
        writes += [lambda x, n=n: x.fill_(n) for n in (0, 1, 100, 2.5, True)]
    if dtype.is_floating_point:
        writes += [lambda x, n=n: x.fill_(n) for n in (float("nan"), -0.0, float("inf"), 0.1)]
    for write in writes:
        whole, other = fb.zeros(3, 4).to(dtype), fb.zeros(3, 4).to(dtype)
        target, expected = LAYOUTS[layout](whole), LAYOUTS[layout](other)
        for count in range(3):
            assert write(target) is target
            assert in_python(lambda: write(expected)) is expected  # noqa: B023  (called at once)
            assert bits(whole) == bits(other)
            assert whole._version == other._version == count + 1


def test_they_run_natively() -> None:
    x, y = fb.rand(3, 4), fb.rand(3, 4)
    calls = {
        "aten::clone": lambda: x.clone(), "aten::to.dtype": lambda: x.double(), "aten::zero_": lambda: y.zero_(),
        "aten::fill_.Scalar": lambda: y.fill_(2), "aten::copy_": lambda: y.copy_(x),
    }  # fmt: skip
    for name, call in calls.items():
        thrice(call)
        before = kernel(name).entry.served
        call()
        assert kernel(name).entry.served == before + 1, name


def test_parts_that_overlap_and_sizes_that_do_not_fit() -> None:
    x = fb.arange(8.0)
    for _ in range(3):
        thrice(lambda: fb.zeros(7).copy_(x[:7]))
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor and the"):
            x[1:].copy_(x[:-1])
        with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape|must match the size"):
            fb.zeros(2).copy_(fb.zeros(3))
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            fb.zeros(2, requires_grad=True).zero_()
    assert x.tolist() == list(range(8))
    assert x.copy_(x).tolist() == list(range(8))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [(fb.float32, 1e300), (fb.int32, 1 << 40), (fb.int8, 1000), (fb.uint8, -256), (fb.int64, float("nan"))],
    ids=str,
)
def test_numbers_without_room_are_refused(dtype: Any, number: Any) -> None:
    x = fb.zeros(3).to(dtype)
    for usual in (1, 2, 3, 1.0, 2.0, 3.0):
        x.fill_(usual)
        with pytest.raises(RuntimeError, match=r"value cannot be converted to type .* without overflow"):
            x.fill_(number)
        assert x.tolist() == [usual] * 3


def test_gradients_go_through() -> None:
    x = fb.nn.Parameter(fb.rand(3, 4))
    for _ in range(4):
        x.grad = None
        (x.clone() * 2 + x.double().float()).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == fb.full((3, 4), 3.0).tolist()
    with fb.no_grad():
        thrice(lambda: x.zero_())
        assert x.copy_(fb.ones(3, 4)) is x
    assert x.tolist() == fb.ones(3, 4).tolist()


def test_what_changes_nothing_is_the_tensor_itself() -> None:
    x, parameter, columns = fb.rand(3, 4), fb.nn.Parameter(fb.rand(2)), fb.rand(3, 4).t()
    for _ in range(3):
        same = [x.float(), x.to(fb.float32), x.to("cpu"), x.to(fb.device("cpu")), x.to(x), x.contiguous(), x.cpu()]
        assert all(one is x for one in same)
        assert parameter.float() is parameter
        assert parameter.to("cpu") is parameter
        assert columns.contiguous() is not columns
        assert columns.to(fb.float32) is columns
        with pytest.raises(RuntimeError):
            x.to("cpux")
        with pytest.raises(RuntimeError):
            x.to("cuda:99")
    assert x.to("meta").is_meta
    assert x.to("cpu") is x
    seen: list[str] = []
    with dispatch.intercepting(lambda d, a, proceed: (seen.append(d.name), proceed(a))[1]):
        assert x.float() is x
        assert x.to("cpu") is x
    assert seen == ["aten::to", "aten::to"]
