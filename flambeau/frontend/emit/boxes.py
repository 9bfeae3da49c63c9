"""Variables that another function assigns: kept in a list of one while it runs, so that both see what is stored.

nonlocal c                 in the caller:  %box = [%c]   call(%box)   c = %box[0]
c += 1              →      inside:         c = %box[0]   and after each store of c:   %box[0] = c
"""

from __future__ import annotations

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.environment import Variable
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.widening import may_widen
from flambeau.ir.value import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT, Type
from flambeau.util.errors import CompileError

NEW_TYPE = "Variable '{name}' previously had type {before} but is now being assigned to a value of type {after}"


def open_box(e: Emission, name: str, box: Value, type_: Type) -> None:
    """Let a variable be what a box holds, and the box what is stored in the variable."""
    first = e.graph.insert("prim::Constant", (), (INT,), value=0).output()
    e.store(name, e.emit("aten::__getitem__", (box, first), type_), type_)
    slot = e.frame.names[name]
    assert isinstance(slot, Variable)
    e.boxes[slot.slot] = box
    e.mirrors[slot.slot] = lambda stored: _mirror(e, name, box, stored, type_)


def close_box(e: Emission, variable: Variable, box: Value) -> None:
    """Take a variable out of its box again, wherever it was defined."""
    where = e.graph.current_range
    assert where is not None
    value = call_operator(e, where, "aten::__getitem__", [box, e.constant(0)])
    e.insert("prim::Store", (value,), name=variable.slot, type=variable.type)


def _mirror(e: Emission, name: str, box: Value, stored: Value, type_: Type) -> None:
    if not is_subtype(stored.type, type_):
        found = e.frame.find(name)
        if isinstance(found, Variable):
            may_widen(e, name, found, stored.type)
        text = NEW_TYPE.format(name=name, before=type_.annotation, after=stored.type.annotation)
        raise CompileError(text, e.graph.current_range)
    e.emit("aten::_set_item", (box, e.constant(0), stored), box.type)
