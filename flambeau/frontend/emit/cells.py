"""Variables that another function assigns: kept in a list of one while it runs, so that both see what is stored.

nonlocal c                 in the caller:  %cell = [%c]   call(%cell)   c = %cell[0]
c += 1              →      inside:         c = %cell[0]   and after each store of c:   %cell[0] = c
"""

from __future__ import annotations

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.emit.widening import may_widen
from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT, Type
from flambeau.util.errors import CompileError

NEW_TYPE = "Variable '{name}' previously had type {before} but is now being assigned to a value of type {after}"


def open_cell(e: Emitter, name: Name, cell: Value, type_: Type) -> None:
    """Keep a variable in a cell: it starts as what the cell holds, and what it is assigned is written there as well."""
    first = e.graph.insert("prim::Constant", (), (INT,), value=0).result()
    e.store(name, e.emit("aten::__getitem__", (cell, first), type_), type_)
    slot = e.scope.frame.names[name]
    assert isinstance(slot, Variable)
    e.builder.cells[slot.slot] = cell
    e.builder.observers[slot.slot] = lambda stored: _mirror(e, name, cell, stored, type_)


def close_cell(e: Emitter, variable: Variable, cell: Value) -> None:
    """Assign what a cell holds to the variable that it was made for, wherever that was defined."""
    where = e.graph.current_range
    assert where is not None
    value = call_operator(e, where, "aten::__getitem__", [cell, e.constant(0)])
    e.insert("prim::Store", (value,), name=variable.slot, type=variable.type)


def _mirror(e: Emitter, name: Name, cell: Value, stored: Value, type_: Type) -> None:
    if not is_subtype(stored.static_type, type_):
        meaning = e.scope.find(name)
        if isinstance(meaning, Variable):
            may_widen(e, name, meaning, stored.static_type)
        text = NEW_TYPE.format(name=name, before=type_.annotation, after=stored.static_type.annotation)
        raise CompileError(text, e.graph.current_range)
    e.emit("aten::_set_item", (cell, e.constant(0), stored), cell.static_type)
