"""A folder of TorchScript archives with recorded calls, checked: `python -m flambeau.testing.archives FOLDER...`.

With `--again` each is loaded, saved, loaded from what was saved, and then called.

Beside `NAME.pt` lie `NAME.inputs.npz` and `NAME.outputs.npz`. In each of the two, `spec` is JSON text and the arrays
stand beside it. The inputs are a list of calls `{"method", "args", "kwargs"}`, made in order on one loaded module; the
outputs have for each `{"value": V}` or `{"raises": [type, text]}`. A value `V` is `{"t": "tensor", "a": array, "dtype",
"shape", "stride"}`, `{"t": "int", "v": 3}` and likewise for the other plain types, or a container of values.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import flambeau
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import ArchiveError
from flambeau.util.record import dataclass, field

RTOL, ATOL = 1e-4, 1e-5
AGAIN = "--again"


@dataclass(slots=True)
class Report:
    """What came of one archive."""

    name: str
    calls: int = 0
    agreed: int = 0
    refused: str = ""
    """Why it was not loaded."""
    differences: list[str] = field(default_factory=list)
    load_seconds: float = 0.0


def check(archive: Path, *, optimized: bool = True, again: bool = False) -> Report:
    """Load an archive and make its recorded calls; unless `optimized`, without compiling machine code for them. With
    `again` it is saved and loaded once more before."""
    report = Report(archive.stem)
    with np.load(_beside(archive, "inputs")) as inputs, np.load(_beside(archive, "outputs")) as outputs:
        calls, wanted = json.loads(str(inputs["spec"])), json.loads(str(outputs["spec"]))
        report.calls = len(calls)
        start = time.perf_counter()
        try:
            module = flambeau.jit.load(archive)
            if again:
                module = flambeau.jit.load(io.BytesIO(module.save_to_buffer()))
        except ArchiveError as error:
            report.refused = str(error)
            return report
        report.load_seconds = time.perf_counter() - start
        for index, (call, expected) in enumerate(zip(calls, wanted, strict=True)):
            with flambeau.jit.optimized_execution(optimized):
                problem = _call(module, call, inputs, expected, outputs)
            report.agreed += not problem
            if problem:
                report.differences.append(f"call {index} of {call['method']}: {problem}")
    return report


def _beside(archive: Path, what: str) -> Path:
    return archive.with_name(f"{archive.stem}.{what}.npz")


def _call(
    module: Any, call: Mapping[str, Any], inputs: Mapping[str, Any], expected: Mapping[str, Any], outputs: Any
) -> str:
    """What is wrong with a call; nothing if it does what it did."""
    method = module if call["method"] in ("forward", "__call__") else getattr(module, call["method"])
    args = [decoded(v, inputs) for v in call["args"]]
    kwargs = {k: decoded(v, inputs) for k, v in call.get("kwargs", {}).items()}
    try:
        result = method(*args, **kwargs)
    except Exception as error:
        return "" if "raises" in expected else f"it raises {type(error).__name__}: {error}"
    if "raises" in expected:
        return f"it should raise {expected['raises']}"
    return "; ".join(differences(result, decoded(expected["value"], outputs)))


def decoded(value: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    """A recorded value. Raises ValueError for one of a kind that there is not.

    >>> decoded({"t": "tuple", "v": [{"t": "int", "v": 1}, {"t": "none", "v": None}]}, {})
    (1, None)
    """
    kind, inner = value["t"], value.get("v")
    match kind:
        case "tensor":
            return _tensor(value, arrays[value["a"]])
        case "int" | "bool" | "str" | "none":
            return inner
        case "float":
            return float(inner or 0)
        case "complex":
            return _complex(inner)
        case "list" | "tuple" | "namedtuple":
            items = [decoded(v, arrays) for v in inner or ()]
            return items if kind == "list" else tuple(items)
        case "dict":
            return {decoded(k, arrays): decoded(v, arrays) for k, v in inner or ()}
        case "device":
            return flambeau.device(str(inner))
        case "dtype":
            return getattr(flambeau, str(inner).removeprefix("torch."))
    raise ValueError(f"no value is recorded as '{kind}'")


def _complex(parts: Any) -> complex:
    """A complex number recorded as its two parts, or as a real number."""
    return complex(*map(float, parts)) if isinstance(parts, list) else complex(parts or 0)


def _tensor(value: Mapping[str, Any], array: np.ndarray[Any, Any]) -> Tensor:
    if value["dtype"].endswith("bfloat16"):
        array = array.view(ml_dtypes.bfloat16)
    dense = flambeau.from_numpy(np.array(array))
    strides = value.get("stride")
    if strides is None or tuple(strides) == dense.stride():
        return dense
    count = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) if array.size else 1
    placed = flambeau.from_numpy(np.zeros(count, array.dtype)).as_strided(list(array.shape), list(strides))
    return placed.copy_(dense)


def differences(actual: Any, expected: Any, path: str = "the result") -> Iterator[str]:
    """In what a value is not what it should be.

    >>> list(differences([1, 2.0], [1, 3.0]))
    ['the result[1] is 2.0, expected 3.0']
    """
    match expected:
        case Tensor():
            yield from _tensor_differences(actual, expected, path)
        case list() | tuple() if isinstance(actual, list | tuple) and len(actual) == len(expected):
            for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
                yield from differences(a, b, f"{path}[{i}]")
        case dict() if isinstance(actual, dict) and list(actual) == list(expected):
            for key in expected:
                yield from differences(actual[key], expected[key], f"{path}[{key!r}]")
        case float() if isinstance(actual, float):
            if not np.isclose(actual, expected, rtol=RTOL, atol=ATOL, equal_nan=True):
                yield f"{path} is {actual}, expected {expected}"
        case _:
            if type(actual) is not type(expected) or actual != expected:
                yield f"{path} is {actual!r}, expected {expected!r}"


def _tensor_differences(actual: Any, expected: Tensor, path: str) -> Iterator[str]:
    if not isinstance(actual, Tensor):
        yield f"{path} is {type(actual).__name__}, expected a tensor"
        return
    if (actual.dtype, tuple(actual.shape)) != (expected.dtype, tuple(expected.shape)):
        yield f"{path} is {actual.dtype} {actual.shape}, expected {expected.dtype} {expected.shape}"
        return
    a, b = actual.detach().numpy(), expected.numpy()
    if a.dtype == ml_dtypes.bfloat16:
        a, b = a.astype(np.float32), b.astype(np.float32)
    largest = np.max(np.abs(b), where=np.isfinite(b), initial=1.0)  # what others of a row or a sum were rounded by
    if not np.allclose(a, b, rtol=RTOL, atol=ATOL * float(largest), equal_nan=True):
        yield f"the elements of {path} differ by up to {np.max(np.abs(np.subtract(a, b, dtype=np.complex128)))}"


def main(folders: Sequence[str], *, optimized: bool = True, again: bool = False) -> int:
    """Check every archive in some folders; how many do not do what they did."""
    failed = calls = agreed = loaded = refused = 0
    for folder in folders:
        known = Path(folder, "index.json")
        index = json.loads(known.read_text()) if known.exists() else {}
        for archive in sorted(Path(folder).glob("*.pt")):
            if not _beside(archive, "inputs").exists():
                continue
            report = check(archive, optimized=optimized, again=again)
            calls, agreed = calls + report.calls, agreed + report.agreed
            loaded, refused = loaded + (not report.refused), refused + bool(report.refused)
            for text in report.differences:
                sys.stdout.write(f"{report.name}: {text}\n")
            if report.refused:
                sys.stdout.write(f"{report.name} is refused: {report.refused.splitlines()[0]}\n")
            is_fixed = index.get(archive.stem, {}).get("deterministic", True)
            failed += bool(report.differences) and is_fixed
    sys.stdout.write(f"{loaded} archives loaded, {refused} refused; {agreed} of {calls} calls agree\n")
    return failed


if __name__ == "__main__":
    asked = sys.argv[1:]
    sys.exit(min(main([a for a in asked if a != AGAIN], again=AGAIN in asked), 1))
