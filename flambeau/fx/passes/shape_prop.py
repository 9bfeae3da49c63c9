"""Sizes, strides and dtypes of every value in a graph, by a run on examples.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: x.flatten().sum())
>>> _ = ShapeProp(traced).propagate(flambeau.ones(2, 3))
>>> [(node.name, tuple(node.meta["tensor_meta"].shape)) for node in traced.graph.nodes]
[('x', (2, 3)), ('flatten', (6,)), ('sum_1', ()), ('output', ())]
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flambeau.fx.interpreter import Interpreter
from flambeau.fx.node import Node, map_aggregate
from flambeau.schema.dtype import DType
from flambeau.tensor.formats import MemoryFormat
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor

FAILED: Final = "ShapeProp error for: node={node} with meta={meta}: {error}"


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements.

    >>> import flambeau
    >>> metadata_of(flambeau.ones(2, 3)).stride
    (3, 1)
    """

    shape: Size
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: MemoryFormat | None
    """None for a tensor that is dense in none of them."""
    is_quantized: bool
    qparams: dict[str, Any]
    """Empty: for what a quantised tensor is scaled by."""


def metadata_of(tensor: Tensor) -> TensorMetadata:
    """What is known of a tensor.

    Args:
        tensor: any.

    >>> import flambeau
    >>> metadata_of(flambeau.ones(2, 3).t()).memory_format is None
    True
    """
    formats = {4: (MemoryFormat.channels_last,), 5: (MemoryFormat.channels_last_3d,)}.get(tensor.dim(), ())
    fitting = (f for f in (MemoryFormat.contiguous_format, *formats) if tensor.is_contiguous(memory_format=f))
    return TensorMetadata(
        tensor.shape, tensor.dtype, tensor.requires_grad, tensor.stride(), next(fitting, None),
        tensor.is_quantized, {},
    )  # fmt: skip


class ShapeProp(Interpreter):
    """Runs a graph, and writes to each node `meta["tensor_meta"]`, in lists and tuples as its value has them, and
    `meta["type"]`, the class of its value. Values without tensors have no `tensor_meta`.

    Args:
        gm: the module of the graph.

    >>> import flambeau
    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: x.split(2)[0])
    >>> len(ShapeProp(traced).propagate(flambeau.ones(5)))
    2
    """

    def __init__(self, gm: Any) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """The value of a node, which `n.meta` then tells of. Raises RuntimeError where it fails, with the node."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(FAILED.format(node=n.format_node(), meta=n.meta, error=error)) from error
        tensors: list[Tensor] = []
        meta = map_aggregate(result, lambda value: _described(value, tensors))
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on examples, and give what it gives.

        Args:
            args: the arguments of the graph.
        """
        return self.run(*args)


def _described(value: Any, tensors: list[Tensor]) -> Any:
    if not isinstance(value, Tensor):
        return value
    tensors.append(value)
    return metadata_of(value)
