"""Padding: constants, reflections, repetitions of the border, or the other end, around the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from flambeau.ops.channels_last import following, keeps_channels_last
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import known, same_dtype
from flambeau.ops.native_windows import natively
from flambeau.ops.small_tensors import ramp
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np

Ints = Sequence[int]

COMBINATIONS: Final = (
    "Supported combinations for non-constant padding:\n"
    "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
    "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)
NOT_EMPTY: Final = (
    "Expected {low}D or {high}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
    "input, but got: {sizes}"
)
_NUMPY_MODES: Final = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def per_dim(pad: Ints, ndim: int) -> list[tuple[int, int]]:
    """Amounts before and after every dimension; `pad` begins with the last dimension."""
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def constant_pad_nd_kernel(self: Array, pad: Ints, value: complex = 0) -> Array:
    """Negative amounts cut off. Raises RuntimeError for too many amounts, or when more is cut off than there is."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {self.ndim}dimensions."
        )
    around = per_dim(pad, self.ndim)
    shape = tuple(s + b + a for s, (b, a) in zip(self.shape, around, strict=True))
    for dim, (size, (before, after)) in enumerate(zip(shape, around, strict=True)):
        if size < 0 or self.shape[dim] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    result = np.empty(shape, self.dtype) if value else np.zeros(shape, self.dtype)
    if value:
        result[...] = np.asarray(value).astype(self.dtype)
    source, target = [], []
    for size, padded, (before, after) in zip(self.shape, shape, around, strict=True):
        source.append(slice(max(-before, 0), size - max(-after, 0)))
        target.append(slice(max(before, 0), padded - max(after, 0)))
    result[tuple(target)] = self[tuple(source)]
    return following(self, result)


def border_pad(self: Array, padding: Ints, mode: str) -> Array:
    """The last dimensions padded from what is inside. Raises RuntimeError for more than the dimension has."""
    around = per_dim(padding, self.ndim)
    _check_borders(self, around, mode)
    if mode == "reflect" and self.size and any(min(pair) < 0 < max(pair) for pair in around):
        return _reflected(self, around)
    cut = tuple(slice(max(-b, 0), s - max(-a, 0)) for s, (b, a) in zip(self.shape, around, strict=True))
    if 0 in self[cut].shape:
        return extended_from_outside(self, around)
    return _extended(self[cut], [(max(b, 0), max(a, 0)) for b, a in around], mode)


def _check_borders(self: Array, around: Sequence[tuple[int, int]], mode: str) -> None:
    """Raise RuntimeError for borders that are larger than what is between them."""
    for dim, (before, after) in reversed([*enumerate(around)]):
        size = self.shape[dim]
        if mode == "reflect" and (before >= size or after >= size) and (before or after):
            first_pad = 2 * (self.ndim - dim) + 2
            raise RuntimeError(
                f"Argument #{first_pad}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding "
                f"({before}, {after}) at dimension {dim} of input {list(self.shape)}"
            )
        if mode == "circular" and (before > size or after > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")


def _extended(inner: Array, amounts: Sequence[tuple[int, int]], mode: str) -> Array:
    kind: Any = _NUMPY_MODES[mode]
    if all(max(pair) < size for pair, size in zip(amounts, inner.shape, strict=True)):
        return _bordered(inner, amounts, mode)
    return contiguous(np.pad(inner, amounts, mode=kind))


def _reflected(self: Array, around: Sequence[tuple[int, int]]) -> Array:
    """The same by indices, where one side of a dimension is cut off and the other reflects what was there."""
    result = self
    for dim, (before, after) in enumerate(around):
        last = self.shape[dim] - 1
        if before or after:
            indices = np.abs(np.arange(-before, last + 1 + after))
            result = np.take(result, last - np.abs(last - indices), axis=dim)
    return contiguous(result)


def _bordered(self: Array, around: Sequence[tuple[int, int]], mode: str) -> Array:
    """The same for borders that are smaller than what is between them: copied from it, dimension by dimension."""
    result = np.empty([s + b + a for s, (b, a) in zip(self.shape, around, strict=True)], self.dtype)
    result[tuple([slice(b, b + s) for s, (b, _) in zip(self.shape, around, strict=True)])] = self
    lead: tuple[slice, ...] = ()
    for size, (before, after) in zip(self.shape, around, strict=True):
        end = before + size
        if mode == "reflect":
            last = end - 2 - after
            sources = slice(2 * before, before, -1), slice(end - 2, None if last < 0 else last, -1)
        elif mode == "replicate":
            sources = slice(before, before + 1), slice(end - 1, end)
        else:
            sources = slice(size, size + before), slice(before, before + after)
        if before:
            result[(*lead, slice(before))] = result[(*lead, sources[0])]
        if after:
            result[(*lead, slice(end, None))] = result[(*lead, sources[1])]
        lead = (*lead, slice(None))
    return result


def extended_from_outside(self: Array, around: Sequence[tuple[int, int]]) -> Array:
    """Replicated borders when negative amounts leave nothing between them: indices are held inside the input."""
    result = self
    for dim, (before, after) in enumerate(around):
        indices = np.arange(-before, self.shape[dim] + after).clip(0, self.shape[dim] - 1)
        result = np.take(result, indices, axis=dim)
    return contiguous(result)


def border_kernel(mode: str, dims: int) -> Any:
    """The kernel of `reflection_pad2d` and its kin."""

    def kernel(self: Array, padding: Ints) -> Array:
        if len(padding) != 2 * dims:
            raise RuntimeError(f"padding size is expected to be {2 * dims}, but got: {len(padding)}")
        if self.ndim not in (dims + 1, dims + 2) or 0 in self.shape[1:]:
            raise RuntimeError(NOT_EMPTY.format(low=dims + 1, high=dims + 2, sizes=list(self.shape)))
        return border_pad(self, padding, mode)

    return kernel


def pad_kernel(self: Array, pad: Ints, mode: str = "constant", value: float | None = None) -> Array:
    """Any mode. Raises NotImplementedError for an unknown one, or for ranks that it does not have."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * self.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} "
            f"and input of dimension {self.ndim}"
        )
    if mode == "constant":
        return constant_pad_nd_kernel(self, pad, 0.0 if value is None else value)
    if mode not in _NUMPY_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}: it is constant, {', '.join(_NUMPY_MODES)}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if self.ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2) or len(pad) > 6:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.ndim}D input tensor.\n{COMBINATIONS}"
        )
    dims = len(pad) // 2
    if mode != "circular" and 0 in self.shape[-dims:]:
        raise RuntimeError(NOT_EMPTY.format(low=dims + 1, high=dims + 2, sizes=list(self.shape)))
    bordered = border_pad(self, pad, mode)
    return bordered if mode == "circular" else following(self, bordered)


def pad_shape(self: TensorType, pad: Any) -> Sizes | None:
    """Sizes grow by the amounts."""
    if self.sizes is None or not known(pad):
        return ranks.self_rank(self)
    if len(pad) % 2 or len(pad) > 2 * len(self.sizes):  # refused when it runs
        return None
    around = per_dim(pad, len(self.sizes))
    return tuple(None if s is None or s < 0 else s + b + a for s, (b, a) in zip(self.sizes, around, strict=True))


def border_shape(self: TensorType, padding: Any) -> Sizes | None:
    """Sizes grow by the amounts."""
    return pad_shape(self, padding)


declare(
    "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    outs=("out",),
    kernel=constant_pad_nd_kernel,
    traits=Traits(has_routine=True),
    doc="`value` around the last dimensions; negative amounts cut off.",
    dtype=same_dtype,
    shape=pad_shape,
    samples=lambda: [Sample(args=(ramp(2, 3), [1, 2], 7)), Sample(args=(ramp(2, 3), [-1, 0, 1, 1]))],
    errors=lambda: [
        ErrorSample(args=(ramp(2), [1]), error=RuntimeError, message="Length of pad must be even"),
        ErrorSample(args=(ramp(2), [-2, -1]), error=RuntimeError, message="length must be non-negative"),
    ],
    reference=lambda self, pad, value=0: (
        np.pad(self, [(0, 0), (1, 2)], constant_values=value) if value else (np.pad(self[:, 1:], [(1, 1), (0, 0)]))
    ),
)

declare(
    'aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    kernel=pad_kernel,
    traits=Traits(has_routine=True),
    doc="The last dimensions padded; `mode` is constant, reflect, replicate or circular.",
    dtype=same_dtype,
    shape=pad_shape,
    samples=lambda: [
        Sample(args=(ramp(2, 3), [1, 2])),
        *(Sample(args=(ramp(1, 2, 3), [1, 2], mode)) for mode in _NUMPY_MODES),
    ],
    errors=lambda: [
        ErrorSample(
            args=(ramp(2, 2, 2), [2, 2], "reflect"),
            error=RuntimeError,
            message="Padding size should be less than the corresponding input dimension, but got: padding (2, 2)",
        ),
        ErrorSample(
            args=(ramp(2, 2, 2), [3, 3], "circular"),
            error=RuntimeError,
            message="Padding value causes wrapping around more than once.",
        ),
        ErrorSample(
            args=(ramp(2, 2, 2), [1, 1], "foo"), error=NotImplementedError, message="Unrecognised padding mode"
        ),
        ErrorSample(
            args=(ramp(2), [1, 1], "reflect"),
            error=NotImplementedError,
            message="Padding size 2 is not supported for 1D input tensor.",
        ),
    ],
    is_method=False,
    is_function=False,
    namespaces=("nn.functional",),
)


def border_samples(dims: int) -> list[Sample]:
    """One before and two after, along every dimension."""
    return [Sample(args=(ramp(2, *(3,) * dims), [1, 2] * dims))]


for _word, _mode in (("reflection", "reflect"), ("replication", "replicate")):
    for _dims in (1, 2, 3):
        declare(
            f"aten::{_word}_pad{_dims}d(Tensor self, SymInt[{2 * _dims}] padding) -> Tensor",
            outs=("out",),
            kernel=keeps_channels_last(natively(f"aten::{_word}_pad{_dims}d", border_kernel(_mode, _dims))),
            traits=Traits(has_routine=True),
            dtype=same_dtype,
            shape=border_shape,
            samples=partial(border_samples, _dims),
            is_method=False,
            is_function=False,
        )
