"""Scripted functions that annotate nothing and name NumPy: programs on what a call brings, arrays or tensors.

>>> import numpy as np, flambeau
>>> @flambeau.script
... def roots(x):
...     return np.sqrt(x) * 2
>>> roots(np.array([1, 4])), roots(flambeau.tensor([1.0, 4.0]))
(array([2., 4.]), tensor([2., 4.]))
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from flambeau.executor.executor import Executor
from flambeau.executor.options import Options
from flambeau.frontend.source.python_source import innermost_function
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Graph
from flambeau.jit.array_function import ArrayFunction
from flambeau.jit.function import ScriptFunction
from flambeau.jit.unannotated import unannotated_parameters
from flambeau.program.function import Function
from flambeau.tensor.tensor import Tensor

_NUMBERS: Final = (bool, int, float, complex, np.float64, np.float32, np.int64, np.int32, np.bool_, np.complex128)
_ITEMS: Final = frozenset((*_NUMBERS, np.ndarray, str, type(None)))
_CONTAINERS: Final = frozenset((list, tuple, dict))
_OF_NUMBERS: Final = frozenset(str(kind) for cls in (bool, int, float, complex, str) for kind in (cls, cls.__name__))
"""Annotations of what is no array, as classes and as texts."""
_OTHERS: Final = ("flambeau", "torch")
"""Libraries whose functions are of tensors."""


def is_of_arrays_or_tensors(fn: Any) -> bool:
    """Whether there are parameters without annotations, others are numbers or texts, and NumPy alone is named.

    >>> import numpy as np
    >>> is_of_arrays_or_tensors(lambda x: np.sqrt(x)), is_of_arrays_or_tensors(lambda x: x + 1)
    (True, False)
    """
    inner = innermost_function(fn)
    names = (inner.__globals__.get(name) for name in inner.__code__.co_names)
    homes = {value.__name__.partition(".")[0] for value in names if isinstance(value, types.ModuleType)}
    if "numpy" not in homes or not homes.isdisjoint(_OTHERS):
        return False
    return bool(unannotated_parameters(fn)) and _OF_NUMBERS.issuperset(map(str, inner.__annotations__.values()))


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
        arrays: Callable[[], ArrayFunction],
    ) -> None:
        """`function` is the program on tensors, `arrays` makes the one on arrays when a call brings some."""
        super().__init__(function, python, tree, executor)
        self.array_source = python
        self._make_arrays = arrays
        self._of_arrays: ArrayFunction | None = None
        self._of_tensors: ScriptFunction[..., Any] = ScriptFunction(function, python, tree, self._of_tensors_executor)
        self._is_of_arrays = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it as a program on arrays or on tensors. Raises what that does."""
        if (not kwargs and _ITEMS.issuperset(map(type, args))) or not _has_tensors((*args, *kwargs.values())):
            self._is_of_arrays = True
            return (self._of_arrays or self._begin())(*args, **kwargs)
        self._is_of_arrays = False
        return self._of_tensors(*args, **kwargs)

    def _begin(self) -> ArrayFunction:
        self._of_arrays = self._make_arrays()
        return self._of_arrays

    @property
    def _executor(self) -> Executor:
        """What runs calls like the last one."""
        of_arrays = self._of_arrays if self._is_of_arrays else None
        return self._of_tensors_executor if of_arrays is None else of_arrays._executor

    @_executor.setter
    def _executor(self, executor: Executor) -> None:
        self._of_tensors_executor = executor
        self._is_of_arrays = False

    @property
    def graph(self) -> Graph:
        """The graph as compiled for the last call, calls not inlined."""
        of_arrays = self._of_arrays if self._is_of_arrays else None
        return ScriptFunction.graph.fget(self) if of_arrays is None else of_arrays.graph  # type: ignore[attr-defined]

    @property
    def options(self) -> Options:
        """How it is run."""
        return self._of_tensors_executor.options


def _has_tensors(values: Iterable[Any]) -> bool:
    """Whether a value is a tensor or has some in it, or is of no class that programs on arrays take."""
    for value in values:
        kind = type(value)
        if kind in _ITEMS:
            continue
        if kind not in _CONTAINERS or _has_tensors(value.values() if kind is dict else value):
            return not isinstance(value, np.generic) or isinstance(value, Tensor)
    return False
