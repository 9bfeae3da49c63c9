"""Turn changes of lists and dicts that only this graph sees into new ones.

```
%l : Tensor[] = prim::ListConstruct(%a)            %l : Tensor[] = prim::ListConstruct(%a)
%n : int = aten::len(%l)                           %n : int = aten::len(%l)
%c : Tensor[] = aten::append(%l, %b)         →     %c : Tensor[] = prim::ListConstruct(%a, %b)
%y : Tensor = aten::stack(%l, %0)                  %y : Tensor = aten::stack(%c, %0)
```

A list qualifies if the graph writes out its elements, and every change of it stands in the same block and leaves a
list whose elements can be written out: with indexes that are constant and within its bounds. Until the last change
nothing may keep the list itself, which would see what becomes of it. The same goes for dicts whose keys are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.uses import Use
from flambeau.ir.walk import ancestor_in
from flambeau.passes.changed_arguments import only_reads
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import DictType, ListType
from flambeau.util.record import dataclass

LIST: Final = "prim::ListConstruct"
DICT: Final = "prim::DictConstruct"
KINDS: Final = (LIST, DICT)
LONGEST: Final = 1024
"""Elements of literal lists; longer ones stay lists that change."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change leaves of a list."""

    elements: tuple[Value, ...]
    result: Value | None = None
    """What the change gives besides: the element that `pop` takes out."""


Change = Callable[[tuple[Value, ...], Node], Changed | None]
list_changes: Final = RuleTable[Change]("what a change leaves of a literal list")
"""Registers functions of the elements and the node that changes them; None from one where that is not known."""
dict_changes: Final = RuleTable[Change]("what a change leaves of a literal dict")
"""Registers such functions for dicts, whose elements are keys and values in turn."""


def do(graph: Graph) -> bool:
    """Make every list that can be one of lists that never change; whether there was any."""
    literals = [n.result() for kind in KINDS for n in graph.find_all(kind)]
    candidates = [v for v in literals if any(map(_is_change, v.uses()))]
    if not candidates:
        return False
    aliases = alias_analysis(graph)  # what it says of writes stays true enough: there are ever fewer
    rewritten = [_rewrite(value, _left_by(value, _changes(value, aliases))) for value in candidates]
    return any(rewritten)


def _changes(value: Value, aliases: AliasAnalysis) -> list[Node]:
    """The changes of a list in order; none where one has to stay."""
    block, names = value.owner_block, _names_of(value)
    locations = aliases.locations(value)
    uses = [use for name in names for use in name.uses()]
    changes = {use.user for use in uses if _is_change(use)}
    writers = [writer for writer in aliases.writers(value) if not locations.isdisjoint(aliases.writes(writer))]
    writers = [writer for writer in writers if not only_reads(writer)]
    if len(locations) != 1 or not changes.issuperset(writers) or any(c.owner_block is not block for c in changes):
        return []
    ordered = sorted(changes, key=cmp_to_key(_in_order))
    return ordered if all(_may_stay(use, ordered[-1], value, aliases) for use in uses) else []


def _in_order(first: Node, second: Node) -> int:
    return -1 if first.is_before(second) else 1


def _names_of(value: Value) -> list[Value]:
    """A list, and the results of the changes that give it back."""
    names = [value]
    for name in names:
        for use in name.uses():
            if _is_change(use) and _gives_back(use.user):
                names.append(use.user.result())
    return names


def _is_change(use: Use[Node]) -> bool:
    node = use.user
    return use.offset == 0 and node.op in _changes_of(node.operand(0))


def _changes_of(value: Value) -> Mapping[str, Change]:
    """The changes of values of a kind: lists or dicts."""
    match value.static_type:
        case ListType():
            return list_changes
        case DictType():
            return dict_changes
        case _:
            return {}


def _gives_back(change: Node) -> bool:
    """Whether the result of a change is the list."""
    definition = change.definition
    returns = () if definition is None else definition.schema.returns
    return len(change.results) == 1 and bool(returns) and returns[0].alias is not None and returns[0].alias.is_write


def _may_stay(use: Use[Node], last: Node, value: Value, aliases: AliasAnalysis) -> bool:
    """Whether a use is a change, or only looks at the list, or comes when all changes are over."""
    node = use.user
    if _is_change(use):
        return node.operands.count(node.operand(0)) == 1
    at = ancestor_in(node, value.owner_block)
    if at is None or last.is_before(at):
        return at is not None
    definition = node.definition
    if definition is None or definition.schema.arguments[use.offset].alias is not None:
        return False
    return not any(aliases.may_reach(result, aliases.locations(value)) for result in node.results)


def _left_by(value: Value, changes: Sequence[Node]) -> dict[Node, Changed]:
    """What each change leaves; nothing where that is not known of all."""
    assert value.defining_node is not None
    left: dict[Node, Changed] = {}
    elements = value.defining_node.operands
    taken_out: dict[Value, Value] = {}
    for change in changes:
        changed = _changes_of(value)[change.op](elements, change)
        if changed is None or len(changed.elements) > LONGEST:
            return {}
        elements = tuple([taken_out.get(element, element) for element in changed.elements])
        result = None if changed.result is None else taken_out.get(changed.result, changed.result)
        if result is not None:
            taken_out[change.result()] = result
        left[change] = Changed(elements, result)
    return left


def _rewrite(value: Value, left: Mapping[Node, Changed]) -> bool:
    """Let each node use the latest list in place of the one that changes; whether it changes."""
    used_in: dict[Node, list[Use[Node]]] = {}
    for use in [use for name in _names_of(value) for use in name.uses() if left and use.user not in left]:
        at = ancestor_in(use.user, value.owner_block)
        assert at is not None
        used_in.setdefault(at, []).append(use)
    versions = [value]
    for node in sorted({*used_in, *left}, key=cmp_to_key(_in_order)):
        for user, offset in used_in.get(node, ()):
            user.replace_operand(offset, versions[-1])
        if node in left:
            versions.append(_version(value, node, left[node]))
    for change in reversed(list(left)):
        change.erase()
    for version in versions[:0:-1]:
        if not version.is_used and version.defining_node is not None:
            version.defining_node.erase()
    return bool(left)


def _version(value: Value, change: Node, left: Changed) -> Value:
    """The list or dict that a change leaves, before that change."""
    graph = change.graph
    kind = LIST if isinstance(value.static_type, ListType) else DICT
    with graph.inserting(change), graph.at_range(change.range):
        version = graph.insert(kind, left.elements, [value.static_type]).result()
    if left.result is not None:
        change.result().replace_uses_with(left.result)
    return version


def _constant_index(value: Value, count: int) -> int | None:
    """A constant index of a list of so many elements, counted from its start; None where there is none such."""
    index: Any = constants.constant_value(value) if constants.is_constant(value) else None
    return index % count if isinstance(index, int) and -count <= index < count else None


@list_changes("aten::append")
def _append(elements: tuple[Value, ...], node: Node) -> Changed:
    return Changed((*elements, node.operand(1)))


@list_changes("aten::insert")
def _insert(elements: tuple[Value, ...], node: Node) -> Changed | None:
    index = _constant_index(node.operand(1), len(elements))
    return None if index is None else Changed((*elements[:index], node.operand(2), *elements[index:]))


@list_changes("aten::_set_item")
def _set_item(elements: tuple[Value, ...], node: Node) -> Changed | None:
    index = _constant_index(node.operand(1), len(elements))
    return None if index is None else Changed((*elements[:index], node.operand(2), *elements[index + 1 :]))


@list_changes("aten::pop")
def _pop(elements: tuple[Value, ...], node: Node) -> Changed | None:
    index = len(elements) - 1 if len(node.operands) == 1 else _constant_index(node.operand(1), len(elements))
    if index is None or index < 0:
        return None
    return Changed((*elements[:index], *elements[index + 1 :]), elements[index])


@list_changes("aten::reverse")
def _reverse(elements: tuple[Value, ...], node: Node) -> Changed:
    return Changed(elements[::-1])


@list_changes("aten::clear")
def _clear(elements: tuple[Value, ...], node: Node) -> Changed:
    return Changed(())


def place_of_key(elements: tuple[Value, ...], key: Value) -> int | None:
    """Where among keys and values the value of a key is, -1 where it is not; None where keys are not known."""
    positions = places_of_keys(elements)
    if positions is None or not constants.is_constant(key):
        return None
    wanted = constants.constant_value(key)
    return positions.get(wanted, -1) if isinstance(wanted, str | int) else None


def places_of_keys(elements: tuple[Value, ...]) -> dict[str | int, int] | None:
    """Where among keys and values the value of each key is, the last of equal ones; None where keys are not known."""
    keys = elements[::2]
    if not all(map(constants.is_constant, keys)):
        return None
    constant_keys = [constants.constant_value(k) for k in keys]
    if not all(isinstance(k, str | int) for k in constant_keys):
        return None
    return {k: 2 * index + 1 for index, k in enumerate(constant_keys)}


@dict_changes("aten::_set_item")
def _set_value(elements: tuple[Value, ...], node: Node) -> Changed | None:
    index = place_of_key(elements, node.operand(1))
    if index is None:
        return None
    if index < 0:
        return Changed((*elements, node.operand(1), node.operand(2)))
    return Changed((*elements[:index], node.operand(2), *elements[index + 1 :]))


@dict_changes("aten::Delete")
def _delete(elements: tuple[Value, ...], node: Node) -> Changed | None:
    index = place_of_key(elements, node.operand(1))
    return None if index is None or index < 0 else Changed((*elements[: index - 1], *elements[index + 1 :]))


@dict_changes("aten::pop")
def _pop_value(elements: tuple[Value, ...], node: Node) -> Changed | None:
    left = _delete(elements, node)
    index = place_of_key(elements, node.operand(1))
    return None if left is None or index is None else Changed(left.elements, elements[index])


@dict_changes("aten::clear")
def _clear_dict(elements: tuple[Value, ...], node: Node) -> Changed:
    return Changed(())
