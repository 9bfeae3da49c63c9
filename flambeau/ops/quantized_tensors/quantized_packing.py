"""Weights packed for quantised layers: objects that programs hold, and what archives keep of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final

from flambeau.schema.dtype import qint8
from flambeau.tensor.array_library import np
from flambeau.tensor.opaque_objects import MAKERS, OpaqueObject
from flambeau.tensor.quantized import Array, QuantizedTensor, integers_of
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import QUANTIZED_PANELS, QUANTIZED_WINDOWS
from flambeau.util.names import OPAQUE_CLASSES

LINEAR: Final = f"{OPAQUE_CLASSES}quantized.LinearPackedParamsBase"
CONV: Final = {n: f"{OPAQUE_CLASSES}quantized.Conv{n}dPackedParamsBase" for n in (2, 3)}
EMBEDDING: Final = f"{OPAQUE_CLASSES}quantized.EmbeddingPackedParamsBase"
CELL: Final = f"{OPAQUE_CLASSES}rnn.CellParamsBase"
NO_WEIGHT: Final = "expected a weight of qint8, got {got}: quantize_per_tensor(weight, scale, 0, dtype=qint8) makes one"
MOST_EXACT: Final = 2**24 // 255**2
"""Products of integers of 8 bits above their zero points whose sum is exact in float32."""


class PackedLinear(OpaqueObject):
    """The weight and bias of a linear layer: a weight of qint8, or one of float16 for sums in float32."""

    __slots__ = ("_panels", "bias", "weight")
    type_name = LINEAR

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias
        self._panels: Any = None

    @property
    def panels(self) -> Any:
        """The weight as native code multiplies by it, packed at the first call; None where there is none for it."""
        if self._panels is None:
            self._panels = QUANTIZED_PANELS.implementation(_centred(self.weight))
        return self._panels

    def state(self) -> Any:
        """Weight and bias."""
        return self.weight, self.bias


class PackedConvolution(OpaqueObject):
    """The weight, the bias and the numbers of a convolution."""

    __slots__ = (
        "_panels", "_windows", "bias", "dilation", "groups", "output_padding", "padding", "stride", "transposed",
        "weight",
    )  # fmt: skip
    dims: ClassVar[int]

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        numbers: Sequence[Sequence[int]],
        groups: int,
        *,
        transposed: bool = False,
    ) -> None:
        """`numbers` are stride, padding, dilation and output padding."""
        self.weight: QuantizedTensor = checked_weight(weight)
        channels = weight.size(1) * groups if transposed else weight.size(0)
        self.bias = _checked_bias(bias, channels)
        self.stride, self.padding, self.dilation, self.output_padding = [[int(n) for n in one] for one in numbers]
        self.groups, self.transposed = int(groups), transposed
        self._panels: Any = None
        self._windows: Any = None

    @property
    def panels(self) -> Any:
        """The weight as native code multiplies by it, channels innermost, packed at the first call; None where there is
        none for it.
        """
        if self._panels is None and self.groups == 1 and not self.transposed:
            self._panels = QUANTIZED_PANELS.implementation(np.moveaxis(_centred(self.weight), 1, -1))
        return self._panels

    @property
    def windows(self) -> Any:
        """The same of a convolution of each channel by itself, whose sums float32 holds exactly."""
        filters, own, *window = self.weight._array.shape
        is_by_channels = own == 1 and filters == self.groups and not self.transposed
        if self._windows is None and is_by_channels and len(window) == 2 and prod(window) <= MOST_EXACT:
            self._windows = QUANTIZED_WINDOWS.implementation(_centred(self.weight)[:, 0])
        return self._windows

    def state(self) -> Any:
        """The second form of archives: all numbers in one tensor, then the weight; then the bias."""
        numbers = [self.dims, *self.stride, *self.padding, *self.dilation, *self.output_padding, self.groups]
        return "2", [wrap(np.array([*numbers, int(self.transposed)], np.int16)), self.weight], [self.bias]


class PackedConvolution2d(PackedConvolution):
    """The packed weight of a convolution of two dimensions, or of one."""

    __slots__ = ()
    dims = 2
    type_name = CONV[2]


class PackedConvolution3d(PackedConvolution):
    """The packed weight of a convolution of three dimensions."""

    __slots__ = ()
    dims = 3
    type_name = CONV[3]


PACKED: Final = {2: PackedConvolution2d, 3: PackedConvolution3d}


class PackedEmbedding(OpaqueObject):
    """The rows of an embedding, each with its scale and zero point."""

    __slots__ = ("weight",)
    type_name = EMBEDDING

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def state(self) -> Any:
        """A version, the weight, and the number of bits."""
        return 1, [self.weight], [], [8]


class CellParameters(OpaqueObject):
    """The packed weights of a recurrent layer in one direction, whose inputs are quantised at each call."""

    __slots__ = ("hidden_layer", "input_layer", "reduce_range")
    type_name = CELL

    def __init__(self, input: PackedLinear, hidden: PackedLinear, reduce_range: bool) -> None:
        self.input_layer, self.hidden_layer, self.reduce_range = input, hidden, reduce_range

    @property
    def is_half(self) -> bool:
        """Whether the weights are of float16."""
        return not isinstance(self.input_layer.weight, QuantizedTensor)

    def state(self) -> Any:
        """The kind of cell, the biases, and the packed weights."""
        if self.is_half:
            return "quantized_fp16", [], [], [], [self.input_layer, self.hidden_layer]
        biases = [self.input_layer.bias, self.hidden_layer.bias]
        return "quantized_dynamic", biases, [], [int(self.reduce_range)], [self.input_layer, self.hidden_layer]


def _centred(weight: Any) -> Array:
    """The integers of a weight above their zero points."""
    _, zero_point = checked_weight(weight).quantizer.factors(weight._array.ndim)
    above: Array = np.subtract(integers_of(weight), zero_point, dtype=np.int16, casting="unsafe")
    return above


def checked_weight(weight: Any) -> QuantizedTensor:
    """A weight of qint8. Raises RuntimeError for others."""
    if not isinstance(weight, QuantizedTensor) or weight.dtype is not qint8:
        raise RuntimeError(NO_WEIGHT.format(got=getattr(weight, "dtype", type(weight).__name__)))
    return weight


def _checked_bias(bias: Any, channels: int) -> Tensor | None:
    """A bias with a number for each channel, or none. Raises RuntimeError for others."""
    if isinstance(bias, Tensor) and tuple(bias.shape) == (channels,):
        return bias
    if bias is None:
        return None
    got = f"a tensor of sizes {list(bias.shape)}" if isinstance(bias, Tensor) else type(bias).__name__
    raise RuntimeError(f"expected a bias of {channels} elements, or None, got {got}")


def _linear(state: Any) -> PackedLinear:
    weight, bias = state
    if not isinstance(weight, Tensor) or not isinstance(bias, Tensor | None):
        raise TypeError("expected a weight, and a bias or None")
    return PackedLinear(weight, bias)


def _convolution(dims: int, state: Any) -> PackedConvolution:
    """An object from any of the three forms that archives have had."""
    kind = PACKED[dims]
    if isinstance(state[0], Tensor):  # the first: weight, bias, and lists of tensors of one number
        weight, bias, stride, padding, dilation, groups = state[:6]
        lists = [[int(n) for n in numbers] for numbers in (stride, padding, dilation)]
        return kind(weight, bias, [*lists, [0] * dims], int(groups))
    version, first, others = state
    if str(version) == "2":
        numbers, weight, bias = [int(n) for n in first[0]._array], first[1], others[0]
    elif version == 3:
        numbers, weight, bias = [int(n) for n in first], others[1], others[2]
    else:
        raise TypeError(f"expected the second or third form, got {version!r}")
    if len(numbers) != 4 * dims + 3 or numbers[0] != dims:
        raise TypeError(f"expected {4 * dims + 3} numbers for {dims} dimensions, got {numbers}")
    parts = [numbers[1 + i * dims : 1 + (i + 1) * dims] for i in range(4)]
    return kind(weight, bias, parts, numbers[-2], transposed=bool(numbers[-1] & 1))


def _embedding(state: Any) -> PackedEmbedding:
    weight = state[1][0]
    if not isinstance(weight, QuantizedTensor):
        raise TypeError("expected a quantised weight")
    return PackedEmbedding(weight)


def _cell(state: Any) -> CellParameters:
    kind, _, _, numbers, packed = state
    if kind not in ("quantized_dynamic", "quantized_fp16"):
        raise TypeError(f"expected the state of a cell whose inputs are quantised at each call, got {kind!r}")
    if len(packed) != 2 or not all(isinstance(p, PackedLinear) for p in packed):
        raise TypeError("expected two packed weights")
    return CellParameters(packed[0], packed[1], bool(numbers and numbers[0]))


MAKERS[LINEAR] = _linear
MAKERS[CONV[2]] = lambda state: _convolution(2, state)
MAKERS[CONV[3]] = lambda state: _convolution(3, state)
MAKERS[EMBEDDING] = _embedding
MAKERS[CELL] = _cell
