"""Write `relu` of a sum as one operator.

```
%a = aten::add(%x, %y, %alpha)
%b = aten::relu(%a)                  →      %b = aten::_add_relu(%x, %y, %alpha)
```

`relu_` of a new sum too, and in-place sums under an in-place `relu_` as `aten::_add_relu_`.
"""

from __future__ import annotations

from flambeau.ir.graph import Graph
from flambeau.ir.parser import parse_ir
from flambeau.passes import rewrite_patterns

_PATTERN = """graph(%x, %y, %alpha):
  %sum : Tensor = aten::{add}(%x, %y, %alpha)
  %result : Tensor = aten::{relu}(%sum)
  return (%result)"""
_REPLACEMENT = """graph(%x, %y, %alpha):
  %result : Tensor = aten::{fused}(%x, %y, %alpha)
  return (%result)"""
_CASES = (("add", "relu", "_add_relu"), ("add", "relu_", "_add_relu"), ("add_", "relu_", "_add_relu_"))


def do(graph: Graph) -> bool:
    """Make all that there are."""
    changed = False
    for add, relu, fused in _CASES:
        pattern = parse_ir(_PATTERN.format(add=add, relu=relu))
        replacement = parse_ir(_REPLACEMENT.format(fused=fused))
        changed |= rewrite_patterns.do(graph, pattern, replacement, sources=[("result", "result")], keeps_order=True)
    return changed
