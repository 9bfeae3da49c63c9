"""Attention as launches, for groups of plans: sizes and strides become words and a table of matrices once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from math import prod, sqrt
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.codegen.attention.forms import MOST_NUMBERS, code_of, form_of
from flambeau.codegen.attention.kernel import SYMBOL
from flambeau.codegen.attention.pattern import pattern_of
from flambeau.codegen.attention.words import ARRAYS, CALL, CALL_AT, MOST_BATCH
from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions.run import pieces_of
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.routines.table import Array, Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.util.record import dataclass

FEW_SCORES: Final = 1 << 18
"""Up to which they are quicker computed one by one, once, than code for them is made."""
PER_NANOSECOND: Final = 16
"""Multiplications, to estimate how long a call takes."""


@dataclass(frozen=True, slots=True)
class Options:
    """What attention is told beside tensors."""

    is_causal: bool
    scale: float | None
    """None for one over the root of the number of features."""
    has_groups: bool
    """Whether a head of keys and values may serve several heads of queries."""


def is_worth_waiting(arrays: Sequence[Array]) -> bool:
    """Whether the first answer for arrays like these, and perhaps a mask, is to have native code: that is at hand, or
    there is much to do, or much memory that scores would take otherwise.
    """
    q, k, *_ = arrays
    if prod(q.shape[:-1]) * (k.shape[-2] if k.ndim > 1 else 1) > FEW_SCORES:
        return True
    return engine().has_written(form_of(q, k, arrays[2], arrays[3:]).name)


@routines("aten::scaled_dot_product_attention")
def _attention(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    if operands.constants["dropout_p"]:
        raise KernelError("dropout of weights")
    settings = operands.constants
    options = Options(bool(settings["is_causal"]), settings["scale"], bool(settings["enable_gqa"]))
    return partial(_prepare, operands, options)


def _prepare(operands: Operands, options: Options, arrays: Sequence[Array]) -> Launch:
    names = ("query", "key", "value", "attn_mask")
    return launch_of(arrays, [operands.inputs[name] for name in names if name in operands.inputs], options)


def launch_of(arrays: Sequence[Array], numbers: Sequence[int], options: Options) -> Launch:
    """The launch for arrays like these; `numbers` are the numbers of queries, keys, values, and of the mask if there is
    one. Raises `KernelError` for arrays that there is no code for, and for those that the operator refuses.
    """
    q, k, v, *masks = (arrays[number] for number in numbers)
    _check(q, k, v, masks, is_causal=options.is_causal)
    batch, fields = _matrices(q, k, v, masks, options)
    form = form_of(q, k, v, masks)
    shape, size = (*batch, q.shape[-2], v.shape[-1]), q.itemsize
    inputs = {name: 1 + at for name, at in zip(ARRAYS, numbers, strict=False)}
    call = CALL.pack(
        **inputs, y=1 + len(arrays), matrices=prod(batch), queries=q.shape[-2], keys=k.shape[-2],
        features=q.shape[-1], values=v.shape[-1], q_row=q.strides[-2], q_column=q.strides[-1], k_row=k.strides[-2],
        v_row=v.strides[-2], v_column=v.strides[-1], is_causal=int(options.is_causal),
        scale=_bits(options.scale, q.shape[-1]), **fields,
    )  # fmt: skip
    words = [*[0] * CALL_AT, *call]
    units = prod(batch) * (-(-q.shape[-2] // form.each) if form.each else 1)
    each = (q.shape[-1] + v.shape[-1]) / PER_NANOSECOND
    nanoseconds = prod(shape[:-1]) * k.shape[-2] * each
    step, pieces = pieces_of(units, nanoseconds)
    output = Output(shape, q.dtype, None, shape, prod(shape) * size >= ALIGNED_FROM)
    pattern = pattern_of(arrays, numbers, batch, form, each)
    routine = Routine(code_of(form), SYMBOL)
    return Launch((output,), words, units, None, step, pieces, nanoseconds, routine=routine, pattern=pattern)


def _matrices(
    q: Array, k: Array, v: Array, masks: Sequence[Array], options: Options
) -> tuple[tuple[int, ...], dict[str, int]]:
    """The sizes of the batch, and the words of its axes and of the mask. Raises `KernelError` where batches do not go
    together, or there is nothing to attend to.
    """
    each = {"k": _each(q, k), "v": _each(q, v)} if options.has_groups else {"k": 1, "v": 1}
    sizes = [a.shape[:-2] for a in (q, k, v)]
    sizes[1:] = [s if n == 1 else (*s[:-1], s[-1] * n) for s, n in zip(sizes[1:], each.values(), strict=True)]
    try:
        batch = np.broadcast_shapes(*sizes)
        arrays = [_spread(a, s, batch) for a, s in zip((q, k, v), sizes, strict=True)]
        steps = [np.broadcast_to(mask, (*batch, q.shape[-2], k.shape[-2])).strides for mask in masks]
    except ValueError:
        raise KernelError("batches that do not go together") from None
    if not prod(batch) * q.size * k.size * v.size:
        raise KernelError("attention of nothing")
    if len(batch) > MOST_BATCH:
        raise KernelError(f"a batch of more than {MOST_BATCH} axes")
    words = _batch_words(batch, [*arrays, *(s[:-2] for s in steps)])
    for mask, own in zip(masks, steps, strict=True):
        words |= _mask_words(mask, own)
    return batch, words | {f"{name}_each": count for name, count in each.items()}


def _batch_words(batch: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The words of the axes of a batch, along which arrays have these steps."""
    first = MOST_BATCH - len(batch)
    words = {f"size_{axis}": 1 for axis in range(first)}
    words |= {f"size_{axis}": size for axis, size in enumerate(batch, first)}
    for name, own in zip(ARRAYS, steps, strict=False):
        words |= {f"{name}_{axis}": step for axis, step in enumerate(own, first)}
    return words


def _mask_words(mask: Array, steps: tuple[int, ...]) -> dict[str, int]:
    """The steps of a mask along queries and keys: 0 where it has one for all."""
    last = zip(("row", "column"), steps[-2:], (1, 1, *mask.shape)[-2:], strict=True)
    return {f"mask_{name}": step if size > 1 else 0 for name, step, size in last}


def _spread(a: Array, sizes: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The steps of an array along the axes of the batch, to which its sizes are spread."""
    return np.broadcast_to(as_strided(a, sizes, a.strides[:-2], writeable=False), batch).strides


def _check(q: Array, k: Array, v: Array, masks: Sequence[Array], *, is_causal: bool) -> None:
    """Raise `KernelError` for arrays that there is no code for, and for those that the operator refuses."""
    if any(a.ndim < 2 or a.dtype != q.dtype for a in (q, k, v)) or q.dtype.name not in ("float32", "float64"):
        raise KernelError(f"attention of {q.dtype}, or of less than matrices")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2] or max(q.shape[-1], v.shape[-1]) > MOST_NUMBERS:
        raise KernelError("keys of other sizes, or larger ones than there is room for")
    if k.strides[-1] != k.itemsize and k.shape[-1] > 1:
        raise KernelError("keys whose features lie apart")
    if any(is_causal or mask.dtype not in (np.dtype(np.bool_), q.dtype) for mask in masks):
        raise KernelError("a mask beside causality, or of another dtype")


def _each(q: Array, a: Array) -> int:
    """How many heads of queries one head of keys or values serves."""
    if min(q.ndim, a.ndim) < 3 or not a.shape[-3] or q.shape[-3] % a.shape[-3]:
        raise KernelError("heads of queries that are not divided by those of keys")
    return int(q.shape[-3] // a.shape[-3])


def _bits(scale: float | None, features: int) -> int:
    number = 1 / sqrt(features) if scale is None else float(scale)
    return int.from_bytes(struct.pack("<d", number), "little", signed=True)
