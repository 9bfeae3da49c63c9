"""Scripted functions without annotations that have no meaning for tensors alone: they read a parameter as a dict.

>>> import flambeau
>>> @flambeau.script
... def scaled(p, x):
...     return p["w"] * x
>>> scaled({"w": flambeau.ones(2)}, flambeau.tensor([1.0, 2.0]))
tensor([1., 2.])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.executor.executor import Executor
from flambeau.executor.options import Options
from flambeau.frontend.closures.template import Template
from flambeau.frontend.source.python_source import innermost_function
from flambeau.jit.by_types import ByTypes
from flambeau.jit.function import ScriptFunction
from flambeau.jit.latest_variant import LatestVariant
from flambeau.program.function import Function
from flambeau.tensor.observer import thread
from flambeau.util.errors import CompileError

NOT_CALLED: Final = (
    "{name} annotates nothing, and is compiled for the types that a call brings: call it, and look at it then, or "
    "annotate what is no Tensor, as in p: dict[str, Tensor]"
)


class OpenFunction(LatestVariant):
    """A function of what calls bring; what it shows is what was compiled for the last call."""

    _python: Callable[..., Any]
    by_types: ByTypes

    def __init__(self, fn: Callable[..., Any], template: Template, options: Options, refusal: CompileError) -> None:
        """`refusal` says why it is none of tensors."""
        self.array_source = self._python = innermost_function(fn)
        self._template, self._options, self._refusal = template, options, refusal
        self._tree = lambda: template.tree
        self.by_types = ByTypes(fn, lambda: template, self._script)
        self.transforms: dict[Any, Any] = {}
        self._latest: ScriptFunction[..., Any] | None = None
        functools.update_wrapper(self, self._python)
        self.__name__ = template.tree.name

    def _script(self, function: Function) -> ScriptFunction[..., Any]:
        executor = None if self._options == Options() else Executor(function, self._options)
        return ScriptFunction(function, self._python, self._tree, executor)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, compiled for such arguments. Raises CompileError for what the program does not mean with them."""
        if thread.is_plain:
            return self._python(*args, **kwargs)
        return self.variant_for(args, kwargs)(*args, **kwargs)

    def variant_for(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ScriptFunction[..., Any]:
        """The function as compiled for the types of these arguments. Raises CompileError."""
        variant: ScriptFunction[..., Any] | None = self.by_types.of(args, kwargs)
        if variant is None:
            raise self._refusal
        self._latest = variant
        return variant

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        return self.variant_for(args, kwargs)._running(args, kwargs)

    def _shown(self) -> ScriptFunction[..., Any]:
        if self._latest is None:
            raise CompileError(NOT_CALLED.format(name=self.__name__), self._template.tree.range)
        return self._latest

    def with_options(self, options: Options) -> ScriptFunction:
        """This function run with other options."""
        return OpenFunction(self._python, self._template, options, self._refusal)
