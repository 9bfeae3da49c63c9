"""Functions that a call chooses by what it passes: an operator or a Python function, one result or two.

F.relu(x)                               the operator
F.relu(x, inplace=True)                 the Python function of that name, compiled
F.max_pool2d(x, 2, return_indices=True) the function that returns a pair
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.util.choice import Choice, Shortcut
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NOT_CONSTANT = (
    "{name}() returns different types for different values of '{parameter}', so its value has to be known when the "
    "program is compiled: write True or False, or list the attribute that holds it in __constants__"
)


@dataclass(slots=True)
class ShortcutValue(Sugared):
    """A Python function that is one operator unless a call uses the parameter that the operator does not have."""

    python: Any
    operator: str
    shortcut: Shortcut

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The operator, or the function."""
        parameter, position = self.shortcut.parameter, self.shortcut.position
        if not parameter or _given(parameter, position, args, keywords) is None:
            try:
                return OperatorValue(self.operator).call(e, where, args, keywords)
            except CompileError:
                if parameter:
                    raise
        function = e.scope.resolver.compile_function(self.python, where)
        assert function is not None
        return SimpleValue(call_function(e, where, function, args, keywords))


@dataclass(slots=True)
class ChoiceValue(Sugared):
    """Two Python functions, one of which a call means."""

    choice: Choice

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the function that the constant chooses. Raises CompileError if it is no constant."""
        choice = self.choice
        flag = _given(choice.parameter, choice.position, args, keywords)
        answer = choice.default if flag is None else _constant(flag)
        if not isinstance(answer, bool):
            text = NOT_CONSTANT.format(name=choice.if_false.__name__.lstrip("_"), parameter=choice.parameter)
            raise CompileError(text, where)
        return e.wrap(choice.if_true if answer else choice.if_false, where).call(e, where, args, keywords)


def _given(name: str, position: int, args: Sequence[Given], keywords: Sequence[Given]) -> Given | None:
    """What a call passes for a parameter; None if it leaves it out."""
    if position < len(args):
        return args[position]
    return next((k for k in keywords if k.name == name), None)


def _constant(argument: Given) -> Any:
    """The value of an argument that the compiler knows."""
    node = argument.value.defining_node
    return MISSING if node is None or node.op != "prim::Constant" else node.attributes.get("value", MISSING)


def wrap_choice(value: Any, operator: str | None) -> Sugared | None:
    """What a Python function that says how calls choose is in a program; None for other values."""
    if not inspect.isfunction(value):
        return None
    choice = getattr(value, "chosen_by", None)
    if isinstance(choice, Choice):
        return ChoiceValue(choice)
    shortcut = getattr(value, "shortcut", None)
    if isinstance(shortcut, Shortcut) and operator is not None:
        return ShortcutValue(value, operator, shortcut)
    return None
