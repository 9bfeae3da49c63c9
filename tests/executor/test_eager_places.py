"""Kernels that put elements elsewhere, at any sizes: native code gives what Python gives, and leaves the rest to it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

import flambeau as fb
from flambeau.codegen.llvm.entry_places import MOST_PARTS
from flambeau.codegen.llvm.picked_arrays import MOST_BYTES
from flambeau.codegen.llvm.tensor_entry import any_entry
from flambeau.executor import eager
from flambeau.ops.families.entry_kernel import EntryKernel, OwnEntry
from flambeau.schema import registry
from flambeau.schema.dtype import ALL
from flambeau.tensor.tensor import wrap
from flambeau.util.native_type import direct, is_supported, tell

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")

SHAPES = [(5,), (1,), (3, 4), (1, 7), (2, 1, 3), (4, 3, 5), (2, 3, 4, 5), (1, 2, 1, 3, 2), (2, 1, 2, 3, 1, 2)]


wrapped = wrap
"""A tensor around an array, whatever that is."""


def missed(*arguments: Any) -> str:
    return "missed"


def entry(name: str) -> Callable[..., Any]:
    """What an entry does itself; "missed" where it leaves a call to Python."""
    alone = EntryKernel(name, OwnEntry(name.removeprefix("any_")), cast("Any", missed))
    tell(alone, 0, missed)
    direct(alone, eager.machine.own[name])
    return alone


def in_python(name: str) -> Callable[..., Any]:
    kernel: Any = registry.get(f"aten::{name}").kernel
    run: Callable[..., Any] = kernel.run
    return run


def has_entry(name: str) -> bool:
    kernel: Any = registry.get(f"aten::{name}").kernel
    return kernel.entry is not None


def filled(sizes: Sequence[int], dtype: Any = fb.float32) -> fb.Tensor:
    """A tensor of random bits of a dtype, row-major."""
    count = int(np.prod(sizes))
    draw = np.random.default_rng(count + len(sizes))
    source = draw.integers(0, 2 if dtype is fb.bool else 256, count * dtype.itemsize)
    made = source.astype(np.uint8).view(np.bool_ if dtype is fb.bool else dtype.numpy).reshape(tuple(sizes))
    return wrapped(made)


def laid(tensor: fb.Tensor, way: str) -> fb.Tensor:
    """The same elements, which lie in one of several ways."""
    array = tensor._array
    if way == "columns":
        return wrapped(np.asfortranarray(array))
    if way == "apart":
        memory = np.zeros([2 * n for n in array.shape], array.dtype)
        memory[tuple([slice(None, None, 2)] * array.ndim)] = array
        return wrapped(memory[tuple([slice(None, None, 2)] * array.ndim)])
    if way == "spread":
        return wrapped(np.broadcast_to(array[:1], array.shape))
    return tensor


WAYS = "dense", "columns", "apart", "spread"


def assert_same(result: Any, expected: fb.Tensor) -> None:
    assert isinstance(result, fb.Tensor), result
    mine, theirs = result._array, expected._array
    assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    assert result.stride() == expected.stride()
    assert mine.tobytes() == theirs.tobytes()
    assert not result.requires_grad
    assert mine.flags.writeable


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_cat_and_stack_of_any_dtype(dtype: Any) -> None:
    for name, kernel in (("cat", entry("cat")), ("stack", entry("any_stack"))):
        for sizes in ((3, 4), (7,), (2, 3, 5)):
            parts = [filled(sizes, dtype), filled(sizes, dtype)]
            assert_same(kernel(parts, -1), in_python(name)(parts, -1))


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_cat_and_stack_of_any_layout(name: str) -> None:
    of_plain, of_any, draw, served = entry(name), entry(any_entry(name)), random.Random(7), 0
    for sizes in SHAPES:
        rank = len(sizes) + (name == "stack")
        for dim in range(-rank, rank):
            for count, ways in ((1, WAYS), (2, WAYS), (5, ("dense", "columns"))):
                parts = []
                for _ in range(count):
                    mine = list(sizes)
                    if name == "cat":
                        mine[dim] = draw.randint(1, 9)
                    parts.append(laid(filled(mine), draw.choice(ways)))
                result, expected = of_plain(parts, dim), in_python(name)(parts, dim)
                if len(sizes) == 4 and name == "cat" and not parts[0]._array.flags.c_contiguous:
                    assert result == "missed"
                    continue
                served += 1
                assert_same(result, expected)
                assert_same(of_plain(tuple(parts), dim), expected)
                parts[-1] = fb.nn.Parameter(parts[-1])
                assert of_plain(parts, dim) == "missed"
                assert_same(of_any(parts, dim), expected)
    assert served > 60


def test_without_a_dimension_it_is_the_first() -> None:
    parts = [filled((2, 3)), filled((2, 3))]
    assert_same(entry("cat")(parts), in_python("cat")(parts, 0))
    assert_same(entry("stack")(parts), in_python("stack")(parts, 0))


def test_cat_takes_parts_without_elements() -> None:
    parts = [filled((0, 3)), filled((2, 3)), filled((0, 3))]
    assert_same(entry("cat")(parts, 0), in_python("cat")(parts, 0))


def test_what_cat_and_stack_leave_to_python() -> None:
    x, y = filled((2, 3)), filled((2, 4))
    for name, kernel in (("cat", entry("cat")), ("stack", entry("stack"))):
        calls: list[Any] = [
            ([], 0), ([x, y], 0), ([x, x], 3), ([x, x], -4), ([x, x], True), ([x, x], 0.0), ([x, x], 1 << 70),
            ([x, x.double()], 0), ([x, filled((2,))], 0), ([x, 1.0], 0), ([x, None], 0), (x, 0), ({1: x}, 0),
            ([x] * (MOST_PARTS + 1), 0), ([filled((0, 3))], 0), ([x, x], 0, 0), ([x, x.clone().requires_grad_()], 0),
        ]  # fmt: skip
        assert [kernel(*call) for call in calls] == ["missed"] * len(calls), name
    assert entry("cat")([filled(()), filled(())], 0) == "missed"
    assert entry("cat")([filled((0,)), x], 0) == "missed"
    half = fb.zeros(MOST_BYTES // 4 // 2 + 1)
    assert entry("cat")([half, half], 0) == "missed"


def places(sizes: Sequence[int], bound: int, dtype: Any, *, wraps: bool = False) -> fb.Tensor:
    numbers = np.random.default_rng(bound + len(sizes)).integers(-bound if wraps else 0, bound, sizes)
    return wrapped(np.asarray(numbers, dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_index_select_along_any_dimension(dtype: Any) -> None:
    of_plain, of_any = entry("index_select"), entry("any_index_select")
    for sizes, count in itertools.product(SHAPES, (1, 4, 30)):
        for dim in range(-len(sizes), len(sizes)):
            for element in (fb.float32, fb.bool, fb.complex128, fb.int16):
                x, where = filled(sizes, element), places((count,), sizes[dim], dtype)
                expected = in_python("index_select")(x, dim, where)
                assert_same(of_plain(x, dim, where), expected)
                assert_same(of_plain(x, dim, laid(where, "apart")), expected)
                if element is fb.float32:
                    assert of_plain(fb.nn.Parameter(x), dim, where) == "missed"
                    assert_same(of_any(fb.nn.Parameter(x), dim, where), expected)


def test_embedding_of_any_places() -> None:
    kernel = entry("embedding")
    for rows, columns, sizes in itertools.product((1, 6), (1, 3, 64), [(), (1,), (5,), (2, 3), (2, 1, 3)]):
        for dtype in (np.int64, np.int32):
            x, where = filled((rows, columns)), places(sizes, rows, dtype)
            assert_same(kernel(x, where, -1, False, False), in_python("embedding")(x, where, -1, False, False))


def test_index_by_one_tensor() -> None:
    kernel, run = entry("index"), in_python("index.Tensor")
    for sizes, index_sizes in itertools.product(SHAPES, [(1,), (4,), (2, 3)]):
        for dim in range(min(2, len(sizes))):
            x, where = filled(sizes), places(index_sizes, sizes[dim], np.int64, wraps=True)
            indices = [None] * dim + [where]
            assert_same(kernel(x, indices), run(x, indices))


def test_take_from_either_end() -> None:
    kernel, run = entry("take"), in_python("take")
    for sizes, index_sizes in itertools.product(SHAPES, [(), (1,), (4,), (2, 3)]):
        x = filled(sizes)
        where = places(index_sizes, x.numel(), np.int64, wraps=True)
        assert_same(kernel(x, where), run(x, where))
        assert_same(kernel(x, laid(where, "apart") if where.ndim == 1 else where), run(x, where))


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_gather_of_any_layout(dtype: Any) -> None:
    kernel, run, draw = entry("gather"), in_python("gather"), random.Random(3)
    for sizes in SHAPES:
        for dim, way, other in itertools.product(range(-len(sizes), len(sizes)), WAYS, WAYS):
            index_sizes = [draw.randint(1, n) for n in sizes]
            index_sizes[dim] = draw.randint(1, 9)
            x, where = laid(filled(sizes), way), laid(places(index_sizes, sizes[dim], dtype), other)
            assert_same(kernel(x, dim, where, False), run(x, dim, where, False))
    x = filled((4, 3), fb.complex64)
    where = places((4, 3), 3, dtype)
    assert_same(kernel(x, 1, where, False), run(x, 1, where, False))


def test_what_is_picked_nowhere_is_left_to_python() -> None:
    x, good, bad = filled((3, 4)), wrapped(np.array([0, 2])), wrapped(np.array([0, 3]))
    below, far = wrapped(np.array([-1])), wrapped(np.array([-4]))
    calls: dict[str, list[Any]] = {
        "index_select": [
            (x, 0, bad), (x, 0, below), (x, 2, good), (x, 0, good.float()), (x, 0, good.reshape(1, 2)), (x, 0, x),
            (x.t(), 0, good), (x, True, good), (x, 0, wrapped(np.array(0))), (filled(()), 0, good), (x, 0, good, 1),
            (x, 0, fb.zeros(0, dtype=fb.int64)),
        ],
        "embedding": [
            (x, bad, -1, False, False), (x, below, -1, False, False), (filled((3,)), good, -1, False, False),
            (x, good.float(), -1, False, False), (x, good.to(fb.int16), -1, False, False), (x, good),
        ],
        "index": [
            (x, [bad]), (x, [far]), (x, [None, None, good]), (x, [good, None]), (x, [None]), (x, [good, good]),
            (x, [wrapped(np.array([True, False, True]))]), (x, []), (filled((3,)), [None, good]),
            (x, [wrapped(np.array(1))]), (x, good),
        ],
        "take": [(x, wrapped(np.array([12]))), (x, wrapped(np.array([-13]))), (x, good.int()), (x.t(), good)],
        "gather": [
            (x, 1, good, False), (x, 0, wrapped(np.array([[3]])), False), (x, 0, wrapped(np.array([[-1]])), False),
            (x, 1, wrapped(np.zeros((4, 1), np.int64)), False), (x, 2, wrapped(np.array([[0]])), False),
            (x, 1, fb.zeros(1, 1), False), (x, 1, wrapped(np.zeros((3, 0), np.int64)), False),
        ],
    }  # fmt: skip
    for name, arguments in calls.items():
        assert [entry(name)(*one) for one in arguments] == ["missed"] * len(arguments), name


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, i: x.index_select(0, i), IndexError, "index out of range in self"),
        (lambda x, i: fb.nn.functional.embedding(i, x), IndexError, "index out of range in self"),
        (lambda x, i: x[i], IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        (lambda x, i: x.gather(0, i[:, None]), RuntimeError, "index 7 is out of bounds for dimension 0 with size 3"),
        (lambda x, i: x.take(i + 20), IndexError, "out of range: tried to access index 21"),
        (lambda x, i: fb.cat([x, x[:, :2]]), RuntimeError, "Expected size 4 but got size 2 for tensor number 1"),
        (lambda x, i: fb.stack([x, x[:, :2]]), RuntimeError, "stack expects each tensor to be equal size"),
    ],
)
def test_messages_are_those_of_python(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    x, where = filled((3, 4)), wrapped(np.array([1, 7]))
    for _ in range(3):
        with pytest.raises(error, match=message):
            call(x, where)


def test_calls_by_name_are_native_at_growing_sizes() -> None:
    grown = fb.zeros(1, 2, 1, 4)
    step = filled((1, 3, 2, 4)).transpose(1, 2)[:, :, :1]
    for number in range(1, 40):
        joined = fb.cat((grown, step), dim=-2)
        assert joined.shape == (1, 2, number + 1, 4)
        assert joined.tolist() == np.concatenate([grown.numpy(), step.numpy()], -2).tolist()
        grown = joined
    assert has_entry("cat")


def test_gradients_go_on_through_native_calls() -> None:
    x, y = filled((3, 4)).abs().clamp(0, 9).nan_to_num().requires_grad_(), fb.ones(3, 4).requires_grad_()
    where = wrapped(np.array([[2, 0], [1, 1], [0, 3]]))
    for factor in (1.0, 2.0):
        x.grad = y.grad = None
        both = fb.cat([x, y * factor], 1)
        (both.gather(1, where) + fb.stack([x, y], 2)[:, :2, 0] + both[where[:, 0]][:, :2]).sum().backward()
        assert x.grad is not None
        assert y.grad is not None
        expected = np.zeros((3, 8))
        for row, places_ in enumerate(where.tolist()):
            for place in places_:
                expected[row, place] += 1
        for row in where[:, 0].tolist():
            expected[row, :2] += 1
        expected[:, :2] += 1
        assert x.grad.tolist() == expected[:, :4].tolist()
        assert y.grad.tolist() == (expected[:, 4:] * factor).tolist()


def test_large_calls_go_there_too() -> None:
    x, where = filled((32, 64)), places((32, 5), 64, np.int64)
    for number in range(3):
        moved = (where + number) % 64
        assert_same(x.gather(1, moved), in_python("gather")(x, 1, moved, False))
    assert has_entry("gather")


@pytest.mark.parametrize("join", [fb.cat, fb.stack, fb.concat])
def test_lists_are_told_apart_by_what_lies_in_them(join: Callable[..., Any]) -> None:
    class Marked(fb.Tensor):
        pass

    x, y = filled((2, 3)), filled((2, 3))
    for _ in range(2):
        for parts in ([x, y], (y, x), [x, y, x]):
            expected = join.operator_name.removeprefix("aten::")  # type: ignore[attr-defined]
            assert_same(join(parts, 1), in_python(expected)(parts, 1))
            assert_same(join(parts, dim=-1), in_python(expected)(parts, -1))
            assert_same(join(tensors=parts, dim=0), in_python(expected)(parts, 0))
        assert join([x, y.double()], dim=1).dtype is fb.float64
        assert isinstance(join([x, y.as_subclass(Marked)], dim=1), Marked)
        assert isinstance(join([x, y.as_subclass(Marked)]), Marked)
        assert join([x, y.clone().fill_(1).requires_grad_()], dim=1).grad_fn is not None
        with pytest.raises(TypeError):
            join([x, 1], dim=1)
        with pytest.raises(TypeError):
            join([x, None])
        with pytest.raises(TypeError):
            join([x, y], dim="x")
        with pytest.raises(IndexError):
            join([x, y], dim=7)


def test_modes_see_calls_with_lists() -> None:
    seen: list[str] = []

    class Mode(fb.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = filled((2, 3))
    fb.cat([x, x], dim=1)
    fb.cat([x, x])
    with Mode():
        fb.cat([x, x], dim=1)
        fb.stack([x, x])
        x.sum(dim=1)
    assert seen == ["cat", "stack", "sum"]
    with fb.autocast("cpu", dtype=fb.bfloat16):
        assert fb.cat([x.bfloat16(), x], dim=1).dtype is fb.float32
