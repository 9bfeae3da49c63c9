"""Why a call cannot be bound, in PyTorch's words.

When only one signature is left after merging what Python callers see as one (`out=` forms, Scalar forms beside Tensor
forms), the message names the argument; otherwise it lists the signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.schema.argument_rules import Rule, RuntimeTypes, varargs_position
from flambeau.schema.function import Argument, FunctionSchema

Rules = Callable[[FunctionSchema], tuple[Rule, ...]]
Aliases = Mapping[str, tuple[str, ...]]


def refusal(
    name: str,
    schemas: Sequence[FunctionSchema],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    runtime: RuntimeTypes,
    rules: Rules,
    aliases: Aliases,
) -> TypeError:
    """The TypeError for a call that fits none of `schemas`."""
    short = name.rpartition("::")[2]
    visible = _visible(schemas)
    if not visible:
        return TypeError(f"{short}() is not an operator that takes or returns tensors")
    if len(visible) == 1:
        return TypeError(_single(short, visible[0], args, kwargs, runtime, rules, aliases))
    got = _given(args, kwargs, runtime)
    forms = "".join(f" * {_form(s, rules)}\n{_mismatch(s, args, kwargs, runtime, rules, aliases)}" for s in visible)
    return TypeError(
        f"{short}() received an invalid combination of arguments - got {got}, but expected one of:\n{forms}"
    )


def _mismatch(
    schema: FunctionSchema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    runtime: RuntimeTypes,
    rules: Rules,
    aliases: Aliases,
) -> str:
    """The line under a signature that marks what does not fit it; empty when the number of arguments is what is
    wrong."""
    unknown = [
        k for k in kwargs if k not in schema.index and not any(k in o and n in schema.index for n, o in aliases.items())
    ]
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    if len(args) > len(schema.positional):
        return ""
    given = {a.name for a, _ in zip(schema.positional, args, strict=False)} | set(kwargs)
    if any(
        not a.has_default and a.name not in given and not given & set(aliases.get(a.name, ())) for a in schema.arguments
    ):
        return ""
    shown: list[str] = []
    for rule, value in zip(rules(schema), args, strict=False):
        text = _type_text(value, runtime)
        shown.append(text if rule.fit(value) is not None else f"!{text}!")
    by_name = {r.argument.name: r for r in rules(schema)}
    for key, value in kwargs.items():
        keyword_rule = by_name.get(key)
        text = f"{key}={_type_text(value, runtime)}"
        shown.append(text if keyword_rule is None or keyword_rule.fit(value) is not None else f"!{text}!")
    return f"      didn't match because some of the arguments have invalid types: ({', '.join(shown)})\n"


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


def _single(
    short: str,
    schema: FunctionSchema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    runtime: RuntimeTypes,
    rules: Rules,
    aliases: Aliases,
) -> str:
    positional = schema.positional
    varargs_at = varargs_position(schema, rules(schema), args)
    if varargs_at >= 0:
        args = (*args[:varargs_at], list(args[varargs_at:]))
    if len(args) > len(positional):
        were = "was" if len(args) == 1 else "were"
        arguments = "argument" if len(positional) == 1 else "arguments"
        return f"{short}() takes {len(positional)} positional {arguments} but {len(args)} {were} given"
    given = {a.name: v for a, v in zip(positional, args, strict=False)}
    for key, value in kwargs.items():
        name = (
            key
            if key in schema.index
            else next((n for n, o in aliases.items() if key in o and n in schema.index), None)
        )
        if name is None:
            return f"{short}() got an unexpected keyword argument '{key}'"
        if name in given:
            return f"{short}() got multiple values for argument '{key}'"
        given[name] = value
    missing = [a for a in positional if a.name not in given and not a.has_default]
    if missing:
        names = ", ".join(f'"{_python_name(a)}"' for a in missing)
        return f"{short}() missing {len(missing)} required positional arguments: {names}"
    for index, (argument, rule) in enumerate(zip(schema.arguments, rules(schema), strict=True)):
        if argument.name in given and rule.fit(given[argument.name]) is None:
            position = f" (position {index + 1})" if index < len(args) else ""
            wrong = _wrong_element(rule, given[argument.name], runtime)
            return f"{short}(): argument '{_python_name(argument)}'{position} must be {rule.text}, {wrong}"
    needed = [a.name for a in schema.arguments if a.name not in given and not a.has_default]
    return f"{short}() missing {len(needed)} required keyword-only arguments: " + ", ".join(f'"{n}"' for n in needed)


def _wrong_element(rule: Rule, value: Any, runtime: RuntimeTypes) -> str:
    if isinstance(value, list | tuple):
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
    return type(value).__name__


def _type_text(value: Any, runtime: RuntimeTypes) -> str:
    """How messages name the type of a value, with the types inside lists."""
    if isinstance(value, tuple | list):
        inner = ", ".join(type_name(v, runtime) for v in value)
        return f"list of [{inner}]" if isinstance(value, list) else f"tuple of ({inner}{',' * (len(value) == 1)})"
    return type_name(value, runtime)


def _given(args: Sequence[Any], kwargs: Mapping[str, Any], runtime: RuntimeTypes) -> str:
    parts = [_type_text(a, runtime) for a in args] + [f"{k}={_type_text(v, runtime)}" for k, v in kwargs.items()]
    return f"({', '.join(parts)}{', ' if kwargs else ''})"


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
