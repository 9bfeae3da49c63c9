"""What a program refuses when it runs: a branch that raises, and nothing in the other arm.

prim::If(%is_empty)    block0: prim::RaiseException("...", "builtins.ValueError")    block1: nothing
"""

from __future__ import annotations

from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value


def raise_when(e: Emitter, condition: Value, text: str, error: type[Exception] = ValueError) -> None:
    """The program raises an exception where a condition holds."""
    node = e.graph.insert("prim::If", (condition,), ())
    with e.inside(node.add_block()):
        _raise(e, text, error)
    node.add_block()


def raise_unless(e: Emitter, condition: Value, text: str, error: type[Exception] = ValueError) -> None:
    """The program raises an exception where a condition does not hold."""
    node = e.graph.insert("prim::If", (condition,), ())
    node.add_block()
    with e.inside(node.add_block()):
        _raise(e, text, error)


def _raise(e: Emitter, text: str, error: type[Exception]) -> None:
    e.insert("prim::RaiseException", (e.constant(text), e.constant(f"{error.__module__}.{error.__name__}")))
