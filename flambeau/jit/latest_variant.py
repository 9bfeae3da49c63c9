"""Scripted functions that are compiled for what calls bring: what is looked at is of the variant called last."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from flambeau.executor.executor import Executor
from flambeau.executor.options import Options
from flambeau.jit.function import ScriptFunction
from flambeau.program.function import Function
from flambeau.util.errors import CompileError


class LatestVariant(ScriptFunction):
    """A function with variants, one of which was called last."""

    _options: Options

    @abstractmethod
    def _shown(self) -> ScriptFunction[..., Any]:
        """The variant to look at. Raises CompileError where there is none yet."""

    @property
    def script_function(self) -> Function:  # type: ignore[override]
        """What the rest of the system knows it as."""
        return self._shown().script_function

    @property
    def _executor(self) -> Executor:  # type: ignore[override]
        return self._shown()._executor

    @property
    def _executors(self) -> list[Executor]:
        return self._shown()._executors

    @property
    def _signature(self) -> Any:  # type: ignore[override]
        return self._shown()._signature

    def __repr__(self) -> str:
        try:
            return super().__repr__()
        except CompileError:  # no call has said what is to be compiled
            return f"<flambeau.ScriptFunction {self.__name__}, compiled for what a call brings>"

    @property
    def options(self) -> Options:
        """How it is run."""
        return self._options
