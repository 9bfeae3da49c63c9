"""A type that was inferred, or why there is none."""

from __future__ import annotations

from flambeau.ir.torchscript.types import Text, Type

NULL = "Tried to get the type from an InferredType but the type is null. {reason}"


class InferredType:
    """A type, or why there is none.

    >>> InferredType("it is empty").success()
    False
    """

    def __init__(self, type_or_reason: Type | Text) -> None:
        self._type = type_or_reason if isinstance(type_or_reason, Type) else None
        self._reason = "" if isinstance(type_or_reason, Type) else type_or_reason

    def success(self) -> bool:
        """Whether there is a type."""
        return self._type is not None

    def type(self) -> Type:
        """The type. Raises RuntimeError, with the reason, if there is none."""
        if self._type is None:
            raise RuntimeError(NULL.format(reason=self._reason))
        return self._type

    def reason(self) -> Text:
        """Why there is none; empty if there is one."""
        return self._reason
