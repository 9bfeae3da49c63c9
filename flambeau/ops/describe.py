"""What `help(flambeau.gelu)` shows: what the operator does, how it is called, on which dtypes, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flambeau.ops.call_examples import LONGEST, PREFIXES, examples, rule_argument
from flambeau.schema import registry
from flambeau.schema.dtype import ALL, DType, complex32
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ListType, OptionalType, TensorType, Type
from flambeau.tensor.defaults import float_dtype


def documentation(definitions: Iterable[OpDef]) -> str:
    """The help text of an operator, from its overloads.

    >>> from flambeau import ops
    >>> from flambeau.schema import registry
    >>> print(documentation(registry.overloads("aten::softsign_of_nothing")))
    Not declared.
    """
    listed = list(definitions)
    if not listed:
        return "Not declared."
    about = "\n".join(d.doc for d in listed if d.doc) or _in_place(listed[0].schema.name)
    parts = [about, "\n".join(f"    {signature(d.schema)}" for d in listed)]
    parts += [text for text in (_dtypes(listed), _refusals(listed), _example(listed), _schemas(listed)) if text]
    return "\n\n".join(part for part in parts if part)


def signature(schema: FunctionSchema) -> str:
    """The call in Python's terms.

    >>> from flambeau.schema import registry
    >>> signature(registry.overloads("aten::linalg_inv")[0].schema)
    'linalg.inv(A: Tensor) -> Tensor'
    """
    shown: list[str] = []
    is_starred = False
    for argument in schema.arguments:
        if argument.kwarg_only and not is_starred:
            shown.append("*")
            is_starred = True
        shown.append(_parameter(argument))
    returns = ", ".join(type_name(r.type) for r in schema.returns)
    return f"{python_name(schema)}({', '.join(shown)}) -> {returns if len(schema.returns) == 1 else f'({returns})'}"


def _in_place(name: str) -> str:
    """What an operator without a text does that is the form in place of one with a text."""
    doc = next((d.doc for d in registry.overloads(registry.out_of_place(name)) if d.doc), "")
    return f"{doc}\nThe result is written to the first argument, which is returned." if doc else ""


def python_name(schema: FunctionSchema) -> str:
    """What Python calls an operator: `add`, or `linalg.inv` where a module of that name has it."""
    short = schema.name.rpartition("::")[2]
    prefix, _, rest = short.partition("_")
    return f"{prefix}.{rest}" if prefix in PREFIXES and rest and not rest.endswith("_") else short


def of_method(short: str, definitions: Sequence[OpDef]) -> str:
    """The help text of a method of tensors: what it does, and where its arguments are told.

    >>> from flambeau import ops
    >>> from flambeau.schema import registry
    >>> print(of_method("relu_", registry.overloads("aten::relu_")).splitlines()[-1])
    x.relu_(...) is x.relu(...) whose result is written to x: help(flambeau.relu) tells what it takes, with an example.
    """
    plain = short.removesuffix("_")
    written = registry.overloads(f"aten::{plain}") if plain != short else []
    doc = next((d.doc for d in (*definitions, *written) if d.doc), "")
    if any(d.is_function for d in written):
        where = f"x.{short}(...) is x.{plain}(...) whose result is written to x: help(flambeau.{plain}) tells"
    elif any(d.is_function for d in definitions):
        where = f"x.{short}(...) is flambeau.{short}(x, ...): help(flambeau.{short}) tells"
    else:
        calls = "\n".join(f"    {signature(d.schema)}" for d in definitions)
        return f"{doc}\n\n{calls}\n\nA method of tensors: x.{short}(...), where `self` is x."
    return f"{doc}\n\n{where} what it takes, with an example."


def _parameter(argument: Argument) -> str:
    default = f" = {argument.default!r}" if argument.has_default else ""
    return f"{argument.name}: {type_name(argument.type, argument.declared)}{default}"


def type_name(type_: Type, declared: str = "") -> str:
    """The type as a Python caller thinks of it: `Tensor`, `list[int]`, `dtype`, `Number`."""
    if declared.startswith("ScalarType"):
        return "dtype | None" if declared.endswith("?") else "dtype"
    if isinstance(type_, OptionalType):
        return f"{type_name(type_.element)} | None"
    if isinstance(type_, ListType):
        return f"list[{type_name(type_.element)}]"
    if isinstance(type_, TensorType):
        return "Tensor"
    return {"Scalar": "Number", "Device": "device"}.get(str(type_), str(type_))


def dtypes(definitions: Sequence[OpDef]) -> dict[str, str]:
    """Which dtypes give which, where all tensors have the same: the result's, then the operands'."""
    first = definitions[0]
    if first.dtype is None or not any(isinstance(a.type, TensorType) for a in first.schema.arguments):
        return {}
    groups: dict[str, list[str]] = {}
    for dtype, result in _results(first):
        is_default = result is float_dtype() and not (dtype.is_floating_point or dtype.is_complex)
        name = "the default dtype" if is_default else result.name
        groups.setdefault("the same" if result is dtype else name, []).append(dtype.name)
    return {result: ", ".join(dtype) for result, dtype in groups.items()}


def _dtypes(definitions: Sequence[OpDef]) -> str:
    lines = [f"    {dtype} -> {result}" for result, dtype in dtypes(definitions).items()]
    return "Dtypes:\n" + "\n".join(lines) if lines else ""


def _results(definition: OpDef) -> Iterator[tuple[DType, DType]]:
    assert definition.dtype is not None
    for dtype in ALL:
        if dtype is complex32:
            continue
        arguments = [rule_argument(a, dtype) for a in definition.schema.arguments]
        result = definition.dtype(*arguments)
        if isinstance(result, DType):
            yield dtype, result


def _refusals(definitions: list[OpDef]) -> str:
    samples = [s for d in definitions if d.errors is not None for s in d.errors()]
    lines = dict.fromkeys(f"    {s.error.__name__}: {s.message}" for s in samples)
    return "Raises:\n" + "\n".join(lines) if lines else ""


def _example(definitions: list[OpDef]) -> str:
    text = next(examples(definitions, LONGEST), "")
    return f"Example:\n    {text}" if text else ""


def _schemas(definitions: list[OpDef]) -> str:
    return "Schemas:\n" + "\n".join(f"    {d.schema}" for d in definitions)
