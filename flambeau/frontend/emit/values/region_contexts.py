"""Contexts that say something of the statements in them and do nothing when they run.

with record_function("loss"): …     every node of the block is in the scope `loss`
with strict_fusion(): …             a node that the executor looks for: all operators of the block are to be fused
with np.errstate(divide="ignore")   nothing: numbers that are not finite are never warned of
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.constants import constant_value, is_constant
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NAME_WANTED = "record_function takes the name of the block, a text that is known when the function is compiled"
NO_ARGUMENTS = "strict_fusion takes no arguments"
NOTHING_RAISED = instead(
    "programs go on with inf and nan, without a warning: np.errstate takes 'ignore', 'warn', 'print' and 'log' here, "
    "by the name of an error; to stop there, write {code}",
    "if not np.isfinite(x).all(): raise FloatingPointError(\"not finite\")", given="x: np.ndarray", gives="x",
    shown="if not np.isfinite(x).all(): raise FloatingPointError(...)",
)  # fmt: skip
_UNRAISED: Final = frozenset({"ignore", "warn", "print", "log"})


@dataclass(slots=True)
class Region(Sugared):
    """A block with a scope of its own, or whose operators must be fused."""

    scope: str = ""
    is_strict: bool = False

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "region, which only `with` understands"


@dataclass(slots=True)
class RecordFunction(Sugared):
    """`record_function(name)`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "class record_function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The named region."""
        arguments = [*args, *(k for k in keywords if k.name == "name")]
        constants = [constant_value(g.value) for g in arguments if is_constant(g.value)]
        name = constants[0] if len(constants) == 1 and len(args) + len(keywords) == 1 else None
        if not isinstance(name, str):
            raise CompileError(NAME_WANTED, where)
        return Region(scope=name)


@dataclass(slots=True)
class StrictFusion(Sugared):
    """`strict_fusion()`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "class strict_fusion"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The strict region."""
        if args or keywords:
            raise CompileError(NO_ARGUMENTS, where)
        return Region(is_strict=True)


@dataclass(slots=True)
class ErrorState(Sugared):
    """`np.errstate(divide="ignore")`: what NumPy does about numbers that are not finite."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "class np.errstate"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A region without a name. Raises CompileError where an exception or a call is asked for."""
        kinds = {constant_value(g.value) if is_constant(g.value) else None for g in keywords}
        if args or not kinds <= _UNRAISED:
            raise CompileError(NOTHING_RAISED, where)
        return Region()
