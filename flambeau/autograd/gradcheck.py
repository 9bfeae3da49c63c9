"""Comparing gradients with differences of what a function computes.

Complex numbers count as pairs of real ones: a function of real numbers to real numbers remains, whose Jacobian both
ways must give.

>>> import flambeau
>>> x = flambeau.tensor([0.5, 1.5], dtype=flambeau.float64, requires_grad=True)
>>> gradcheck(lambda t: t.sin() * t, (x,)), gradgradcheck(lambda t: t.sin() * t, (x,))
(True, True)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flambeau.autograd.backward import grad
from flambeau.autograd.function_node import FunctionCtx
from flambeau.autograd.gradcheck_ways import (
    GradcheckError,
    along,
    asking_outputs,
    check_batched,
    check_batched_forward,
    from_reals,
    reals,
)
from flambeau.tensor.grad_mode import enable_grad
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import dataclass

Function = Callable[..., Any]
Matrix = npt.NDArray[Any]
NO_INPUT: Final = (
    "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
)
NO_OUTPUT: Final = (
    "gradcheck: none of the outputs of the function can be differentiated: they are integers, or do not depend on an "
    "input that requires gradients"
)
NOTHING: Final = "Expected at least one of check_forward_ad and check_backward_ad to be True: nothing would be compared"
OTHER_DTYPE: Final = "the gradient of input {number} has the dtype {other}, the input {own}"
PRECISION: Final = (
    "Input #{number} requires gradient and is not a double precision floating point or complex. This check will "
    "likely fail if all the inputs are not of double precision floating point or complex. "
)
MISMATCH: Final = (
    "Jacobian mismatch for output {output} with respect to input {input},\nnumerical:{numerical}\n"
    "analytical:{analytical}\nlargest difference {difference:.3g} at element {where} of the output by element {by} of "
    "the input"
)
NOT_DETERMINISTIC: Final = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {tolerance}."
)
UNDEFINED: Final = (
    'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
    'gradients": {name} raised {error}'
)


OVERLAPPING: Final = (
    "The {number}th input has a dimension with stride 0: its elements are in one place, and cannot be varied by "
    "themselves. Pass its .contiguous()"
)


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a check was asked for."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    is_fast: bool
    checks_undefined: bool
    checks_dtypes: bool
    is_batched: bool
    goes_forward: bool
    goes_back: bool
    goes_forward_in_batches: bool


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    check_batched_forward_grad: bool = False,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function with central differences; True if they agree.

    Args:
        func: takes the inputs, gives a tensor or several.
        inputs: one, or a sequence; those that ask for gradients, in double precision, are varied.
        eps: by how much.
        atol, rtol: how far elements of the Jacobian may be apart.
        raise_exception: raise GradcheckError, which shows both Jacobians; otherwise give False.
        nondet_tol: how far two runs of backward may be apart.
        check_undefined_grad: also run custom functions without any gradient of their results.
        check_grad_dtypes: gradients must have the dtypes of their inputs.
        check_batched_grad: several gradients of a result must go back at once, as `vmap` has it.
        check_forward_ad: compare tangents (`forward_ad`) as well.
        check_backward_ad: compare the gradients; not with False.
        check_batched_forward_grad: several tangents of an input must go forward at once, as `vmap` has it.
        fast_mode: compare one random combination of elements in place of the whole Jacobian.
        masked: accepted, without effect: it is about sparse tensors.

    Raises ValueError if no input asks for gradients, or there is nothing to compare.

    >>> import flambeau
    >>> x = flambeau.tensor([0.5, 1.5], dtype=flambeau.float64, requires_grad=True)
    >>> gradcheck(lambda t: t.exp() * t, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise ValueError(NOTHING)
    setting = _Setting(
        eps, atol, rtol, nondet_tol, fast_mode, check_undefined_grad and check_backward_ad, check_grad_dtypes,
        check_batched_grad, check_forward_ad, check_backward_ad, check_batched_forward_grad,
    )  # fmt: skip
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    asking = [n for n, value in enumerate(listed) if isinstance(value, Tensor) and value.requires_grad]
    if not asking:
        raise ValueError(NO_INPUT)
    for number in asking:
        _check_apart(listed[number], number)
        if listed[number]._array.dtype.char not in "dD":
            warnings.warn(PRECISION.format(number=number), stacklevel=2)
    try:
        _check(func, listed, asking, setting)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """The same for second derivatives: `gradcheck` of the gradients as a function of the inputs and of `grad_outputs`.

    Args:
        grad_outputs: gradients of the outputs; random ones if none are given.
        gen_non_contig_grad_outputs: let random ones lie apart in memory.
        check_fwd_over_rev: compare tangents of the gradients as well.
        check_rev_over_rev: compare gradients of the gradients; not with False.

    >>> import flambeau
    >>> x = flambeau.tensor([0.5, 1.5], dtype=flambeau.float64, requires_grad=True)
    >>> gradgradcheck(lambda t: t.exp() * t, (x,))
    True
    """
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    asking = [n for n, value in enumerate(listed) if isinstance(value, Tensor) and value.requires_grad]
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        cotangents = [_random_like(o, generator, gen_non_contig_grad_outputs) for o in asking_outputs(func, listed)]
    else:
        cotangents = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(listed)

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        outputs = asking_outputs(func, values[:count])
        of = [values[n] for n in asking]
        input_gradients = grad(outputs, of, values[count:], create_graph=True, allow_unused=True)
        return tuple([g for g in input_gradients if g is not None and g.requires_grad])

    return gradcheck(
        gradients, [*listed, *cotangents], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode,
    )  # fmt: skip


def _check(func: Function, inputs: list[Any], asking: list[int], setting: _Setting) -> None:
    with enable_grad():
        outputs = asking_outputs(func, inputs)
    if not outputs:
        _check_constant(func, inputs, asking, setting)
        return
    if setting.checks_undefined:
        _check_undefined(outputs)
    generator = np.random.default_rng(0)
    for output_index, output in enumerate(outputs):
        count = reals(output).size
        factors = generator.normal(size=(1, count)) if setting.is_fast else np.eye(count)
        of = [inputs[n] for n in asking]
        analytical = _ways_back(output, of, factors, setting) if setting.goes_back else [None] * len(of)
        for number, own in zip(asking, analytical, strict=True):
            size = reals(inputs[number]).size
            directions = generator.normal(size=(1, size)) if setting.is_fast else np.eye(size)
            numerical = factors @ _numerical(func, inputs, number, output_index, directions, setting.eps)
            if own is not None:
                _compare(own @ directions.T, numerical, output_index, number, setting)
            if setting.goes_forward:
                forward = factors @ along(func, inputs, number, output_index, directions)
                _compare(forward, numerical, output_index, number, setting)
            if setting.goes_forward_in_batches:
                check_batched_forward(func, inputs, number, output_index, directions)


def _check_apart(value: Tensor, number: int) -> None:
    """Raise RuntimeError for an input with several elements in one place: it cannot be varied element by element."""
    if any(stride == 0 and size > 1 for stride, size in zip(value.stride(), value._array.shape, strict=True)):
        raise RuntimeError(OVERLAPPING.format(number=number))


def _check_constant(func: Function, inputs: list[Any], asking: list[int], setting: _Setting) -> None:
    """Raise GradcheckError unless a function without gradients gives the same whatever its inputs are."""
    for number in asking:
        numbers = reals(inputs[number])
        for direction in np.eye(numbers.size):
            ends = []
            for sign in (1, -1):
                shifted = wrap(from_reals(numbers + sign * setting.eps * direction, inputs[number]))
                result = func(*[shifted if n == number else value for n, value in enumerate(inputs)])
                ends.append([reals(one) for one in (result if isinstance(result, tuple | list) else [result])])
            far = 2 * setting.eps * setting.atol
            if any(not np.allclose(a, b, rtol=0, atol=far) for a, b in zip(*ends, strict=True)):
                raise GradcheckError(NO_OUTPUT)


def _ways_back(output: Tensor, of: list[Tensor], factors: Matrix, setting: _Setting) -> list[Matrix]:
    """What `_analytical` gives, which must be the same twice, and in a batch if that is asked for."""
    first, again = [_analytical(output, of, factors, setting.checks_dtypes) for _ in range(2)]
    for own, other in zip(first, again, strict=True):
        if own.size and float(np.abs(own - other).max()) > setting.nondet_tol:
            raise GradcheckError(NOT_DETERMINISTIC.format(tolerance=setting.nondet_tol))
    if setting.is_batched and len(factors):
        check_batched(output, of, factors, first)
    return first


def _analytical(output: Tensor, inputs: list[Tensor], factors: Matrix, checks_dtypes: bool) -> list[Matrix]:
    """Per input, combinations of the rows of its Jacobian, by going back."""
    rows: list[list[Matrix]] = [[] for _ in inputs]
    for factor in factors:
        cotangent = wrap(from_reals(factor, output)).to(output.device)
        gradients = grad(output, inputs, cotangent, retain_graph=True, allow_unused=True)
        for number, (row, gradient, value) in enumerate(zip(rows, gradients, inputs, strict=True)):
            if checks_dtypes and gradient is not None and gradient.dtype != value.dtype:
                raise GradcheckError(OTHER_DTYPE.format(number=number, other=gradient.dtype, own=value.dtype))
            row.append(np.zeros(reals(value).size) if gradient is None else reals(gradient))
    sizes = [reals(value).size for value in inputs]
    return [np.array(row).reshape(len(factors), size) for row, size in zip(rows, sizes, strict=True)]


def _numerical(
    func: Function, inputs: list[Any], number: int, output_index: int, directions: Matrix, eps: float
) -> Matrix:
    """Combinations of the columns of one Jacobian, by central differences."""
    varied: Tensor = inputs[number]
    numbers = reals(varied)
    columns = []
    for direction in directions:
        ends = []
        for sign in (1, -1):
            shifted = wrap(from_reals(numbers + sign * eps * direction, varied))
            moved = shifted.to(varied.device).requires_grad_()
            with enable_grad():
                outputs = asking_outputs(func, [moved if value is varied else value for value in inputs])
            ends.append(reals(outputs[output_index]))
        columns.append((ends[0] - ends[1]) / (2 * eps))
    return np.array(columns).reshape(len(directions), -1).T


def _compare(analytical: Matrix, numerical: Matrix, output_index: int, number: int, setting: _Setting) -> None:
    if np.allclose(analytical, numerical, rtol=setting.rtol, atol=setting.atol, equal_nan=True):
        return
    with np.errstate(invalid="ignore"):
        difference = np.nan_to_num(np.abs(analytical - numerical), nan=np.inf)
    row, column = np.unravel_index(int(difference.argmax()), difference.shape)
    raise GradcheckError(
        MISMATCH.format(
            output=output_index, input=number,
            numerical=wrap(np.array(numerical.T)), analytical=wrap(np.array(analytical.T)),
            difference=float(difference.max()), where=int(row), by=int(column),
        )
    )  # fmt: skip


def _check_undefined(outputs: list[Tensor]) -> None:
    """Custom functions get no gradient for results that nothing depends on: they must bear that."""
    for node in {output.grad_fn for output in outputs}:
        if isinstance(node, FunctionCtx):
            try:
                node.apply([None])
            except Exception as error:
                raise GradcheckError(UNDEFINED.format(name=node.name(), error=repr(error))) from error


def _random_like(output: Tensor, generator: np.random.Generator, is_apart: bool) -> Tensor:
    array = output._array
    numbers = generator.normal(size=(*array.shape, 2 if is_apart else 1))
    whole = numbers + 1j * generator.normal(size=numbers.shape) if array.dtype.kind == "c" else numbers
    return wrap(whole.astype(array.dtype)[..., 0]).to(output.device).requires_grad_()
