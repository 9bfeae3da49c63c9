"""What to write where an attribute began as `[]` or `{}` and turns out to hold something else than was taken.

self.seen = []                 # line 3: holds tensors, as nothing in the class tells otherwise
log.seen.append(1)             # refused, with what to write in line 3
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flambeau.frontend.emit.type_variables import ITEM, KEY, WHOLE
from flambeau.ir.graph import Value
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import DictType, ListType, Type, without_refinement
from flambeau.util.errors import CompileError
from flambeau.util.names import ROOT

SAY_THERE = (
    "\n'{name}' began as `{literal}` in line {line} of {file} and is a {found} there: write "
    "`{name}: {wanted} = {literal}` in that line"
)

_QUALIFIED = re.compile(rf"{ROOT}\.(?:\w+\.)*")


def begins_empty(value: Value) -> bool:
    """Whether a value is a list or dict that is made without contents."""
    node = value.defining_node
    return node is not None and node.op in ("prim::ListConstruct", "prim::DictConstruct") and not node.operands


def explained(error: CompileError, kind: str, values: Sequence[Value]) -> CompileError:
    """A refusal of an operator on an attribute, with what to write where the attribute began; others as they are."""
    node = values[0].defining_node if values else None
    if node is None or node.op != "prim::GetAttr":
        return error
    definition, name = getattr(node.operand(0).static_type, "definition", None), str(node.attribute("name"))
    began = definition.empty.get(name) if isinstance(definition, ClassDefinition) else None
    wanted = _wanted(kind.partition("::")[2], [v.static_type for v in values])
    if began is None or wanted is None:
        return error
    file, line, _ = began.file_line_col()
    literal, actual = "[]" if isinstance(wanted, ListType) else "{}", values[0].static_type.annotation
    shown = _QUALIFIED.sub("", wanted.annotation)
    text = SAY_THERE.format(name=f"self.{name}", literal=literal, line=line, file=file, found=actual, wanted=shown)
    return CompileError(error.message + text, error.range, error.call_chain)


def _wanted(name: str, types: Sequence[Type]) -> Type | None:
    """What the list or dict would have to be."""
    owner, others = types[0], [without_refinement(t) for t in types]
    if name in WHOLE and len(types) > 1:
        return others[-1] if isinstance(others[-1], ListType | DictType) else None
    if isinstance(owner, ListType) and name in ITEM and len(types) > ITEM[name]:
        return ListType(others[ITEM[name]])
    if isinstance(owner, DictType) and name in KEY and len(types) > 1:
        return DictType(others[1], others[2] if len(types) > 2 else owner.value)
    return None
