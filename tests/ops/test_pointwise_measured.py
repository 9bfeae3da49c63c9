"""Arithmetic, in-place forms and their refusals, as measured on PyTorch 2.13."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor.tensor import Tensor, share, wrap

I = wrap(np.array([7, -7]))  # noqa: E741
J = wrap(np.array([2, 2]))
F = wrap(np.array([7.0, -7.0], np.float32))
B = wrap(np.array([True, False]))
NAN, INF = float("nan"), float("inf")
VALUES: list[tuple[str, str, list[Any]]] = [
    ("I / J", "float32", [3.5, -3.5]),
    ("I // J", "int64", [3, -4]),
    ("I % J", "int64", [1, 1]),
    ("fl.fmod(I, J)", "int64", [1, -1]),
    ("I // -2", "int64", [-4, 3]),
    ("I % -2", "int64", [-1, -1]),
    ("fl.div(I, J, rounding_mode='trunc')", "int64", [3, -3]),
    ("fl.div(I, J, rounding_mode='floor')", "int64", [3, -4]),
    ("I / 0", "float32", [INF, -INF]),
    ("F // 0", "float32", [INF, -INF]),
    ("F % 0", "float32", [NAN, NAN]),
    ("F // 2", "float32", [3.0, -4.0]),
    ("F % -3", "float32", [-2.0, -1.0]),
    ("fl.remainder(F, fl.tensor(float('inf')))", "float32", [7.0, INF]),
    ("I ** 2", "int64", [49, 49]),
    ("I ** fl.tensor([-1, 1])", "int64", [0, -7]),
    ("I ** 0.5", "float32", [2.6457512378692627, NAN]),
    ("2 ** I", "int64", [128, 0]),
    ("fl.pow(2.0, I)", "float32", [128.0, 0.0078125]),
    ("B + B", "bool", [True, False]),
    ("B * B", "bool", [True, False]),
    ("B + 1", "int64", [2, 1]),
    ("B + 1.5", "float32", [2.5, 1.5]),
    ("B / B", "float32", [1.0, NAN]),
    ("~B", "bool", [False, True]),
    ("~I", "int64", [-8, 6]),
    ("I & J", "int64", [2, 0]),
    ("I << 1", "int64", [14, -14]),
    ("I >> 1", "int64", [3, -4]),
    ("I << 64", "int64", [0, 0]),
    ("I >> 64", "int64", [0, -1]),
    ("I.sqrt()", "float32", [2.6457512378692627, NAN]),
    ("I.floor()", "int64", [7, -7]),
    ("fl.round(fl.tensor([0.5, 1.5, 2.5, -0.5]))", "float32", [0.0, 2.0, 2.0, -0.0]),
    ("fl.sign(fl.tensor([float('nan'), -0.0]))", "float32", [0.0, 0.0]),
    ("fl.where(B, 1, 2.5)", "float32", [1.0, 2.5]),
    ("fl.where(B, I, F)", "float32", [7.0, -7.0]),
    ("fl.where(B, 1, 2)", "int64", [1, 2]),
    ("fl.maximum(I, F)", "float32", [7.0, -7.0]),
    ("fl.clamp(I, 0.5)", "float32", [7.0, 0.5]),
    ("fl.add(F, J, alpha=2.5)", "float32", [12.0, -2.0]),
    ("fl.addcmul(I, I, J, value=0.5)", "int64", [7, -7]),
    ("fl.tensor([100], dtype=fl.int8) * 2", "int8", [-56]),
    ("fl.tensor([1], dtype=fl.uint8) - 2", "uint8", [255]),
    ("fl.tensor([1, 1], dtype=fl.int8) + 300", "int8", [45, 45]),
    ("fl.tensor([-(2 ** 63)]).abs()", "int64", [-(2**63)]),
    ("-fl.tensor([-(2 ** 63)])", "int64", [-(2**63)]),
    ("2 / I", "float32", [2 / 7, -2 / 7]),
    ("10 - I", "int64", [3, 17]),
    ("10 % I", "int64", [3, -4]),
    ("10 // I", "int64", [1, -2]),
    ("fl.angle(F)", "float32", [0.0, np.float32(np.pi)]),
    ("fl.isclose(F, F + 1e-9)", "bool", [True, True]),
    ("fl.nan_to_num(fl.tensor([float('nan'), float('inf')]), posinf=9.0)", "float32", [0.0, 9.0]),
    ("fl.lerp(F, F + 2, 0.5)", "float32", [8.0, -6.0]),
    ("fl.square(B)", "int64", [1, 0]),
    ("fl.heaviside(F - F, F)", "float32", [7.0, -7.0]),
    ("fl.multiply(I, J)", "int64", [14, -14]),
    ("fl.true_divide(I, J)", "float32", [3.5, -3.5]),
]
ERRORS: list[tuple[str, type[Exception], str]] = [
    ("I // 0", RuntimeError, "ZeroDivisionError"),
    ("I % 0", RuntimeError, "ZeroDivisionError"),
    ("fl.fmod(I, 0)", RuntimeError, "ZeroDivisionError"),
    ("I ** -1", RuntimeError, "Integers to negative integer powers are not allowed."),
    ("B - B", RuntimeError, "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"),
    ("B - 1", RuntimeError, "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying"),
    ("-B", RuntimeError, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert"),
    ("+B", RuntimeError, "The `+` operator, on a bool tensor is not supported."),
    ("F & 1", NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
    ("fl.gelu(I)", NotImplementedError, "\"GeluKernelImpl\" not implemented for 'Long'"),
    ("fl.add(I, J, alpha=2.5)", RuntimeError, "For integral input tensors, argument alpha must not be a floating"),
    ("fl.add(F, F, alpha=1j)", RuntimeError, "For non-complex input tensors, argument alpha must not be a complex"),
    ("fl.add(F, F, alpha=True)", RuntimeError, "Boolean alpha only supported for Boolean results."),
    ("F * 1j < F", NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
    ("fl.div(F, 2, rounding_mode='up')", RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'fl"),
    ("fl.where(F, 1, 2)", RuntimeError, "where expected condition to be a boolean tensor, but got a tensor with dtype"),
    ("fl.floor(F * 1j)", NotImplementedError, "floor is not supported for complex inputs"),
    ("fl.sign(F * 1j)", NotImplementedError, "Unlike NumPy, torch.sign is not intended to support complex numbers."),
    ("fl.erf(F * 1j)", NotImplementedError, "\"erf_vml_cpu\" not implemented for 'ComplexFloat'"),
    ("fl.maximum(F * 1j, F)", RuntimeError, "maximum not implemented for complex tensors."),
    ("fl.heaviside(I, F)", RuntimeError, "heaviside is not yet implemented for tensors with different dtypes."),
    ("fl.isclose(F, I)", RuntimeError, "Float did not match Long"),
    ("fl.isclose(F, F, rtol=-1.0)", RuntimeError, "rtol must be greater than or equal to zero, but got -1"),
    ("fl.lerp(F, I, 0.5)", RuntimeError, "expected dtype float for `end` but got dtype long int"),
    ("fl.lerp(I, I, 0.5)", NotImplementedError, "\"lerp_kernel_scalar\" not implemented for 'Long'"),
    ("fl.addcdiv(I, I, J)", RuntimeError, "Integer division with addcdiv is no longer supported"),
    ("fl.complex(F, F.double())", RuntimeError, "Expected object of scalar type Float but got scalar type Double for"),
    ("fl.polar(I, I)", RuntimeError, "Expected both inputs to be Half, Float or Double tensors but got Long and Long"),
    ("fl.relu(B)", RuntimeError, "Boolean inputs not supported for relu"),
    ("fl.deg2rad(F * 1j)", RuntimeError, "deg2rad is not supported for complex tensors."),
    ("fl.ones(2, 3) + fl.ones(2, 4)", RuntimeError, "The size of tensor a (3) must match the size of tensor b (4) at "),
    ("F + 'a'", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
]


@pytest.mark.parametrize(("text", "dtype", "values"), VALUES, ids=[v[0] for v in VALUES])
def test_measured_value(text: str, dtype: str, values: list[Any]) -> None:
    result = eval(text, {"fl": flambeau, "I": I, "J": J, "F": F, "B": B})
    assert result.dtype.name == dtype
    np.testing.assert_allclose(result._array, np.array(values), rtol=1e-6)


@pytest.mark.parametrize(("text", "error", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_measured_error(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        eval(text, {"fl": flambeau, "I": I, "J": J, "F": F, "B": B})
    assert message in str(caught.value)


def ones(*sizes: int, dtype: Any = np.float32) -> Tensor:
    return wrap(np.ones(sizes, dtype))


def expanded(*sizes: int) -> Tensor:
    base = np.ones((1, *sizes[1:]), np.float32)
    tensor = wrap(base)
    return share(tensor, np.broadcast_to(base, sizes))


def row(count: int) -> Tensor:
    return wrap(np.arange(float(count), dtype=np.float32))


INTERNAL = "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
PARTIAL = "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "


def add_slices() -> None:
    x = row(4)
    share(x, x._array[1:]).add_(share(x, x._array[:-1]))


def add_transposed() -> None:
    x = wrap(np.ones((2, 2), np.float32))
    x.add_(share(x, x._array.T))


def mul_row() -> None:
    x = wrap(np.ones((2, 2), np.float32))
    x.mul_(share(x, x._array[0]))


def out_overlapping() -> None:
    x = row(4)
    flambeau.add(share(x, x._array[:-1]), 1, out=share(x, x._array[1:]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ones(2, dtype=np.int64).add_(1.5), "result type Float can't be cast to the desired output type Long"),
        (lambda: ones(2, dtype=np.int64).div_(2), "result type Float can't be cast to the desired output type Long"),
        (lambda: ones(2).mul_(1j), "result type ComplexFloat can't be cast to the desired output type Float"),
        (lambda: ones(2, dtype=np.bool_).add_(1), "result type Long can't be cast to the desired output type Bool"),
        (lambda: ones(2, dtype=np.int64).sqrt_(), "result type Float can't be cast to the desired output type Long"),
        (lambda: ones(2).add_(ones(2, 2)), "output with shape [2] doesn't match the broadcast shape [2, 2]"),
        (lambda: expanded(2, 3).add_(1), INTERNAL),
        (add_slices, PARTIAL),
        (add_transposed, PARTIAL),
        (mul_row, PARTIAL),
        (out_overlapping, PARTIAL),
        (
            lambda: flambeau.add(ones(3), 1, out=wrap(np.empty(3, np.int64))),
            "result type Float can't be cast to the desired output type Long",
        ),
    ],
)
def test_refused_writes(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert message in str(caught.value)


def test_in_place_casts_down_within_a_kind() -> None:
    x = ones(2, dtype=np.float16)
    x.add_(ones(2, dtype=np.float64))
    assert x.dtype is flambeau.float16
    assert x._array.tolist() == [2.0, 2.0]
    y = ones(2)
    y.eq_(1)
    assert y.dtype is flambeau.float32


def test_the_same_tensor_twice_is_no_overlap() -> None:
    x = row(3)
    x.add_(x)
    assert x._array.tolist() == [0.0, 2.0, 4.0]


def test_out_is_resized_with_a_warning() -> None:
    out = wrap(np.empty(2, np.float32))
    with pytest.warns(UserWarning, match=r"An output with one or more elements was resized since it had shape \[2\]"):
        flambeau.add(ones(3), 1, out=out)
    assert out._array.tolist() == [2.0, 2.0, 2.0]
    wide = wrap(np.empty(3))
    assert flambeau.add(ones(3), 1, out=wide) is wide
    assert wide.dtype is flambeau.float64


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("log", "sqrt", "reciprocal", "acosh", "erfinv", "lgamma", "digamma", "logit", "exp", "tan"):
            getattr(flambeau, name)(wrap(np.array([0.0, -1.0, 1e300, NAN, INF, -INF])))
        (I / 0, F / 0, F % 0, I * (2**62), I << 70, fl_int_min() // -1)


def fl_int_min() -> Tensor:
    return wrap(np.array([-(2**63)]))


def test_results_never_alias_their_arguments() -> None:
    for name in ("floor", "round", "trunc", "abs", "clone"):
        x = wrap(np.array([1, 2], np.uint8))
        assert not np.shares_memory(getattr(flambeau, name)(x)._array, x._array)


def test_negative_zero_and_nan_survive() -> None:
    x = wrap(np.array([-0.0, NAN]))
    assert np.signbit((x * 1)._array[0])
    assert np.signbit(flambeau.ceil(wrap(np.array([-0.5])))._array[0])
    assert np.isnan(flambeau.maximum(x, wrap(np.array([1.0, 1.0])))._array[1])
    assert flambeau.fmax(x, wrap(np.array([1.0, 1.0])))._array.tolist() == [1.0, 1.0]
    assert np.isnan(flambeau.relu(x)._array[1])
    assert flambeau.sign(x)._array[1] == 0
