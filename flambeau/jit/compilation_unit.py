"""Programs from text: `CompilationUnit(source)` and `create_function_from_graph`."""

from __future__ import annotations

import sys
from typing import Any

from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.source.python_source import NameScope
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.ir.verify import verify
from flambeau.jit.compiling import tidy
from flambeau.jit.function import ScriptFunction
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.util.errors import CompileError, without_frames


class CompilationUnit:
    r"""Functions compiled from text; each is an attribute.

    Names that the text does not define are looked up where the unit is made.

    Args:
        source: the text of functions and classes.
        frames_up: how many calls up names are looked up.

    >>> unit = CompilationUnit("def twice(n: int) -> int:\n    return 2 * n\n")
    >>> unit.twice(21)
    42
    """

    def __init__(self, source: str = "", *, frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if source:
            self._define(source, NameScope.of_frame(sys._getframe(1 + frames_up)))

    def define(self, source: str) -> None:
        """Compile more functions; they see those that are there already. Raises CompileError."""
        self._define(source, NameScope.of_frame(sys._getframe(1)))

    def _define(self, source: str, scope: NameScope) -> None:
        def resolve(name: str) -> Any:
            own = self._functions.get(name)
            return own.script_function if own is not None else scope(name)

        try:
            with REGISTRY.lock:
                compiled = compile_source(source, PythonResolver(resolve, CLASSES, "<string>"), finish=tidy)
        except CompileError as error:
            raise without_frames(error) from None
        taken = [f.short_name for f in compiled if f.short_name in self._functions]
        if taken:
            raise RuntimeError(f"function '{taken[0]}' is defined already in this unit")
        for function in compiled:
            REGISTRY.attach(function)
            self._functions[function.short_name] = ScriptFunction(function)

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function of that name, or None."""
        return self._functions.get(name)

    def get_functions(self) -> list[ScriptFunction]:
        """All functions in order of definition."""
        return list(self._functions.values())

    def create_function(self, name: str, graph: Graph) -> ScriptFunction:
        """A function of this unit from a graph."""
        self._functions[name] = create_function_from_graph(name, graph)
        return self._functions[name]

    def __getattr__(self, name: str) -> ScriptFunction:
        function = self.__dict__.get("_functions", {}).get(name)
        if function is None:
            raise AttributeError(f"the unit has no function '{name}'")
        return function  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]


def create_function_from_graph(name: str, graph: Graph) -> ScriptFunction:
    """A callable function from a copy of a graph, for example of one read by `flambeau.ir.parse_ir`.

    Raises VerifyError for a broken one.

    Args:
        name: what the function is called.
        graph: the graph; it is copied.

    >>> from flambeau.ir.parser import parse_ir
    >>> text = '''graph(%n : int):
    ...   %one : int = prim::Constant[value=1]()
    ...   %m : int = aten::add(%n, %one)
    ...   return (%m)'''
    >>> create_function_from_graph("next", parse_ir(text))(41)
    42
    """
    verify(graph)
    function = Function(name, clone_graph(graph), schema_of(name, graph))
    REGISTRY.attach(function)
    return ScriptFunction(function)
