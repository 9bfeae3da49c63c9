"""Functions compiled for a call: those that gather arguments, take functions, or see variables of a function around.

def g(x, *rest): ...      g(1, 2.5, 3)    →    g compiled with x : int and rest : (float, int)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.call_arguments import MISSING, Argument, is_function, matched, takes_anything
from flambeau.frontend.closures.captured_parameters import captured_parameters
from flambeau.frontend.closures.captures import Closure
from flambeau.frontend.closures.template import Template, compiled
from flambeau.frontend.emit.cells import close_cell
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.emit.values.keyword_values import KeywordsValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared, Transform
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.scopes.array_annotations import names_array
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.frontend.trees.tree_views import Def, Ident, Param
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.array_type import ArrayType
from flambeau.schema.types import TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.inversions import TASK_EXECUTOR
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

ASSIGNS = (
    "{name}() assigns {variables} of the function around it: return it instead, where it is differentiated or mapped"
)


@dataclass(slots=True)
class Specialised:
    """A function as compiled for a call, with what the call passes, by name."""

    function: Function
    values: list[Given]
    cells: dict[str, tuple[Value, Variable]]
    """The lists of one for variables of the function around it that it assigns, by parameter."""


def instantiate(
    e: Emitter,
    where: SourceRange,
    template: Template,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    called: Closure | None = None,
    transforms: Sequence[Transform] = (),
) -> Sugared:
    """A call of the function as compiled for these arguments, or of what transforms make of it; `called` is the nested
    function that it is, if any."""
    specialised = specialise(e, where, template, args, keywords, called, transforms)
    result = SimpleValue(call_function(e, where, specialised.function, (), specialised.values))
    for cell, variable in specialised.cells.values():
        close_cell(e, variable, cell)
    return result


def specialise(
    e: Emitter,
    where: SourceRange,
    template: Template,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    called: Closure | None,
    transforms: Sequence[Transform],
) -> Specialised:
    """The function as compiled for these arguments, or what transforms make of it, before it is called."""
    tree = template.tree
    passed = matched(tree, args, keywords)
    types: dict[str, Type] = {}
    constants: dict[str, Sugared] = {}
    values: list[Given] = []
    extra: list[Param] = []
    for param in tree.decl.params:
        argument = passed.pop(param.name, None)
        if argument is None:
            if param.name not in template.defaults:
                raise CompileError(MISSING.format(name=tree.name, parameter=param.name), where)
            default = template.defaults[param.name]
            if is_function(default):
                constants[param.name] = e.wrap(default, where)
            else:
                _default_type(param, default, types)
        elif argument.is_value:
            value = argument.value(e)
            if isinstance(value.static_type, ArrayType) and _takes_array(param, template):
                types[param.name] = value.static_type
            elif takes_anything(param):
                is_tensor = isinstance(value.static_type, TensorType) and not e.type_variables.ids([value.static_type])
                types[param.name] = TensorType() if is_tensor else value.static_type
            values.append(Given(value, argument.where, param.name))
        else:
            constants[param.name] = argument.sugared
    _gather(e, tree, passed, types, constants, values, extra, where)
    captured = captured_parameters(e, where, called, constants, tree)
    types.update(captured.types)
    extra += captured.trees(where)
    values += [Given(value, where, name) for name, value in captured.values.items()]
    open_ = e.type_variables.ids(list(types.values()))
    variables = e.type_variables if open_ else None
    bound = Bound(
        types, captured.constants, tuple(extra), variables, frozenset(captured.cells), captured.aliases, e.arrays,
        symbols=None if called is None else called.symbols,
    )  # fmt: skip
    function = compiled(template, bound, where, open_, _given_so_far(e, template))
    if transforms:
        function = _transformed(function, transforms, len(values) - len(captured.values), captured.cells, where)
    return Specialised(function, values, captured.cells)


def _transformed(
    function: Function, transforms: Sequence[Transform], count: int, cells: Mapping[str, Any], where: SourceRange
) -> Function:
    """What transforms make of a function with so many parameters of its own. Raises CompileError where they refuse."""
    if cells:
        raise CompileError(ASSIGNS.format(name=function.short_name, variables=", ".join(cells)), where)
    function = _by_position(function)
    for transform in transforms:
        try:
            function = transform(function, count)
        except (TypeError, ValueError) as error:
            raise CompileError(str(error), where) from None
    return function


def _by_position(function: Function) -> Function:
    """The same function, whose arguments may all be given by position."""
    schema = function.schema
    arguments = tuple([replace(a, kwarg_only=False) for a in schema.arguments])
    plain = Function(function.name, function.graph, replace(schema, arguments=arguments))
    if TASK_EXECUTOR.is_provided:  # what has no derivative as a graph runs
        TASK_EXECUTOR.implementation(plain, None)
    return plain


def _takes_array(param: Param, template: Template) -> bool:
    """Whether a parameter is declared as an array, or not at all."""
    return param.annotation is None or names_array(param.annotation, template.resolver)


def _default_type(param: Param, default: Any, types: dict[str, Type]) -> None:
    """A parameter without annotation that is left out has the type of its default."""
    if takes_anything(param):
        try:
            types[param.name] = constant_type(constant_value(default))
        except TypeError:
            return


def _gather(
    e: Emitter,
    tree: Def,
    passed: Mapping[str, Any],
    types: dict[str, Type],
    constants: dict[str, Sugared],
    values: list[Given],
    extra: list[Param],
    where: SourceRange,
) -> None:
    """What `*args` and `**options` get: a tuple, and a value for each name."""
    vararg, kwarg = tree.decl.vararg, tree.decl.kwarg
    if vararg is not None and not all(argument.is_value for argument in passed["*"]):
        constants[vararg.name] = TupleValue([argument.sugared for argument in passed["*"]])
    elif vararg is not None:
        packed = pack_tuple(e, [argument.value(e) for argument in passed["*"]])
        types[vararg.name] = packed.static_type
        extra.append(vararg)
        values.append(Given(packed, where, vararg.name))
    if kwarg is not None:
        slots: dict[str, str] = {}
        for name, argument in passed["**"].items():
            slot = f"{kwarg.name}_{name}"
            value = argument.value(e)
            slots[name], types[slot] = slot, value.static_type
            extra.append(_param(slot, where))
            values.append(Given(value, argument.where, slot))
        constants[kwarg.name] = KeywordsValue(slots)


def _param(name: str, where: SourceRange) -> Param:
    return Param(where, Ident(where, name), None, None, True)


def _given_so_far(e: Emitter, template: Template) -> Type | None:
    """What the returns of the function have given up to here, if it is itself that is called."""
    if e.scope.name != template.tree.name:
        return None
    result = e.flow.array_result if e.arrays else e.flow.merged_return
    return None if result is None or e.type_variables.ids([result]) else result
