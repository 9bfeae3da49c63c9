"""Derivatives of functions at given inputs: Jacobians, Hessians, and products with them, with PyTorch's signatures.

`flambeau.func` has the same as transforms of functions, which nest.

>>> import flambeau
>>> flambeau.autograd.functional.jacobian(lambda x: x * x, flambeau.tensor([1.0, 2.0]))
tensor([[2., 0.],
        [0., 4.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd.backward import grad_of
from flambeau.autograd.forward.dual import DualLevel
from flambeau.autograd.functional_checks import (
    FORWARD_CREATES,
    FORWARD_LOOP,
    FORWARD_STRICT,
    HESSIAN_ELEMENT,
    HESSIAN_SINGLE,
    STRATEGY,
    VECTORS_STRICT,
    as_tuple,
    direction,
    refuse_independent,
    refuse_independent_jacobian,
    refuse_unrecorded,
)
from flambeau.autograd.node import edge_of
from flambeau.batching.vmap import vmap
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.grad_mode import enable_grad, note_asked
from flambeau.tensor.levels import variable
from flambeau.tensor.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]
REVERSE, FORWARD = "reverse-mode", "forward-mode"


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function, and the product of a vector with its Jacobian.

    Args:
        func: takes tensors and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a vector for each output, of its size; None for 1, of a single output with one element.
        create_graph: record, so that output and product can be differentiated.
        strict: raise RuntimeError where an output does not depend on an input, in place of giving zeros.

    >>> import flambeau
    >>> vjp(lambda x: x * x, flambeau.tensor([1.0, 2.0]), flambeau.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph=create_graph, strict=strict)
        vectors = direction(v, call.outputs, call.has_one_output, "the user-provided function returns")
        products = call.pulled(vectors)
    return call.finished_outputs(), call.like_inputs(products)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function, and the product of its Jacobian with a vector.

    Args:
        func: takes tensors and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a vector for each input, of its size; None for 1, of a single input with one element.
        create_graph: record, so that output and product can be differentiated.
        strict: raise RuntimeError where an output does not depend on an input, in place of giving zeros.

    >>> import flambeau
    >>> jvp(lambda x: x * x, flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph=create_graph, strict=strict)
        vectors = direction(v, call.inputs, call.has_one_input, "the input to the user-provided function is")
        seeds = [OPERATORS.zeros_like(o.detach()).requires_grad_() for o in call.outputs]
        pulled = call.pulled(seeds, creates=True)
        products = _gradients(pulled, seeds, vectors, create_graph)
        if strict and create_graph:
            refuse_independent_jacobian(products, call.outputs)
    return call.finished_outputs(), call.like_outputs(products)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function with one element, and the product of a vector with its Hessian.

    Args:
        func: takes tensors and returns a tensor of one element.
        inputs: a tensor or a tuple of tensors.
        v: a vector for each input, of its size; None for 1, of a single input with one element.
        create_graph: record, so that output and product can be differentiated.
        strict: raise RuntimeError where the gradient does not depend on an input, in place of giving zeros.

    >>> import flambeau
    >>> vhp(lambda x: (x**3).sum(), flambeau.tensor([1.0, 2.0]), flambeau.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = _Call("vhp", func, inputs, create_graph=create_graph, strict=strict, records=True)
        vectors = direction(v, call.inputs, call.has_one_input, "the input to the user-provided function is")
        call.check_single("vhp")
        gradients = call.pulled([OPERATORS.ones_like(o.detach()) for o in call.outputs], creates=True)
        if strict:
            refuse_independent(gradients, call.inputs)
        products = _gradients(gradients, call.inputs, vectors, create_graph)
    return call.finished_outputs(), call.like_inputs(products)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function with one element, and the product of its Hessian with a vector. Arguments as of `vhp`,
    which gives the same where second derivatives are continuous, for less.

    >>> import flambeau
    >>> hvp(lambda x: (x**3).sum(), flambeau.tensor([1.0, 2.0]), flambeau.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = _Call("hvp", func, inputs, create_graph=create_graph, strict=strict, records=True)
        vectors = direction(v, call.inputs, call.has_one_input, "the input to the user-provided function is")
        call.check_single("hvp")
        gradients = call.pulled([OPERATORS.ones_like(o.detach()) for o in call.outputs], creates=True)
        if strict:
            refuse_independent(gradients, call.inputs)
        seeds = [OPERATORS.zeros_like(x.detach()).requires_grad_() for x in call.inputs]
        twice = _gradients(gradients, call.inputs, seeds, True)
        products = _gradients(twice, seeds, vectors, create_graph)
    return call.finished_outputs(), call.like_inputs(products)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = REVERSE,
) -> Any:
    """The Jacobian of a function: for each output and each input a tensor of the sizes of both.

    Args:
        func: takes tensors and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: record, so that the Jacobian can be differentiated.
        strict: raise RuntimeError where an output does not depend on an input, in place of giving zeros.
        vectorize: compute all rows at once, by `vmap`.
        strategy: "reverse-mode", by rows, or with `vectorize` "forward-mode", by columns.

    >>> import flambeau
    >>> jacobian(lambda x, y: x * y, (flambeau.tensor([1.0, 2.0]), flambeau.tensor(3.0)))
    (tensor([[3., 0.],
            [0., 3.]]), tensor([1., 2.]))
    """
    if strategy not in (REVERSE, FORWARD):
        raise AssertionError(STRATEGY)
    if strategy == FORWARD:
        return _forward_jacobian(func, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize)
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph=create_graph, strict=strict)
        if strict and vectorize:
            raise RuntimeError(VECTORS_STRICT)
        rows = [_rows(call, number, vectorize=vectorize) for number in range(len(call.outputs))]
    return call.like_outputs([call.like_inputs(row) for row in rows])


def _rows(call: _Call, number: int, *, vectorize: bool) -> list[Tensor]:
    """The Jacobian of one output by each input."""
    output = call.outputs[number]
    count = output.numel()
    units = _units(output)
    if edge_of(output) is None:
        derivatives: list[Tensor | None] = [None] * len(call.inputs)
    elif vectorize:
        columns = vmap(lambda unit: _complete(_grad(output, call.inputs, unit, call.creates), call.inputs))(units)
        derivatives = list(columns)
    else:
        each = [_grad(output, call.inputs, unit, call.creates) for unit in units]
        derivatives = [None if None in column else OPERATORS.stack(list(column)) for column in zip(*each, strict=True)]
        if count == 0:
            derivatives = [None] * len(call.inputs)
    if call.strict:
        call.refuse_independent(derivatives, number)
    shaped = []
    for row, one in zip(derivatives, call.inputs, strict=True):
        sizes = [*output._array.shape, *one._array.shape]
        shaped.append(one.new_zeros(sizes) if row is None else OPERATORS.contiguous(OPERATORS.reshape(row, sizes)))
    return [row if call.creates else row.detach() for row in shaped]


def _units(value: Tensor) -> Tensor:
    """For each element of a tensor a tensor of its sizes, with 1 there and 0 elsewhere, on its device."""
    count = value.numel()
    eye = OPERATORS.eye(count, dtype=value.dtype, device=value.device)
    units: Tensor = OPERATORS.reshape(eye, [count, *value._array.shape])
    return units


def _grad(output: Tensor, inputs: Sequence[Tensor], unit: Tensor, creates: bool) -> list[Tensor | None]:
    return grad_of([output], inputs, [unit], True, creates)


def _complete(gradients: Sequence[Tensor | None], inputs: Sequence[Tensor]) -> list[Tensor]:
    return [OPERATORS.zeros_like(x.detach()) if g is None else g for g, x in zip(gradients, inputs, strict=True)]


def _forward_jacobian(func: Function, inputs: Any, *, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    if strict:
        raise RuntimeError(FORWARD_STRICT)
    if create_graph:
        raise NotImplementedError(FORWARD_CREATES)
    if not vectorize:
        raise NotImplementedError(FORWARD_LOOP)
    values = as_tuple(inputs, "inputs", "jacobian")
    columns = []
    has_one = False
    for number, value in enumerate(values):
        units = _units(value)

        def along(unit: Tensor, number: int = number) -> Any:
            return _tangents(func, values, number, unit)

        derivatives = vmap(along, out_dims=-1)(units)
        has_one = isinstance(derivatives, Tensor)
        listed = [derivatives] if has_one else list(derivatives)
        columns.append([OPERATORS.reshape(c, [*c._array.shape[:-1], *value._array.shape]) for c in listed])
    rows = [tuple(row) if isinstance(inputs, tuple) else row[0] for row in zip(*columns, strict=True)]
    return rows[0] if has_one else tuple(rows)


def _tangents(func: Function, values: Tensors, number: int, unit: Tensor) -> Any:
    """The tangents of the outputs along one input."""
    level = DualLevel()
    with level.opened():
        duals = [level.dual(v, unit if n == number else None) for n, v in enumerate(values)]
        result = func(*duals)
        outputs = as_tuple(result, "outputs of the user-provided function", "jacobian")
        pairs = [(level.value_of(o), level.tangent_of(o)) for o in outputs]
    derivatives = [OPERATORS.zeros_like(value.detach()) if tangent is None else tangent for value, tangent in pairs]
    return tuple(derivatives) if isinstance(result, tuple) else derivatives[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = REVERSE,
) -> Any:
    """The Hessian of a function with one element: for each two inputs a tensor of the sizes of both.

    Args:
        func: takes tensors and returns a tensor of one element.
        inputs: a tensor or a tuple of tensors.
        create_graph: record, so that the Hessian can be differentiated.
        strict: raise RuntimeError where the gradient does not depend on an input, in place of giving zeros.
        vectorize: compute all rows at once, by `vmap`.
        outer_jacobian_strategy: how the gradient is differentiated: "reverse-mode" or "forward-mode".

    >>> import flambeau
    >>> hessian(lambda x: (x**3).sum(), flambeau.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if outer_jacobian_strategy not in (REVERSE, FORWARD):
        raise AssertionError(STRATEGY)
    as_tuple(inputs, "inputs", "hessian")

    def single(*values: Tensor) -> Tensor:
        output = func(*values)
        if strict:
            refuse_unrecorded(as_tuple(output, "outputs of the user-provided function", "jacobian"))
        if not isinstance(output, Tensor):
            raise RuntimeError(HESSIAN_SINGLE.format(name="hessian"))
        if output.numel() != 1:
            raise RuntimeError(HESSIAN_ELEMENT.format(name="hessian"))
        return output.reshape([])

    def gradient(*values: Tensor) -> Any:
        if outer_jacobian_strategy == FORWARD:
            values = tuple([variable(value) for value in values])
        with enable_grad():
            call = _Call("jacobian", single, values, create_graph=True, strict=False, is_inner=True)
            gradients = call.pulled([OPERATORS.ones_like(o.detach()) for o in call.outputs], creates=True)
        if strict:
            refuse_independent(gradients, call.inputs)
        return tuple(gradients) if isinstance(inputs, tuple) else gradients[0]

    return jacobian(
        gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )  # fmt: skip


def _gradients(roots: Sequence[Tensor], by: Sequence[Tensor], along: Sequence[Any], creates: bool) -> list[Tensor]:
    """Gradients, zeros where nothing depends on what they are by."""
    asking = [n for n, root in enumerate(roots) if edge_of(root) is not None]
    derivatives: list[Tensor | None] = [None] * len(by)
    if asking:
        derivatives = grad_of([roots[n] for n in asking], by, [along[n] for n in asking], True, creates)
    return _complete(derivatives, by)


class _Call:
    """One call of the function on new tensors that ask for gradients."""

    def __init__(
        self, name: str, func: Function, inputs: Any, *, create_graph: bool, strict: bool, records: bool = False,
        is_inner: bool = False,
    ) -> None:  # fmt: skip
        self.creates: Final = create_graph
        self.strict: Final = strict
        self.has_one_input: Final = not isinstance(inputs, tuple)
        values = as_tuple(inputs, "inputs", name)
        self.inputs = values if is_inner else tuple([self._variable(value) for value in values])
        result = func(*self.inputs)
        self.has_one_output: Final = not isinstance(result, tuple)
        self.outputs = as_tuple(result, "outputs of the user-provided function", name)
        if strict:
            refuse_unrecorded(self.outputs)

    def _variable(self, value: Tensor) -> Tensor:
        """A tensor of its own, on the tape behind its input if what is computed is to be differentiated."""
        if self.creates and value.requires_grad:
            shown: Tensor = OPERATORS.view_as(value, value)
            return shown
        note_asked()
        return value.detach().requires_grad_()

    def check_single(self, name: str) -> None:
        """Raise RuntimeError unless the function gave a tensor of one element."""
        if not self.has_one_output:
            raise RuntimeError(HESSIAN_SINGLE.format(name=name))
        if self.outputs[0].numel() != 1:
            raise RuntimeError(HESSIAN_ELEMENT.format(name=name))

    def pulled(self, vectors: Sequence[Tensor], *, creates: bool | None = None) -> list[Tensor]:
        """The products of vectors with the Jacobian."""
        asking = [n for n, output in enumerate(self.outputs) if edge_of(output) is not None]
        derivatives: list[Tensor | None] = [None] * len(self.inputs)
        if asking:
            roots, along = [self.outputs[n] for n in asking], [vectors[n] for n in asking]
            derivatives = grad_of(roots, self.inputs, along, True, self.creates if creates is None else creates)
        if self.strict:
            self.refuse_independent(derivatives, 0)
        return _complete(derivatives, self.inputs)

    def refuse_independent(self, derivatives: Sequence[Tensor | None], output: int) -> None:
        """Raise RuntimeError for an input that an output does not depend on, or depends on in a linear way."""
        for number, gradient in enumerate(derivatives):
            if gradient is None:
                raise RuntimeError(
                    f"Output {output} of the user-provided function is independent of input {number}. This is not "
                    "allowed in strict mode."
                )
        if self.creates:
            refuse_independent_jacobian(derivatives, self.inputs)

    def finished_outputs(self) -> Any:
        """The outputs as the caller gets them."""
        return self.like_outputs([o if self.creates else o.detach() for o in self.outputs])

    def like_outputs(self, values: Sequence[Any]) -> Any:
        """A tuple as the function returned, or one alone."""
        return values[0] if self.has_one_output else tuple(values)

    def like_inputs(self, values: Sequence[Any]) -> Any:
        """A tuple as the inputs are, or one alone; without a record unless it is asked for."""
        listed = [v if self.creates else v.detach() for v in values]
        return listed[0] if self.has_one_input else tuple(listed)
