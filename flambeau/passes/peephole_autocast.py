"""Rules of `peephole` about the casts of `autocast`, where the dtype and the device of a tensor are known.

```
%y : Float(*) = aten::_autocast_to_full_precision(%x, %false, %true)      →     %x, which is in float32
%y = aten::_autocast_to_reduced_precision(%x, %false, %true, %5, %15)     →     %y = aten::to(%x, %15, ...)
```
"""

from __future__ import annotations

from typing import Any

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_outcomes import KEEP, Chain, rewrites
from flambeau.schema.types import TensorType
from flambeau.util.record import replace


@rewrites("aten::_autocast_to_reduced_precision", "aten::_autocast_to_full_precision")
def _known_cast(node: Node) -> Any:
    """The tensor itself where it has the dtype already, else a conversion like others."""
    source, said = node.operand(0).static_type, node.definition
    if not isinstance(source, TensorType) or said is None or said.dtype is None or source.dtype is None:
        return KEEP
    if source.device is None or not all(map(constants.is_constant, node.operands[1:])):
        return KEEP
    dtype: Any = said.dtype(source, *map(constants.constant_value, node.operands[1:]))
    if dtype is None:
        return KEEP
    if dtype is source.dtype:
        return node.operand(0)

    def make() -> Value:
        rest = (dtype.code, False, False, None)
        operands = [node.operand(0), *(constants.insert_constant(node.graph, value) for value in rest)]
        return node.graph.insert("aten::to", operands, (replace(source, dtype=dtype),)).result()

    return Chain(make, node)
