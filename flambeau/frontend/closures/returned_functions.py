"""Functions that return functions: inlined where they are called, so that the compiler knows what comes back.

def make(k): return lambda x: x + k        g = make(3)    →    k of `make` is 3, and `g` stands for the lambda
g(x)                                                           what the lambda reads is found under that name

Which of several functions comes back may depend on conditions: then their number is a value of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from flambeau.frontend.closures.call_arguments import MISSING, Argument, is_function, matched, takes_anything
from flambeau.frontend.closures.captures import Closure, defining_scopes, name_at
from flambeau.frontend.emit.conditions import emit_condition, refine
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.inlined import inlined_scope, inlining
from flambeau.frontend.emit.values.carried_values import slots_of, values_in
from flambeau.frontend.emit.values.function_groups import ChosenFunction
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.scopes.captured_names import CapturedName, unique_name
from flambeau.frontend.scopes.name_resolution import MISSING as UNKNOWN
from flambeau.frontend.scopes.name_resolution import Resolver, recursion_error
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.own_statements import own_statements
from flambeau.frontend.trees.tree_views import (
    Apply,
    Assign,
    Def,
    DictLiteral,
    Expr,
    ExprStmt,
    If,
    Lambda,
    ListLiteral,
    Pass,
    Raise,
    Return,
    Select,
    Stmt,
    StringLiteral,
    TernaryIf,
    TupleLiteral,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NOT_LAST = (
    "a function that returns functions returns them at its end, or from `if`s that only define, choose and raise: not "
    "from a loop, `try` or `with`"
)
OWN_VALUES = "a function that is made in a branch with values of its own cannot leave it: make it before the `if`"
WRONG_ARGUMENT = "Expected a value of type '{wanted}' for argument '{name}' but instead found type '{found}'."
NO_FUNCTION = "'{name}' returns a function on one path, so it has to return one on every path"


class Maker(Protocol):
    """A function as its calls have it."""

    tree: Def
    resolver: Resolver
    defaults: Mapping[str, Any]


def makes_function(tree: Def, resolver: Resolver, functions: Mapping[str, Any], asked: set[int] | None = None) -> bool:
    """Whether a function returns functions, as far as its tree tells; `functions` are parameters that are functions.

    `asked` are the trees of those that were looked at before: what calls itself, or is called again, says nothing new.
    """
    asked = set() if asked is None else asked
    if id(tree) in asked:
        return False
    asked.add(id(tree))
    statements = list(own_statements(tree.body))
    names = _Names(resolver, _values_by_name(statements), {p.name for p in tree.decl.params}, functions, asked)
    return any(isinstance(s, Return) and names.mean_function(s.value) for s in statements)


def _values_by_name(statements: Sequence[Stmt]) -> dict[str, Expr | None]:
    """What the last assignment to each name gives it; None for a nested function."""
    values: dict[str, Expr | None] = {s.name: None for s in statements if isinstance(s, Def)}
    for statement in statements:
        if isinstance(statement, Assign) and statement.value is not None:
            names = [t.name for t in statement.targets if isinstance(t, Var)]
            values.update({name: statement.value for name in names if values.get(name, statement) is not None})
    return values


@dataclass(slots=True)
class _Names:
    """What the names of a function stand for."""

    resolver: Resolver
    own: Mapping[str, Expr | None]
    """What it assigns; None for nested functions."""
    parameters: set[str]
    functions: Mapping[str, Any]
    """Parameters for which functions are passed."""
    asked: set[int]

    def mean_function(self, value: Expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a function, or has functions in it; `seen` are names that led to it."""
        match value:
            case Lambda():
                return True
            case Var(name=name) if name in self.own and name not in seen:
                assigned = self.own[name]
                return assigned is None or self.mean_function(assigned, seen | {name})
            case Var(name=name) if name in self.parameters:
                return name in self.functions
            case Var() | Select():
                python = _outside(value, self.resolver)
                return is_function(python) and not isinstance(python, type)
            case TernaryIf(body=one, orelse=other):
                return self.mean_function(one, seen) or self.mean_function(other, seen)
            case TupleLiteral(items=items) | ListLiteral(items=items) | DictLiteral(values=items):
                return any(self.mean_function(item, seen) for item in items)
            case Apply(callee=callee):
                own = {**self.own, **dict.fromkeys(self.parameters)}
                return _gives_function(callee, self.resolver, own, self.asked)
        return False


def _outside(tree: Expr, resolver: Resolver) -> Any:
    """The Python value of a dotted name."""
    if isinstance(tree, Var):
        return resolver.resolve(tree.name)
    if not isinstance(tree, Select):
        return UNKNOWN
    owner = _outside(tree.value, resolver)
    return UNKNOWN if owner is UNKNOWN else resolver.member(owner, tree.name)


def _gives_function(callee: Expr, resolver: Resolver, own: Mapping[str, Any], asked: set[int]) -> bool:
    """Whether a call of something from outside gives a function: `partial`, or a function that makes some."""
    name: Expr = callee
    while isinstance(name, Select):
        name = name.value
    if not isinstance(name, Var) or name.name in own:
        return False
    python = _outside(callee, resolver)
    if getattr(python, "__name__", "") == "partial" and getattr(python, "__module__", "") == "functools":
        return True
    find = getattr(resolver, "template", None)
    template = find(python) if find is not None and hasattr(python, "__code__") else None
    return template is not None and makes_function(template.tree, template.resolver, {}, asked)


def call_maker(
    e: Emitter,
    where: SourceRange,
    maker: Maker,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    called: Closure | None = None,
) -> Sugared:
    """The function that a call gives. Raises CompileError for one that is reached again inside of itself."""
    tree = maker.tree
    if id(tree) in e.scope.expanding:
        raise recursion_error(tree.name, where)
    if tree.decl.kwarg is not None:
        raise CompileError("a function that returns functions takes no **kwargs in programs", where)
    e.builder.scope_names |= defining_scopes((), (a.sugared for a in (*args, *keywords.values())))
    scope_name = unique_name(tree, e.builder.scope_names)
    scope = inlined_scope(e, tree, maker.resolver, scope_name, None if called is None else called.symbols)
    frame = scope.frame
    frame.names.update(_seen_around(e, called))
    frame.names.update(_parameters(e, where, maker, matched(tree, args, keywords)))
    with inlining(e, where, tree, scope, e.flow.inlined()):
        result = _result(e, tree)
    for name, meaning in frame.names.items():
        e.scope.frame.names[name if isinstance(name, CapturedName) else CapturedName(name, scope_name)] = meaning
        e.scope.frame.names.update({slot: frame.names[slot] for slot in slots_of(meaning) if slot in frame.names})
    return result


def _seen_around(e: Emitter, called: Closure | None) -> dict[str, Any]:
    """What a nested function sees around it."""
    names: dict[str, Any] = {}
    if called is None:
        return names
    for capture in called.captured:
        name = capture.name
        meaning = e.scope.find(name_at(called, name, e.scope.unique_name))
        if meaning is not None:
            names[name] = meaning
            names.update({slot: e.scope.find(slot) for slot in slots_of(meaning)})
    return names


def _parameters(
    e: Emitter, where: SourceRange, maker: Maker, passed: Mapping[str, Any]
) -> dict[str, Variable | Sugared]:
    parameters: dict[str, Variable | Sugared] = {}
    vararg = maker.tree.decl.vararg
    if vararg is not None:
        parameters[vararg.name] = TupleValue([argument.sugared for argument in passed["*"]])
    for param in maker.tree.decl.params:
        argument = passed.get(param.name)
        if argument is None and param.name not in maker.defaults:
            raise CompileError(MISSING.format(name=maker.tree.name, parameter=param.name), where)
        if argument is None:
            default = maker.defaults[param.name]
            try:
                value = e.constant(constant_value(default), constant_type(default))
            except TypeError:
                parameters[param.name] = e.wrap(default, where)
                continue
        elif not argument.is_value:
            parameters[param.name] = argument.sugared
            continue
        else:
            value = argument.value(e)
        if not takes_anything(param) and param.annotation is not None:
            wanted = type_of_tree(param.annotation, maker.resolver)
            value = convert(e, value, wanted, implicit=True)
            if not is_subtype(value.static_type, wanted):
                text = WRONG_ARGUMENT.format(
                    wanted=wanted.annotation, name=param.name, found=value.static_type.annotation
                )
                raise CompileError(text, where)
        parameters[param.name] = e.store_aside(param.name, value)
    return parameters


def _result(e: Emitter, tree: Def) -> Sugared:
    """What the statements of the function return."""
    for index, statement in enumerate(tree.body):
        if isinstance(statement, Return):
            return e.sugared(statement.value)
        if any(isinstance(s, Return) for s in own_statements((statement,))):
            functions: list[Sugared] = []
            number = _chosen(e, tree, tree.body[index:], functions)
            return functions[0] if len(functions) == 1 else ChosenFunction(number, functions)
        if not e.statements((statement,)):
            break
    raise CompileError(NO_FUNCTION.format(name=tree.name), tree.range)


def _chosen(e: Emitter, tree: Def, body: Sequence[Stmt], functions: list[Sugared]) -> Value:
    """The number of the function that statements return, and the functions themselves in `functions`."""
    for index, statement in enumerate(body):
        rest = body[index + 1 :]
        match statement:
            case Return():
                functions.append(e.sugared(statement.value))
                if e.graph.insertion_block is not e.graph.body and values_in(functions[-1]):
                    raise CompileError(OWN_VALUES, statement.range)
                return e.constant(len(functions) - 1)
            case Raise():
                e.statements((statement,))
                return e.emit("prim::Uninitialized", (), INT)
            case If():
                return _chosen_by(e, tree, statement, rest, functions)
            case Def() | Pass():
                e.statements((statement,))
            case ExprStmt(value=StringLiteral()):
                continue
            case _:
                raise CompileError(NOT_LAST, statement.range)
    raise CompileError(NO_FUNCTION.format(name=tree.name), tree.range)


def _chosen_by(e: Emitter, tree: Def, statement: If, rest: Sequence[Stmt], functions: list[Sugared]) -> Value:
    condition = emit_condition(e, statement.condition)
    if condition.known is not None:
        refine(e, condition.if_true if condition.known else condition.if_false)
        return _chosen(e, tree, [*(statement.body if condition.known else statement.orelse), *rest], functions)
    assert condition.value is not None
    node = e.graph.insert("prim::If", (condition.value,), ())
    for arm, narrowed in ((statement.body, condition.if_true), (statement.orelse, condition.if_false)):
        block = node.add_block()
        with e.inside(block):
            refine(e, narrowed)
            block.add_return(_chosen(e, tree, [*arm, *rest], functions))
    return node.add_result(INT)
