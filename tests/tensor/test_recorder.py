"""Operations on tensors that ask for gradients, while nothing records: what results say, which writes are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef, Sample
from flambeau.tensor.dispatch import call, operator
from flambeau.tensor.recorder import is_asked

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def _leaf(*sizes: int) -> Tensor:
    return flambeau.ones(*sizes).requires_grad_()


def test_c08_results_ask_for_gradients_where_an_operand_does() -> None:
    x, plain = _leaf(3), flambeau.ones(3)
    for result in (
        x * 2,
        plain * x,
        x[1:],
        x[0],
        x.sum(),
        x.reshape(3, 1),
        flambeau.cat([plain, x]),
        x.to(flambeau.float64),
    ):
        assert result.requires_grad
        assert not result.is_leaf
    for result in (
        x > 0,
        x.argmax(),
        x.detach(),
        flambeau.zeros_like(x),
        x.data,
        plain * 2,
        flambeau.tensor(x.tolist()),
    ):
        assert not result.requires_grad
        assert result.is_leaf
    values, places = x.max(0)
    assert values.requires_grad
    assert not places.requires_grad


def test_c08_nothing_is_asked_under_no_grad() -> None:
    x = _leaf(3)
    with flambeau.no_grad():
        y = x * 2
        x += 1
        x[0] = 5
        x.fill_(2)
    assert not y.requires_grad
    assert y.is_leaf
    assert x.requires_grad
    assert x.is_leaf


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1), lambda x: x.__iadd__(x), lambda x: x.zero_(), lambda x: x.normal_(),
        lambda x: x.copy_(x * 2),
        lambda x: x.index_put_([flambeau.tensor([0])], flambeau.ones(1)), lambda x: x.clamp_(0),
    ],
)  # fmt: skip
def test_c08_leaves_are_not_written(write: Callable[[Tensor], Any]) -> None:
    x = _leaf(3)
    with pytest.raises(RuntimeError, match=LEAF):
        write(x)
    assert x.tolist() == [1, 1, 1]
    with flambeau.no_grad():
        write(x)


@pytest.mark.parametrize(
    "write",
    [lambda x: x.__setitem__(0, 5), lambda x: x[1:].add_(1), lambda x: x.view(3)[0].mul_(2), lambda x: x.t().zero_()],
)
def test_c08_views_of_leaves_are_not_written(write: Callable[[Tensor], Any]) -> None:
    x = _leaf(3)
    with pytest.raises(RuntimeError, match=VIEW):
        write(x)
    assert x.tolist() == [1, 1, 1]


def test_c08_what_is_written_from_an_asking_tensor_asks() -> None:
    x, y, z = _leaf(3), flambeau.zeros(3), flambeau.zeros(3)
    y.add_(x)
    z.add_(1)
    assert y.requires_grad
    assert not y.is_leaf
    assert not z.requires_grad
    y.mul_(2)
    assert y.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="functions with out="):
        flambeau.add(x, 1, out=z)


def test_c08_results_are_on_the_tape() -> None:
    y = _leaf(3) * 2
    assert "grad_fn=<MulBackward0>" in repr(y)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    assert y.detach().numpy().tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="detach"):
        y.numpy()
    with pytest.raises(RuntimeError, match="detach"):
        _leaf(3).numpy()


def test_c08_results_say_what_those_of_torch_say() -> None:
    torch = pytest.importorskip("torch")
    for expression in (
        "x * 2", "x.floor()", "x.sign()", "m.zeros_like(x)", "m.ones_like(x)", "m.full_like(x, 2)",
        "x.new_zeros(2)", "x.round()", "x.long()", "x.double()", "x.detach()", "x.clone()", "m.where(x > 0, x, 0)",
        "m.stack([x, x])", "x.sort()[0]", "x.sort()[1]", "m.rand_like(x)", "m.dropout(x, 0.5, True)",
        "m.linalg.norm(x)", "x.expand(2, 3)", "x.unbind()[0]", "x == x", "x.isnan()", "m.histc(x)",
        "m.nn.functional.relu(x)", "x.new_tensor([1.0])", "m.empty_like(x)", "m.einsum('i,i->', x, x)", "x @ x",
        "x.half()", "x.to(m.complex64)", "m.special.bessel_j0(x)", "m.tensor([1.0]).copy_(x[:1])",
        "x.index_select(0, m.tensor([0]))",
    ):  # fmt: skip
        ours, theirs = (eval(expression, {"m": m, "x": m.ones(3).requires_grad_()}) for m in (flambeau, torch))
        assert ours.requires_grad == theirs.requires_grad, expression


# -- overlapping elements ---------------------------------------------------------------------------------------------

OVERLAP = "more than one element of the written-to tensor refers to a single memory location"
IDEMPOTENT = {"aten::fill_.Scalar", "aten::zero_"}
"""What writes the same number everywhere is as well defined for elements that share memory; PyTorch takes it too."""


def test_c08_items_of_expanded_tensors_are_not_assigned() -> None:
    x = flambeau.zeros(1).expand(4)
    for key, value in ((slice(None, None, 2), 5), (slice(None), 1.5), (slice(0, 4), flambeau.ones(4)), (..., 2)):
        with pytest.raises(RuntimeError, match=OVERLAP):
            x[key] = value
    assert x.tolist() == [0, 0, 0, 0]
    x[1] = 3  # one element
    assert x.tolist() == [3, 3, 3, 3]


def _calls(definition: OpDef) -> Iterator[Sample]:
    plain = registry.overloads(registry.out_of_place(definition.schema.name))
    for known in (definition, *plain):
        yield from list(known.samples())[:2] if known.samples is not None else ()


def _overlapping(array: Any) -> Tensor:
    return flambeau.from_numpy(array[:1].copy()).expand(max(2, array.shape[0]), *array.shape[1:])


def test_c08_no_operator_writes_elements_that_share_memory() -> None:
    wrong, count = set(), 0
    for definition in registry.all_definitions():
        schema = definition.schema
        is_written = (
            schema.is_mutable and not definition.is_about_tensor and definition.family not in ("language", "view")
        )
        if not is_written or definition.full_name in IDEMPOTENT:
            continue
        for sample in _calls(definition):
            args, kwargs = list(sample.args), dict(sample.kwargs)
            if not args or not isinstance(args[0], Tensor):
                continue
            if "out" in schema.index:
                try:
                    like = call(schema.name, *args, **kwargs)
                except (RuntimeError, TypeError):
                    continue
                if not isinstance(like, Tensor) or like.dim() == 0 or like.numel() < 2:
                    continue
                kwargs["out"] = _overlapping(like._array)
            elif args[0].dim() and args[0].numel() > 1:
                args[0] = _overlapping(args[0]._array)
            else:
                continue
            try:
                if operator(schema.name).binding(tuple(args), kwargs).definition is not definition:
                    continue
                call(schema.name, *args, **kwargs)
                wrong.add(definition.full_name)
            except (RuntimeError, TypeError, NotImplementedError, IndexError) as error:
                count += OVERLAP in str(error)
    assert not wrong
    assert count > 300


def test_asked_looks_into_lists() -> None:
    assert is_asked([1, [flambeau.ones(1), (_leaf(1),)]])
    assert not is_asked([1, [flambeau.ones(1)], "x"])
