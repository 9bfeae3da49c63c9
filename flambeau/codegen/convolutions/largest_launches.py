"""The largest numbers of windows, with their places, as launches for groups of plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import largest
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.run import pieces_of
from flambeau.codegen.convolutions.windows import largest_code, largest_problem
from flambeau.codegen.convolutions.words import LARGEST, LARGEST_AT, LARGEST_WORDS, PROBLEM
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import (
    Operands,
    Prepare,
    Routine,
    operands_of,
    results_wanted,
    routines,
    single_node,
)
from flambeau.ir.graph import Graph
from flambeau.ops.pooling_adaptive import FEW_IN_A_WINDOW, check_adaptive
from flambeau.ops.pooling_windows import Geometry, check_rank

_NOTHING: Final = LARGEST_AT - 1
"""A word of the block that is always 0."""
_RESULTS: Final = ("y", "places")
"""As the words call them."""


@routines("aten::max_pool1d_with_indices", "aten::adaptive_max_pool1d")
def _of_lines(graph: Graph) -> Prepare:
    return _prepared(graph, 1)


@routines("aten::max_pool2d_with_indices", "aten::adaptive_max_pool2d")
def _of_images(graph: Graph) -> Prepare:
    return _prepared(graph, 2)


def _prepared(graph: Graph, dims: int) -> Prepare:
    operands, wanted = operands_of(graph, single_node(graph)), results_wanted(graph)
    if len(operands.inputs) != 1 or 0 not in wanted:
        raise KernelError("numbers that are not constant, or places alone")
    return Recordable(partial(_make, dims, operands, wanted))


def _make(dims: int, operands: Operands, wanted: Sequence[int], arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for what the operator refuses, or has no code for."""
    x = arrays[operands.inputs["self"]]
    if x.ndim not in (dims + 1, dims + 2) or x.size == 0:
        raise KernelError("neither an image nor a batch of images")
    g = _geometry(dims, x, operands.constants)
    shape = (*x.shape[:-dims], *g.places)
    output, strides = result_of(x, shape, keeps_order=True)
    if output.permutation is not None and 1 in wanted:
        raise KernelError("places in images whose channels lie last")
    missing = 2 - dims
    seen = x if x.ndim == dims + 2 else x.expanded(1)
    seen = seen if dims == 2 else seen.expanded(1, 2)
    like = Lying(
        x.dtype, (*seen.shape[:2], *(1,) * missing, *g.places),
        (*(0,) * (dims + 2 - x.ndim), *strides[:-dims], *(0,) * missing, *strides[-dims:]),
    )  # fmt: skip
    ways = [(*(one,) * missing, *v) for one, v in ((1, g.kernel), (1, g.stride), (0, g.padding), (1, g.dilation))]
    problem = largest_problem(seen, like, ways, memory)
    if problem is None:
        raise KernelError(f"no windows of {x.dtype} over images of {x.shape}")
    numbers = {_RESULTS[number]: 1 + len(arrays) + at for at, number in enumerate(wanted)}
    call = memory.struct(
        LARGEST, problem=memory.words(problem.words), inside=problem.words[PROBLEM.word("w")],
        x=1 + operands.inputs["self"], y=numbers["y"], places=numbers.get("places", _NOTHING),
    )  # fmt: skip
    words = [0] * LARGEST_WORDS
    words[LARGEST_AT] = call
    units = problem.units
    step, pieces = pieces_of(units, problem.nanoseconds)
    where = Output(shape, np.dtype(np.int64), None, shape, like.size * 8 >= ALIGNED_FROM)
    return Launch(
        tuple([where if number else output for number in wanted]), words, units, None, step, pieces,
        problem.nanoseconds, routine=Routine(largest_code(x.dtype.char).native, largest.OF_LAUNCH, memory.kept),
    )  # fmt: skip


def _geometry(dims: int, x: Lying, constants: Any) -> Geometry:
    if "output_size" in constants:
        return _adapted(dims, x, constants["output_size"])
    name = f"max_pool{dims}d"
    try:
        check_rank(name, x, dims)
        return Geometry(
            name, x, dims, constants["kernel_size"], constants["stride"], constants["padding"], constants["dilation"],
            constants["ceil_mode"],
        )  # fmt: skip
    except (RuntimeError, IndexError, NotImplementedError) as refusal:
        raise KernelError(str(refusal)) from None


def _adapted(dims: int, x: Lying, output_size: Sequence[int]) -> Geometry:
    """Windows that adapt to the sizes of the result, where they are of equal sizes, and small."""
    name = f"adaptive_max_pool{dims}d"
    try:
        sizes = check_adaptive(name, x, dims, output_size)
    except (RuntimeError, IndexError) as refusal:
        raise KernelError(str(refusal)) from None
    if not all(sizes) or any(n % count for n, count in zip(x.shape[-dims:], sizes, strict=True)):
        raise KernelError("windows of different sizes")
    kernel = [n // count for n, count in zip(x.shape[-dims:], sizes, strict=True)]
    if prod(kernel) > FEW_IN_A_WINDOW:
        raise KernelError("windows whose elements are better compared by rows")
    return Geometry(name, x, dims, kernel, kernel, [0] * dims, [1] * dims, False)
