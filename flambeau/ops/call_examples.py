"""Calls of operators as a reader would write them, from what the declarations say.

>>> from flambeau.schema import registry
>>> next(examples(registry.overloads("aten::linalg_inv"), LONGEST))
'flambeau.linalg.inv(flambeau.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.5, 0.0, 2.0]]))'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.dtype import DType, bool_, float32, int64
from flambeau.schema.function import Argument
from flambeau.schema.opdef import UNKNOWN, OpDef, Sample
from flambeau.schema.types import ListType, TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.quantized import PerTensor, QuantizedTensor, real_values
from flambeau.tensor.tensor import Tensor, wrap

PREFIXES: Final = ("special", "linalg", "fft")
"""The modules in which `aten::special_erf` is `special.erf` too."""
LONGEST: Final = 150
FEW: Final = 12
"""Tensors with no more elements are written with them, others by their sizes."""
_NOT_WRITTEN: Final = re.compile(r"\b(nan|inf)\b|<|\[\]|\b0\b[,)].*ones\(0")
"""What no program can be written with, or what no reader learns from: empty tensors."""
Values = Mapping[DType, Sequence[str]]
"""Tensors as Python, one for each parameter that takes one, by their elements' type."""
_VALUES: Final[Values] = {
    float32: [f"flambeau.tensor({t})" for t in ("[0.25, 0.5, 1.0]", "[0.5, 0.5, 2.0]", "[1.0, 2.0, 3.0]")],
    int64: [f"flambeau.tensor({t})" for t in ("[1, 2, 3]", "[2, 2, 2]", "[3, 1, 2]")],
    bool_: [f"flambeau.tensor({t})" for t in ("[True, False, True]", "[True, True, False]")],
}
_BY_TYPES: Final = frozenset({"pointwise", "special", "reduce", "row", "metadata", "query", "view"})
"""Families whose operators take vectors, as a rule."""
_PLAIN: Final = {"Scalar": "2", "int": "0", "float": "0.5", "bool": "True"}


def public_paths(definitions: Iterable[OpDef]) -> list[str]:
    """Where Python has an operator, the usual way first: `flambeau.linalg.solve`, `flambeau.relu`, `Tensor.relu`."""
    listed = [d for d in definitions if d.schema.concerns_tensors]
    if not listed or not listed[0].name.startswith("aten::"):
        return []
    short = listed[0].name.removeprefix("aten::")
    if short.startswith("__") or short[:1].isupper():
        return []  # what graphs call Python's own operators
    return _paths_of(short, listed)


def _paths_of(short: str, listed: Sequence[OpDef]) -> list[str]:
    """The paths to an operator by the name that it has without its namespace."""
    namespaces = dict.fromkeys(namespace for d in listed for namespace in d.namespaces)
    paths = [f"flambeau.{namespace}.{short}" for namespace in namespaces]
    prefix, _, rest = short.partition("_")
    if prefix in PREFIXES and rest and not rest.endswith("_"):
        return [f"flambeau.{prefix}.{rest}", *paths]
    if any(d.is_function for d in listed):
        paths.insert(0, f"flambeau.{short}")
    if any(_is_method(d, short) for d in listed):
        paths.append(f"Tensor.{short}")
    return paths


def _is_method(definition: OpDef, short: str) -> bool:
    """Whether tensors have the operator as a method."""
    return (definition.is_method or callable(getattr(Tensor, short, None))) and _takes_self(definition)


def _takes_self(definition: OpDef) -> bool:
    index = definition.schema.index.get("self")
    return index is not None and isinstance(definition.schema.arguments[index].type, TensorType)


def examples(definitions: Iterable[OpDef], longest: int) -> Iterator[str]:
    """Calls as Python, the best first: those of the samples, one by the types, samples with large tensors by size."""
    listed = [d for d in definitions if d.schema.concerns_tensors]
    paths = public_paths(listed)
    if not paths:
        return
    if all(d.family == "in_place" for d in listed):
        yield from _of_form(listed[0].name, longest)
        return
    yield from _of_samples(listed, paths[0], longest, _literal)
    for definition in listed:
        if definition.family in _BY_TYPES:
            yield from by_types(definition, paths[0], _VALUES)
    if not paths[0].startswith("flambeau.linalg."):  # matrices of ones have no inverse
        yield from _of_samples(listed, paths[0], longest, _sized)


def _of_form(name: str, longest: int) -> Iterator[str]:
    """The examples of the operator that `name` is the form in place of."""
    short = registry.out_of_place(name).rpartition("::")[2]
    for text in examples(registry.overloads(registry.out_of_place(name)), longest):
        yield re.sub(rf"(^flambeau\.(\w+\.)*|\)\.){short}\(", lambda m: f"{m[0][:-1]}_(", text, count=1)


def _of_samples(listed: Sequence[OpDef], path: str, longest: int, write: Callable[[Any], str]) -> Iterator[str]:
    for definition in listed:
        for sample in definition.samples() if definition.samples is not None else ():
            text = _call(path, *_written(sample, write))
            if len(text) <= longest and not _NOT_WRITTEN.search(text):
                yield text


def by_types(definition: OpDef, path: str, values: Values) -> Iterator[str]:
    """Calls with nothing but what has no default, for each kind of element in `values` that the operator takes."""
    for dtype, texts in values.items():
        arguments = [rule_argument(a, dtype) for a in definition.schema.arguments]
        if definition.dtype is None or definition.dtype(*arguments) is not None:
            positional = _required(definition, texts)
            if positional is not None:
                yield _call(path, positional, [])


def _call(path: str, positional: list[str], named: list[str]) -> str:
    if path.startswith("Tensor.") and positional:
        return f"{positional[0]}.{path.removeprefix('Tensor.')}({', '.join(positional[1:] + named)})"
    return f"{path}({', '.join(positional + named)})"


def _written(sample: Sample, write: Callable[[Any], str]) -> tuple[list[str], list[str]]:
    return [write(a) for a in sample.args], [f"{name}={write(value)}" for name, value in sample.kwargs.items()]


def _literal(value: Any) -> str:
    if isinstance(value, QuantizedTensor):
        return _quantized(value)
    if isinstance(value, Tensor):
        dtype = value.dtype.name
        suffix = "" if dtype in ("float32", "int64", "bool") else f", dtype=flambeau.{dtype}"
        return f"flambeau.tensor({value._array.tolist()!r}{suffix})"
    return _other(value, _literal)


def _quantized(value: QuantizedTensor) -> str:
    """The call that makes a quantised tensor."""
    numbers, how = _literal(wrap(real_values(value))), value.quantizer
    if isinstance(how, PerTensor):
        return f"flambeau.quantize_per_tensor({numbers}, {how.scale!r}, {how.zero_point}, flambeau.{value.dtype.name})"
    scales, zeros = (_literal(wrap(np.asarray(each))) for each in (how.scales, how.zero_points))
    return f"flambeau.quantize_per_channel({numbers}, {scales}, {zeros}, {how.axis}, flambeau.{value.dtype.name})"


def _sized(value: Any) -> str:
    if isinstance(value, Tensor) and value._array.size > FEW and not isinstance(value, QuantizedTensor):
        make = "ones" if value.dtype.is_floating_point or value.dtype.is_complex else "zeros"
        sizes = ", ".join(map(str, value._array.shape))
        return f"flambeau.{make}({sizes}{'' if value.dtype is float32 else f', dtype=flambeau.{value.dtype.name}'})"
    return _literal(value) if isinstance(value, Tensor) else _other(value, _sized)


def _other(value: Any, write: Callable[[Any], str]) -> str:
    if isinstance(value, DType):
        return f"flambeau.{value.name}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write, value))}]"
    return repr(value)


def rule_argument(argument: Argument, dtype: DType) -> Any:
    """What a rule is told of an argument: of a tensor its dtype."""
    if isinstance(argument.type, TensorType):
        return TensorType(dtype=dtype, sizes=(2,))
    return argument.default if argument.has_default else UNKNOWN


def _required(definition: OpDef, texts: Iterable[str]) -> list[str] | None:
    """Values for the arguments without defaults; None where the types alone do not say what to write."""
    written: list[str] = []
    tensors = iter(texts)
    for argument in (a for a in definition.schema.arguments if not a.has_default):
        if isinstance(argument.type, TensorType):
            text = next(tensors, None)
        elif isinstance(argument.type, ListType) and str(argument.type.element) == "int":
            text = "[0]"
        else:
            text = None if argument.declared.startswith("ScalarType") else _PLAIN.get(str(argument.type))
        if text is None or argument.kwarg_only:
            return None
        written.append(text)
    return written
