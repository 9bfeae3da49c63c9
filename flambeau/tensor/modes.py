"""Modes: objects that see all calls of a block, whatever tensors they get.

>>> import flambeau
>>> class Names(flambeau.DispatchMode):
...     def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     x = flambeau.ones(2) + 1
aten.ones.default
aten.add.Tensor
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.overrides import watched_members
from flambeau.tensor.subclasses import OTHER_NAMES
from flambeau.tensor.switched_functions import switched
from flambeau.tensor.tensor import Tensor


class _Mode(ABC):
    """What both kinds of modes have in common: they are entered, nest, and belong to a thread."""

    _entered: list[ExitStack] | None = None
    """The blocks of each time that the mode was entered and not left."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for other, name in OTHER_NAMES.items():
            if other in cls.__dict__ and name not in cls.__dict__:
                setattr(cls, name, cls.__dict__[other])

    @abstractmethod
    def _enter(self, blocks: ExitStack) -> None:
        """Enter the blocks in which calls come to this mode: leaving them ends that."""

    def __enter__(self) -> Self:
        if self._entered is None:
            self._entered = []
        blocks = ExitStack()
        self._enter(blocks)
        self._entered.append(blocks)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._entered, "a mode is left that was not entered"
        self._entered.pop().close()


class FunctionMode(_Mode):
    """Sees what Python calls in a block: functions of the package, methods, operators and properties of tensors.

    A subclass has `__flambeau_function__(self, func, types, args=(), kwargs=None)` (or `__torch_function__`), which
    gives what the call gives: usually `func(*args, **(kwargs or {}))`, where this mode is not asked again. What it
    returns NotImplemented for is asked of subclasses of tensors. Calls within scripted functions are not seen.

    >>> import flambeau
    >>> class Doubled(FunctionMode):
    ...     def __flambeau_function__(self, func, types, args=(), kwargs=None):
    ...         return 2 * func(*args, **(kwargs or {})) if func is flambeau.add else func(*args, **(kwargs or {}))
    >>> with Doubled():
    ...     flambeau.add(flambeau.ones(2), 1).tolist()
    [4.0, 4.0]
    """

    @abstractmethod
    def __flambeau_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call gives that is seen."""

    def _enter(self, blocks: ExitStack) -> None:
        blocks.enter_context(watched_members.watched(Tensor))
        blocks.enter_context(switched.asking())
        blocks.enter_context(changed(functions=(*stack().functions, self)))


class DispatchMode(_Mode):
    """Sees every operator of a block, below the recording of gradients; those of the way back too.

    A subclass has `__flambeau_dispatch__(self, func, types, args=(), kwargs=None)` (or `__torch_dispatch__`), which
    gives what the operator gives. `func` is an overload, such as `flambeau.ops.aten.add.Tensor`; arguments that are
    defaults are left out; `types` are the classes of arguments that are asked in place of kernels. Operators that
    are nothing but spellings of others are seen as these. Scripted functions run an operator at a time.

    >>> import flambeau
    >>> class Zeros(DispatchMode):
    ...     def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {})) * 0
    >>> with Zeros():
    ...     (flambeau.ones(2) + 1).tolist()
    [0.0, 0.0]
    """

    @abstractmethod
    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call gives that is seen."""

    def _enter(self, blocks: ExitStack) -> None:
        blocks.enter_context(changed(modes=(*stack().modes, self)))


TorchDispatchMode = DispatchMode
"""The name that PyTorch's programs import it by."""
