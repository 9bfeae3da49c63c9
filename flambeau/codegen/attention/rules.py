"""Attention as launches, for groups of plans: sizes and strides become words and a table of matrices once."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache, partial
from math import prod, sqrt
from typing import Final

import numpy as np

from flambeau.codegen.attention.kernel import BOOLS, NO_MASK, NUMBERS, SYMBOL, attention_text
from flambeau.codegen.attention.words import BLOCK_WORDS, CALL, CALL_AT, ENTRY
from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions.run import pieces_of
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.routines.table import Array, Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.util.record import dataclass

WIDE: Final = 4
"""Vectors of queries that are gone over together, where there are more than one."""
MOST_NUMBERS: Final = 1024
"""Features, and numbers of a value, for which there is room on the stack."""
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


@cache
def _code(dtype: str, width: int, mask: str) -> NativeCode:
    write = partial(attention_text, dtype, engine().target, width, mask)
    return engine().link_written(_what(dtype, width, mask), (SYMBOL,), write, {})


def _what(dtype: str, width: int, mask: str) -> str:
    return f"attention {dtype} {width} {mask}"


def is_worth_waiting(arrays: Sequence[Array]) -> bool:
    """Whether the first answer for arrays like these, and perhaps a mask, is to have native code: that is at hand, or
    there is much to do, or much memory that scores would take otherwise.
    """
    q, k, *_ = arrays
    if prod(q.shape[:-1]) * (k.shape[-2] if k.ndim > 1 else 1) > FEW_SCORES:
        return True
    return engine().has_written(_what(q.dtype.name, _width(q), _kind(arrays[3:])))


def _width(q: Array) -> int:
    """Vectors of queries that are gone over together."""
    return WIDE if q.shape[-2] > engine().target.vector_bits // (8 * q.itemsize) else 1


def _kind(masks: Sequence[Array]) -> str:
    return NO_MASK if not masks else BOOLS if masks[0].dtype == np.bool_ else NUMBERS


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
    batch, mask, table = _matrices(q, k, v, masks, options)
    shape, size = (*batch, q.shape[-2], v.shape[-1]), q.itemsize
    lanes = engine().target.vector_bits // (8 * size)
    width = _width(q)
    chunks = -(-q.shape[-2] // (width * lanes))
    kind = _kind(masks)
    inputs = {name: 1 + at for name, at in zip(("q", "k", "v", "mask"), numbers, strict=False)}
    call = CALL.pack(
        table=table.__array_interface__["data"][0], **inputs, y=1 + len(arrays), queries=q.shape[-2], chunks=chunks,
        keys=k.shape[-2], features=q.shape[-1], values=v.shape[-1], q_row=q.strides[-2], q_column=q.strides[-1],
        k_row=k.strides[-2], v_row=v.strides[-2], v_column=v.strides[-1], y_row=v.shape[-1] * size,
        mask_row=0 if mask is None else mask.strides[-2], mask_column=0 if mask is None else mask.strides[-1],
        is_causal=int(options.is_causal), scale=_bits(options.scale, q.shape[-1]),
    )  # fmt: skip
    words = [0] * BLOCK_WORDS
    words[CALL_AT] = ctypes.addressof(call)
    units = len(table) * chunks
    nanoseconds = prod(shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1]) / PER_NANOSECOND
    step, pieces = pieces_of(units, nanoseconds)
    output = Output(shape, q.dtype, None, shape, prod(shape) * size >= ALIGNED_FROM)
    routine = Routine(_code(q.dtype.name, width, kind), SYMBOL, (call, table))
    return Launch((output,), words, units, None, step, pieces, nanoseconds, routine=routine)


def _matrices(
    q: Array, k: Array, v: Array, masks: Sequence[Array], options: Options
) -> tuple[tuple[int, ...], Array | None, Array]:
    """The sizes of the batch, the mask in these sizes, and where the matrices of each place begin. Raises `KernelError`
    where batches do not go together, or there is nothing to attend to.
    """
    each = (1, _each(q, k), _each(q, v)) if options.has_groups else (1, 1, 1)
    starts = [_distances(a, count) for a, count in zip((q, k, v), each, strict=True)]
    mask = None
    try:
        batch = np.broadcast_shapes(*(s.shape for s in starts))
        for original in masks:
            mask = np.broadcast_to(original, (*batch, q.shape[-2], k.shape[-2]))
            starts.append(_distances(mask))
    except ValueError:
        raise KernelError("batches that do not go together") from None
    if not prod(batch) * q.size * k.size * v.size:
        raise KernelError("attention of nothing")
    table = np.zeros((prod(batch), ENTRY.words), np.int64)
    for name, distances in zip(("q", "k", "v", "mask"), starts, strict=False):
        table[:, ENTRY.word(name)] = np.broadcast_to(distances, batch).reshape(-1)
    table[:, ENTRY.word("y")] = np.arange(len(table)) * (q.shape[-2] * v.shape[-1] * v.itemsize)
    return batch, mask, table


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


def _distances(a: Array, each: int = 1) -> Array:
    """Bytes from the first matrix of a batch to each; heads are there so many times."""
    distances = np.zeros((), np.int64)
    for count, stride in zip(a.shape[:-2], a.strides[:-2], strict=True):
        distances = distances[..., None] + np.arange(count) * stride
    return distances if each == 1 else np.repeat(distances, each, axis=-1)


def _bits(scale: float | None, features: int) -> int:
    number = 1 / sqrt(features) if scale is None else float(scale)
    return int.from_bytes(struct.pack("<d", number), "little", signed=True)
