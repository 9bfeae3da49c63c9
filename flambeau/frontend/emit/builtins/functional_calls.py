"""`functional_call(module, tensors, args)` in programs: `forward` as a function of what it reads of the module.

functional_call(model, p, (x,))    →    forward(x, p["0.weight"], p["0.bias"], p["2.weight"], p["2.bias"])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library import module_state
from flambeau.frontend.trees.tree_views import Apply, DictLiteral, Expr, NoneLit, StringLiteral, TupleLiteral
from flambeau.ir.graph import Value
from flambeau.schema.types import STRING, DictType, TensorType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.inversions import FUNCTION_OF_MODULE
from flambeau.util.source import SourceRange

PARAMETERS: Final = ("module", "parameter_and_buffer_dicts", "args", "kwargs")
ARGUMENTS: Final = (
    "functional_call takes a module, a dict of tensors and a tuple of arguments in programs, and kwargs written out as "
    "a dict: functional_call(module, tensors, (x,))"
)
NO_MODULE: Final = (
    "functional_call takes a module of Python by its name in programs, one that stands outside of the function"
)
NO_TENSORS: Final = (
    "functional_call takes a dict of tensors by their names, or a tuple of two of them: this is a {actual}"
)


def _emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    named = {attribute.name: attribute.value for attribute in tree.keywords}
    trees = dict(zip(PARAMETERS, tree.args, strict=False)) | named
    if len(tree.args) > len(PARAMETERS) or not {*PARAMETERS[:2]} <= set(trees) <= {*PARAMETERS}:
        raise CompileError(ARGUMENTS, tree.range)
    function_of = FUNCTION_OF_MODULE.implementation(e.python_value(trees["module"]), trees["module"].range)
    if function_of is None:
        raise CompileError(NO_MODULE, trees["module"].range)
    where = tree.range
    tables = _tables(e, trees["parameter_and_buffer_dicts"])
    function, hidden = function_of
    parameters = function.schema.arguments[len(function.schema.arguments) - len(hidden) :]
    hidden_arguments = [
        Given(_tensor(e, where, tables, names) if names else e.constant(value, parameter.type), where, parameter.name)
        for parameter, (names, value) in zip(parameters, hidden, strict=True)
    ]
    args = _arguments(e, trees.get("args"))
    return e.wrap(function, where).call(e, where, args, [*_keywords(e, trees.get("kwargs")), *hidden_arguments])


def _tables(e: Emitter, tree: Expr) -> list[Value]:
    """The dicts of tensors."""
    value = e.value(tree)
    values = [value]
    if isinstance(value.static_type, TupleType):
        values = [item.as_value(e, tree.range) for item in SimpleValue(value).as_tuple(e, tree.range)]
    if not 1 <= len(values) <= 2 or not all(map(_is_table, values)):
        raise CompileError(NO_TENSORS.format(actual=value.static_type.annotation), tree.range)
    return values


def _is_table(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, DictType) and type_.key == STRING and isinstance(type_.value, TensorType)


def _tensor(e: Emitter, where: SourceRange, tables: Sequence[Value], names: Sequence[str]) -> Value:
    """The tensor of a name, or of another name that stands for the same parameter."""
    keys = [e.constant(name) for name in names]
    if len(tables) == len(keys) == 1:
        return e.emit("aten::__getitem__", (tables[0], keys[0]), TensorType())
    arguments = [Given(value, where) for value in (tables[0], tables[-1], keys[0], keys[-1])]
    return e.wrap(module_state.named_tensor, where).call(e, where, arguments, ()).as_value(e, where)


def _arguments(e: Emitter, tree: Expr | None) -> list[Given]:
    """What `args` stands for: the items of a tuple, or the only argument."""
    if tree is None or isinstance(tree, NoneLit):
        return []
    if isinstance(tree, TupleLiteral):
        return [Given(e.value(item), item.range) for item in tree.items]
    value = e.value(tree)
    if not isinstance(value.static_type, TupleType):
        return [Given(value, tree.range)]
    return [Given(v.as_value(e, tree.range), tree.range) for v in SimpleValue(value).as_tuple(e, tree.range)]


def _keywords(e: Emitter, tree: Expr | None) -> list[Given]:
    """The arguments by name that a dict spells."""
    if tree is None or isinstance(tree, NoneLit):
        return []
    if not isinstance(tree, DictLiteral) or not all(isinstance(key, StringLiteral) for key in tree.keys):
        raise CompileError(ARGUMENTS, tree.range)
    pairs = zip(tree.keys, tree.values, strict=True)
    return [Given(e.value(value), value.range, key.value) for key, value in pairs if isinstance(key, StringLiteral)]


FUNCTIONAL_CALL: Final = FormValue("functional_call", _emit)
