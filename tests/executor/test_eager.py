"""Operators by themselves: native code runs NumPy's loops, with the same bits, and leaves alone what it cannot tell."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.executor import eager
from flambeau.ops.derivatives.meaning_steps import least_large
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.subclasses import special as subclasses
from flambeau.util.native_type import is_supported

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")

@pytest.fixture(autouse=True)
def anew() -> None:
    """Patterns are bounded, and tests have many."""
    eager._forget_all()


HOSTILE = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 0.5, 2.0, 7.25, -3.5, 1e-8, 88.0]
UNARY = [
    "neg", "abs", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "asin", "acos", "atan", "sigmoid", "relu", "floor", "ceil", "trunc", "round", "isnan", "isfinite", "isinf",
    "signbit", "sign", "square", "logical_not", "exp2", "log2", "log10", "erf", "silu",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "remainder", "fmod", "floor_divide", "maximum", "minimum", "pow", "atan2", "eq", "ne",
    "lt", "le", "gt", "ge", "hypot", "copysign", "logical_and", "logical_or", "logical_xor", "where",
]  # fmt: skip


def kernels() -> list[tuple[OpDef, EntryKernel]]:
    """Every kernel that may have native code."""
    found = [d for name in registry.names() for d in registry.overloads(name)]
    return [(d, d.kernel) for d in found if isinstance(d.kernel, EntryKernel)]


def kernel(full_name: str) -> EntryKernel:
    return next(k for d, k in kernels() if d.full_name == full_name)


def served(full_name: str) -> int:
    """How many calls of an overload ran natively."""
    entry = kernel(full_name).entry
    return 0 if entry is None else entry.served


def warm(call: Callable[[], Any]) -> Any:
    """The result of a call that was made before."""
    call()
    call()
    return call()


def by_numpy(call: Callable[[], Any]) -> Any:
    """The result with every kernel run in Python."""
    plain = {d.full_name: k.run for d, k in kernels()}

    def handler(definition: OpDef, arguments: Any, proceed: Any) -> Any:
        run = plain.get(definition.full_name)
        return proceed(arguments) if run is None else run(*arguments)

    with dispatch.intercepting(handler):
        return call()


def same_bits(a: fb.Tensor, b: fb.Tensor) -> bool:
    return a.dtype is b.dtype and a.stride() == b.stride() and a.numpy().tobytes() == b.numpy().tobytes()


def values(dtype: Any, size: int, seed: int) -> fb.Tensor:
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        with np.errstate(all="ignore"):
            mixed = np.where(random.random(size) < 0.5, random.choice(HOSTILE, size), random.normal(0, 3, size))
            return fb.tensor(mixed.astype(dtype))
    if np.dtype(dtype).kind == "b":
        return fb.tensor(random.random(size) < 0.5)
    limits = np.iinfo(dtype)
    mixed = np.where(random.random(size) < 0.3, random.choice([limits.min, limits.max, 0, 1], size), 0).astype(dtype)
    return fb.tensor(np.where(mixed == 0, random.integers(0, 100, size).astype(dtype), mixed))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_c19_bits_of_unary_operators_are_numpys(name: str, dtype: Any) -> None:
    function = getattr(fb, name, None) or getattr(fb.nn.functional, name)
    least = least_large(registry.get(f"aten::{name}"))  # calls from there on are native from the first one
    for size in (1, 3, 16, min(257, least - 1), min(4096, least - 1)):
        x = values(dtype, size, size)
        assert same_bits(warm(lambda x=x: function(x)), by_numpy(lambda x=x: function(x))), size


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("name", BINARY)
def test_c19_bits_of_binary_operators_are_numpys(name: str, dtype: Any) -> None:
    function = getattr(fb, name) if name != "where" else lambda x, y: fb.where(x == y, x, y)
    least = min(least_large(definition) for definition in registry.overloads(f"aten::{name}"))
    for size in (1, 16, min(257, least - 1)):
        x, y = values(dtype, size, size), values(dtype, size, size + 1)
        try:
            expected = by_numpy(lambda x=x, y=y: function(x, y))
        except (RuntimeError, NotImplementedError) as error:
            for _ in range(3):
                with pytest.raises(type(error), match=re.escape(str(error))):
                    function(x, y)
        else:
            assert same_bits(warm(lambda x=x, y=y: function(x, y)), expected), size


@pytest.mark.parametrize("number", [2, 2.5, -1, 0.0, -0.0, 3e300, float("nan"), 1 << 40, -(1 << 63)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.int8, np.uint8])
def test_c19_numbers_are_converted_as_numpy_does(dtype: Any, number: float) -> None:
    x = values(dtype, 16, 5)
    for call in (lambda: x + number, lambda: x * number, lambda: x < number, lambda: number - x):
        assert same_bits(warm(call), by_numpy(call))


@pytest.mark.parametrize("one", [1, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_one_divided_by_numbers(dtype: Any, one: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator of its own, with the bits of the division, while no class of tensors asks for each call."""
    monkeypatch.setattr(subclasses, "exists", False)
    x = values(dtype, 257, 6)
    assert same_bits(warm(lambda: one / x), fb.div(fb.tensor(one), x))
    before = served("aten::reciprocal")
    one / x
    assert served("aten::reciprocal") == before + 1
    assert same_bits(one / x.half(), fb.div(fb.tensor(one), x.half()))
    assert "aten::div" in str(fb.jit.trace(lambda v: one / v, (x,)).graph)
    asking = fb.tensor([2.0, -4.0], requires_grad=True)
    (one / asking).sum().backward()
    assert asking.grad is not None
    assert asking.grad.tolist() == [-0.25, -0.0625]
    assert (one / fb.tensor([1j])).tolist() == [-1j]


def test_c19_repeated_calls_run_natively() -> None:
    x, y = fb.rand(16), fb.rand(16)
    warm(lambda: x + y)
    before = served("aten::add.Tensor")
    for size in (1, 5, 16, 100, 4096):
        a = fb.rand(size)
        assert ((a + a) == a * 2).all()
    assert served("aten::add.Tensor") == before + 5


def test_c19_what_native_code_cannot_tell_runs_as_before() -> None:
    x = fb.rand(4, 4)
    warm(lambda: x + x)
    before = served("aten::add.Tensor")
    assert (fb.zeros(0, 4) + fb.zeros(0, 4)).shape == (0, 4)
    assert (fb.zeros(0, 4) + fb.zeros(1, 4)).shape == (0, 4)
    large = fb.rand(200, 200)
    assert (large + large).tolist() == (large.numpy() * 2).tolist()
    assert (large + large[0]).tolist() == (large.numpy() + large.numpy()[0]).tolist()
    assert served("aten::add.Tensor") == before
    with pytest.raises(RuntimeError, match="must match the size"):
        x + fb.rand(3)
    with pytest.raises(TypeError, match="unsupported operand"):
        fb.zeros(2, dtype=fb.int64) + "a"


@pytest.mark.parametrize("first", [1, 2])
def test_numbers_that_are_defaults_have_programs_of_their_own(first: int) -> None:
    """Whichever came first: `alpha` is 1 in most calls, and another number in some."""
    x, y = values(np.float32, 257, 1).view(1, 257), values(np.float32, 257, 2).view(1, 257)
    eager._forget_all()
    for alpha in (first, 3 - first, 7, 1, 0.5, -2):
        call = lambda alpha=alpha: fb.sub(x, y, alpha=alpha)  # noqa: E731
        warm(call)
        before = served("aten::sub.Tensor")
        assert same_bits(call(), by_numpy(call)), alpha
        assert served("aten::sub.Tensor") == before + 1, alpha


def test_parameters_are_operands_of_native_code() -> None:
    parameter, x = fb.nn.Parameter(values(np.float32, 16, 3)), values(np.float32, 16, 4)
    warm(lambda: parameter * x)
    before = served("aten::mul.Tensor")
    result = parameter * x
    assert same_bits(result.detach(), parameter.detach() * x)
    assert result.requires_grad
    assert served("aten::mul.Tensor") >= before + 1
    with fb.no_grad():
        assert not (parameter * x).requires_grad


@pytest.mark.parametrize("kind", [fb.nn.Parameter, lambda x: x.requires_grad_()])
def test_leaves_are_written_natively_within_no_grad(kind: Any) -> None:
    leaf, step = kind(fb.ones(2, 8)), fb.full((2, 8), 0.25)

    def write() -> fb.Tensor:
        with fb.no_grad():
            return leaf.sub_(step)

    warm(write)
    before, version = served("aten::sub_.Tensor"), leaf._version
    assert write() is leaf
    assert served("aten::sub_.Tensor") == before + 1
    assert leaf._version == version + 1
    assert leaf.tolist() == fb.zeros(2, 8).tolist()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.sub_(step)
    with fb.inference_mode():
        made_inside = fb.ones(2, 8)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        made_inside.sub_(step)


def test_c19_interceptors_and_traces_see_known_patterns() -> None:
    x = fb.rand(16)
    warm(lambda: x * x)
    seen: list[str] = []
    with dispatch.intercepting(lambda d, a, proceed: (seen.append(d.name), proceed(a))[1]):
        x * x
    assert seen == ["aten::mul"]
    assert "aten::mul" in str(fb.jit.trace(lambda v: v * v, (x,)).graph)


def test_c19_results_are_new_tensors() -> None:
    x = fb.rand(16)
    results = [x + x for _ in range(5)]
    assert len({r.data_ptr() for r in results}) == 5
    assert all(r._storage.version == 0 and not r.requires_grad and r.grad_fn is None for r in results)
    results[0].add_(1)
    assert results[1].tolist() == results[2].tolist()


def test_c19_other_default_dtypes() -> None:
    x = fb.tensor([1, 2, 3])
    warm(lambda: x + 1.5)
    before = fb.get_default_dtype()
    fb.set_default_dtype(fb.float64)
    try:
        assert (x + 1.5).dtype is fb.float64
    finally:
        fb.set_default_dtype(before)
    assert (x + 1.5).dtype is fb.float32


def test_c19_memory_does_not_grow() -> None:
    x, y = fb.rand(16), fb.rand(16)
    calls = [lambda: x + y, lambda: x * 2.0, lambda: x.tanh(), lambda: x[1:3], lambda: x.view(4, 4), lambda: x + x[0]]
    for call in calls:
        warm(call)
    gc.collect()
    before = sys.getallocatedblocks()
    for call in calls:
        for _ in range(20_000):
            call()
    gc.collect()
    assert sys.getallocatedblocks() - before < 500


def test_c19_threads_learn_patterns_together() -> None:
    results: list[Any] = []

    def work(size: int) -> None:
        for k in range(1, 200):
            x = fb.full((size,) * (1 + k % 3), float(k))
            results.append(((x.minimum(x) * x) == x.square()).all().item())

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(results)
    assert len(results) == 4 * 199


def test_c19_patterns_are_bounded() -> None:
    for rank in range(1, 30):
        for dtype in (fb.float32, fb.float64, fb.int32, fb.int64):
            x = fb.ones((1,) * rank, dtype=dtype)
            warm(lambda x=x: fb.maximum(x, x))
    assert len(kernel("aten::maximum").entry._tried) <= eager.MAX_PATTERNS


PROGRAM = """
import sys
import flambeau as fb
from flambeau.executor import eager
x = fb.ones(4)
x + x
assert eager.machine.loops is None and "llvmlite.binding" not in sys.modules
for _ in range(eager.FROM_CACHE + 10):
    x + x
print(eager.machine.loops is not None, "llvmlite.binding" in sys.modules)
"""


@pytest.mark.parametrize("is_warm", [False, True])
def test_c19_a_few_calls_wait_for_no_compiler(tmp_path: Any, is_warm: bool) -> None:
    """With a warm cache native code comes early; without one it waits until it pays. LLVM is not loaded for either."""
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)}
    if is_warm:
        load = "from flambeau.executor import eager; assert eager.machine.load()"
        subprocess.run([sys.executable, "-c", load], env=environment, check=True)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(is_warm), "False"]


BEHIND = """
import time
import flambeau as fb
from flambeau.executor import eager
x = fb.ones(4)
until = time.monotonic() + 120
while eager.machine.loops is None and time.monotonic() < until and eager.machine.calls < eager.FROM_LLVM - 1:
    x + x
    if eager.machine.calls > eager.BEHIND:
        time.sleep(0.005)
assert (x + 2).tolist() == [3.0] * 4 and (x @ x).item() == 4.0
print(eager.machine.loops is not None, eager.machine.calls >= eager.BEHIND)
"""


@pytest.mark.parametrize("is_wanted", [True, False])
def test_native_code_that_is_nowhere_is_made_behind_the_calls(tmp_path: Any, is_wanted: bool) -> None:
    wanted = "on" if is_wanted else "off"
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path), "FLAMBEAU_BACKGROUND": wanted}
    program = BEHIND if is_wanted else BEHIND.replace("time.sleep(0.005)", "break")
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(is_wanted), "True"]


def test_code_that_cannot_be_made_behind_the_calls_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise OSError("no memory")

    monkeypatch.setattr(eager, "_make_code", failing)
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "on")
    machine = eager._Machine()
    machine.calls = machine.next = eager.BEHIND
    machine.is_ready()
    job = machine._job
    assert job is not None
    job.wait()
    machine.calls = machine.next
    assert not machine.is_ready()
    assert machine.next == eager.NEVER


def test_c19_a_program_that_gives_other_bits_is_not_used() -> None:
    x = fb.rand(16)
    program = eager.record(kernel("aten::exp").meaning, [x])
    assert program is not None
    assert eager.machine.loops is not None
    loops = eager._loop_program(program, eager.machine.loops)
    other = EntryKernel("exp", kernel("aten::exp").meaning, lambda t: fb.from_numpy(np.exp(t._array) + 1))
    assert eager._agrees(kernel("aten::exp"), loops, [x], [x._array])
    assert not eager._agrees(other, loops, [x], [x._array])


@pytest.mark.parametrize("size", [16, 40_000, 100_000])
def test_writes_beside_operands_that_ask_are_native(size: int) -> None:
    average, weights = fb.zeros(size), fb.rand(size).requires_grad_()
    with fb.no_grad():
        for _ in range(5):
            before, version = average.clone(), average._version
            average.mul_(0.5).add_(weights, alpha=0.25)
            assert same_bits(average, before * 0.5 + weights.detach() * 0.25)
            assert average._version == version + 2
    assert not average.requires_grad


@pytest.mark.parametrize("call", [lambda x: x * x, lambda x: -x, lambda x: x + 1.5], ids=["mul", "neg", "add"])
def test_one_loop_over_many_elements_runs_natively(call: Callable[[fb.Tensor], fb.Tensor]) -> None:
    for size in (40_000, 100_000):
        x = values(np.float32, size, size)
        assert same_bits(warm(lambda x=x: call(x)), by_numpy(lambda x=x: call(x))), size


@pytest.mark.parametrize("dtype", [fb.complex128, fb.complex64])
def test_complex_elements_are_copied_however_often(dtype: fb.dtype) -> None:
    """Loops of eager entries copy up to eight bytes: what is larger is left to NumPy, after many calls too."""
    x = fb.tensor([1 + 2j, -3j], dtype=dtype)
    for copy in (lambda: x.clone(), lambda: fb.zeros(2, dtype=dtype).copy_(x), lambda: x.detach().contiguous() + 0):
        assert warm(copy).tolist() == [1 + 2j, -3j]
