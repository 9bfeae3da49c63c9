"""From the tree of a function to its graph: emission, exits made structured, variables made values.

>>> from flambeau.frontend.trees.function_conversion import parse_source
>>> from flambeau.frontend.scopes.name_resolution import Names
>>> [tree] = parse_source("def f(x: int, y: int = 2) -> int:\\n    return x * y\\n", "<string>")
>>> str(compile_def(tree, Names()).schema)
'f(int x, int y=2) -> int'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from flambeau.analysis import parallel_loops, required_failures, tensor_items
from flambeau.frontend.closures.bound import NOTHING_BOUND, Bound
from flambeau.frontend.closures.captures import defining_scopes
from flambeau.frontend.closures.generator_expressions import keep_expression
from flambeau.frontend.closures.nested_functions import closure
from flambeau.frontend.closures.written_results import written_result
from flambeau.frontend.closures.yielding_methods import generator_method
from flambeau.frontend.emit import (
    augmented,
    binary_operators,
    call_expressions,
    comparisons,
    comprehensions,
    conditions,
    container_displays,
    control_flow,
    exceptions,
    generator_lists,
    python_expressions,
    simple_statements,
    subscripts,
    with_statements,
)
from flambeau.frontend.emit.beginnings import as_begun
from flambeau.frontend.emit.builtins.stepwise import emit_joined
from flambeau.frontend.emit.cells import open_cell
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.flow import Flow, Stops
from flambeau.frontend.emit.function_scope import FunctionScope, Inherited, Receiver
from flambeau.frontend.emit.generator_lists import yields
from flambeau.frontend.emit.graph_builder import Builder
from flambeau.frontend.emit.inference import infer
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.python_block_calls import emit_python_block
from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.emit.unset_variables import begin_unset
from flambeau.frontend.emit.values import attribute_rules, iterators, python_values
from flambeau.frontend.emit.values.sugared import Emitter, ExpressionRule, Rules, StatementRule, Sugared
from flambeau.frontend.scopes.array_annotations import is_bare_container, names_array
from flambeau.frontend.scopes.captured_names import unique_name
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.parameter_defaults import (
    as_declared,
    broadcast_default,
    check_defaults,
    declared_type,
    type_by_default,
    written_defaults,
)
from flambeau.frontend.scopes.scope_tree import Scope, scope_tree
from flambeau.frontend.scopes.type_annotations import broadcast_count, type_of_tree
from flambeau.frontend.ssa import reversed_copies
from flambeau.frontend.ssa.cleanup import clean
from flambeau.frontend.ssa.exits import make_structured
from flambeau.frontend.ssa.overlapping_writes import operands_shown, read_before_written
from flambeau.frontend.ssa.to_ssa import to_ssa
from flambeau.frontend.trees import tree_views as t
from flambeau.ir.graph import Graph
from flambeau.program.classes import is_module_type
from flambeau.program.function import Function
from flambeau.schema.array_type import holds_arrays, plain
from flambeau.schema.element_type import holds_elements, without_elements
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import NONE, TENSOR, ListType, OptionalType, Type
from flambeau.util.depth import TOO_DEEP, deep_recursion
from flambeau.util.errors import CompileError, NotSupportedError
from flambeau.util.record import replace

EXPRESSIONS: Final[Mapping[type, ExpressionRule]] = {
    t.Var: call_expressions.emit_name,
    t.Select: call_expressions.emit_select,
    t.Apply: call_expressions.emit_apply,
    t.Const: binary_operators.emit_const,
    t.StringLiteral: container_displays.emit_string,
    t.TrueLit: container_displays.emit_true_false,
    t.FalseLit: container_displays.emit_true_false,
    t.NoneLit: container_displays.emit_none,
    t.TupleLiteral: container_displays.emit_tuple,
    t.ListLiteral: container_displays.emit_list,
    t.DictLiteral: container_displays.emit_dict,
    t.ListComp: comprehensions.emit_list_comprehension,
    t.GeneratorListComp: comprehensions.emit_list_comprehension,
    t.GeneratorComp: python_expressions.emit_comprehension,
    t.DictComp: comprehensions.emit_dict_comprehension,
    t.BinOp: binary_operators.emit_binary,
    t.Compare: comparisons.emit_compare,
    t.UnaryMinus: binary_operators.emit_minus,
    t.Invert: binary_operators.emit_invert,
    t.Not: conditions.emit_logical,
    t.And: conditions.emit_logical,
    t.Or: conditions.emit_logical,
    t.TernaryIf: control_flow.emit_ternary,
    t.Subscript: subscripts.emit_subscript,
    t.UnaryPlus: python_expressions.emit_plus,
    t.Walrus: python_expressions.emit_walrus,
    t.SetLiteral: python_expressions.emit_set,
    t.Formatted: python_expressions.emit_formatted,
    t.Bind: python_expressions.emit_bind,
    t.Length: python_expressions.emit_length,
    t.Comprehension: python_expressions.emit_comprehension,
    t.Lambda: lambda e, tree, hint: closure(e, _as_def(tree), e.scope.symbols.of(tree), compile_def),
}

STATEMENTS: Final[Mapping[type, StatementRule]] = {
    t.Assign: simple_statements.emit_assignment,
    t.AugAssign: augmented.emit_augmented,
    t.ExprStmt: simple_statements.emit_expression,
    t.If: control_flow.emit_if,
    t.For: control_flow.emit_for_statement,
    t.While: control_flow.emit_while_statement,
    t.LoopElse: control_flow.emit_loop_else,
    t.Return: simple_statements.emit_return,
    t.Raise: simple_statements.emit_raise,
    t.Assert: simple_statements.emit_assert,
    t.Pass: simple_statements.emit_pass,
    t.Break: control_flow.emit_break,
    t.Continue: control_flow.emit_continue,
    t.Delete: simple_statements.emit_delete,
    t.With: with_statements.emit_with,
    t.Def: lambda e, tree: _emit_nested(e, tree),
    t.Import: python_expressions.emit_import,
    t.PythonBlock: emit_python_block,
    t.Try: exceptions.emit_try,
    t.Reraise: exceptions.emit_bare_raise,
    t.Yield: generator_lists.emit_yield,
    t.Nonlocal: lambda e, tree: True,
}

VARIABLE_ARGUMENTS = (
    "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults, but where "
    "a call of the program says what they are"
)
RULES: Final = Rules(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    wrap=python_values.wrap,
    attribute=attribute_rules.attribute,
    loop=emit_for,
    generator_method=generator_method,
    joined=emit_joined,
    branch=control_flow.emit_guarded,
    keep=lambda e, tree: keep_expression(e, tree, compile_def),
    iterator=lambda e, where, value: iterators.iterator(e, where, value, compile_def),
    search=lambda e, where, container, item: iterators.search(e, where, container, item, compile_def),
)

NO_RETURN = "Function was not annotated as having type None, but does not return along all paths"


def compile_def(
    tree: t.Def,
    resolver: Resolver,
    *,
    name: str = "",
    defaults: Mapping[str, Any] | None = None,
    self_type: Type | None = None,
    receiver: Receiver | None = None,
    bound: Bound = NOTHING_BOUND,
) -> Function:
    """The function that a tree defines.

    `name` is its qualified name, its own if not given. `defaults` are values of parameters by name, those of a Python
    function; what the tree itself says comes first. With `self_type` it is a method whose first parameter has that
    type; with `receiver` it is an `__init__`, which adds attributes to its class. `bound` is what a call tells of
    parameters whose types or values are the call's.
    Raises CompileError for what is not of the language or does not fit its types.

    >>> from flambeau.frontend.scopes.name_resolution import Names
    >>> from flambeau.frontend.trees.function_conversion import parse_source
    >>> function = compile_def(parse_source("def f(n: int):\\n  return n * n\\n")[0], Names())
    >>> print(function.schema)
    f(int n) -> int
    """
    try:
        with deep_recursion():
            type_variables = TypeVariables(bound.type_variables) if bound.own is None else bound.own
            qualified, symbols = name or tree.name, bound.symbols or scope_tree(tree)
            return infer(
                type_variables,
                lambda: _compile(
                    tree, resolver, qualified, defaults or {}, self_type, receiver, bound, type_variables, symbols
                ),
                lambda: _memory(receiver),
            )
    except RecursionError:
        raise CompileError(TOO_DEEP, tree.ident.range) from None


def _memory(receiver: Receiver | None) -> Callable[[], None]:
    """What takes back the attributes that an `__init__` gives to its class."""
    if receiver is None:
        return lambda: None
    definition, unassigned = receiver.definition, set(receiver.unassigned)
    attributes, slots = list(definition.attributes), dict(definition.slots)

    def restore() -> None:
        definition.attributes[:], definition.slots = attributes, slots
        receiver.unassigned.clear()
        receiver.unassigned.update(unassigned)

    return restore


def _compile(
    tree: t.Def,
    resolver: Resolver,
    name: str,
    defaults: Mapping[str, Any],
    self_type: Type | None,
    receiver: Receiver | None,
    bound: Bound,
    type_variables: TypeVariables,
    symbols: Scope,
) -> Function:
    is_generator = yields(tree)
    e = _emission(tree, resolver, self_type, receiver, bound, type_variables, symbols)
    graph = e.graph
    values = {**defaults, **written_defaults(tree, resolver)}
    e.scope.frame.names.update(bound.constants)
    arguments = [
        _parameter(e, param, values, bound.types.get(param.name, self_type if i == 0 else None))
        for i, param in enumerate((*tree.decl.params, *bound.params))
        if param.name not in bound.constants
    ]
    check_defaults(arguments, tree)
    with graph.at_range(tree.range):
        _emit_prologue(e, tree, bound, is_generator)
        begin_unset(e)
        if e.statements(tree.body) and type_variables.error is None:
            _fall_off(e, tree)
    if type_variables.error is not None:
        raise type_variables.error
    result = NONE if bound.is_suspended else generator_lists.finish(e, tree) if is_generator else _result_type(e)
    if isinstance(e.flow.generator, Stops):
        bound.yielded.extend(e.flow.generator.yielded)
    with graph.at_range(tree.range):
        make_structured(graph, result)
        to_ssa(graph)
        clean(graph)
        tensor_items.settle(graph)
        parallel_loops.check(graph)
    if bound is not NOTHING_BOUND:  # called by name, by the call that it is compiled for
        arguments = [replace(a, positional_only=False) for a in arguments]
    return _function(e, name, [broadcast_default(a) for a in arguments], result)


def _emission(
    tree: t.Def,
    resolver: Resolver,
    self_type: Type | None,
    receiver: Receiver | None,
    bound: Bound,
    type_variables: TypeVariables,
    symbols: Scope,
) -> Emission:
    """The state that the emission of a function begins with."""
    for variable in (tree.decl.vararg, tree.decl.kwarg):
        if variable is not None and variable.name not in bound.types and variable.name not in bound.constants:
            raise NotSupportedError(VARIABLE_ARGUMENTS, variable.range)
    returns = None if yields(tree) else tree.decl.returns
    arrays = _has_arrays(tree, resolver, bound)
    is_open = returns is None or (arrays and is_bare_container(returns, resolver))
    declared = None if is_open or returns is None else type_of_tree(returns, resolver)
    scope_names = defining_scopes((*bound.constants, *bound.aliases), bound.constants.values())
    scope: FunctionScope[Sugared] = FunctionScope(
        name=tree.name,
        resolver=resolver,
        symbols=symbols,
        has_self=self_type is not None or bound.has_self,
        receiver=receiver,
        unique_name=unique_name(tree, scope_names),
    )
    e = Emission(
        builder=Builder(Graph(tree.name), scope_names=scope_names),
        scope=scope,
        flow=Flow(declared_return=declared),
        rules=RULES,
        type_variables=type_variables,
        arrays=arrays,
    )
    if self_type is not None and bound.base is not None:
        scope.inherited = Inherited(self_type, bound.base)
        type_variables.as_written = scope.as_written
    return e


def _emit_prologue(e: Emission, tree: t.Def, bound: Bound, is_generator: bool) -> None:
    """What runs in front of the statements: cells are opened, and a generator's list begins."""
    for cell in bound.cells:
        variable = e.scope.variable(cell)
        assert isinstance(variable.type, ListType)
        open_cell(e, cell, e.load(cell, variable), variable.type.element)
    e.scope.frame.names.update({name: e.scope.frame.names[other] for name, other in bound.aliases.items()})
    if bound.is_suspended:
        e.flow.generator = Stops(generator_lists.declared_element(tree, e.scope.resolver))
    elif is_generator:
        generator_lists.begin(e, tree)
    e.scope.expanding = (id(tree),) if is_generator else ()


def _function(e: Emitter, name: str, arguments: list[Argument], result: Type) -> Function:
    """The function of a graph that is done: to the rest of the system, its arrays are tensors."""
    if e.arrays:
        shown = operands_shown(e.graph)
        _without_arrays(e.graph)
        reversed_copies.check(e.graph)
        read_before_written(e.graph, shown)
    required_failures.mark(e.graph, of_tensors=e.arrays)
    parameters = tuple([replace(a, type=without_elements(plain(a.type))) for a in arguments])
    schema = FunctionSchema(e.scope.name, "", parameters, (Argument("", without_elements(plain(result))),))
    function = Function(name, e.graph, schema)
    if e.flow.array_result is not None and (holds_arrays(e.flow.array_result) or holds_elements(e.flow.array_result)):
        function.result = e.flow.array_result
    return function


def _has_arrays(tree: t.Def, resolver: Resolver, bound: Bound) -> bool:
    """Whether a function takes arrays, or says that it gives some."""
    returns = tree.decl.returns
    takes = bound.arrays or any(map(holds_arrays, bound.types.values()))
    return takes or (returns is not None and names_array(returns, resolver))


def _without_arrays(graph: Graph) -> None:
    """Have all values of a graph be tensors that were arrays to the compiler."""
    values = [*graph.parameters]
    for node in graph.all_nodes():
        values += [*node.results, *(v for block in node.nested_blocks for v in block.parameters)]
    for value in values:
        if holds_arrays(value.static_type) or holds_elements(value.static_type):
            value.set_type(without_elements(plain(value.static_type)))


def _emit_nested(e: Emitter, tree: t.Def) -> bool:
    """A function inside a function: its name stands for it."""
    e.scope.frame.names[tree.name] = closure(e, tree, e.scope.symbols.of(tree), compile_def)
    return True


def _as_def(tree: t.Lambda) -> t.Def:
    """A lambda as a function that returns its body."""
    ident = t.Ident(tree.decl.range, "lambda_")
    return t.Def(tree.range, ident, tree.decl, (t.Return(tree.body.range, tree.body),))


def declared_schema(
    tree: t.Def, resolver: Resolver, *, defaults: Mapping[str, Any], self_type: Type | None = None,
    by_returns: bool = False,
) -> FunctionSchema | None:  # fmt: skip
    """What a function takes and returns, from its declaration; None if that does not say what it returns.

    With `by_returns`, simple returns may say it, too: who asks compares that with what the function gives once it is
    compiled.

    >>> from flambeau.frontend.scopes.name_resolution import Names
    >>> from flambeau.frontend.trees.function_conversion import parse_source
    >>> tree = parse_source("def f(n: int, scale: float = 2.0) -> float:\\n  return n * scale\\n")[0]
    >>> print(declared_schema(tree, Names(), defaults={"scale": 2.0}))
    f(int n, float scale=2.) -> float
    """
    is_init = tree.name == "__init__" and self_type is not None
    if yields(tree):
        return None
    arguments = []
    for index, param in enumerate(tree.decl.params):
        type_ = _declared_type(param, resolver, self_type if index == 0 else None, defaults)
        default = as_declared(defaults.get(param.name, NO_DEFAULT), type_)
        arguments.append(_argument(param, type_, default))
    if tree.decl.returns is not None:
        result: Type | None = type_of_tree(tree.decl.returns, resolver)
    else:
        result = NONE if is_init else None
        if by_returns and not is_init:
            result = written_result(tree, {a.name: a.type for a in arguments})
    return None if result is None else FunctionSchema(tree.name, "", tuple(arguments), (Argument("", result),))


def _declared_type(param: t.Param, resolver: Resolver, self_type: Type | None, defaults: Mapping[str, Any]) -> Type:
    if self_type is not None:
        return self_type
    return type_by_default(param, defaults) or declared_type(param, resolver)


def _result_type(e: Emitter) -> Type:
    """What the function returns: as declared, else what its return statements have in common."""
    if e.flow.declared_return is not None:
        return e.flow.declared_return
    merged = NONE if e.flow.merged_return is None else e.flow.merged_return
    return TENSOR if merged == TENSOR else merged


def _parameter(e: Emitter, param: t.Param, defaults: Mapping[str, Any], self_type: Type | None) -> Argument:
    """Add a parameter to the graph; its schema."""
    type_, name = _declared_type(param, e.scope.resolver, self_type, defaults), param.name
    with e.graph.at_range(param.range):
        value = e.graph.add_parameter(type_, name if name.isascii() else "")
        e.store(name, as_begun(e, param.range, name, value))
        if self_type is not None and is_module_type(type_):
            e.scope.frame.names[name] = replace(e.scope.variable(name), value=value)
    count = None if param.annotation is None else broadcast_count(param.annotation, e.scope.resolver)
    default = as_declared(defaults.get(name, NO_DEFAULT), type_)
    return replace(_argument(param, type_, default), broadcast=count)


def _argument(param: t.Param, type_: Type, default: Any) -> Argument:
    by_name, by_place = param.keyword_only, param.positional_only
    return Argument(param.name, type_, default=default, kwarg_only=by_name, positional_only=by_place)


def _fall_off(e: Emitter, tree: t.Def) -> None:
    """Control reaches the end of the body: the function returns None there, if it may."""
    if e.flow.generator is not None:
        e.insert(
            "prim::ReturnStmt", (e.constant(None) if isinstance(e.flow.generator, Stops) else e.flow.generator.result,)
        )
        return
    declared = e.flow.declared_return
    if declared is not None and not isinstance(declared, OptionalType) and declared != NONE and str(declared) != "Any":
        raise CompileError(NO_RETURN, tree.range)
    if declared is None and e.flow.merged_return is not None:
        merged = OptionalType.of(e.flow.merged_return)
        e.flow.merged_return = merged
    elif declared is None:
        e.flow.merged_return = NONE
    e.insert("prim::ReturnStmt", (e.constant(None),))


__all__ = ["compile_def", "declared_schema"]
