"""Within `autocast`, each operator gives the dtypes that PyTorch's gives, from float32 and from bfloat16."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.schema import registry
from flambeau.schema.cast_policies import CastPolicy, declare_policy, declared_policies, policy_of
from flambeau.schema.dtype import bfloat16, float32
from flambeau.schema.opdef import Effect, OpDef, Sample
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_columns import _as_graph
from tests.ops.peer import bound, to_torch
from tests.together import together

AS_A_WHOLE = {
    # PyTorch writes these with products, and gives what those give; here they are computed in one go, in float32
    "cov", "corrcoef", "matrix_power", "linalg_matrix_power", "linalg_pinv",
    # what is computed by an operator that is cast, where PyTorch calls what is below it
    "_transformer_encoder_layer_fwd", "_convolution_mode",
    # cast for matrices, not for vectors; for reflections and replications, not for constants; in one dimension alone
    "inner", "pad", "fft_hfft2", "fft_hfftn",
}  # fmt: skip
CASES = [
    pytest.param(definition, sample, id=f"{definition.full_name.removeprefix('aten::')}-{number}")
    for definition in registry.all_definitions()
    if definition.name.startswith("aten::") and definition.effect is Effect.NONE and not definition.schema.is_mutable
    and definition.samples and definition.name.removeprefix("aten::") not in AS_A_WHOLE
    for number, sample in enumerate(definition.samples())
]  # fmt: skip


def converted(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype) if value.dtype is float32 else value
    return [converted(v, dtype) for v in value] if isinstance(value, list | tuple) else value


def dtypes(result: Any) -> list[str]:
    parts = result if isinstance(result, list | tuple) else [result]
    return [str(p.dtype).rpartition(".")[2] for p in parts if hasattr(p, "dtype")]


def theirs(definition: OpDef, arguments: list[Any]) -> list[str]:
    """What PyTorch gives. Skips what it refuses."""
    import torch

    def to_peer(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dtype is bfloat16:
            return to_torch(value.float()).bfloat16()
        return [to_peer(v) for v in value] if isinstance(value, list | tuple) else to_torch(value)

    packet = getattr(torch.ops.aten, definition.name.removeprefix("aten::"), None)
    function = getattr(packet, definition.schema.overload or "default", None)
    if function is None:
        pytest.skip("PyTorch has no such operator")
    pairs = list(zip(definition.schema.arguments, map(to_peer, arguments), strict=True))
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            named = {a.name: v for a, v in pairs if a.kwarg_only}
            return dtypes(function(*(v for a, v in pairs if not a.kwarg_only), **named))
    except (RuntimeError, IndexError, NotImplementedError) as error:
        pytest.skip(f"PyTorch refuses it: {error}")


@pytest.mark.parametrize("dtype", [float32, bfloat16], ids=str)
@together(("definition", "sample"), CASES)
def test_dtypes_are_those_of_pytorch(definition: OpDef, sample: Sample, dtype: Any) -> None:
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    overload, arguments, _ = bound(definition, sample)
    if not _has_floats(arguments):
        pytest.skip("it takes no floats")
    arguments = converted(arguments, dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = theirs(overload, arguments)
        try:
            with flambeau.autocast("cpu"):
                result = dispatch.run(overload, arguments)
        except RuntimeError as error:  # as in PyTorch for other samples
            if "BFloat16" not in str(error):
                raise
            pytest.skip(f"not in this dtype: {error}")
    assert dtypes(result) == wanted


def _has_floats(values: Any) -> bool:
    if isinstance(values, Tensor):
        return values.dtype is float32
    return isinstance(values, list | tuple) and any(map(_has_floats, values))


CAST = [case for case in CASES if policy_of(case.values[0].name, "cpu") is not None]


@pytest.mark.parametrize("dtype", [float32, bfloat16], ids=str)
@together(("definition", "sample"), CAST)
def test_programs_give_what_calls_give(definition: OpDef, sample: Sample, dtype: Any) -> None:
    overload, arguments, _ = bound(definition, sample)
    arguments = converted(arguments, dtype)
    with flambeau.autocast("cpu"), np.errstate(all="ignore"):
        wanted = dispatch.run(overload, arguments)
        found = _as_graph(overload)(*arguments)
    pairs = zip(*(r if isinstance(r, list | tuple) else [r] for r in (wanted, found)), strict=True)
    for one, other in pairs:
        assert one.dtype is other.dtype
        tolerance = 2e-2 if one.dtype is bfloat16 else 1e-5
        np.testing.assert_allclose(*(_double(t) for t in (one, other)), rtol=tolerance, atol=tolerance)


def _double(tensor: Tensor) -> Any:
    array = tensor._array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def test_joining_takes_the_widest_dtype() -> None:
    x, y = flambeau.ones(2, 2), flambeau.ones(2, 2, dtype=flambeau.bfloat16)
    with flambeau.autocast("cpu"):
        assert flambeau.cat([y, y]).dtype is bfloat16
        assert flambeau.cat([x, y]).dtype is flambeau.stack([y, x]).dtype is float32
        assert flambeau.index_copy(x, 0, flambeau.tensor([0]), y[:1]).dtype is float32
        assert flambeau.cat([x.double(), y]).dtype is flambeau.float64


def test_what_is_no_float_of_few_bits_stays() -> None:
    double, whole = flambeau.ones(2, 2, dtype=flambeau.float64), flambeau.ones(2, 2, dtype=flambeau.int64)
    with flambeau.autocast("cpu"):
        assert (double @ double).dtype is flambeau.float64
        assert (whole @ whole).dtype is flambeau.int64
        assert flambeau.prod(whole).dtype is flambeau.int64


def test_what_writes_into_an_operand_is_not_cast() -> None:
    x, out = flambeau.ones(2, 2), flambeau.empty(2, 2)
    with flambeau.autocast("cpu"):
        assert flambeau.mm(x, x, out=out).dtype is float32
        assert flambeau.zeros(2, 2).addmm_(x, x).dtype is float32


def test_each_kind_of_device_has_lists_of_its_own() -> None:
    assert policy_of("aten::exp", "cpu") is None
    assert policy_of("aten::exp", "cuda") is CastPolicy.FULL
    assert policy_of("aten::sum", "cuda") is CastPolicy.FULL_UNLESS_DTYPE_GIVEN
    assert policy_of("aten::binary_cross_entropy", "cuda") is CastPolicy.REFUSED
    assert "aten::mm" in declared_policies("cuda")
    with pytest.raises(ValueError, match="aten::mm has two cast policies on cpu: LOWER and FULL"):
        declare_policy(CastPolicy.FULL, ("cpu",), "aten::mm")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_policies_are_of_operators_that_there_are(device: str) -> None:
    for name in declared_policies(device):
        overloads = registry.overloads(name.partition(".")[0])
        assert any(name in (o.name, o.full_name) for o in overloads), name
