"""Graphs and functions that may stand for operators, given by users: `_register_decomposition`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from typing import Any, Final, TypeVar

from flambeau.ir.graph import Graph
from flambeau.jit.function import ScriptFunction
from flambeau.jit.script import script
from flambeau.passes import run_decompositions

F = TypeVar("F", bound=Callable[..., Any])
decomposition_table: Final[dict[str, ScriptFunction[..., Any]]] = {}
"""By declaration, `str(flambeau.ops.aten.square.default._schema)`, the function that stands for an operator."""
function_name_set: Final[set[str]] = set()
"""The names of these functions, each once."""
NO_ANNOTATION: Final = "a decomposition says the types of its parameters and of its result, and {name} does not: {what}"
NAME_IS_TAKEN: Final = "there is a decomposition {name} already: a program that has both could not tell them apart"
NO_OPERATOR = "_register_decomposition takes an overload such as flambeau.ops.aten.square.default, not a {found}"


def _register_decomposition(op: Any, graph: Any) -> None:
    """Let a graph stand for one overload of an operator where `run_decompositions` is run over another graph.

    The overload is `flambeau.ops.aten.square.default` or its full name, `"aten::square"`; the graph is that of a
    function which computes the same. Raises TypeError for what is no operator, KeyError for an unknown one, ValueError
    for a graph with other parameters or results. Compiling is as it was: only who runs that pass sees the graph.

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x): return x * x\\ndef g(x): return flambeau.square(x)")
    >>> _register_decomposition(flambeau.ops.aten.square.default, unit.f.graph)
    >>> [n.op for n in flambeau._C.run_pass("run_decompositions", unit.g.graph).nodes()]
    ['aten::mul']
    """
    schema = getattr(op, "_schema", None)
    name = op if isinstance(op, str) else getattr(schema, "full_name", None)
    if not isinstance(name, str):
        raise TypeError(NO_OPERATOR.format(found=type(op).__name__))
    ours = getattr(graph, "ours", graph)
    if not isinstance(ours, Graph):
        raise TypeError(f"a decomposition is a graph, such as fn.graph, not a {type(graph).__name__}")
    run_decompositions.register(name, ours)


def check_decomposition_has_type_annotations(function: Callable[..., Any]) -> None:
    """Raise ValueError for a function which leaves the type of a parameter or of its result to be guessed.

    >>> def twice(x): return x + x
    >>> check_decomposition_has_type_annotations(twice)
    Traceback (most recent call last):
        ...
    ValueError: a decomposition says the types of its parameters and of its result, and twice does not: x, the result
    """
    signature = inspect.signature(function)
    silent = [p.name for p in signature.parameters.values() if p.annotation is inspect.Parameter.empty]
    if signature.return_annotation is inspect.Signature.empty:
        silent.append("the result")
    if silent:
        raise ValueError(NO_ANNOTATION.format(name=function.__name__, what=", ".join(silent)))


def register_decomposition(
    aten_op: Any, registry: MutableMapping[str, ScriptFunction[..., Any]] | None = None
) -> Callable[[F], F]:
    """A decorator: a function computes what one overload of an operator does, and stands for it where
    `run_decompositions` is run over a graph.

    The function is scripted and kept in `registry`, by the overload's declaration; in `decomposition_table` if there is
    none. Raises TypeError for what is no operator, ValueError for a function without annotations, for one of a name
    that is taken, and for one with other parameters or results, CompileError for what no program can be.

    >>> import flambeau
    >>> from flambeau import Tensor
    >>> @register_decomposition(flambeau.ops.aten.negative.default)
    ... def negated(x: Tensor) -> Tensor:
    ...     return x * -1
    >>> "negated" in function_name_set, decomposition_table["aten::negative(Tensor self) -> Tensor"].name
    (True, 'negated')
    """

    def register(function: F) -> F:
        check_decomposition_has_type_annotations(function)
        if function.__name__ in function_name_set:
            raise ValueError(NAME_IS_TAKEN.format(name=function.__name__))
        scripted = script(function)
        _register_decomposition(aten_op, scripted.inlined_graph)
        function_name_set.add(function.__name__)
        (decomposition_table if registry is None else registry)[str(aten_op._schema)] = scripted
        return function

    return register
