"""What the operator tests share: which overload a sample calls, the same call in PyTorch, comparison of everything
visible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau  # noqa: F401  (declares the operators)
from flambeau.ops.families.composite import CompositeKernel
from flambeau.ops.families.opaque import KernelOnArrays
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor, wrap

FAMILIES = frozenset({"reduce", "scan", "row", "opaque", "composite"})


def definitions(*names: str, families: frozenset[str] = FAMILIES) -> list[OpDef]:
    """The overloads of these names that have samples or errors; of all names in `families` if none is given."""
    wanted = {f"aten::{n}" for n in names}
    return [
        d for d in registry.all_definitions()
        if (d.samples or d.errors) and (d.name in wanted if wanted else d.family in families and is_torchs(d))
    ]  # fmt: skip


def is_torchs(definition: OpDef) -> bool:
    """Whether PyTorch has it too, and its kernel computes on arrays or by other operators: results never share memory
    with arguments."""
    return definition.name.startswith("aten::") and isinstance(definition.kernel, KernelOnArrays | CompositeKernel)


def cases(found: list[OpDef]) -> list[Any]:
    """One parameter set per sample."""
    return [
        pytest.param(definition, sample, id=f"{definition.name.removeprefix('aten::')}-{sample.note or i}")
        for definition in found
        for i, sample in enumerate(definition.samples() if definition.samples else ())
    ]


def refusals(found: list[OpDef]) -> list[Any]:
    """One parameter set per call that must fail."""
    return [
        pytest.param(definition, sample, id=f"{definition.name.removeprefix('aten::')}-{i}")
        for definition in found
        for i, sample in enumerate(definition.errors() if definition.errors else ())
    ]


def bound(definition: OpDef, sample: Sample | ErrorSample) -> tuple[OpDef, list[Any], Any]:
    """The overload that a sample calls, its arguments in schema order, and the result."""
    seen: list[tuple[OpDef, list[Any]]] = []

    def watch(overload: OpDef, arguments: Any, proceed: Any) -> Any:
        seen.append((overload, [before(a) for a in arguments]))
        return proceed(arguments)

    def before(value: Any) -> Any:
        """What the call is not to change: samples are used again."""
        return wrap(value._array.copy(order="K")) if writes and isinstance(value, Tensor) else value

    writes = any(a.alias is not None and a.alias.is_write for a in definition.schema.arguments)
    with dispatch.intercepting(watch):
        result = dispatch.call(definition.name, *map(before, sample.args), **sample.kwargs)
    return *seen[0], result


def arrays(value: Any) -> Any:
    """Tensors as arrays, within lists too."""
    if isinstance(value, Tensor):
        return value._array
    return [arrays(v) for v in value] if isinstance(value, list | tuple) else value


def to_torch(value: Any) -> Any:
    """The same value for PyTorch; strides are kept."""
    import torch

    if isinstance(value, Tensor):
        if not value._array.size:
            return torch.empty(tuple(value.shape), dtype=getattr(torch, value.dtype.name))
        return torch.from_numpy(value._array.copy(order="K"))
    if isinstance(value, DType):
        return getattr(torch, value.name)
    return [to_torch(v) for v in value] if isinstance(value, list | tuple) else value


def in_torch(overload: OpDef, arguments: list[Any]) -> Any:
    """The same overload run by PyTorch."""
    import torch

    packet = getattr(torch.ops.aten, overload.name.removeprefix("aten::"))
    function = getattr(packet, overload.schema.overload or "default")
    pairs = list(zip(overload.schema.arguments, map(to_torch, arguments), strict=True))
    positional = [v for a, v in pairs if not a.kwarg_only]
    return function(*positional, **{a.name: v for a, v in pairs if a.kwarg_only})


def assert_same(ours: Any, theirs: Any, rtol: float = 2e-5, atol: float = 1e-5) -> None:
    """Equal structure, dtype, shape, strides and values."""
    if isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, rtol, atol)
        return
    if not isinstance(ours, Tensor):
        assert ours == theirs
        return
    assert f"torch.{ours.dtype.name}" == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride())
    np.testing.assert_allclose(ours._array, theirs.resolve_conj().numpy(), rtol=rtol, atol=atol)


def static(value: Any) -> Any:
    """What a rule gets in place of a value."""
    if isinstance(value, Tensor):
        return TensorType(dtype=value.dtype, sizes=tuple(value.shape), device=value.device)
    return [static(v) for v in value] if isinstance(value, list | tuple) else value


def assert_rules_hold(overload: OpDef, arguments: list[Any], result: Any) -> None:
    """What the dtype and shape rules say is what came out."""
    results = list(result) if isinstance(result, list | tuple) else [result]
    known = [static(a) for a in arguments]
    if overload.dtype is not None:
        said = overload.dtype(*known)
        for one, tensor in zip(said if isinstance(said, tuple) else [said] * len(results), results, strict=True):
            assert one is None or one is tensor.dtype
    if overload.shape is not None:
        sizes = overload.shape(*known)
        several = len(overload.schema.returns) > 1
        for one, tensor in zip(sizes if several else [sizes] * len(results), results, strict=True):  # type: ignore[arg-type]
            if one is not None:
                assert len(one) == tensor.ndim
                assert all(a is None or a == b for a, b in zip(one, tensor.shape, strict=True))


def check_sample(definition: OpDef, sample: Sample) -> None:
    """Rules against the result, and the independent reference where there is one."""
    overload, arguments, result = bound(definition, sample)
    assert_rules_hold(overload, arguments, result)
    if definition.reference is not None:
        with np.errstate(all="ignore"):
            wanted = definition.reference(*arrays(sample.args), **arrays_of(sample.kwargs))
        np.testing.assert_allclose(arrays(result), wanted, rtol=2e-5, atol=1e-5)


def arrays_of(kwargs: Any) -> dict[str, Any]:
    """Keyword arguments with arrays in place of tensors."""
    return {k: arrays(v) for k, v in kwargs.items()}


def check_peer(definition: OpDef, sample: Sample) -> None:
    """The same call in PyTorch."""
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    overload, arguments, result = bound(definition, sample)
    assert_same(result, in_torch(overload, arguments))


def check_refusal(definition: OpDef, sample: ErrorSample) -> None:
    """The stated exception with the stated words."""
    with pytest.raises(sample.error) as caught:
        dispatch.call(definition.name, *sample.args, **sample.kwargs)
    assert sample.message in str(caught.value)
