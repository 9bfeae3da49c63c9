"""Shape functions: what the sizes of results are, for each operator a function in the language over lists of sizes.

Each is scripted when something asks for it. Its parameters have the names of the operator's, as many as it needs; a
tensor is the list of its sizes, a list of tensors a list of such lists.

>>> matmul([5, 2, 3], [3, 4]), view([2, 6], [3, -1]), avg_pool2d([1, 8, 9, 9], [3, 3], [2, 2], [0, 0], False)
([5, 2, 4], [3, 4], [1, 8, 4, 4])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.schema.rule_tables import RuleTable

SHAPE_FUNCTIONS: Final[RuleTable[Callable[..., Any]]] = RuleTable("the sizes of results, as a function in the language")
_function = SHAPE_FUNCTIONS


@_function(
    "aten::softmax.int", "aten::log_softmax.int", "aten::dropout", "aten::detach", "aten::clone", "aten::contiguous",
    "aten::to.dtype", "aten::to.dtype_layout", "aten::to.device", "aten::to.prim_Device", "aten::to.prim_dtype",
    "aten::to.other", "aten::type_as", "aten::cumsum", "aten::batch_norm", "aten::layer_norm", "aten::zeros_like",
    "aten::ones_like", "aten::full_like", "aten::empty_like", "aten::rand_like", "aten::randn_like",
)  # fmt: skip
def same(input: list[int]) -> list[int]:
    """The sizes of the first operand."""
    return input[:]


def broadcast(left: list[int], right: list[int]) -> list[int]:
    """The sizes of two operands taken together, from the last dimension on: equal, or one of them 1."""
    rank = max(len(left), len(right))
    sizes: list[int] = []
    for k in range(rank):
        i = len(left) - rank + k
        j = len(right) - rank + k
        m = left[i] if i >= 0 else 1
        n = right[j] if j >= 0 else 1
        if m == n:
            size = m
        else:
            assert m == 1 or n == 1, "the sizes of tensors must match, or be 1"
            size = m * n
        sizes.append(size)
    return sizes


@_function("aten::mm")
def mm(self: list[int], mat2: list[int]) -> list[int]:
    """Of the product of two matrices."""
    assert len(self) == len(mat2) == 2, "mm takes two matrices"
    assert self[1] == mat2[0], "the columns of the first matrix are as many as the rows of the second"
    return [self[0], mat2[1]]


@_function("aten::addmm")
def addmm(self: list[int], mat1: list[int], mat2: list[int]) -> list[int]:
    """Of the product of two matrices, to which something is added."""
    return broadcast(self, mm(mat1, mat2))


@_function("aten::bmm")
def bmm(self: list[int], mat2: list[int]) -> list[int]:
    """Of the products of two batches of matrices."""
    assert len(self) == len(mat2) == 3, "bmm takes two batches of matrices"
    assert [self[0], self[2]] == mat2[:2], "both batches are of one size, and their matrices fit"
    return [self[0], self[1], mat2[2]]


@_function("aten::matmul")
def matmul(self: list[int], other: list[int]) -> list[int]:
    """Of a product of vectors, matrices and batches of matrices."""
    rows = self[-2:-1] if len(self) > 1 else self[:0]
    columns = other[-1:] if len(other) > 1 else other[:0]
    inner = other[-2] if len(other) > 1 else other[0]
    assert self[-1] == inner, "the last size of the first operand is that which the second one is summed over"
    return broadcast(self[:-2], other[:-2]) + rows + columns


@_function("aten::linear")
def linear(input: list[int], weight: list[int]) -> list[int]:
    """Of a linear layer."""
    assert input[-1] == weight[-1], "the last size of the input is that of the weight"
    return input[:-1] + weight[:-1]


@_function("aten::t")
def t(self: list[int]) -> list[int]:
    """Of a matrix with its axes exchanged."""
    return [self[1], self[0]] if len(self) == 2 else self[:]


@_function("aten::transpose.int")
def transpose(self: list[int], dim0: int, dim1: int) -> list[int]:
    """With two dimensions exchanged."""
    sizes = self[:]
    if len(sizes) > 0:
        sizes[dim0] = self[dim1]
        sizes[dim1] = self[dim0]
    return sizes


@_function("aten::permute")
def permute(self: list[int], dims: list[int]) -> list[int]:
    """In another order."""
    return [self[dim] for dim in dims]


@_function("aten::unsqueeze")
def unsqueeze(self: list[int], dim: int) -> list[int]:
    """With a 1 more."""
    axis = dim + len(self) + 1 if dim < 0 else dim
    return [*self[:axis], 1, *self[axis:]]


@_function("aten::squeeze.dim")
def squeeze(self: list[int], dim: int) -> list[int]:
    """Without a dimension, if its size is 1."""
    axis = dim + len(self) if dim < 0 else dim
    if len(self) == 0 or self[axis] != 1:
        return self[:]
    return self[:axis] + self[axis + 1 :]


@_function("aten::select.int")
def select(self: list[int], dim: int) -> list[int]:
    """Without a dimension."""
    axis = dim + len(self) if dim < 0 else dim
    return self[:axis] + self[axis + 1 :]


@_function("aten::slice.Tensor")
def slice_(
    self: list[int], dim: int, start: int | None, end: int | None, step: int
) -> list[int]:
    """With a part of a dimension."""
    size = self[dim]
    first = 0 if start is None else start
    last = size if end is None else end
    first = max(first + size, 0) if first < 0 else min(first, size)
    last = max(last + size, 0) if last < 0 else min(last, size)
    sizes = self[:]
    sizes[dim] = max(last - first, 0) if step == 1 else max(last - first + step - 1, 0) // step
    return sizes


@_function("aten::flatten.using_ints")
def flatten(self: list[int], start_dim: int, end_dim: int) -> list[int]:
    """With a run of dimensions as one."""
    if len(self) == 0:
        return [1]
    first = start_dim + len(self) if start_dim < 0 else start_dim
    last = end_dim + len(self) if end_dim < 0 else end_dim
    count = 1
    for size in self[first : last + 1]:
        count *= size
    return [*self[:first], count, *self[last + 1 :]]


@_function("aten::view")
def view(self: list[int], size: list[int]) -> list[int]:
    """As many elements in other dimensions, one of which may be left to be found."""
    count = 1
    for each in self:
        count *= each
    known = 1
    for each in size:
        known *= each if each >= 0 else 1
    return [each if each >= 0 else count // known for each in size]


@_function("aten::reshape")
def reshape(self: list[int], shape: list[int]) -> list[int]:
    """The sizes of `reshape`, whether it is a view or not."""
    sizes: list[int] = view(self, shape)
    return sizes


@_function("aten::expand")
def expand(self: list[int], size: list[int]) -> list[int]:
    """As asked for; -1 stands for the size that is there."""
    new = len(size) - len(self)
    return [size[k] if size[k] >= 0 else self[k - new] for k in range(len(size))]


@_function("aten::cat")
def cat(tensors: list[list[int]], dim: int) -> list[int]:
    """Of tensors behind each other, those of one dimension and no elements apart where others have more."""
    longest = tensors[0]
    for sizes in tensors:
        if len(sizes) > len(longest):
            longest = sizes
    total = 0
    for sizes in tensors:
        if len(sizes) == len(longest):
            total += sizes[dim]
    axis = dim + len(longest) if dim < 0 else dim
    return [total if k == axis else longest[k] for k in range(len(longest))]


@_function("aten::stack")
def stack(tensors: list[list[int]], dim: int) -> list[int]:
    """Of tensors along a new dimension."""
    first = tensors[0]
    axis = dim + len(first) + 1 if dim < 0 else dim
    return [*first[:axis], len(tensors), *first[axis:]]


@_function("aten::sum", "aten::mean", "aten::prod", "aten::max", "aten::min", "aten::any", "aten::all")
def nothing(self: list[int]) -> list[int]:
    """Of a fold over everything."""
    return self[:0]


@_function("aten::sum.dim_IntList", "aten::mean.dim")
def folded(self: list[int], dim: list[int] | None, keepdim: bool) -> list[int]:
    """Of a fold over some dimensions: all for none."""
    sizes: list[int] = []
    for k in range(len(self)):
        is_folded = dim is None or len(dim) == 0 or k in dim or k - len(self) in dim
        if not is_folded:
            sizes.append(self[k])
        elif keepdim:
            sizes.append(1)
    return sizes


@_function("aten::embedding")
def embedding(weight: list[int], indices: list[int]) -> list[int]:
    """Of a row for each index."""
    return indices + weight[1:]


@_function("aten::conv1d", "aten::conv2d", "aten::conv3d")
def convolved(
    input: list[int], weight: list[int], bias: list[int] | None, stride: list[int],
    padding: list[int], dilation: list[int],
) -> list[int]:  # fmt: skip
    """Of a convolution, with or without a batch."""
    spatial = len(weight) - 2
    sizes = [*input[: len(input) - spatial - 1], weight[0]]
    for k in range(spatial):
        reach = dilation[k] * (weight[2 + k] - 1) + 1
        sizes.append((input[len(input) - spatial + k] + 2 * padding[k] - reach) // stride[k] + 1)
    return sizes


def windows(size: int, kernel: int, step: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are along a dimension; with `ceil_mode` the last may reach past the end."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return free // step + 1
    count = (free + step - 1) // step + 1
    return count - 1 if (count - 1) * step >= size + padding else count


@_function("aten::max_pool2d")
def max_pool2d(
    self: list[int], kernel_size: list[int], stride: list[int], padding: list[int], dilation: list[int], ceil_mode: bool
) -> list[int]:
    """Of the largest elements of windows."""
    steps = stride if len(stride) > 0 else kernel_size
    sizes = self[:-2]
    for k in range(2):
        size = self[len(self) - 2 + k]
        sizes.append(windows(size, kernel_size[k], steps[k], padding[k], dilation[k], ceil_mode))
    return sizes


@_function("aten::avg_pool2d")
def avg_pool2d(
    self: list[int], kernel_size: list[int], stride: list[int], padding: list[int], ceil_mode: bool
) -> list[int]:
    """Of the means of windows."""
    sizes: list[int] = max_pool2d(self, kernel_size, stride, padding, [1, 1], ceil_mode)
    return sizes


@_function("aten::adaptive_avg_pool2d")
def adaptive_avg_pool2d(self: list[int], output_size: list[int]) -> list[int]:
    """Of means, as many as asked for."""
    return self[:-2] + output_size


@_function("aten::zeros", "aten::ones", "aten::rand", "aten::randn", "aten::full", "aten::empty.memory_format")
def as_asked(size: list[int]) -> list[int]:
    """Of what is made of a list of sizes."""
    return size[:]
