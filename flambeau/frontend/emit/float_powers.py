"""Says where a float came from that looked like an int: `10**9` is a float, as in TorchScript.

m = 10**9 + 7
return x % m        # wanted an int: ". `10**9` in line 1 is a float, as int ** int is: write int(10**9)"
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.graph import Node, Value
from flambeau.schema.types import FLOAT, INT
from flambeau.util.instead import instead

_POWER: Final = instead(
    ". `{text}` in line {line} is a float, as int ** int is: write {code}", "int(10**9)", of="10**9", given="",
    shown="int({text})",
)  # fmt: skip
_LOAD, _STORE, _POW = "prim::Load", "prim::Store", "aten::pow"


def about_power(value: Value) -> str:
    """What goes behind a message that a value is a float, if a power of ints made it one; else nothing."""
    if value.static_type != FLOAT:
        return ""
    seen: set[Node] = set()
    waiting = [value]
    while waiting:
        node = waiting.pop().defining_node
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.op == _POW and all(v.static_type == INT for v in node.operands) and node.range is not None:
            return _POWER.format(text=node.range.text, line=node.range.file_line_col()[1])
        if node.op == _LOAD:
            slot = node.attribute("name")
            stores = [n for n in node.graph.find_all(_STORE) if n.attribute("name") == slot]
            waiting += [v for n in stores for v in n.operands]
        else:
            waiting += [v for v in node.operands if v.static_type == FLOAT]
    return ""
