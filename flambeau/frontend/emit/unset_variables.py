"""Variables that a loop binds and that are read behind it: whether they have a value is looked up where they are read.

for i in range(n):     →    before all else: i = prim::Uninitialized(), and %i$set = False, which each store makes True;
    pass                    at the `return`: prim::If(not %i$set) raises UnboundLocalError
return i

What the variable holds is only known behind the loop, so the emission of the function starts over once.
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.type_variables import InferenceRestart, TypeVariables
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.schema.types import BOOL
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

UNSET: Final = "cannot access local variable '{name}' where it is not associated with a value"

TWO_TYPES: Final = (
    "undefined value {name}: loops above bind it to values of several types, so that it has none behind them. Give "
    "each a name of its own, or {name} a value before the first loop"
)


def note_left_behind(e: Emitter, body: Frame[Sugared]) -> None:
    """Note the variables that a loop, or a branch in one, bound for itself."""
    frame: Frame[Sugared] | None = e.scope.frame
    while frame is not None:
        if frame.hides:  # a comprehension's variables are its own
            return
        frame = frame.parent
    for name, variable in body.variables():
        if variable.slot == str(name) and not isinstance(e.scope.find(name), Variable):
            e.scope.left_behind[name] = variable.type


def ask_behind(e: Emitter, name: Name, where: SourceRange) -> None:
    """Start over if a loop that ended bound the name: it is to be asked there whether it has a value."""
    type_ = e.scope.left_behind.get(name)
    if type_ is None or name in e.type_variables.behind_loops:
        return
    e.type_variables.behind_loops[name] = type_, CompileError(TWO_TYPES.format(name=name), where)
    raise InferenceRestart(e.type_variables)


def begin_unset(e: Emitter) -> None:
    """Give these variables a place at the start of the function, without a value."""
    for name, (type_, _) in e.type_variables.behind_loops.items():
        known = e.type_variables.resolved(type_)
        e.store(name, e.emit("prim::Uninitialized", (), known))
        flag = e.store_aside(f"{name}$set", e.constant(False))
        e.scope.perhaps_unset[name] = e.scope.variable(name), flag


def check_is_set(e: Emitter, name: Name, variable: Variable) -> None:
    """Raise UnboundLocalError, when the program runs, where such a variable has no value."""
    unset = e.scope.perhaps_unset.get(name)
    if unset is None or unset[0].slot != variable.slot:
        return
    missing = e.emit("aten::__not__", (e.load(unset[1].slot, unset[1]),), BOOL)
    node = e.graph.insert("prim::If", (missing,), ())
    with e.inside(node.add_block()):
        text = e.constant(UNSET.format(name=name))
        e.insert("prim::RaiseException", (text, e.constant("builtins.UnboundLocalError")))
    node.add_block()


def as_first_refused(type_variables: TypeVariables, error: CompileError) -> CompileError:
    """The refusal of a program: where it is about such a variable, that its name means nothing behind the loop."""
    for name, (_, first) in type_variables.behind_loops.items():
        if f"'{name}'" in str(error).partition("\n")[0]:
            return first
    return error
