"""Scripted functions that annotate nothing: programs on what a call brings, arrays or tensors (see `array_meaning`).

>>> import numpy as np, flambeau
>>> @flambeau.script
... def roots(x):
...     return np.sqrt(x) * 2
>>> roots(np.array([1, 4])), roots(flambeau.tensor([1.0, 4.0]))
(array([2., 4.]), tensor([2., 4.]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import available, native_call
from flambeau.codegen.callable_type import DispatchStub, prepare
from flambeau.executor.executor import Executor
from flambeau.executor.options import Options
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Graph
from flambeau.jit.array_function import ArrayFunction
from flambeau.jit.by_types import ByTypes
from flambeau.jit.dtype_arguments import is_dtype
from flambeau.jit.function import ScriptFunction
from flambeau.jit.unannotated import ByCall
from flambeau.program.function import Function
from flambeau.util.native_type import let_instances_be_native

_ITEMS: Final = frozenset((bool, int, float, complex, np.ndarray, np.float64, np.float32, str, type(None)))
_CONTAINERS: Final = frozenset((list, tuple, dict, set))
_PLAIN: Final = frozenset((bool, int, float, complex, str, type(None)))
"""Classes of what holds nothing."""


class ArraysOrTensors(ScriptFunction):
    """A function whose calls with arrays mean what NumPy means, and with tensors what operators on tensors do.

    What it shows is what was compiled for the last call; to transforms and programs it is the function of tensors.
    """

    def __init__(
        self,
        function: Function,
        python: Callable[..., Any],
        tree: Callable[[], Def],
        executor: Executor | None,
        by_call: ByCall,
        *,
        takes_numbers: bool,
    ) -> None:
        """`function` is the program on tensors, `by_call` the one on arrays when a call brings some; `takes_numbers`
        says whether calls with numbers and lists alone are of that too.
        """
        super().__init__(function, python, tree, executor)
        self.array_source = python
        self.by_call = by_call
        self._takes_numbers = takes_numbers
        self._of_tensors: ScriptFunction[..., Any] = ScriptFunction(function, python, tree, self._of_tensors_executor)
        self._of_tensors.by_call = by_call
        self._is_of_arrays = False
        self._native_for: DispatchStub | None = None
        prepare(self, self._of_tensors_executor.stub, ArraysOrTensors.__call__)

    def take_types(self, by_types: ByTypes) -> None:
        """Have calls with more than tensors, beside tensors, be those of functions compiled for their types."""
        self.by_types = self._of_tensors.by_types = by_types

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it as a program on arrays or on tensors. Raises what that does."""
        self._is_of_arrays = is_of_arrays = self._is_for_arrays(args, kwargs)
        program: ScriptFunction[..., Any] = self._of_arrays if is_of_arrays else self._of_tensors
        stub = self._of_arrays.stub if is_of_arrays else self._of_tensors_executor.stub
        if stub.target is not None and self._native_for is not stub and available():
            self._go_native(stub, for_arrays=is_of_arrays)
        return program(*args, **kwargs)

    def _go_native(self, stub: DispatchStub, *, for_arrays: bool) -> None:
        """Have calls like this one served by fast paths, and others looked at."""
        self._native_for = stub
        if not for_arrays:  # before these fast paths are asked, which take arrays for tensors
            native_call.go_native(self, "forward_tensors")
        prepare(self, stub, ArraysOrTensors.__call__)
        if for_arrays:
            native_call.go_native(self, "forward_named")

    def _is_for_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call is one of the program on arrays."""
        if not kwargs and _ITEMS.issuperset(map(type, args)):
            return self._takes_numbers or np.ndarray in map(type, args)
        values = (*args, *kwargs.values())
        return not _has_tensors(values) and (self._takes_numbers or _has_arrays(values))

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        self._is_of_arrays = self._is_for_arrays(tuple(args), kwargs)
        program: ScriptFunction[..., Any] = self._of_arrays if self._is_of_arrays else self._of_tensors
        return program._running(args, kwargs)

    def _variants(self) -> list[ScriptFunction[..., Any]]:
        of_tensors = [self._of_tensors] if self._of_tensors_executor.plans else []
        return [*of_tensors, *super()._variants()]

    @property
    def _of_arrays(self) -> ArrayFunction:
        assert self.by_call is not None
        function = self.by_call.function()
        assert isinstance(function, ArrayFunction)
        return function

    @property
    def _executor(self) -> Executor:
        """What runs calls like the last one."""
        return self._of_arrays._executor if self._is_of_arrays else self._of_tensors_executor

    @_executor.setter
    def _executor(self, executor: Executor) -> None:
        self._of_tensors_executor = executor
        self._is_of_arrays = False

    @property
    def graph(self) -> Graph:
        """The graph as compiled for the last call, calls not inlined."""
        return self._of_arrays.graph if self._is_of_arrays else self._of_tensors.graph

    @property
    def options(self) -> Options:
        """How it is run."""
        return self._of_tensors_executor.options


let_instances_be_native(ArraysOrTensors)


def _has_arrays(values: Iterable[Any]) -> bool:
    """Whether a value is an array, or has some in it."""
    for value in values:
        kind = type(value)
        inside = value.values() if kind is dict else value if kind in _CONTAINERS else ()
        if isinstance(value, np.ndarray) or (not _PLAIN.issuperset(map(type, inside)) and _has_arrays(inside)):
            return True
    return False


def _has_tensors(values: Iterable[Any]) -> bool:
    """Whether a value is a tensor or has some in it, or is of no class that programs on arrays take."""
    for value in values:
        kind = type(value)
        if kind in _ITEMS or isinstance(value, np.ndarray | np.generic) or is_dtype(value):
            continue
        inside = value.values() if kind is dict else value if kind in _CONTAINERS else ()
        if kind not in _CONTAINERS or (not _PLAIN.issuperset(map(type, inside)) and _has_tensors(inside)):
            return True
    return False
