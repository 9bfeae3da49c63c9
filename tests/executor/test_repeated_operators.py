"""Operators that come often run plans of one operator: with the kernels' own bits, and the kernels' own refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.executor import background, plan_comparison, repeated_operators
from flambeau.executor.eager import KernelsOwn
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.schema import registry
from flambeau.tensor import repeated_kernels
from flambeau.tensor.repeated_kernels import may_be_repeated, repeated
from flambeau.tensor.tensor import wrap_number
from flambeau.util.missed import missed
from flambeau.util.native_type import is_supported

HAS_CODE = is_supported() and repeated_operators.available()
pytestmark = pytest.mark.skipif(not HAS_CODE, reason="there is no native code here")
OFTEN = 4
HOSTILE = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -1.5], np.float32)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans after few calls, made at once, and taken whatever their time."""
    monkeypatch.setenv(background.VARIABLE, "off")
    monkeypatch.setattr(repeated_kernels, "LOOKED_AT", OFTEN)
    monkeypatch.setattr(repeated_operators, "FROM_LLVM", OFTEN)
    monkeypatch.setattr(plan_comparison, "GAIN", 1e9)
    monkeypatch.setattr(repeated_operators, "MOST_PLANS", 1 << 20)  # whatever ran before in this process
    repeated_kernels._forget_all()
    yield
    repeated_kernels._forget_all()


def found(full_name: str) -> list[Any]:
    """What calls of an overload are looked up in: native code, and what stands for none."""
    definition = registry.get(full_name)
    kernel = definition.kernel
    looked_up: Any = kernel.often if isinstance(kernel, EntryKernel) else repeated(definition)
    return [one for one in looked_up.__globals__["find"].__self__.values() if type(one) is not list]


def is_native(full_name: str) -> bool:
    has_own = isinstance(getattr(registry.get(full_name).kernel, "entry", None), KernelsOwn)
    return has_own or any(native is not missed for native in found(full_name))


def tensor(*sizes: int) -> Any:
    """Numbers of which some are hostile."""
    array = np.random.default_rng(3).standard_normal(sizes).astype(np.float32)
    array.reshape(-1)[: min(8, array.size)] = HOSTILE[: min(8, array.size)]
    return fb.from_numpy(array)


def bits(result: Any) -> Any:
    if isinstance(result, list | tuple):
        return [bits(one) for one in result]
    array = result.detach().numpy()
    return array.dtype, array.shape, array.strides, array.tobytes()


X, Y, ROWS, COLUMNS = tensor(6, 8), tensor(6, 8), fb.tensor([0, 5, 0, 2]), fb.tensor([[1], [0], [7], [7], [3], [2]])
CALLS: dict[str, Callable[[], Any]] = {
    "aten::flip": lambda: X.flip(0),
    "aten::cat": lambda: fb.cat([X, Y], 1),
    "aten::stack": lambda: fb.stack((X, Y, X)),
    "aten::gather": lambda: X.gather(1, COLUMNS),
    "aten::index.Tensor": lambda: X[ROWS],
    "aten::index_put": lambda: X.index_put((ROWS,), Y[:4], accumulate=True),
    "aten::scatter.value": lambda: X.scatter(1, COLUMNS, -0.0),
    "aten::scatter_add": lambda: X.scatter_add(1, COLUMNS, Y),
    "aten::triu": lambda: X.triu(1),
    "aten::roll": lambda: X.roll([1, 2], [0, 1]),
    "aten::kthvalue": lambda: X.abs().kthvalue(3, 1),
    "aten::pad": lambda: fb.nn.functional.pad(X, (1, 2)),
    "aten::linalg_cross": lambda: fb.linalg.cross(X[:, :3], Y[:, :3]),
    "aten::repeat": lambda: X.repeat(2, 1),
    "aten::masked_fill.Scalar": lambda: X.masked_fill(Y > 0, 7.5),
    "aten::linspace": lambda: fb.linspace(0, 1, 9),
    "aten::eye": lambda: fb.eye(5),
    "aten::topk": lambda: X.nan_to_num(0.25).topk(3),
    "aten::upsample_nearest1d.vec": lambda: fb.nn.functional.interpolate(X.reshape(1, 6, 8), scale_factor=2.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_native_calls_give_the_kernels_bits(name: str) -> None:
    before = bits(CALLS[name]())
    for _ in range(2 * OFTEN):
        assert bits(CALLS[name]()) == before
    assert is_native(name)
    assert bits(CALLS[name]()) == before


@pytest.mark.parametrize("name", ["aten::flip", "aten::cat", "aten::linspace", "aten::eye", "aten::topk"])
def test_results_have_memory_of_their_own(name: str) -> None:
    results = [CALLS[name]() for _ in range(3 * OFTEN)]
    first = [r[0] if isinstance(r, tuple) else r for r in results]
    first[-1].fill_(7.0)
    assert not any((r == 7.0).any() for r in first[:-1])
    assert not (X == 7.0).any()


def test_other_sizes_strides_and_numbers_are_other_calls() -> None:
    for _ in range(2 * OFTEN):
        X.flip(0)
    wide = tensor(3, 10)
    np.testing.assert_array_equal(wide.flip(0).numpy(), wide.numpy()[::-1])
    np.testing.assert_array_equal(X.t().flip(0).numpy(), X.numpy().T[::-1])
    np.testing.assert_array_equal(X.flip(1).numpy(), X.numpy()[:, ::-1])
    np.testing.assert_array_equal(X.double().flip(0).numpy(), X.double().numpy()[::-1])
    np.testing.assert_array_equal(X[:0].flip(0).numpy(), X.numpy()[:0])


@pytest.mark.parametrize("value", [0.0, -0.0, 1, True, 1.0])
def test_numbers_that_are_equal_and_not_the_same_are_told_apart(value: Any) -> None:
    for known in (0.0, -0.0, 1, 1.0, True):
        for _ in range(2 * OFTEN):
            fb.zeros(4).scatter(0, fb.tensor([1]), known)
    result = fb.zeros(4).scatter(0, fb.tensor([1]), value)
    assert bits(result) == bits(fb.tensor([0.0, float(value), 0.0, 0.0]))


def test_refusals_are_the_kernels() -> None:
    def refusal() -> str:
        with pytest.raises((RuntimeError, IndexError)) as caught:
            X.gather(1, fb.tensor([[99], [0], [0], [0], [0], [0]]))
        return f"{caught.type} {caught.value}"

    expected = refusal()
    for _ in range(2 * OFTEN):
        X.gather(1, COLUMNS)
    assert is_native("aten::gather")
    assert refusal() == expected


def test_gradients_are_recorded_as_before() -> None:
    def gradients() -> Any:
        x = X.nan_to_num(0.5, 1.0, -1.0).requires_grad_()
        parameter = fb.nn.Parameter(Y.nan_to_num(0.5, 1.0, -1.0))
        result = fb.cat([x, parameter]).flip(0).gather(1, fb.cat([COLUMNS, COLUMNS])).roll(1, 0)
        assert result.requires_grad
        result.sum().backward()
        with fb.no_grad():
            assert not fb.cat([x, parameter]).requires_grad
        return type(result.grad_fn).__name__, bits(result), bits(x.grad), bits(parameter.grad)

    expected = gradients()
    for _ in range(2 * OFTEN):
        assert gradients() == expected
    assert is_native("aten::cat")


def test_parts_of_what_is_written_in_others_are_recorded() -> None:
    image = tensor(1, 4, 3, 3)
    for _ in range(2 * OFTEN):
        fb.nn.functional.pixel_shuffle(image, 2)
    assert fb.nn.functional.pixel_shuffle(image.requires_grad_(), 2).grad_fn is not None


def test_attention_is_recorded_for_what_asks() -> None:
    x = tensor(2, 4, 8).nan_to_num(0.5, 1.0, -1.0)
    for _ in range(3 * OFTEN):
        fb.nn.functional.scaled_dot_product_attention(x, x, x)
    assert is_native("aten::scaled_dot_product_attention")
    asking = x.clone().requires_grad_()
    result = fb.nn.functional.scaled_dot_product_attention(asking, asking, asking)
    assert result.requires_grad
    result.sum().backward()
    assert asking.grad is not None


def test_folds_in_another_order_stay_with_the_kernel() -> None:
    x, y = tensor(40, 40).nan_to_num(1.0, 2.0, 3.0), fb.ones(40, 40)
    before = bits(fb.dist(x, y))
    for _ in range(2 * OFTEN):
        assert bits(fb.dist(x, y)) == before


def test_large_arrays_and_numbers_of_python_stay_with_the_kernel() -> None:
    large = fb.ones(1 << 9, 1 << 8)
    for _ in range(2 * OFTEN):
        large.flip(0)
    assert found("aten::flip") == [missed]


def test_what_draws_writes_or_shows_memory_is_not_repeated() -> None:
    for name in ("aten::rand", "aten::normal_", "aten::view", "aten::copy_", "aten::add_.Tensor", "aten::select.int"):
        assert not may_be_repeated(registry.get(name))
    assert may_be_repeated(registry.get("aten::flip"))


def test_another_default_dtype_forgets_what_was_made() -> None:
    for _ in range(2 * OFTEN):
        fb.linspace(0, 1, 3)
    assert is_native("aten::linspace")
    fb.set_default_dtype(fb.float64)
    try:
        assert not is_native("aten::linspace")
        assert fb.linspace(0, 1, 3).dtype == fb.float64
    finally:
        fb.set_default_dtype(fb.float32)


def test_no_plan_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no plan today")

    monkeypatch.setattr(repeated_operators, "_make", fails)
    monkeypatch.setattr(repeated_operators, "_planned", {})
    for _ in range(3 * OFTEN):
        assert bits(X.roll(3, 0)) == bits(fb.from_numpy(np.roll(X.numpy(), 3, 0)))
    assert found("aten::roll") == [missed]


def test_plans_are_made_behind_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(background.VARIABLE, "on")
    monkeypatch.setattr(repeated_operators, "_planned", {})
    expected = bits(X.flip([0, 1]))
    jobs: list[background.Job] = []
    start = background.start

    def noted(make: Callable[[], None]) -> background.Job | None:
        job = start(make)
        assert job is not None
        jobs.append(job)
        return job

    monkeypatch.setattr(background, "start", noted)
    for _ in range(OFTEN):
        X.flip([0, 1])
    assert len(jobs) == 1
    jobs[0].wait()
    for _ in range(1000 * OFTEN):
        assert bits(X.flip([0, 1])) == expected
    assert is_native("aten::flip")


def test_threads_share_what_was_made() -> None:
    expected = bits(X.roll(2, 1))
    seen: list[Any] = []

    def work() -> None:
        seen.extend(bits(X.roll(2, 1)) for _ in range(4 * OFTEN))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(seen) == 12 * OFTEN
    assert all(one == expected for one in seen)


def test_kernels_of_users_are_asked_first() -> None:
    for _ in range(2 * OFTEN):
        X.flip(0)
    library = fb.library.Library("aten", "IMPL")
    library.impl("flip", lambda self, dims: fb.zeros(2), "CPU")
    try:
        assert X.flip(0).shape == (2,)
    finally:
        library._destroy()
    assert X.flip(0).shape == X.shape


def test_nothing_is_looked_for_after_some_refusals() -> None:
    for size in range(2, 2 + repeated_kernels.REFUSALS):
        x, y = tensor(40, 20 * size).nan_to_num(1.0, 2.0, 3.0), fb.ones(40, 20 * size)
        for _ in range(2 * OFTEN):
            fb.dist(x, y)
    call: Any = repeated(registry.get("aten::dist"))
    assert call.__globals__["is_off"]


def test_what_warns_goes_on_warning() -> None:
    for _ in range(3 * OFTEN):
        with pytest.warns(UserWarning, match="degrees of freedom"):
            fb.ones(3, 1).var(1)


def test_what_is_refused_for_some_elements_is_refused_natively() -> None:
    index = fb.tensor([1, 2])
    for _ in range(3 * OFTEN):
        X.index_select(0, index)
    with pytest.raises((RuntimeError, IndexError), match="out of range"):
        X.index_select(0, fb.tensor([1, 99]))


@pytest.mark.parametrize("name", ["bucketize", "searchsorted"])
def test_searches_in_what_is_in_no_order_are_the_kernels(name: str) -> None:
    values, places = tensor(20), fb.tensor([2.0, -1.0, 0.5])

    def search() -> Any:
        return fb.bucketize(values, places) if name == "bucketize" else fb.searchsorted(places, values)

    expected = bits(search())
    for _ in range(8 * OFTEN):
        assert bits(search()) == expected
    assert not repeated_kernels.may_be_repeated(registry.get(f"aten::{name}.Tensor"))


@pytest.mark.parametrize("name", ["add.Tensor", "maximum", "where.self", "pow.Tensor_Tensor", "atan2", "clamp.Tensor"])
@pytest.mark.parametrize("count", [3, 70000])
def test_tensors_that_stand_for_numbers_are_other_calls(name: str, count: int) -> None:
    call = repeated(registry.get(f"aten::{name}"))
    for dtype in (np.int64, np.float32):
        x = fb.from_numpy(np.arange(1, count + 1, dtype=dtype))
        more: tuple[Any, ...] = (1,) if name == "add.Tensor" else (None,) if name == "clamp.Tensor" else ()
        before = (x > 2,) if name == "where.self" else ()
        others = wrap_number(1.5), fb.tensor(1.5, dtype=fb.float64), wrap_number(2), fb.tensor(2)
        expected = [call(*before, x, other, *more).dtype for other in others]
        for number in (0, 1, 0, 3, 2, 3, 1, 0):
            repeats = [call(*before, x + k % 2, others[number], *more).dtype for k in range(2 * OFTEN)]
            assert repeats == [expected[number]] * (2 * OFTEN)


def test_calls_wait_for_little_of_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(background.VARIABLE, "on")
    monkeypatch.setattr(repeated_operators, "AT_ONCE", 0.0)
    monkeypatch.setattr(repeated_operators, "_planned", {})
    compared: list[Any] = []
    compare = plan_comparison.Comparison._compare

    def counting(self: Any, drawn: Any) -> Any:
        compared.append(drawn)
        return compare(self, drawn)

    monkeypatch.setattr(plan_comparison.Comparison, "_compare", counting)
    x = fb.arange(15.0).reshape(5, 3)
    for _ in range(2 * OFTEN):
        x.roll([2, 1], [0, 1])
    [planned] = repeated_operators._planned.values()
    assert planned._job is not None
    planned._job.wait()
    most = 0
    for number in range(100 * OFTEN):
        before = len(compared)
        result = (x + number).roll([2, 1], [0, 1]).numpy()
        np.testing.assert_array_equal(result, np.roll(x.numpy() + number, (2, 1), (0, 1)))
        most = max(most, len(compared) - before)
    assert is_native("aten::roll")
    assert len(compared) == plan_comparison.FEW_DRAWS
    assert most == 1
    assert not planned._compared
