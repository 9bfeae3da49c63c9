"""What `out=` may be: apart from what is read meanwhile, of the dtype of the result, one tensor for each result."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional

PLACES = flambeau.tensor([0, 1, 2])
SHARED: dict[str, Callable[[Tensor], object]] = {
    "masked_select": lambda x: flambeau.masked_select(x, x > 2, out=x),
    "masked_select, a part": lambda x: flambeau.masked_select(x, x > 2, out=x[2:5]),
    "cat": lambda x: flambeau.cat([x, x], out=x),
    "cat, a part": lambda x: flambeau.cat([x[:2], x[2:4]], out=x[1:5]),
    "stack": lambda x: flambeau.stack([x[:2], x[2:4]], out=x[1:5].view(2, 2)),
    "hstack": lambda x: flambeau.hstack([x[:2], x[2:4]], out=x[1:5]),
    "kthvalue": lambda x: flambeau.kthvalue(x, 2, out=(x, flambeau.tensor(0))),
    "take": lambda x: flambeau.take(x, PLACES, out=x[:3]),
    "gather": lambda x: flambeau.gather(x, 0, PLACES, out=x[:3]),
    "index_select": lambda x: flambeau.index_select(x, 0, PLACES, out=x[:3]),
}


@pytest.mark.parametrize("name", SHARED)
def test_memory_that_is_read_meanwhile(name: str) -> None:
    x = flambeau.arange(6.0)
    with pytest.raises(RuntimeError, match="input tensor and the written-to tensor refer to a single memory"):
        SHARED[name](x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_other_parts_of_the_same_memory() -> None:
    x = flambeau.arange(6.0)
    flambeau.cat([x[:1], x[1:2]], out=x[2:4])
    flambeau.gather(x[:3], 0, PLACES, out=x[3:])
    assert x.tolist() == [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]


X = flambeau.arange(6.0)
empty = flambeau.empty
DTYPES: dict[str, tuple[Callable[[], object], str]] = {
    "gather": (lambda: flambeau.gather(X, 0, PLACES, out=empty(3).double()), "dtype float, but got double"),
    "take": (lambda: flambeau.take(X, PLACES, out=empty(3).double()), "Float and out.dtype = Double"),
    "nonzero": (lambda: flambeau.nonzero(X, out=flambeau.empty(0)), "scalar type Long but got scalar typeFloat"),
    "multinomial": (lambda: flambeau.multinomial(X, 2, out=empty(2)), "expects Long tensor out, got: Float"),
    "searchsorted": (lambda: flambeau.searchsorted(X, X, out=empty(6)), "Float and out_int32 flag is for Long"),
    "bucketize": (lambda: flambeau.bucketize(X, X, out=PLACES.int()), "dtype Int and out_int32 flag is for Long"),
    "complex": (lambda: flambeau.complex(X, X, out=X.cdouble()), "ComplexFloat but got scalar type ComplexDouble"),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_that_are_not_cast_to(name: str) -> None:
    run, message = DTYPES[name]
    with pytest.raises(RuntimeError, match=message):
        run()


def test_parts_go_into_tensors() -> None:
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    for run in (flambeau.unbind_copy, lambda x, out: flambeau.split_copy(x, 1, out=out)):
        first, second = flambeau.empty(0), flambeau.empty(0)
        assert run(x, out=[first, second]) is None
        assert second.flatten().tolist() == [3.0, 4.0]
    parts = [flambeau.empty(1, 2), flambeau.empty(1, 2)]
    assert flambeau.split_with_sizes_copy(x, [1, 1], out=parts) is None
    assert [p.tolist() for p in parts] == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert [p.tolist() for p in flambeau.unbind_copy(x, 1)] == [[1.0, 3.0], [2.0, 4.0]]


def test_parts_and_tensors_of_another_number() -> None:
    x, kept = flambeau.ones(2, 2), flambeau.zeros(2)
    with pytest.raises(RuntimeError, match="unbind_copy_int_out expected an out= argument of size 2, got size 1"):
        flambeau.unbind_copy(x, out=[kept])
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        flambeau.unbind_copy(x.requires_grad_(), out=[kept, flambeau.zeros(2)])
    assert kept.tolist() == [0.0, 0.0]


def test_layers_into_tensors() -> None:
    x, out = flambeau.tensor([[2.0, 1.0], [1.0, 3.0]]), flambeau.empty(2, 2)
    assert functional.linear(x, x, out=out) is out
    assert out.tolist() == [[5.0, 5.0], [5.0, 10.0]]
    assert functional.logsigmoid(x, out=out) is out
    assert flambeau.equal(out, functional.logsigmoid(x))
    results = flambeau.empty(0), flambeau.empty(0), flambeau.empty(0)
    inputs = x, None, None, None, None, True, 0.1, 1e-5
    flambeau.native_batch_norm(*inputs, out=results)
    assert all(map(flambeau.equal, results, flambeau.native_batch_norm(*inputs)))


def test_factors_into_tensors() -> None:
    x = flambeau.tensor([[2.0, 1.0], [1.0, 3.0]])
    out = flambeau.empty(0), flambeau.empty(0, dtype=flambeau.int32)
    with pytest.warns(UserWarning, match="lu"):
        assert flambeau.lu(x, out=out)[0] is out[0]
    assert (out[0].tolist(), out[1].tolist()) == ([[2.0, 1.0], [0.5, 2.5]], [1, 2])
    with pytest.warns(UserWarning, match="lu"), pytest.raises(TypeError, match="tuple of 3 elements but got 2"):
        flambeau.lu(x, get_infos=True, out=out)
