"""The way back of attention by blocks of matrices, or of rows of one: no more scores are there than those of a block.

    sizes of scores            blocks
    (8, 8, 512, 512)           (0:1, 0:4, :, :), (0:1, 4:8, :, :), (1:2, 0:4, :, :), ...
    (2, 1, 4096, 4096)         (0:1, 0:1, 3840:4096, :), (0:1, 0:1, 3584:3840, :), ...

Rows of the query have gradients of their own; what they give to keys and values is added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from math import prod
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.schema.gradient import Block, Blocks
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap

MOST_SCORES: Final = 1 << 20
"""Of a block: what is computed from them stays in the caches, and is enough for several threads."""


def attention_blocks(values: Mapping[str, Any]) -> Blocks | None:
    """The blocks of a way back, whose gradients are those of query, key and value; None where there is only one."""
    query, key, value = (values[name]._array for name in ("query", "key", "value"))
    lead, scores = query.shape[:-2], query.shape[-2] * key.shape[-2]
    if prod(lead) * scores <= MOST_SCORES or not lead == key.shape[:-2] == value.shape[:-2]:
        return None
    rows = _ranges(query.shape[-2], MOST_SCORES // key.shape[-2]) if scores > MOST_SCORES else []
    return Blocks((query.shape, key.shape, value.shape), _blocks(values, lead, MOST_SCORES // scores, rows))


def _blocks(
    values: Mapping[str, Any], lead: tuple[int, ...], matrices: int, rows: list[slice]
) -> Iterator[Block]:  # fmt: skip
    """Of so many matrices each; of one and some rows of its query, where there are such."""
    for index in _indices(lead, max(matrices, 1)):
        part = {name: values[name]._array[index] for name in ("grad", "query", "key", "value")}
        mask = values["attn_mask"]
        part["attn_mask"] = None if mask is None else _of_mask(mask._array, index)
        if not rows:
            yield _block(part, (index, index, index), (False, False, False))
        for number, own in enumerate(reversed(rows)):
            seen = slice(0, own.stop) if values["is_causal"] and number else slice(None)
            adds = number > 0
            yield _block(
                _of_rows(part, own, seen, values["is_causal"]), ((*index, own), (*index, seen), (*index, seen)),
                (False, adds, adds),
            )  # fmt: skip


def _block(part: Mapping[str, Array | None], indices: tuple[Any, ...], adds: tuple[bool, ...]) -> Block:
    return Block({name: None if a is None else wrap(a) for name, a in part.items()}, indices, adds)


def _of_rows(part: Mapping[str, Any], rows: slice, keys: slice, is_causal: bool) -> dict[str, Any]:
    """What some rows of the query are computed from. `keys` are all that they may see where attention is causal, which
    a mask says of them: they are not the first rows."""
    mask = part["attn_mask"]
    result = {"grad": part["grad"][..., rows, :], "query": part["query"][..., rows, :]}
    result |= {name: part[name][..., keys, :] for name in ("key", "value")}
    if is_causal:
        mask = np.arange(rows.start, rows.stop)[:, None] >= np.arange(result["key"].shape[-2])
    elif mask is not None and mask.ndim > 1 and mask.shape[-2] != 1:
        mask = mask[..., rows, :]
    return result | {"attn_mask": mask}


def _of_mask(mask: Array, index: tuple[slice, ...]) -> Array:
    """A mask of a part of the matrices: it has all of their axes or the last of them, and may have one for all."""
    sizes = mask.shape[:-2]
    own = index[len(index) - len(sizes) :]
    return mask[tuple(s if size > 1 else slice(None) for s, size in zip(own, sizes, strict=True))]


def _indices(lead: tuple[int, ...], matrices: int) -> Iterator[tuple[slice, ...]]:
    """Where the parts of a batch lie that have so many matrices at most: some along one axis, and all behind it."""
    axis, inner = len(lead), 1
    while axis and inner * lead[axis - 1] <= matrices:
        axis -= 1
        inner *= lead[axis]
    ranges = [_ranges(size, 1) for size in lead[: max(axis - 1, 0)]]
    if axis:
        ranges.append(_ranges(lead[axis - 1], matrices // inner))
    ranges += [[slice(0, size)] for size in lead[axis:]]
    yield from product(*ranges)


def _ranges(size: int, most: int) -> list[slice]:
    """A size in parts of about the same size, at most `most` each; of 1 all where some would be, since code for sizes
    of 1 is other code."""
    count = -(-size // max(most, 1))
    if size < 2 * count:
        count = size
    bounds = [size * k // count for k in range(count + 1)]
    return [slice(low, high) for low, high in pairwise(bounds)]
