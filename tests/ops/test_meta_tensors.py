"""Tensors on "meta": sizes, strides and dtypes as the real operators give them, and refusals where there is no data."""

from __future__ import annotations

import copy
import io
import pickle
from collections import Counter

import pytest

import flambeau as fb
from flambeau.ops import meta_tensors
from flambeau.schema import registry
from flambeau.schema.device import META
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

SAMPLED = [d for d in registry.all_definitions() if d.samples is not None and d.schema.concerns_tensors]
DIFFERENT = {"python::item", "aten::_autocast_to_full_precision", "aten::_autocast_to_reduced_precision"}
"""Operators whose views of fewer axes have other strides, and those that convert tensors of some devices alone."""


def without_data(value):
    if isinstance(value, Tensor):
        made = meta_tensors.empty(value._array.shape, value.dtype, value.stride())
        made.is_wrapped_number = value.is_wrapped_number
        return made
    return type(value)(map(without_data, value)) if type(value) in (list, tuple) else value


def look(value):
    if isinstance(value, Tensor):
        return tuple(value._array.shape), value.stride(), value.dtype
    return [look(one) for one in value] if isinstance(value, list | tuple) else None


def holds_tensors(values) -> bool:
    return any(isinstance(v, Tensor) or (isinstance(v, list) and holds_tensors(v)) for v in values)


def outcomes(definition) -> list[str]:
    """For each sample whether the operator gives the same without data, something else, or refuses."""
    ends, calls = [], []

    def note(ran, arguments, proceed):
        stand_ins = [without_data(a) for a in arguments]
        calls.append((ran, stand_ins, proceed(arguments)))
        return calls[-1][2]

    for sample in definition.samples():
        calls.clear()
        with dispatch.intercepting(note):
            dispatch.call(definition.name, *sample.args, **sample.kwargs)
        ran, arguments, result = calls[0]
        if not holds_tensors(arguments):
            if "device" not in ran.schema.index:
                continue
            arguments[ran.schema.index["device"]] = META
        try:
            ends.append("same" if look(dispatch.run(ran, arguments)) == look(result) else "other")
        except (NotImplementedError, RuntimeError, ArithmeticError, ValueError):
            ends.append("refused")
    return ends


def test_operators_give_the_sizes_strides_and_dtypes_that_they_give_with_data() -> None:
    sampled = [d for d in SAMPLED if d.family != "quantized"]  # none of these is there without data
    ends = {definition.full_name: outcomes(definition) for definition in sampled}
    wrong = {name for name, kinds in ends.items() if "other" in kinds}
    assert wrong <= DIFFERENT, wrong
    counts = Counter(kind for kinds in ends.values() for kind in kinds)
    assert counts["same"] >= 0.96 * counts.total(), counts


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m: m.item(), RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
        (lambda m: m.sum().item(), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m: m.tolist(), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m: float(m.sum()), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m: int(m.sum()), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda m: bool(m.sum()), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m: bool(m), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda m: m.numpy(), TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu() to"),
        (lambda m: m.__array__(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda m: m.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m: m.to("cpu"), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m: fb.ones(2, 3).copy_(m), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda m: m + fb.ones(2, 3), RuntimeError, "Tensor on device cpu is not on the expected device meta!"),
        (lambda m: m.nonzero(), NotImplementedError, "aten::nonzero: attempted to run this operator with Meta tensors"),
        (lambda m: m[m > 0], NotImplementedError, "attempted to run this operator with Meta tensors"),
        (lambda m: fb.equal(m, m), NotImplementedError, "aten::equal: attempted to run this operator with Meta"),
        (lambda m: fb.mm(m, m), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
        (lambda m: m.add_(fb.ones(4, 2, 3, device="meta")), RuntimeError, "doesn't match the broadcast shape"),
        (lambda m: m + fb.ones(2, 4, device="meta"), RuntimeError, "must match the size of tensor b"),
        (lambda m: m.view(5), RuntimeError, "shape '[5]' is invalid for input of size 6"),
        (lambda m: fb.zeros(-1, device="meta"), RuntimeError, "negative dimension"),
    ],
)
def test_refusals(call, kind, message) -> None:
    with pytest.raises(kind) as caught:
        call(fb.ones(2, 3, device="meta"))
    assert message in str(caught.value)


def test_what_a_tensor_without_data_says_of_itself() -> None:
    m = fb.ones(2, 3, device="meta", dtype=fb.float64, requires_grad=True)
    assert repr(m) == (
        "tensor(..., device='meta', size=(2, 3), dtype=flambeau.float64,\n       requires_grad=True)"
    )
    assert (m.is_meta, m.is_cpu, m.device.type, m.data_ptr(), m.nbytes) == (True, False, "meta", 0, 48)
    assert not fb.ones(1).is_meta
    assert fb.empty(10**6, 10**6, device="meta").numel() == 10**12


def test_views_share_their_storage() -> None:
    m = fb.ones(2, 3, device="meta")
    assert m.t().shares_storage(m)
    assert (m.t().stride(), m[1].storage_offset(), m.reshape(6).shares_storage(m)) == ((1, 3), 3, True)
    assert not m.t().reshape(6).shares_storage(m)
    assert all(part.is_meta for part in m)


def test_numbers_without_axes_may_be_elsewhere() -> None:
    m = fb.ones(2, 3, device="meta")
    assert (m + fb.tensor(1.0)).is_meta
    assert (m + 1.5).dtype is fb.float32
    assert fb.ones(3).to("meta").is_meta
    assert m.copy_(fb.ones(3)) is m


def test_gradients_without_data() -> None:
    with fb.device("meta"):
        net = fb.nn.Sequential(fb.nn.Conv2d(3, 8, 3), fb.nn.BatchNorm2d(8), fb.nn.ReLU(), fb.nn.Flatten(),
                               fb.nn.Linear(8 * 30 * 30, 10))  # fmt: skip
        images = fb.randn(2, 3, 32, 32)
    result = net(images)
    assert (result.shape, result.is_meta) == ((2, 10), True)
    result.sum().backward()
    assert net[0].weight.grad.shape == (8, 3, 3, 3)
    assert net[0].weight.grad.is_meta


def test_modules_without_data() -> None:
    with fb.device("meta"):
        layer = fb.nn.Linear(2, 3)
    assert isinstance(layer.weight, fb.nn.Parameter)
    assert layer.weight.is_meta
    with pytest.raises(NotImplementedError, match="no data! Please use"):
        layer.to("cpu")
    state = fb.nn.Linear(2, 3).state_dict()
    layer.load_state_dict(state, assign=True)
    assert not layer.weight.is_meta
    assert layer(fb.ones(1, 2)).shape == (1, 3)
    other = fb.nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    other.load_state_dict(state)
    assert fb.equal(other(fb.ones(1, 2)), layer(fb.ones(1, 2)))
    assert fb.nn.LSTM(2, 3, device="meta").weight_ih_l0.is_meta


def test_the_default_device() -> None:
    with fb.device("meta"):
        assert fb.tensor([1]).is_meta
        assert fb.arange(3).is_meta
        assert fb.full((2,), 1.0).is_meta
        assert not fb.zeros(2, device="cpu").is_meta
        assert not fb.zeros_like(fb.zeros(2, device="cpu")).is_meta
    assert not fb.zeros(2).is_meta
    assert fb.get_default_device().type == "cpu"


def test_programs_without_data() -> None:
    f = fb.CompilationUnit("def f(x: Tensor): return (x * 2 + 1).relu().sum(0)").f
    f(fb.ones(2, 3))
    result = f(fb.ones(2, 3, device="meta"))
    assert (result.shape, result.is_meta) == ((3,), True)
    assert f(fb.ones(2, 3)).tolist() == [6.0, 6.0, 6.0]
    module = fb.jit.script(fb.nn.Linear(2, 3, device="meta"))
    assert module(fb.ones(4, 2, device="meta")).shape == (4, 3)


def test_archives_load_without_data() -> None:
    archive = io.BytesIO()
    fb.jit.save(fb.jit.script(fb.nn.Linear(2, 3)), archive)
    archive.seek(0)
    module = fb.jit.load(archive, map_location="meta")
    assert module.weight.is_meta
    assert module(fb.ones(4, 2, device="meta")).shape == (4, 3)


def test_copies_without_data() -> None:
    m = fb.ones(3, 2, device="meta").t()
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert (other.is_meta, other.shape, other.stride()) == (True, (2, 3), (1, 2))
    assert copy.deepcopy(fb.nn.Linear(2, 3, device="meta")).weight.is_meta


def test_a_users_operator_says_its_sizes() -> None:
    from flambeau.library import Library, register_fake

    lib = Library("test_meta", "DEF")
    lib.define("rows(Tensor x) -> Tensor")
    lib.impl("rows", lambda x: x.sum(1), "CPU")
    m = fb.ones(2, 3, device="meta")
    with pytest.raises(NotImplementedError, match="test_meta::rows: attempted to run this operator with Meta tensors"):
        fb.ops.test_meta.rows(m)
    register_fake("test_meta::rows", lambda x: x.new_empty(x.size(0)), lib=lib)
    assert fb.ops.test_meta.rows(m).shape == (2,)
    assert fb.ops.test_meta.rows(fb.ones(2, 3)).tolist() == [3.0, 3.0]
    lib._destroy()


@pytest.mark.parametrize(
    ("layer", "sizes"),
    [
        (fb.nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), (2, 4, 9, 11)),
        (fb.nn.Conv1d(4, 6, 3, padding="same"), (2, 4, 9)),
        (fb.nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2), (2, 4, 5, 6)),
        (fb.nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), (2, 4, 8, 9)),
        (fb.nn.AvgPool2d(2, ceil_mode=True), (2, 4, 7, 9)),
        (fb.nn.AdaptiveAvgPool2d((3, None)), (2, 4, 7, 9)),
        (fb.nn.Conv2d(4, 6, 3), (4, 9, 11)),
    ],
)
def test_windows_have_the_sizes_that_they_have_with_data(layer, sizes) -> None:
    expected = layer(fb.ones(*sizes))
    result = layer.to("meta")(fb.ones(*sizes, device="meta"))
    assert (result.shape, result.stride()) == (expected.shape, expected.stride())


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_without_data(kind: str) -> None:
    layer, x = getattr(fb.nn, kind)(3, 4, device="meta"), fb.empty(5, 2, 3, device="meta")
    for output, state in (layer(x), getattr(fb.nn, kind)(3, 4, num_layers=2, device="meta")(x)):
        last = state[0] if isinstance(state, tuple) else state
        assert output.is_meta
        assert last.is_meta
        assert tuple(output.shape) == (5, 2, 4)
        assert tuple(last.shape)[1:] == (2, 4)
