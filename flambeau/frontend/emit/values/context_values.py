"""Context managers of Python that programs may enter: `no_grad()` and its like.

with no_grad(): ...    →    %c : Any = ^no_grad()    prim::Enter(%c)    ...    prim::Exit(%c)
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import ANY, NoneType
from flambeau.tensor.autocast import CpuAutocast, autocast
from flambeau.tensor.autocast_state import check_device, dtype_on
from flambeau.tensor.grad_mode import set_grad_enabled
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

WHICH_DEVICE: Final = (
    "autocast() in a program needs to know the device when it is compiled: write the kind of device out: "
    "autocast('cpu')"
)


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
    """`autocast`: whichever of its classes is written, the block is one of `autocast`, with its dtype said."""

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The context, of the device, the dtype and whether it is enabled. Copies of parameters are the graph's own."""
        try:
            bound = inspect.signature(self.python).bind(
                *(a.value for a in args), **{k.name: k.value for k in keywords}
            ).arguments  # fmt: skip
        except TypeError as error:
            raise CompileError(f"autocast() {error}", where) from None
        device = bound.get("device_type")
        kind = "cpu" if issubclass(self.python, CpuAutocast) else "cuda" if device is None else constant_of(device)
        dtype, enabled = bound.get("dtype"), bound.get("enabled")
        if not isinstance(kind, str):
            raise CompileError(WHICH_DEVICE, where)
        try:
            usual = dtype_on(check_device(kind))
        except RuntimeError as error:
            raise CompileError(str(error), where) from None
        if dtype is None or isinstance(dtype.static_type, NoneType):
            dtype = e.constant(usual.code)
        device = e.constant(kind) if device is None else device
        return ContextValue(autocast, [device, dtype, e.constant(True) if enabled is None else enabled])


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
