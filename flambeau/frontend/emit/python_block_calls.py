"""Statements that stay Python: a call of the function that they are made into.

with _IgnoreContextManager(a="inp:int", b="out:int"): …    →    %b : int = ^python_block(%a)
"""

from __future__ import annotations

import ast
import types
from typing import Any

from flambeau.frontend.emit.assignment import assign_name
from flambeau.frontend.emit.values.python_calls import PythonFunction
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.scopes.name_resolution import MISSING, Resolver
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.python_trees import PythonBlock
from flambeau.schema.types import NONE, TupleType, Type
from flambeau.util.errors import UnsupportedNodeError


class _Names(dict[str, Any]):
    """The globals of the statements: names as around the program, looked up when they are used."""

    def __init__(self, resolver: Resolver) -> None:
        super().__init__(__name__="python_block")
        self._resolver = resolver

    def __missing__(self, name: str) -> Any:
        value = self._resolver.resolve(name)
        if value is MISSING:
            raise KeyError(name)
        return value


def emit_python_block(e: Emitter, tree: PythonBlock) -> bool:
    """A call with the inputs; its results are assigned."""
    if not e.scope.resolver.reaches_python:
        raise UnsupportedNodeError.of("statements that stay Python", tree.range, "code that came in a file has none")
    arguments = [Given(e.value(var), var.range) for var in tree.inputs]
    results = [type_of_tree(annotation, e.scope.resolver) for annotation in tree.target_types]
    returned: Type = results[0] if len(results) == 1 else TupleType(tuple(results)) if results else NONE
    function = _function(tree, e.scope.resolver)
    function.__annotations__ = {
        var.name: type_of_tree(annotation, e.scope.resolver)
        for var, annotation in zip(tree.inputs, tree.input_types, strict=True)
    } | {"return": returned}
    value = PythonFunction(function).call(e, tree.range, arguments, ()).as_value(e, tree.range)
    values = [value]
    if len(results) != 1:
        values = list(e.graph.insert("prim::TupleUnpack", (value,), results).results) if results else []
    for var, result in zip(tree.targets, values, strict=True):
        assign_name(e, var.range, var.name, SimpleValue(result))
    return True


def _function(tree: PythonBlock, resolver: Resolver) -> types.FunctionType:
    module = ast.Module([tree.code], [])
    compiled = compile(module, tree.range.source.filename, "exec", dont_inherit=True)
    code = next(constant for constant in compiled.co_consts if isinstance(constant, types.CodeType))
    return types.FunctionType(code, _Names(resolver))
