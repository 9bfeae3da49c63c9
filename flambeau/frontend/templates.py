"""Functions compiled for a call: those that gather arguments, take functions, or see variables of a function around.

def g(x, *rest): ...      g(1, 2.5, 3)    →    g compiled with x : int and rest : (float, int)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from flambeau.frontend.annotations import names_array, type_of_tree
from flambeau.frontend.arguments import MISSING, Argument, emit_all, is_function, matched, takes_anything
from flambeau.frontend.bound import Bound
from flambeau.frontend.captures import Closure, captures
from flambeau.frontend.closures import hold, holds_closures
from flambeau.frontend.computed_defaults import computed_defaults, left_out
from flambeau.frontend.constants import constant_type, constant_value
from flambeau.frontend.defaults import written_defaults
from flambeau.frontend.emit.cells import close_cell
from flambeau.frontend.emit.conversions import pack_list, pack_tuple
from flambeau.frontend.emit.environment import Variable
from flambeau.frontend.emit.generators import yields
from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.resolver import Resolver
from flambeau.frontend.returned_functions import call_maker, makes_function
from flambeau.frontend.trees.scopes import scope_of
from flambeau.frontend.trees.views import Apply, Def, Ident, Param
from flambeau.frontend.values.captured import identity, take_along
from flambeau.frontend.values.generator_calls import generator_call
from flambeau.frontend.values.keywords import KeywordsValue
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.frontend.values.tuples import TupleValue
from flambeau.ir.graph import Graph
from flambeau.ir.value import Value
from flambeau.program.function import Function
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.element_type import kinds_of
from flambeau.schema.function import Argument as FormalArgument
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import TENSOR, TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field, replace
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

Compiler = Callable[..., Function]


INSTEAD = (
    "it can be called, passed to functions and returned by functions of the program, and be in a list, tuple or dict "
    "that is written out; Python and objects get the values that it gives"
)


@dataclass(slots=True)
class Template:
    """A function's tree, where its names are looked up, and what was compiled from it."""

    tree: Def
    resolver: Resolver
    defaults: Mapping[str, Any]
    compile: Compiler
    """`compile_def`, given so that this module need not know it."""
    done: dict[Any, tuple[Function, Bound]] = field(default_factory=dict)
    """What was compiled, with what it was compiled for, which has to live as long."""
    active: set[Any] = field(default_factory=set)
    promised: dict[Any, Function] = field(default_factory=dict)
    """Functions that call themselves, while they are compiled."""
    makes_function: bool | None = None
    """Whether it returns functions; None where nobody asked yet."""


@runtime_checkable
class TemplateResolver(Protocol):
    """What else a resolver can do: give Python functions as templates."""

    def template(self, fn: Any) -> Template | None:
        """The template of a Python function; None for what has no source of its own."""


def instantiate(
    e: Emission,
    where: SourceRange,
    template: Template,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    called: Closure | None = None,
) -> Sugared:
    """A call of the function as compiled for these arguments; `called` is the nested function that it is, if any."""
    tree = template.tree
    given = matched(tree, args, keywords)
    types: dict[str, Type] = {}
    constants: dict[str, Sugared] = {}
    values: list[Given] = []
    extra: list[Param] = []
    for param in tree.decl.params:
        argument = given.pop(param.name, None)
        if argument is None:
            if param.name not in template.defaults:
                raise CompileError(MISSING.format(name=tree.name, parameter=param.name), where)
            default = template.defaults[param.name]
            if is_function(default):
                constants[param.name] = e.wrap(default, where)
            else:
                _default_type(e, param, default, types)
        elif argument.is_value:
            value = argument.value(e)
            if isinstance(value.type, ArrayType) and _takes_array(param, template):
                types[param.name] = value.type
            elif takes_anything(param):
                types[param.name] = TensorType() if isinstance(value.type, TensorType) else value.type
            values.append(Given(value, argument.where, param.name))
        else:
            constants[param.name] = argument.sugared
    _gather(e, tree, given, types, constants, values, extra, where)
    along = captures(e, where, called, constants.values())
    for name, constant in constants.items():
        constants[name], parts = take_along(constant, f"{name}__{tree.name}", where)
        along.values.update(parts)
    constants.update(along.constants)
    for name, value in along.values.items():
        extra.append(_param(name, where))
        types[name] = value.type
        values.append(Given(value, where, name))
    cells: dict[str, tuple[Value, Variable]] = {}
    aliases: dict[str, str] = {}
    for captured in along.variables.values():
        name, *others = captured.names
        aliases.update(dict.fromkeys(others, name))
        value = e.load(name, captured.variable)
        if captured.is_assigned:
            value = e.cells.get(captured.variable.slot) or pack_list(e, [value], value.type)
            cells[name] = value, captured.variable
        extra.append(_param(name, where))
        types[name] = value.type
        values.append(Given(value, where, name))
    open_ = e.type_variables.ids(list(types.values()))
    variables = e.type_variables if open_ else None
    bound = Bound(types, constants, tuple(extra), variables, frozenset(cells), aliases, e.arrays)
    function = _compiled(template, bound, where, open_)
    result = SimpleValue(call_function(e, where, function, (), values))
    for cell, variable in cells.values():
        close_cell(e, variable, cell)
    return result


def _takes_array(param: Param, template: Template) -> bool:
    """Whether a parameter is declared as an array, or not at all."""
    return param.annotation is None or names_array(param.annotation, template.resolver)


def _default_type(e: Emission, param: Param, default: Any, types: dict[str, Type]) -> None:
    """A parameter without annotation that is left out has the type of its default."""
    if takes_anything(param):
        try:
            types[param.name] = constant_type(constant_value(default))
        except TypeError:
            return


def _gather(
    e: Emission,
    tree: Def,
    given: Mapping[str, Any],
    types: dict[str, Type],
    constants: dict[str, Sugared],
    values: list[Given],
    extra: list[Param],
    where: SourceRange,
) -> None:
    """What `*args` and `**options` get: a tuple, and a value for each name."""
    vararg, kwarg = tree.decl.vararg, tree.decl.kwarg
    if vararg is not None and not all(argument.is_value for argument in given["*"]):
        constants[vararg.name] = TupleValue([argument.sugared for argument in given["*"]])
    elif vararg is not None:
        packed = pack_tuple(e, [argument.value(e) for argument in given["*"]])
        types[vararg.name] = packed.type
        extra.append(vararg)
        values.append(Given(packed, where, vararg.name))
    if kwarg is not None:
        slots: dict[str, str] = {}
        for name, argument in given["**"].items():
            slot = f"{kwarg.name}_{name}"
            value = argument.value(e)
            slots[name], types[slot] = slot, value.type
            extra.append(_param(slot, where))
            values.append(Given(value, argument.where, slot))
        constants[kwarg.name] = KeywordsValue(slots)


def _param(name: str, where: SourceRange) -> Param:
    return Param(where, Ident(where, name), None, None, True)


def _compiled(template: Template, bound: Bound, where: SourceRange, open_: tuple[int, ...]) -> Function:
    tree = template.tree
    meanings = tuple((n, identity(c)) for n, c in bound.constants.items())
    elements = tuple(kinds_of(part) for type_ in bound.types.values() for part in type_.walk())
    key = (tuple(bound.types.items()), elements, bound.arrays, meanings, open_, tuple(bound.aliases.items()))
    found = template.done.get(key)
    if found is not None:
        return found[0]
    if key in template.active:
        return _promised(template, key, bound, where)
    template.active.add(key)
    try:
        made = template.compile(tree, template.resolver, defaults=template.defaults, bound=bound)
    finally:
        template.active.discard(key)
        promised = template.promised.pop(key, None)
    if promised is not None:  # what calls it already calls this object
        promised.graph, promised.schema = made.graph, made.schema
        made = promised
    template.done[key] = (made, bound)
    return made


def _promised(template: Template, key: Any, bound: Bound, where: SourceRange) -> Function:
    """The function that is being compiled, for calls of itself. Raises CompileError if it does not say its result."""
    tree = template.tree
    if tree.decl.returns is None:
        text = f"function '{tree.name}' is called recursively. Recursive calls are not supported"
        raise CompileError(f"{text} unless the function declares what it returns", where)
    if key not in template.promised:
        types = bound.types
        arguments = [
            FormalArgument(p.name, types.get(p.name) or _declared(p, template.resolver), kwarg_only=p.keyword_only,
                           positional_only=p.positional_only)
            for p in (*tree.decl.params, *bound.params)
            if p.name not in bound.constants
        ]
        result = FormalArgument("", type_of_tree(tree.decl.returns, template.resolver))
        schema = FunctionSchema(tree.name, "", tuple(arguments), (result,))
        promised = template.promised[key] = Function(tree.name, Graph(tree.name), schema)
        if result.type == TENSOR and names_array(tree.decl.returns, template.resolver):
            promised.result = array_of(None, None)
    return template.promised[key]


def _declared(param: Param, resolver: Resolver) -> Type:
    return TensorType(inferred=True) if param.annotation is None else type_of_tree(param.annotation, resolver)


# -- functions inside functions ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class ClosureValue(Sugared):
    """A nested function or a lambda. What it reads of the function around it is read when it is called."""

    is_function: ClassVar[bool] = True

    template: Template
    free: tuple[str, ...]
    """Names it reads and does not bind."""
    nonlocals: frozenset[str]
    """Those of them that it assigns."""
    home: str
    """The function it was defined in."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """The variables there that hold defaults, by parameter."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def as_value(self, e: Emission, where: SourceRange) -> Value:
        """The function with what it reads, in texts. Raises CompileError elsewhere: it can be called and passed on."""
        if holds_closures(e):
            return hold(e, where, self)
        raise CompileError(f"{self.kind} cannot be used as a value: {INSTEAD}", where)

    def call_tree(self, e: Emission, tree: Apply, hint: Type | None) -> Sugared:
        """A call with what is known of its arguments."""
        args, keywords = emit_all(e, tree)
        return self._called(e, tree.callee.range, args, keywords)

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values."""
        positional = [Argument(SimpleValue(a.value), a.where) for a in args]
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        return self._called(e, where, positional, named)

    def _called(
        self, e: Emission, where: SourceRange, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Sugared:
        def listed(e: Emission) -> Value:
            return instantiate(e, where, self.template, args, keywords, self).as_value(e, where)

        template = self.template
        if self.computed:
            rest = left_out(e, self, template.tree, self.computed, where, args, keywords)
            keywords = {**keywords, **rest}
        if makes_function(template.tree, e.resolver, functions_given(template.tree, args, keywords)):
            return call_maker(e, where, template, args, keywords, self)
        if yields(template.tree):
            call = generator_call(
                e, template.tree, e.resolver, template.defaults, args, keywords, listed, template.compile, self
            )
            if call is not None:
                return call
        return instantiate(e, where, self.template, args, keywords, self)


def functions_given(
    tree: Def, args: Sequence[Argument], keywords: Mapping[str, Argument]
) -> dict[str, Argument]:
    """The arguments that are no values, by parameter."""
    names = [p.name for p in tree.decl.params if not p.keyword_only]
    given = dict(zip(names, args, strict=False)) | dict(keywords)
    return {name: argument for name, argument in given.items() if not argument.is_value}


def closure(e: Emission, tree: Def, compile_: Compiler) -> ClosureValue:
    """The value of a nested definition."""
    scope = scope_of(tree)
    computed = {} if holds_closures(e) else computed_defaults(e, tree)
    params = tuple(replace(p, default=None) if p.name in computed else p for p in tree.decl.params)
    tree = replace(tree, decl=replace(tree.decl, params=params)) if computed else tree
    template = Template(tree, e.resolver, written_defaults(tree, e.resolver), compile_)
    return ClosureValue(template, (*scope.free, *computed.values()), scope.nonlocals, e.home, computed)
