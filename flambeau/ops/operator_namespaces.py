"""`flambeau.ops.aten`, and a namespace for each that custom operators are declared in."""

from __future__ import annotations

from types import ModuleType

from flambeau.ops.packets import OperatorPacket, packet_of
from flambeau.schema import registry

NO_OPERATOR = "'_OpNamespace' '{scope}' object has no attribute '{short}': there is no operator {name}{hint}"


class OperatorNamespace(ModuleType):
    """The operators whose qualified names begin with `scope::`.

    >>> from flambeau.tensor.create import tensor
    >>> OperatorNamespace("aten").neg(tensor([2])).tolist()
    [-2]
    """

    def __init__(self, scope: str) -> None:
        super().__init__(f"flambeau.ops.{scope}", f"The operators named {scope}::...")
        self._scope = scope

    def __getattr__(self, short: str) -> OperatorPacket:
        name = f"{self._scope}::{short}"
        if short.startswith("__"):
            raise AttributeError(f"Invalid attribute '{short}' for the operators of '{self._scope}'")
        if not registry.overloads(name):
            similar = ", ".join(registry.similar(name))
            hint = f"; similar: {similar}" if similar else ""
            raise AttributeError(NO_OPERATOR.format(scope=self._scope, short=short, name=name, hint=hint))
        packet = packet_of(name)
        setattr(self, short, packet)
        return packet

    def __dir__(self) -> list[str]:
        return sorted(short for scope, _, short in map(_parts, registry.names()) if scope == self._scope)


_namespaces: dict[str, OperatorNamespace] = {}


def forget(name: str) -> None:
    """Overloads of an operator came or went: look them up again when somebody asks."""
    scope, _, short = _parts(name)
    if scope in _namespaces:
        _namespaces[scope].__dict__.pop(short, None)


def find(scope: str) -> OperatorNamespace | None:
    """The namespace, if any operator is in it."""
    has_any = not scope.startswith("__") and any(_parts(name)[0] == scope for name in registry.names())
    return _namespaces.setdefault(scope, OperatorNamespace(scope)) if has_any else None


def scopes() -> list[str]:
    """The names of all namespaces."""
    return sorted({scope for scope, _, _ in map(_parts, registry.names()) if not scope.startswith("__")})


def _parts(name: str) -> tuple[str, str, str]:
    return name.partition("::")
