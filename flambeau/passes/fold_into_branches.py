"""Compute in the branches what is asked of a text that branches choose: the text itself is then not needed.

```
%why : str = prim::If(%is_hooked)               %is_fast : bool = prim::If(%is_hooked)
  block0():                                       block0():
    -> (%hooks)                                     -> (%false)
  block1():                               →       block1():
    -> (%empty)                                     -> (%true)
%is_fast : bool = aten::eq(%why, %empty)
```

Machine code has no texts, and no members of enums; models choose among constant ones to word why something is so, and
then only ask whether there is a reason. Instruction combining does the same with phis (LLVM's `foldOpIntoPhi`).
"""

from __future__ import annotations

from flambeau.analysis.effects import is_pure
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.evaluate import NOT_FOLDED, evaluate
from flambeau.schema.types import EnumType, StringType

MOST = 32
"""Constants that a value may be one of."""


def do(graph: Graph) -> bool:
    """Rewrite what can be, in place; whether anything could."""
    changed = False
    for branch in graph.find_all("prim::If"):
        for result in branch.results:
            if isinstance(result.static_type, StringType | EnumType):
                changed = _rewrite(result) or changed
    return changed


def _rewrite(chosen: Value) -> bool:
    choices = _choices(chosen)
    if not choices or len(choices) > MOST:
        return False
    users = dict.fromkeys(use.user for use in chosen.uses())
    folded = [_fold(chosen, choices, user) for user in users if _is_foldable(chosen, user)]
    return any(folded)


def _choices(chosen: Value) -> list[Value]:
    """The constants that a value is one of; none where it may be another."""
    choices: list[Value] = []
    waiting, seen = [chosen], {chosen}
    while waiting:
        value = waiting.pop()
        node = value.defining_node
        if constants.is_constant(value):
            choices.append(value)
        elif node is None or node.op != "prim::If":
            return []
        else:
            ways = [block.returns[value.index] for block in node.nested_blocks]
            waiting += [v for v in dict.fromkeys(ways) if v not in seen]
            seen.update(ways)
    return choices


def _is_foldable(chosen: Value, user: Node) -> bool:
    """Whether a node asks something of the value, and of constants beside it, that is no text again."""
    if user.op.startswith("prim::") or user.nested_blocks or len(user.results) != 1 or not is_pure(user):
        return False
    return all(v is chosen or constants.is_constant(v) for v in user.operands) and not isinstance(
        user.result().static_type, StringType | EnumType
    )


def _fold(chosen: Value, choices: list[Value], user: Node) -> bool:
    """Put the answers in the place of a question; False, with nothing changed, where one of them is not known yet."""
    answers: dict[Value, object] = {}
    for choice in choices:
        answer = _answer(user, chosen, choice)
        if answer is NOT_FOLDED:
            return False
        answers[choice] = answer
    user.result().replace_uses_with(_answered(chosen, user, answers, {}))
    user.erase()
    return True


def _answer(user: Node, chosen: Value, choice: Value) -> object:
    with user.graph.inserting(user):
        operands = [choice if v is chosen else v for v in user.operands]
        asked = user.graph.insert(user.op, operands, [user.result().static_type], **user.attributes)
    results = evaluate(asked)
    asked.erase()
    return NOT_FOLDED if results is NOT_FOLDED else results[0]


def _answered(value: Value, user: Node, answers: dict[Value, object], answered: dict[Value, Value]) -> Value:
    """A value that is the answer for what another is."""
    known = answered.get(value)
    if known is not None:
        return known
    if value in answers:
        assert value.defining_node is not None
        with user.graph.inserting(value.defining_node):
            answer = insert_constant(user.graph, answers[value])
    else:
        branch = value.defining_node
        assert branch is not None
        for block in branch.nested_blocks:
            block.add_return(_answered(block.returns[value.index], user, answers, answered))
        answer = branch.add_result(user.result().static_type)
    answered[value] = answer
    return answer
