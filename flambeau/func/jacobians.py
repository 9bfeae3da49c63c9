"""Whole Jacobians and Hessians: products with every vector of a basis at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from flambeau.batching.vmap import RANDOMNESS, vmap
from flambeau.func.arguments import ArgNums, as_tensor, chosen, replaced, tensors
from flambeau.func.forward import check_tangent, jvp
from flambeau.func.reverse import grad, vjp
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import SCRIPTED_TRANSFORM
from flambeau.util.trees import Structure, flatten

Function = Callable[..., Any]


def jacrev(func: Function, argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """A function that computes the Jacobian of `func` by reverse mode: one product for each element of its outputs.

    Args:
        func: takes tensors, or containers of them, and returns such.
        argnums: by which arguments to differentiate, a number or a tuple of numbers.
        has_aux: whether `func` returns `(output, aux)`; then the new function returns `(jacobian, aux)`.
        chunk_size: how many products at once; all if None.

    The Jacobian of an output by an input has the sizes of both, the output's first. Containers of inputs lie in those
    of outputs. Raises RuntimeError for outputs that are no tensors.

    >>> import flambeau
    >>> jacrev(lambda x: x * x)(flambeau.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    if chunk_size is None:
        scripted: Function | None = SCRIPTED_TRANSFORM.implementation("jacrev", func, argnums=argnums, has_aux=has_aux)
        if scripted is not None:
            return scripted

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, structure = tensors(chosen(args, argnums))

        def of_chosen(*values: Tensor) -> Any:
            return func(*replaced(args, argnums, structure.unflatten(values)), **kwargs)

        output, pull, *aux = vjp(of_chosen, *inputs, has_aux=has_aux)
        results, outputs = flatten(output)
        bases = basis(results)
        rows = vmap(lambda *units: pull(outputs.unflatten(units)), chunk_size=chunk_size)(*bases)
        parts = [_split(rows[n], [r._array.size for r in results], 0) for n in range(len(inputs))]
        blocks = [
            structure.unflatten([
                _reshaped(parts[n][m], (*result._array.shape, *inputs[n]._array.shape))
                for n in range(len(inputs))
            ])
            for m, result in enumerate(results)
        ]  # fmt: skip
        answer = outputs.unflatten(blocks)
        return (answer, aux[0]) if has_aux else answer

    return jacobian


def jacfwd(
    func: Function, argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error",
    chunk_size: int | None = None,
) -> Function:  # fmt: skip
    """A function that computes the Jacobian of `func` by forward mode: one product for each element of its inputs.

    Args:
        func: takes tensors, or containers of them, and returns such.
        argnums: by which arguments to differentiate, a number or a tuple of numbers.
        has_aux: whether `func` returns `(output, aux)`; then the new function returns `(jacobian, aux)`.
        randomness: as of `vmap`.
        chunk_size: how many products at once; all if None.

    Otherwise as `jacrev`.

    >>> import flambeau
    >>> jacfwd(lambda x: x * x)(flambeau.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(RANDOMNESS.format(randomness))
    if chunk_size is None and randomness == "error":
        scripted: Function | None = SCRIPTED_TRANSFORM.implementation("jacfwd", func, argnums=argnums, has_aux=has_aux)
        if scripted is not None:
            return scripted

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, structure = tensors(chosen(args, argnums))

        def of_chosen(*values: Tensor) -> Any:
            return func(*replaced(args, argnums, structure.unflatten(values)), **kwargs)

        def push(*units: Tensor) -> Any:
            _, tangent, *aux = jvp(of_chosen, tuple(inputs), units, has_aux=has_aux)
            return tangent, aux

        columns, aux = vmap(push, out_dims=(-1, None), randomness=randomness, chunk_size=chunk_size)(*basis(inputs))
        results, outputs = flatten(columns)
        answer = outputs.unflatten([_by_inputs(result, inputs, structure) for result in results])
        return (answer, aux[0]) if has_aux else answer

    return jacobian


def _by_inputs(result: Tensor, inputs: Sequence[Tensor], structure: Structure) -> Any:
    """The Jacobians of one output, of which the last axis goes over the elements of all inputs."""
    sizes = result._array.shape[:-1]
    parts = _split(result, [one._array.size for one in inputs], -1)
    shaped = [_reshaped(part, (*sizes, *one._array.shape)) for part, one in zip(parts, inputs, strict=True)]
    return structure.unflatten(shaped)


def _reshaped(value: Tensor, sizes: tuple[int, ...]) -> Tensor:
    result: Tensor = value if value._array.shape == sizes else OPERATORS.reshape(value, list(sizes))
    return result


def _split(value: Tensor, counts: Sequence[int], dim: int) -> Sequence[Tensor]:
    return [value] if len(counts) == 1 else OPERATORS.split_with_sizes(value, list(counts), dim)


def basis(values: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor the vectors of a basis of all tensors together: as many as these have elements."""
    counts = [value._array.size for value in values]
    if any(value.device.type == "meta" for value in values):
        return [value.new_zeros([sum(counts), *value._array.shape]) for value in values]
    identity = np.eye(sum(counts))
    starts = [0, *accumulate(counts)]
    return [
        wrap(
            identity[:, start : start + count].astype(value.dtype.numpy).reshape(len(identity), *value._array.shape)
        ).to(value.device)
        for value, count, start in zip(values, counts, starts, strict=False)
    ]


def hessian(func: Function, argnums: ArgNums = 0) -> Function:
    """A function that computes the Hessian of `func`: `jacfwd(jacrev(func))`.

    Args:
        func: takes tensors, or containers of them, and returns such.
        argnums: by which arguments to differentiate twice, a number or a tuple of numbers.

    >>> import flambeau
    >>> hessian(lambda x: (x**3).sum())(flambeau.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    scripted: Function | None = SCRIPTED_TRANSFORM.implementation("hessian", func, argnums=argnums)
    return jacfwd(jacrev(func, argnums), argnums) if scripted is None else scripted


def hvp(func: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The gradient of a function of one tensor result, and the product of its Hessian with a vector: forward mode over
    reverse mode, at the price of a few calls.

    Args:
        func: takes tensors and returns a tensor of one real number.
        primals: a tuple of what it is called with.
        tangents: a tuple of the vector's parts, like the primals.

    Returns `(gradients, products)`, each like the only primal, or a tuple like all of them.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 2.0])
    >>> hvp(lambda x: (x**3).sum(), (x,), (flambeau.ones(2),))
    (tensor([ 3., 12.]), tensor([ 6., 12.]))
    """
    argnums: ArgNums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    compiled = SCRIPTED_TRANSFORM.implementation("hvp", func, argnums=argnums)
    goes = getattr(compiled, "takes_containers", False) or all(isinstance(p, Tensor) for p in primals)
    if compiled is not None and goes:
        (values, structure), (directions, of_tangents) = flatten(primals), flatten(tangents)
        if structure == of_tangents:
            for primal, tangent in zip(values, directions, strict=True):
                check_tangent(primal, as_tensor(tangent))
            products: tuple[Any, Any] = compiled(primals, tangents)
            return products
    gradient, product = jvp(grad(func, argnums), tuple(primals), tuple(tangents))
    return gradient, product


jacrev.language_form = "jacobian_by_rows"  # type: ignore[attr-defined]  # what calls in programs mean
jacfwd.language_form = "jacobian_by_columns"  # type: ignore[attr-defined]
hessian.language_form = "hessian_of"  # type: ignore[attr-defined]
hvp.language_form = "hessian_product_of"  # type: ignore[attr-defined]
