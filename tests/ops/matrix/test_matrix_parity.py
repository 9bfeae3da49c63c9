"""Every operator against PyTorch, where it is installed: dtype, sizes, strides and values, or the same refusal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from flambeau.schema import registry
from flambeau.schema.dtype import bfloat16
from flambeau.schema.function import parse_schema
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_cases import Call, calls, functional_names, is_random, shown
from tests.ops.matrix.matrix_compare import difference, ulp_of
from tests.together import together

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

DIFFERS = {
    "aten::float_power": "0 ** 0 is 1 for complex numbers too",
    "aten::topk": "other positions among equal values",
    "aten::kthvalue": "other positions among equal values",
    "aten::_conj": "conjugates at once, so nothing is shared",
    "aten::conj": "conjugates at once, so nothing is shared",
    "aten::nextafter": "half precision is refused",
    "aten::bitwise_left_shift": "a shift by the sign bit",
}
"""Operators that differ on purpose, each with its reason."""
CALLS_THAT_DIFFER = (
    ("aten::gelu(bfloat16", "inf gives inf"),
    ("aten::gelu(float16", "inf gives inf"),
    ("aten::gelu(float32", "inf gives inf; fewer digits lost below zero"),
    ("aten::pow.Tensor_Tensor(complex64", "0 ** 0 is 1 for complex numbers too"),
    ("aten::pow.Tensor_Scalar(float16", "the root of -inf is nan in every precision"),
    ("aten::nonzero(", "positions are row-major"),
    ("aten::argwhere(", "positions are row-major"),
    ("aten::adaptive_", "one output size counts for every dimension"),
    ("aten::complex(float16", "complex32 has no arithmetic"),
    ("aten::polar(float16", "complex32 has no arithmetic"),
    ("aten::logaddexp(complex64", "real numbers only"),
    ("aten::logaddexp2(", "log2(2**-1 + 2**-1) is exactly 0"),
    ("aten::ldexp.Tensor(float16", "rounded once"),
    ("[tensor(True)]", "PyTorch's operator fails an assertion of its own; its subscripts make a dimension, as we do"),
    ("[None, tensor(True)]", "the same"),
    ("[tensor(False)]", "the same"),
)
"""Fragments of calls whose results differ on purpose, each with its reason."""
PEER_ULP = {
    "aten::lerp": 1024,
    "aten::digamma": 1024,
    "aten::special_airy_ai": 1024,
    "aten::special_digamma": 1024,
    "aten::special_psi": 1024,
    "aten::special_ndtr": 64,
}
"""Where PyTorch itself is further off than our own bound: near a root, or far out."""


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value._array
        if value.dtype is bfloat16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)
    if isinstance(value, list | tuple):
        return type(value)(map(to_torch, value))
    return value


def from_torch(value: Any) -> np.ndarray[Any, Any]:
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype is torch.bfloat16:
        return value.view(torch.int16).numpy().view(bfloat16.numpy)
    return value.numpy()


def theirs_of(call: Call) -> Any:
    name, overload = call.definition.name.removeprefix("aten::"), call.definition.schema.overload or "default"
    packet = getattr(torch.ops.aten, name)
    schema = call.definition.schema
    arguments = [to_torch(v) for v in call.fresh()]
    positional = [v for a, v in zip(schema.arguments, arguments, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(schema.arguments, arguments, strict=True) if a.kwarg_only}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(packet, overload)(*positional, **named)


def exists(call: Call) -> bool:
    packet = getattr(torch.ops.aten, call.definition.name.removeprefix("aten::"), None)
    return packet is not None and hasattr(packet, call.definition.schema.overload or "default")


def compare(call: Call) -> str:
    try:
        theirs = theirs_of(call)
    except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
        try:
            ours = call.run()
        except type(error):
            return ""
        except Exception as mine:
            kinds = f"raises {type(mine).__name__}, PyTorch {type(error).__name__}: {error}"
            return "" if isinstance(mine, RuntimeError) else kinds
        return f"gives {shown(ours)}, PyTorch raises {type(error).__name__}: {str(error)[:120]}"
    try:
        ours = call.run()
    except Exception as mine:
        return f"raises {type(mine).__name__}: {mine}"
    ulp = max(ulp_of(call.definition), PEER_ULP.get(call.definition.name, 4.0))
    return compare_results(ours, theirs, ulp, call.definition.family != "pointwise")


def compare_results(ours: Any, theirs: Any, ulp: float, of_largest: bool) -> str:
    if isinstance(theirs, torch.Tensor):
        found = difference(ours._array, from_torch(theirs), ulp, of_largest=of_largest)
        if not found and theirs.numel() > 1 and tuple(ours.stride()) != tuple(theirs.stride()):
            return f"strides {ours.stride()}, expected {theirs.stride()}"
        return found
    if isinstance(theirs, list | tuple):
        return next((d for a, b in zip(ours, theirs, strict=True) if (d := compare_results(a, b, ulp, of_largest))), "")
    return "" if ours == theirs else f"{ours!r}, expected {theirs!r}"


@together("name", functional_names())
def test_same_as_torch(name: str) -> None:
    if name in DIFFERS:
        pytest.skip(DIFFERS[name])
    if any(d.family == "quantized" for d in registry.overloads(name)):
        pytest.skip("tests/ops/quantized_tensors/test_quantized.py compares them")
    failures = []
    for call in calls(name):
        differs = any(fragment in str(call) for fragment, _ in CALLS_THAT_DIFFER)
        if not differs and not is_random(call.definition) and exists(call):
            found = compare(call)
            if found:
                failures.append(f"{call}: {found}")
    assert not failures, f"{len(failures)} calls differ:\n" + "\n".join(failures[:6])


def test_schemas_are_those_of_torch() -> None:
    known = {}
    for schema in torch._C._jit_get_all_schemas():
        known[f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name] = str(schema)
    wrong = []
    for definition in registry.all_definitions():
        theirs = known.get(definition.full_name)
        if definition.name.startswith("profiler::"):
            continue  # PyTorch's own classes of objects, which are Any here
        if theirs is not None and str(parse_schema(theirs)) != str(definition.schema):
            wrong.append(f"{definition.schema}\n    PyTorch: {theirs}")
    assert not wrong, "\n".join(wrong)
