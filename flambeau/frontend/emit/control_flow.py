"""Branches and loops, and which names and types hold behind them.

if c: y = 1          →    %n : int = prim::If(%c)    with a block an arm; names stored in both arms are known behind
else: y = 2
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.frontend.closures.captures import names_needed
from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.attribute_refinement import AttributeRefinement, behind_arms, end_arm
from flambeau.frontend.emit.conditions import Condition, Narrowings, emit_condition, refine
from flambeau.frontend.emit.frames import Absent, Frame, Variable
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.inlined import Expansion, check_left
from flambeau.frontend.emit.loop_iterations import emit_for, emit_while, left_by_break, note_break
from flambeau.frontend.emit.nones_of_arms import type_nones
from flambeau.frontend.emit.numbers_of_arms import widen_arms, widen_results
from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.unset_variables import note_left_behind
from flambeau.frontend.emit.values.carried_values import values_in
from flambeau.frontend.emit.values.function_groups import chosen
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.widening import entered
from flambeau.frontend.emit.with_statements import leave_contexts
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.own_statements import own_statements
from flambeau.frontend.trees.tree_base import Tree
from flambeau.frontend.trees.tree_views import (
    Break,
    Continue,
    Def,
    Expr,
    For,
    If,
    Lambda,
    LoopElse,
    Select,
    Stmt,
    TernaryIf,
    Var,
    While,
)
from flambeau.ir.graph import Block, Node, Value
from flambeau.program.protected import BROKE, CONTINUED
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import is_subtype, unify
from flambeau.schema.types import ANY, BOOL, INT, TENSOR, TensorType, TupleType, Type, UnionType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

ONE_ARM = "{name} is not defined in the {arm} branch. Give it a value there, or before the `if`"
TWO_TYPES = "Type mismatch: {name} is set to type {first} in the true branch and type {second} in the false branch"
TERNARY_TYPES = "if-expression's true branch has type {first} but false branch has type {second}"
MADE_THERE = (
    "a function or generator that a branch makes cannot leave the branch: make the functions before the `if`, "
    "and choose between them"
)
UNROLLED = (
    "Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or continue "
    "inside the body of these loops"
)
OUTSIDE = "Syntax error: '{word}' outside of a loop"
OUTCOME = TupleType((INT, ANY))
"""How the body of a `try` ended, and what goes with it."""
MANY_ITERABLES = "List of iterables is not supported currently"


def emit_if(e: Emitter, tree: If) -> bool:
    """`if`: one arm alone where the compiler knows which."""
    condition = emit_condition(e, tree.condition)
    if condition.known is not None:
        refine(e, condition.if_true if condition.known else condition.if_false)
        return e.statements(tree.body if condition.known else tree.orelse)
    return emit_branches(e, condition, tree.range, lambda: e.statements(tree.body), lambda: e.statements(tree.orelse))


def emit_branches(
    e: Emitter, condition: Condition, where: SourceRange, body: Callable[[], bool], orelse: Callable[[], bool]
) -> bool:
    """An undecided `if` with these arms; whether control can go on behind it."""
    assert condition.value is not None
    node = e.graph.insert("prim::If", (condition.value,), ())
    first, second = node.add_block(), node.add_block()
    frame_a, falls_a = _arm(e, first, condition.if_true, body)
    frame_b, falls_b = _arm(e, second, condition.if_false, orelse)
    if falls_a and falls_b:
        _merge(e, node, frame_a, frame_b, where)
        behind_arms(e, frame_a, frame_b)
    elif falls_a or falls_b:
        going_on = frame_a if falls_a else frame_b
        e.scope.frame.names.update(going_on.names)
        behind_arms(e, going_on)
    if e.flow.loop is not None:
        for frame in (frame_a, frame_b):
            note_left_behind(e, frame)
    return falls_a or falls_b


def emit_guarded(e: Emitter, condition: Value, where: SourceRange, body: Callable[[], bool]) -> bool:
    """`body` where the condition holds; whether control can go on behind it."""
    return emit_branches(e, Condition(value=condition), where, body, lambda: True)


def _arm(e: Emitter, block: Block, narrowed: Narrowings, body: Callable[[], bool]) -> tuple[Frame[Sugared], bool]:
    with e.inside(block) as frame:
        refine(e, narrowed)
        falls = body()
        end_arm(e, frame)
        return frame, falls


def _merge(e: Emitter, node: Node, a: Frame[Sugared], b: Frame[Sugared], where: SourceRange) -> None:
    """What each name that an arm bound means behind both."""
    names = dict.fromkeys((*a.names, *b.names))
    for name in sorted(names, key=lambda name: isinstance(a.find(name), Sugared)):  # functions behind what they read
        type_nones(e, name, (a, b), node)
        widen_arms(e, name, (a, b), node, where)
        first, second = a.find(name), b.find(name)
        if isinstance(first, Variable) and isinstance(second, Variable):
            e.type_variables.unify(first.type, second.type)
            e.scope.frame.names[name] = _merged_variable(e, name, first, second, where)
        elif isinstance(first, Sugared) and isinstance(second, Sugared):
            if first is not second:
                e.scope.frame.names[name] = _chosen(e, node.operand(0), (a, first), (b, second), where)
        else:
            absent = _absent_behind(name, first, second, where)
            if absent is not None:
                e.scope.frame.names[name] = absent


def _absent_behind(name: Name, first: object, second: object, where: SourceRange) -> Absent | None:
    """Why a name means nothing behind two arms of which one does not bind it; None if it means what it did before."""
    if isinstance(first, AttributeRefinement) or isinstance(second, AttributeRefinement):
        return None
    absent = next((m for m in (first, second) if isinstance(m, Absent)), None)
    if absent is not None or (first is not None and second is not None):
        return absent
    present, arm = (second, "true") if first is None else (first, "false")
    return Absent(ONE_ARM.format(name=name, arm=arm), where) if isinstance(present, Variable) else None


def _chosen(
    e: Emitter, condition: Value, one: tuple[Frame[Sugared], Sugared], other: tuple[Frame[Sugared], Sugared],
    where: SourceRange,
) -> Sugared | Absent:  # fmt: skip
    """The function that the arm gave a name to; none for one that was made there, of values that the arm alone has."""
    for arm, function in (one, other):
        needed = names_needed(e, function)
        if values_in(function) or any(
            arm.find(name) is not None and isinstance(e.scope.find(name), Absent | None) for name in needed
        ):
            return Absent(MADE_THERE, where)
    return chosen(e, where, condition, one[1], other[1])


def _merged_variable(
    e: Emitter, name: Name, first: Variable, second: Variable, where: SourceRange
) -> Variable | Absent:
    """The variable behind two arms that both assign it; none where it is of two types."""
    declared = first.declared if first.declared == second.declared else None
    wide = any(isinstance(t, UnionType) for t in (first.type, second.type, declared))
    type_ = unify(first.type, second.type, default_to_union=wide)
    if type_ is None and declared is not None and all(is_subtype(v.type, declared) for v in (first, second)):
        type_ = declared
    message = TWO_TYPES.format(name=name, first=first.type, second=second.type)
    if type_ is None:
        type_ = e.type_variables.the_certain(first.type, second.type, CompileError(message, where))
    if type_ is None or first.slot != second.slot:
        return Absent(message, where)
    return Variable(type_, first.slot, declared if declared is not None and is_subtype(type_, declared) else type_)


def emit_ternary(e: Emitter, tree: TernaryIf, hint: Type | None) -> Sugared:
    """`a if c else b`."""
    condition = emit_condition(e, tree.condition)
    if condition.known is not None:
        with e.scope.nested():
            refine(e, condition.if_true if condition.known else condition.if_false)
            return e.sugared(tree.body if condition.known else tree.orelse, hint)
    assert condition.value is not None
    node = e.graph.insert("prim::If", (condition.value,), ())
    one = _ternary_arm(e, node, condition.if_true, tree.body, hint)
    other = _ternary_arm(e, node, condition.if_false, tree.orelse, hint)
    if isinstance(one, Sugared) and isinstance(other, Sugared):  # functions
        node.erase()
        return chosen(e, tree.range, condition.value, one, other)
    first = one.as_value(e, tree.body.range) if isinstance(one, Sugared) else one
    second = other.as_value(e, tree.orelse.range) if isinstance(other, Sugared) else other
    _type_empty(first, second)
    if isinstance(first.static_type, SetType) and isinstance(second.static_type, SetType):
        e.type_variables.unify(first.static_type, second.static_type)
    type_ = _ternary_type(first, second, hint) or widen_results(e, node, tree.range)
    if type_ is None:
        text = TERNARY_TYPES.format(first=first.static_type.annotation, second=second.static_type.annotation)
        refusal = CompileError(text, tree.range)
        type_ = e.type_variables.the_certain(first.static_type, second.static_type, refusal)
        if type_ is None:
            raise refusal
    return SimpleValue(node.add_result(type_))


def _ternary_arm(e: Emitter, node: Node, narrowed: Narrowings, tree: Expr, hint: Type | None) -> Value | Sugared:
    """The value of an arm; what stands for none is given back as it is."""
    block = node.add_block()
    with e.inside(block):
        refine(e, narrowed)
        meaning = e.sugared(tree, hint)
        if meaning.stored_value(e, tree.range) is None and isinstance(tree, Lambda | Var | Select):
            return meaning
        value = meaning.as_value(e, tree.range)
        block.add_return(value)
        return value


def _type_empty(first: Value, second: Value) -> None:
    """Give an empty list or dict in one arm the type of the other arm's."""
    for empty, other in ((first, second), (second, first)):
        node = empty.defining_node
        is_new = node is not None and node.op in ("prim::ListConstruct", "prim::DictConstruct") and not node.operands
        if (
            is_new
            and len(empty.uses()) == 1
            and type(empty.static_type) is type(other.static_type)
            and empty.static_type != other.static_type
        ):
            empty.set_type(other.static_type)


def _ternary_type(first: Value, second: Value, hint: Type | None) -> Type | None:
    if hint is not None and is_subtype(first.static_type, hint) and is_subtype(second.static_type, hint):
        common = unify(first.static_type, second.static_type)
        return hint if common is None else common
    if isinstance(first.static_type, TensorType) and isinstance(second.static_type, TensorType):
        are_arrays = is_array(first) and is_array(second)
        return first.static_type.merge(second.static_type) if are_arrays else TENSOR
    return unify(first.static_type, second.static_type)


def emit_for_statement(e: Emitter, tree: For) -> bool:
    """`for target in iterable`."""
    if len(tree.iterables) != 1:
        raise CompileError(MANY_ITERABLES, tree.range)

    def body(item: Sugared) -> bool:
        assign(e, tree.target, item, tree.target.range)
        return e.statements(tree.body)

    jumps = any(isinstance(s, Break | Continue) for s in own_statements(tree.body))
    with entered(e, tree):
        iteration = e.sugared(tree.iterable).iterate(e, tree.range)
        falls = emit_for(e, tree.iterable.range, iteration, body, jumps=jumps)
    check_left(e, tree.body)
    return falls


def emit_while_statement(e: Emitter, tree: While) -> bool:
    """`while condition`. A `while True` without a break never ends by itself."""
    with entered(e, tree):
        condition = emit_condition(e, tree.condition)
        if condition.known is False:
            return True
        emit_while(
            e,
            condition.as_value(e),
            lambda: refine(e, condition.if_true),
            lambda: emit_condition(e, tree.condition).as_value(e),
            lambda: e.statements(tree.body),
        )
    if condition.known:
        e.scope.frame.names.update(left_by_break(e))
    elif not _breaks(tree.body):
        refine(e, condition.if_false)
    check_left(e, tree.body)
    is_left = isinstance(e.flow.generator, Expansion) and e.flow.generator.flag is not None
    return condition.known is None or is_left or _breaks(tree.body)


def emit_loop_else(e: Emitter, tree: LoopElse) -> bool:
    """A loop whose `else` runs if no `break` was met. What both leave behind is known behind them."""
    with e.graph.at_range(tree.range):
        e.store(tree.flag.name, e.constant(False))
        falls = e.statements((tree.loop,))
        left = left_by_break(e)
        if not falls:
            return False
        flag = e.scope.find(tree.flag.name)
        assert isinstance(flag, Variable)
        condition = Condition(e.load(tree.flag.name, flag))

        def broken() -> bool:
            e.scope.frame.names.update(left)
            return True

        return emit_branches(e, condition, tree.range, broken, lambda: e.statements(tree.orelse))


def _breaks(body: tuple[Stmt, ...]) -> bool:
    """Whether statements of a loop can break out of it."""
    pending: list[Tree] = list(body)
    while pending:
        part = pending.pop()
        if isinstance(part, Break):
            return True
        if not isinstance(part, For | While | Def | Expr):
            pending.extend(part.children)
    return False


def emit_break(e: Emitter, tree: Break) -> bool:
    """`break`."""
    if e.flow.loop is None and e.flow.exits is not None:
        return _leave_try(e, BROKE)
    _check_loop(e, tree, "break")
    note_break(e)
    assert e.flow.loop is not None
    around = e.flow.loop.contexts_around
    leave_contexts(e, e.flow.contexts[_outside(e) if around is None else around :])
    if e.flow.loop.leaves is not None:
        e.insert("prim::Store", (e.constant(True),), name=e.flow.loop.leaves.slot, type=BOOL)
    e.insert("prim::BreakStmt")
    return False


def emit_continue(e: Emitter, tree: Continue) -> bool:
    """`continue`: the condition for another round is evaluated here."""
    if e.flow.loop is None and e.flow.exits is not None:
        return _leave_try(e, CONTINUED)
    again = _check_loop(e, tree, "continue")
    leave_contexts(e, e.flow.contexts[_outside(e) :])
    e.insert("prim::ContinueStmt", (again(),))
    return False


def _leave_try(e: Emitter, code: int) -> bool:
    """`break` and `continue` of a loop around the `try` whose body this is."""
    assert e.flow.exits is not None
    e.flow.exits.add(code)
    leave_contexts(e, e.flow.contexts)
    e.insert("prim::ReturnStmt", (pack_tuple(e, [e.constant(code), e.constant(None)], OUTCOME),))
    return False


def _outside(e: Emitter) -> int:
    return 0 if e.flow.loop is None else e.flow.loop.contexts


def _check_loop(e: Emitter, tree: Break | Continue, word: str) -> Callable[[], Value]:
    if e.flow.loop is None:
        raise CompileError(OUTSIDE.format(word=word), tree.range)
    if e.flow.loop.emit_condition is None:
        raise CompileError(UNROLLED, tree.range)
    return e.flow.loop.emit_condition
