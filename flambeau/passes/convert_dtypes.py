"""Conversions that are known to change the dtype become operators of their own, which never give their operand itself.

```
%y : Float(*) = aten::to(%x, %6, %false, %false, %none)     →     %y : Float(*) = prims::convert_element_type(%x, %6)
```

`to` may give the tensor itself, so that whoever writes to its result may write to its operand. Once both dtypes are
known to differ it cannot: the conversion is pointwise, and fuses.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node
from flambeau.passes.fusible import COMPLEX, KEPT
from flambeau.schema.dtype import DType
from flambeau.schema.traits import Role
from flambeau.schema.types import TensorType

PRESERVE: Final = 1
_FREE: Final = frozenset({"self", "dtype", "other", "copy", "non_blocking"})
"""Arguments that may say anything: a result of another dtype is a copy in any case."""


def do(graph: Graph) -> bool:
    """Replace every conversion between two different dtypes that keeps device and format."""
    conversions = [n for n in graph.listed_nodes() if _is_conversion(n) and _is_plain(n)]
    for node in conversions:
        type_ = node.result().static_type
        assert isinstance(type_, TensorType)
        assert type_.dtype is not None
        with graph.inserting(node):
            code = constants.insert_constant(graph, type_.dtype.code)
            converted = graph.insert("prims::convert_element_type", [node.operand(0), code])
        converted.result().copy_metadata(node.result())
        converted.copy_metadata(node)
        node.result().replace_uses_with(converted.result())
        node.erase()
    return bool(conversions)


def _is_conversion(node: Node) -> bool:
    return node.definition is not None and node.definition.traits.role is Role.CONVERSION


def _is_pointwise(source: DType | None, target: DType | None) -> bool:
    """Whether kernels convert one dtype to another. To drop imaginary parts is the operator's, which warns of it."""
    is_known = {source, target} <= KEPT | COMPLEX and source is not target
    return is_known and (source not in COMPLEX or target in COMPLEX)


def _is_plain(node: Node) -> bool:
    source, target = node.operand(0).static_type, node.result().static_type
    if not isinstance(source, TensorType) or not isinstance(target, TensorType):
        return False
    if not _is_pointwise(source.dtype, target.dtype):
        return False
    if source.requires_grad or node.definition is None:
        return False
    operands = dict(zip((a.name for a in node.definition.schema.arguments), node.operands, strict=True))
    rest = [v for name, v in operands.items() if name not in _FREE]
    if not all(map(constants.is_constant, rest)):
        return False
    said = {name: constants.constant_value(v) for name, v in operands.items() if name not in _FREE}
    device = said.pop("device", None)
    keeps_format = said.pop("memory_format", None) in (None, PRESERVE)
    return keeps_format and (device is None or device.type == "cpu") and not any(said.values())
