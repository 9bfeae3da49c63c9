"""What eager tensors refuse, in the words that programs search for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import empty, ones

I64 = flambeau.int64


def deleted() -> None:
    x = ones(2)
    del x[0]


REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (deleted, TypeError, "Tensor does not support deleting items"),
    (lambda: ones(2) @ 3, TypeError, r"unsupported operand type\(s\) for @: 'Tensor' and 'int'"),
    (lambda: 3 @ ones(2), TypeError, r"unsupported operand type\(s\) for @: 'int' and 'Tensor'"),
    (lambda: flambeau.max(ones(2, 2), 0, out=(empty(2), empty(2))), RuntimeError, "dtype long int, but got float"),
    (lambda: flambeau.sort(ones(2), out=(empty(2), empty(2))), RuntimeError, "dtype long int, but got float instead"),
    (
        lambda: flambeau.linalg.qr(flambeau.eye(2), out=(empty(2, 2, dtype=flambeau.float64), empty(2, 2))),
        RuntimeError, "Expected out tensor to have dtype float, but got double instead",
    ),
    (lambda: flambeau.rand(2, generator=3), TypeError, r"got \(int, generator=int\), but expected one of"),
    (lambda: flambeau.Generator().manual_seed("a"), RuntimeError, "manual_seed expected a long, but got str"),
    (lambda: flambeau.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda: flambeau.profiler.schedule(wait=-1, warmup=0, active=1), AssertionError, "wait=-1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSALS)
def test_refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_results_in_given_tensors_have_names() -> None:
    values, indices = empty(0), empty(0, dtype=I64)
    result = flambeau.sort(flambeau.tensor([2.0, 1.0]), out=(values, indices))
    assert isinstance(result, flambeau.return_types.sort_out)
    assert not isinstance(result, flambeau.return_types.sort)
    assert result.values is values
    assert result.indices is indices
    assert repr(result).startswith("flambeau.return_types.sort_out(\nvalues=tensor([1., 2.])")
    assert flambeau.return_types.max_out._fields == ("values", "indices")
    with pytest.raises(AttributeError, match="no operator's results have it"):
        flambeau.return_types.relu_out  # noqa: B018
