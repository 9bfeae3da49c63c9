"""Every operator's samples on a device, compared with the same calls on the host.

A sample is run as it is, in place and into `out` tensors where the operator has such forms. What comes back must lie
on the device, and have the dtype, sizes and elements that the host's result has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

import flambeau
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.quantized import QuantizedTensor
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_cases import Call, sample_calls
from tests.ops.matrix.matrix_compare import difference, ulp_of
from tests.ops.matrix.test_matrix_variants import REFUSALS, in_place_of, outs_of

UNITS: Final = 16.0
"""How many units in the last place of the largest element a device may be away: its exp is another one than the
host's, and it adds up in another order."""
CANCELLING: Final = ("flambeau::batch_norm_gradients", "flambeau::layer_norm_gradients")
"""Operators whose results are differences of numbers as large as the arguments, which are what rounding follows."""
ON_HOST: Final = (
    "aten::cpu", "aten::to", "aten::_to_copy", "aten::_pack_padded_sequence", "flambeau::packed_rows",
    "aten::_pad_packed_sequence",
)  # fmt: skip
"""Operators that may give tensors of the host: where they are asked to, and lengths of sequences."""


@dataclass
class Outcome:
    """What became of one sample on a device."""

    name: str
    number: int
    state: str = "ok"
    """ok, refused (NotImplementedError), wrong, error, or skipped where the host refuses the call itself."""
    text: str = ""
    error: float = 0.0
    """The largest difference, relative to the largest element."""
    places: list[str] = field(default_factory=list)


UP_TO_SIGN: Final = ("aten::svd", "aten::linalg_svd", "aten::linalg_eigh", "aten::linalg_qr", "aten::qr")
"""Operators whose vectors may have either sign."""
BY_DEVICE: Final = ("aten::_autocast_to_full_precision", "aten::_autocast_to_reduced_precision")
"""Operators that are asked to do other things on devices than on the host."""


def definitions() -> list[OpDef]:
    """All overloads that have samples with tensors."""
    return [
        d
        for d in registry.all_definitions()
        if d.samples is not None and d.name not in BY_DEVICE and _is_on_tensors(d)
    ]


def _is_on_tensors(definition: OpDef) -> bool:
    return definition.family not in ("language", "custom") and dispatch.concerns_tensors(definition.schema)


def names() -> list[str]:
    """Their names, each once."""
    return sorted({d.name for d in definitions()})


def calls_of(name: str) -> Iterator[Call]:
    """The samples of all overloads of an operator."""
    for definition in registry.overloads(name):
        if definition in definitions_by_name().get(name, ()):
            yield from sample_calls(definition)


_by_name: dict[str, list[OpDef]] = {}


def definitions_by_name() -> dict[str, list[OpDef]]:
    """`definitions`, by the names of their operators."""
    if not _by_name:
        for definition in definitions():
            _by_name.setdefault(definition.name, []).append(definition)
    return _by_name


def moved(value: Any) -> Any:
    """A value with its tensors on the device."""
    if isinstance(value, QuantizedTensor):
        return value
    if isinstance(value, Tensor):
        return value.to("cuda")
    return type(value)(map(moved, value)) if isinstance(value, list | tuple) else value


def leaves(value: Any) -> list[Any]:
    """What a result consists of, one after the other."""
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def is_about_memory(call: Call) -> bool:
    """Whether what the call gives nobody has written."""
    return call.definition.name.removeprefix("aten::").removeprefix("new_").startswith(("empty", "_empty"))


def run_on_host(call: Call) -> Any:
    """What the host gives. Raises what it raises."""
    flambeau.manual_seed(0)
    return call.run()


def run_on_device(call: Call, definition: OpDef | None = None, more: Sequence[Any] = ()) -> tuple[Any, list[Any]]:
    """What the device gives, and the arguments that it was given."""
    arguments = [moved(a) for a in call.fresh()] + list(more)
    flambeau.manual_seed(0)
    return dispatch.run(definition or call.definition, arguments), arguments


def compared(host: Any, device: Any, call: Call, *, on_device: bool) -> tuple[str, float]:
    """What differs, or nothing, and by how much at most."""
    ulp = max(ulp_of(call.definition), UNITS)
    worst = 0.0
    for want, got in zip(leaves(host), leaves(device), strict=True):
        if not isinstance(want, Tensor):
            if want != got and want == want and not hasattr(want, "state"):
                return f"{got!r}, expected {want!r}", worst
            continue
        if isinstance(want, QuantizedTensor):
            continue
        if on_device and not got.is_cuda:
            return "the result is on the host", worst
        ours, theirs = array_of(got), array_of(want)
        if call.definition.name in UP_TO_SIGN:
            ours, theirs = np.abs(ours), np.abs(theirs)
        found = difference(ours, theirs, ulp, of_largest=True)
        if found and call.definition.name in CANCELLING:
            largest = max([array_of(t).max() for t in call.arguments if isinstance(t, Tensor)])
            found = "" if distance(ours, theirs) * np.abs(theirs).max() < ulp * 1e-6 * largest else found
        worst = max(worst, distance(ours, theirs))
        if found and not is_about_memory(call):
            return found, worst
        if got.stride() != want.stride() and call.definition.family == "pointwise":
            return f"strides {got.stride()}, expected {want.stride()}", worst
    return "", worst


def array_of(tensor: Tensor) -> Any:
    """The elements, on the host."""
    return tensor.detach().cpu()._array


def distance(ours: Any, theirs: Any) -> float:
    """The largest difference of two arrays relative to their largest element."""
    if ours.shape != theirs.shape or not ours.size or (ours.dtype.kind not in "fc" and ours.dtype.name != "bfloat16"):
        return 0.0
    a, b = ours.astype(np.complex128), theirs.astype(np.complex128)
    with np.errstate(all="ignore"):
        away = np.abs(a - b)
        size = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
    return float(away[np.isfinite(away)].max(initial=0) / size)


def gives_tensors_on_device(call: Call) -> bool:
    """Whether there is a tensor among the arguments, so that results belong on its device."""
    has_tensor = any(isinstance(leaf, Tensor) for leaf in leaves(list(call.arguments)))
    return has_tensor and call.definition.name not in ON_HOST


def outcome(call: Call, number: int = 0, check: Callable[[Call], tuple[str, float]] | None = None) -> Outcome:
    """Run a sample on the host and on the device, and compare; with `check`, what that says."""
    result = Outcome(call.definition.full_name, number)
    try:
        run_on_host(call)
    except REFUSALS as error:
        return Outcome(call.definition.full_name, number, "skipped", repr(error))
    try:
        found, result.error = (check or check_all)(call)
        if found:
            result.state, result.text = "wrong", found
    except NotImplementedError as error:
        result.state, result.text, result.places = "refused", str(error), places_of(error)
    except Exception as error:
        result.state, result.text = "error", f"{type(error).__name__}: {error}"
        result.places = places_of(error)
    return result


def places_of(error: BaseException) -> list[str]:
    """Where an exception comes from, and what caused it."""
    import traceback

    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    return [f"{f.filename.rpartition('flambeau/')[2] or f.filename}:{f.lineno}" for f in frames[-6:]]


def check_all(call: Call) -> tuple[str, float]:
    """The sample as it is, in place, and into a tensor."""
    expected = run_on_host(call)
    got, _ = run_on_device(call)
    found, worst = compared(expected, got, call, on_device=gives_tensors_on_device(call))
    for form in (check_in_place, check_out):
        found = found or form(call, expected)
    return found, worst


def check_in_place(call: Call, expected: Any) -> str:
    """The form that writes into its first argument, if there is one that takes such a call."""
    definition = in_place_of(call)
    if definition is None or not isinstance(expected, Tensor):
        return ""
    arguments = call.fresh()
    try:
        flambeau.manual_seed(0)
        wanted = definition.kernel(*arguments)
    except REFUSALS:
        return ""
    given = [moved(a) for a in call.fresh()]
    target = given[0]
    version = target._version
    flambeau.manual_seed(0)
    got = dispatch.run(definition, given)
    if got is not target:
        return f"{definition.full_name} does not return its first argument"
    if target._version <= version:
        return f"{definition.full_name} does not note the write"
    found, _ = compared(wanted, got, call, on_device=True)
    return f"in place: {found}" if found else ""


def check_out(call: Call, expected: Any) -> str:
    """The forms that write into a tensor that they are given."""
    if not isinstance(expected, Tensor) or any(isinstance(v, QuantizedTensor) for v in (expected, *call.arguments)):
        return ""
    for definition in outs_of(call):
        target = flambeau.zeros(expected.shape, dtype=expected.dtype, device="cuda")
        got, _ = run_on_device(call, definition, [target])
        if got is not target:
            return f"{definition.full_name} does not return what it was given"
        found, _ = compared(expected, got, call, on_device=True)
        if found and call.definition.effect.name != "RANDOM":
            return f"into out: {found}"
    return ""
