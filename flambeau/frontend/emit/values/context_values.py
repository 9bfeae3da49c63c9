"""Context managers of Python that programs may enter: `no_grad()` and its like.

with no_grad(): ...    →    %c : Any = ^no_grad()    prim::Enter(%c)    ...    prim::Exit(%c)
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import ANY
from flambeau.tensor.autocast import CpuAutocast, refusal
from flambeau.tensor.grad_mode import set_grad_enabled
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class ContextClass(Sugared):
    """A class of context managers."""

    python: Any

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class {self.python.__name__}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The context, made where it is entered."""
        if keywords:
            raise CompileError(f"{self.python.__name__} takes its arguments by position", where)
        return ContextValue(self.python, [a.value for a in args])


class AutocastClass(ContextClass):
    """`autocast`: refused where the program says that it wants mixed precision on the CPU, else when it runs."""

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The context, of the device (if it is asked for) and whether it is enabled; the dtype makes no difference."""
        parameters = inspect.signature(self.python).parameters
        try:
            bound = inspect.signature(self.python).bind(
                *(a.value for a in args), **{k.name: k.value for k in keywords}
            ).arguments  # fmt: skip
        except TypeError as error:
            raise CompileError(f"autocast() {error}", where) from None
        device = bound.get("device_type")
        kind = "cpu" if issubclass(self.python, CpuAutocast) else "cuda" if device is None else constant_of(device)
        enabled = bound.get("enabled")
        if kind is not None and (is_enabled := True if enabled is None else constant_of(enabled)) is not None:
            try:
                text = refusal(kind, is_enabled)
            except RuntimeError as error:
                raise CompileError(str(error), where) from None
            if text:
                raise CompileError(text, where)
        switch = e.constant(True) if enabled is None else enabled
        options = {"device_type": device, "dtype": e.constant(None), "enabled": switch}
        chosen = [v for name in parameters if (v := options.get(name)) is not None]
        return ContextValue(self.python, chosen)


def constant_of(value: Value) -> Any:
    """The constant that a value is; None if it is none."""
    node = value.defining_node
    return node.attributes.get("value") if node is not None and node.op == "prim::Constant" else None


@dataclass(slots=True)
class ContextValue(Sugared):
    """A context manager, good for `with` alone."""

    python: Any
    arguments: list[Value]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"context manager {self.python.__name__}"

    def emit_effect(self, e: Emitter, where: SourceRange) -> None:
        """`set_grad_enabled(...)` by itself holds from here on, as PyTorch's operator of this name does."""
        if self.python is set_grad_enabled:
            call_operator(e, where, "aten::set_grad_enabled", self.arguments)

    def made(self, e: Emitter, where: SourceRange) -> Value:
        """The node that makes it."""
        with e.graph.at_range(where):
            return e.emit(f"^{self.python.__name__}", self.arguments, ANY, callable=self.python)
