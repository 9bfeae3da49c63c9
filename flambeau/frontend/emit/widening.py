"""Variables that are known to be narrower than they were declared, and assignments that make them wide again.

if node is None:                     behind it, `node` is a Node
    return 0
while node is not None:              its second round sees what the body assigns: before the loop,
    node = node.next                 `node` has to be what it was declared as, an Optional[Node]

That a body does so is known when it has been emitted: then the function is emitted again, with the variable made wide
in front of the loop, or of the `try`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.frontend.emit.flow import Entry
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.tree_base import Tree
from flambeau.schema.element_type import holds_elements, joined, same_elements
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import Type
from flambeau.util.record import replace


@contextmanager
def entered(e: Emitter, tree: Tree) -> Iterator[None]:
    """Emit a loop or `try`: variables that its body was found to widen are wide in front of it already."""
    for name in e.type_variables.wide.get(id(tree), ()):
        meaning = e.scope.find(name)
        declared = meaning.declared if isinstance(meaning, Variable) else None
        if isinstance(meaning, Variable) and declared is not None and may_widen(e, name, meaning, declared):
            e.store(name, e.load(name, meaning), declared)
    for name, type_ in e.type_variables.numbers.get(id(tree), {}).items():
        meaning = e.scope.find(name)
        if isinstance(meaning, Variable) and meaning.type == type_:
            e.scope.frame.names[name] = replace(meaning, type=joined(meaning.type, type_))
    e.flow.entries.append(Entry(tree, e.scope.frame))
    try:
        yield
    finally:
        e.flow.entries.pop()


def note_numbers(e: Emitter, name: Name, variable: Variable, type_: Type) -> None:
    """A variable is assigned numbers that it was not known to be.

    Raises `InferenceRestart` if a loop or `try` around it was entered before that was known.
    """
    if not (holds_elements(type_) or holds_elements(variable.type)):
        return
    for entry in e.flow.entries:
        outside = entry.outside.find(name)
        if not isinstance(outside, Variable) or outside.slot != variable.slot or outside.type != type_:
            continue
        both = joined(outside.type, type_)
        if not same_elements(both, outside.type):
            e.type_variables.widen_numbers(entry.tree, name, both)


def may_widen(e: Emitter, name: Name, variable: Variable, type_: Type) -> bool:
    """Whether a variable that is known to be narrower may be assigned this here: it was declared as something wider.

    Raises `InferenceRestart` if a loop or `try` around it was entered with the variable narrow.
    """
    declared = variable.declared
    if declared is None or not is_subtype(type_, declared):
        return False
    for entry in e.flow.entries:
        outside = entry.outside.find(name)
        if isinstance(outside, Variable) and outside.slot == variable.slot and not is_subtype(type_, outside.type):
            e.type_variables.widen(entry.tree, name)
            return False
    return True
