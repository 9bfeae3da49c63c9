"""Why a call cannot be bound, in PyTorch's words.

When only one signature is left after merging what Python callers see as one (`out=` forms, Scalar forms beside Tensor
forms), the message names the argument; otherwise it lists the signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.schema.argument_rules import Rule, RuntimeTypes, varargs_position
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.parameter_names import parameter_name
from flambeau.util.record import dataclass

Rules = Callable[[FunctionSchema], tuple[Rule, ...]]


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that fits none of an operator's signatures."""

    name: str
    """The operator's name without its namespace."""
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    runtime: RuntimeTypes
    rules: Rules
    """The rules of a signature's parameters."""

    def error(self, schemas: Sequence[FunctionSchema]) -> TypeError:
        """The TypeError that says why the call fits none of `schemas`."""
        visible = _visible(schemas)
        if not visible:
            return TypeError(f"{self.name}() is not an operator that takes or returns tensors")
        if len(visible) == 1:
            return TypeError(f"{self.name}(){self._problem(visible[0])}")
        forms = "".join(f" * {_form(s, self.rules)}\n{self._mismatch(s)}" for s in visible)
        types = _call_text(self.args, self.kwargs, self.runtime)
        return TypeError(
            f"{self.name}() received an invalid combination of arguments - got {types}, but expected one of:\n{forms}"
        )

    def _mismatch(self, schema: FunctionSchema) -> str:
        """The line under a signature that marks what does not fit it; empty when the number of arguments is what is
        wrong."""
        unknown = [key for key in self.kwargs if parameter_name(schema, key) is None]
        if unknown:
            return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
        if len(self.args) > len(schema.positional) or self._lacks_arguments(schema):
            return ""
        rules = self.rules(schema)
        rule_of_name = {rule.argument.name: rule for rule in rules}
        texts = [self._marked(value, rule) for rule, value in zip(rules, self.args, strict=False)]
        texts += [self._marked(value, rule_of_name.get(key), f"{key}=") for key, value in self.kwargs.items()]
        return f"      didn't match because some of the arguments have invalid types: ({', '.join(texts)})\n"

    def _lacks_arguments(self, schema: FunctionSchema) -> bool:
        names = {a.name for a, _ in zip(schema.positional, self.args, strict=False)}
        names |= {parameter_name(schema, key) or key for key in self.kwargs}
        return any(not a.has_default and a.name not in names for a in schema.arguments)

    def _marked(self, value: Any, rule: Rule | None, prefix: str = "") -> str:
        """The type of an argument, between exclamation marks if the parameter does not take it."""
        text = prefix + _type_text(value, self.runtime)
        return text if rule is None or rule.fit(value) is not None else f"!{text}!"

    def _problem(self, schema: FunctionSchema) -> str:
        """What is wrong with the call, for an operator of one signature."""
        args, positional = self.args, schema.positional
        varargs_at = varargs_position(schema, self.rules(schema), args)
        if varargs_at >= 0:
            args = (*args[:varargs_at], list(args[varargs_at:]))
        if len(args) > len(positional):
            were = "was" if len(args) == 1 else "were"
            arguments = "argument" if len(positional) == 1 else "arguments"
            return f" takes {len(positional)} positional {arguments} but {len(args)} {were} given"
        values = {a.name: v for a, v in zip(positional, args, strict=False)}
        for key, value in self.kwargs.items():
            name = parameter_name(schema, key)
            if name is None:
                return f" got an unexpected keyword argument '{key}'"
            if name in values:
                return f" got multiple values for argument '{key}'"
            values[name] = value
        return self._wrong_value(schema, values, len(args)) or _missing_keywords(schema, values)

    def _wrong_value(self, schema: FunctionSchema, values: Mapping[str, Any], positional: int) -> str:
        """What is wrong with the values by parameter; empty if they all fit and no positional one is missing."""
        missing = [a for a in schema.positional if a.name not in values and not a.has_default]
        if missing:
            names = ", ".join(f'"{_python_name(a)}"' for a in missing)
            return f" missing {len(missing)} required positional arguments: {names}"
        for index, rule in enumerate(self.rules(schema)):
            argument = rule.argument
            if argument.name in values and rule.fit(values[argument.name]) is None:
                position = f" (position {index + 1})" if index < positional else ""
                wrong = _wrong_element(rule, values[argument.name], self.runtime)
                return f": argument '{_python_name(argument)}'{position} must be {rule.text}, {wrong}"
        return ""


def _missing_keywords(schema: FunctionSchema, values: Mapping[str, Any]) -> str:
    names = [f'"{a.name}"' for a in schema.arguments if a.name not in values and not a.has_default]
    return f" missing {len(names)} required keyword-only arguments: {', '.join(names)}"


def _visible(schemas: Sequence[FunctionSchema]) -> list[FunctionSchema]:
    """What Python callers see as separate signatures."""
    functional = [s for s in schemas if not any(a.is_out for a in s.arguments)] or list(schemas)
    kept: list[FunctionSchema] = []
    names_of_tensor_forms = {_names(s) for s in functional if "Scalar" not in s.overload}
    for schema in functional:
        if "Scalar" in schema.overload and _names(schema) in names_of_tensor_forms:
            continue
        kept.append(schema)
    return kept


def _names(schema: FunctionSchema) -> tuple[str, ...]:
    return tuple(a.name for a in schema.arguments if a.name != "alpha")


def _wrong_element(rule: Rule, value: Any, runtime: RuntimeTypes) -> str:
    if isinstance(value, list | tuple) and rule.fit([]) is not None:
        for position, element in enumerate(value):
            if rule.fit([element]) is None:
                return f"but found element of type {type_name(element, runtime)} at pos {position}"
    return f"not {type_name(value, runtime)}"


def _python_name(argument: Argument) -> str:
    return "input" if argument.name == "self" else argument.name


def type_name(value: Any, runtime: RuntimeTypes) -> str:
    """How messages name the type of a value."""
    if isinstance(value, runtime.tensor):
        return "Tensor"
    return PUBLIC_NAMES.get(type(value), type(value).__name__)


PUBLIC_NAMES: Final[dict[type, str]] = {DType: "torch.dtype", Device: "torch.device"}
"""What messages call the classes of values that have other names here."""


def _type_text(value: Any, runtime: RuntimeTypes) -> str:
    """How messages name the type of a value, with the types inside lists."""
    if isinstance(value, tuple | list):
        inner = ", ".join(type_name(v, runtime) for v in value)
        return f"list of [{inner}]" if isinstance(value, list) else f"tuple of ({inner}{',' * (len(value) == 1)})"
    return type_name(value, runtime)


def _call_text(args: Sequence[Any], kwargs: Mapping[str, Any], runtime: RuntimeTypes) -> str:
    """The types of all arguments, as a call would have them."""
    parts = [_type_text(a, runtime) for a in args] + [f"{k}={_type_text(v, runtime)}" for k, v in kwargs.items()]
    return f"({', '.join(parts)})"


def _form(schema: FunctionSchema, rules: Rules) -> str:
    parts: list[str] = []
    starred = False
    for argument, rule in zip(schema.arguments, rules(schema), strict=True):
        if argument.kwarg_only and not starred:
            parts.append("*")
            starred = True
        text = f"{rule.text} {_python_name(argument)}"
        parts.append(text + (f" = {argument.default}" if argument.has_default else ""))
    return f"({', '.join(parts)})"
