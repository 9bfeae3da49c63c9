"""Gradients of functions: `grad`, `value_and_grad`, `vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final
from weakref import WeakValueDictionary

from flambeau.autograd.backward import gradients_at
from flambeau.autograd.first_gradients import fitting
from flambeau.autograd.node import Edge, Gradients, Node, edge_of
from flambeau.func import compiled_products
from flambeau.func.arguments import ArgNums, chosen, replaced, tensors, with_aux
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.grad_mode import is_grad_enabled, note_asked, transform_mode
from flambeau.tensor.levels import innermost, of_innermost_level, unrecorded, variable
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import SCRIPTED_TRANSFORM
from flambeau.util.trees import flatten, mapped

Function = Callable[..., Any]


_finished: Final[WeakValueDictionary[int, Tensor]] = WeakValueDictionary()
"""What transforms that are through differentiated by, by identity: tapes that go on may lead there."""


class Boundary(Node):
    """Where a transform begins, on a tape that goes on behind it."""

    __slots__ = ()

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradient as it is."""
        return gradients


class Tracked:
    """What a transform differentiates by: new tensors, and whether their tape goes on behind them."""

    def __init__(self, values: Sequence[Tensor]) -> None:
        self.level = innermost()
        """On whose tape they are; None for the one outside of all transforms."""
        self.variables = [self._variable(value) for value in values]
        self.edges = [edge_of(v) for v in self.variables]
        self.is_asked_outside = any(edge is not None and isinstance(edge[0], Boundary) for edge in self.edges)

    @staticmethod
    def _variable(value: Tensor) -> Tensor:
        if not value.dtype.is_floating_point and not value.dtype.is_complex:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        edge = edge_of(value) if is_grad_enabled() else None
        if edge is None:
            return variable(value)
        result = of_innermost_level(value)
        result._node = Boundary([edge])
        note_asked()
        return result

    def goes_on(self, roots: Sequence[Tensor]) -> bool:
        """Whether results depend on something that asks for gradients besides: of a function around this one."""
        if not is_grad_enabled():
            return False
        return self.is_asked_outside or reaches_others([edge_of(r) for r in roots], self.edges)

    def finish(self) -> None:
        """Note that the transform is through: what it differentiated by is nothing that others ask about."""
        for variable_ in self.variables:
            _finished[id(variable_)] = variable_

    def released(self, value: Any, *, goes_on: bool) -> Any:
        """A result for the outside: without a record, unless the tape goes on."""
        if goes_on or not isinstance(value, Tensor) or edge_of(value) is None:
            return value
        return unrecorded(value)


def reaches_others(roots: Sequence[Edge], own: Sequence[Edge]) -> bool:
    """Whether there is a leaf behind some results that is none of a transform's own."""
    ends = {id(edge[0]) for edge in own if edge is not None}
    seen: set[int] = set()
    waiting = [edge[0] for edge in roots if edge is not None]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or id(one) in ends:
            continue
        seen.add(id(one))
        if not isinstance(one, Node):
            if _finished.get(id(one)) is not one:
                return True
            continue
        waiting.extend([edge[0] for edge in one.edges if edge is not None])
    return False


def grad(func: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """A function that computes the gradient of `func`, whose result is a tensor without dimensions.

    Args:
        func: takes tensors, or containers of them, and returns a tensor of one real number.
        argnums: by which arguments to differentiate: a number gives a gradient like that argument, a tuple of numbers
            a tuple of them.
        has_aux: whether `func` returns `(value, aux)`; then the new function returns `(gradient, aux)`.

    Raises RuntimeError, when the new function is called, if `func` returns something else, or for integers.

    >>> import flambeau
    >>> grad(lambda x: (x * x).sum())(flambeau.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    scripted: Function | None = SCRIPTED_TRANSFORM.implementation("grad", func, argnums=argnums, has_aux=has_aux)
    if scripted is not None:
        return scripted
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)[::-1]
        return (result, value[1]) if has_aux else result

    return gradient


def value_and_grad(func: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """A function that computes the value of `func` and its gradient, `(value, gradient)`; arguments as of `grad`, with
    `((value, aux), gradient)` if it has more to return.

    >>> import flambeau
    >>> value_and_grad(lambda x: (x * x).sum())(flambeau.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))
    """
    scripted: Function | None = SCRIPTED_TRANSFORM.implementation(
        "value_and_grad", func, argnums=argnums, has_aux=has_aux
    )
    if scripted is not None:
        return scripted

    @functools.wraps(func)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tensors(chosen(args, argnums))
        tracked = Tracked(leaves)
        with transform_mode():
            result = func(*replaced(args, argnums, structure.unflatten(tracked.variables)), **kwargs)
        output, aux = with_aux(result, has_aux, "grad_and_value(f)(*args)")
        output = _scalar(output)
        goes_on = tracked.goes_on([output, *_tensors_in(aux)])
        gradients = _gradients([output], tracked, [None], goes_on=goes_on, keep=goes_on)
        if goes_on:
            tracked.finish()
        output = tracked.released(output, goes_on=goes_on)
        if has_aux:
            output = (output, mapped(lambda one: tracked.released(one, goes_on=goes_on), aux))
        return output, structure.unflatten(gradients)

    return value_and_gradient


def grad_and_value(func: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """The same as `value_and_grad`, with the gradient first: `(gradient, value)`.

    >>> import flambeau
    >>> grad_and_value(lambda x: (x * x).sum())(flambeau.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return gradient_and_value


grad.language_form = "gradient_of"  # type: ignore[attr-defined]  # what calls in programs mean
value_and_grad.language_form = "value_and_gradient_of"  # type: ignore[attr-defined]


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function that multiplies a vector by its Jacobian from the left.

    Args:
        func: takes tensors, or containers of them, and returns such.
        primals: what it is called with.
        has_aux: whether `func` returns `(output, aux)`.

    Returns `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn` takes cotangents, in the containers of the output,
    and gives a tuple with one result like each of `primals`; of a single one, that alone. Raises RuntimeError for
    outputs that are no tensors.

    >>> import flambeau
    >>> output, pull = vjp(lambda x: x * x, flambeau.tensor([1.0, 2.0]))
    >>> output, pull(flambeau.tensor([1.0, 10.0]))
    (tensor([1., 4.]), (tensor([ 2., 40.]),))
    """
    program = None if has_aux else compiled_products.program_of("vjp", func, primals)
    if program is not None:
        result = func(*primals)
        if compiled_products.is_alone(result):
            return result, _compiled_pull(func, program, primals, result)
    opened = None if has_aux or program is not None else compiled_products.opened("vjp", func, primals)
    if opened is not None:
        result = opened.func(*opened.leaves)
        if compiled_products.is_alone(result):
            return opened.whole(result), _opened_pull(func, opened, result)
    return _taped(func, primals, has_aux)


def _opened_pull(func: Function, opened: compiled_products.Opened, result: Any) -> Function:
    """The pull function of a call with containers."""
    pull_leaves = _compiled_pull(opened.func, opened.program, opened.leaves, result)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        values, structure = flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if structure != opened.results:
            primals = opened.inside.unflatten(opened.leaves)
            return _taped(func, primals, False)[1](*cotangents)  # which says what is wrong
        own = (tuple(values),) if type(result) is tuple else values
        return opened.inside.unflatten(pull_leaves(*own, retain_graph=retain_graph, create_graph=create_graph))

    return pull


def _compiled_pull(func: Function, program: Function, primals: Any, result: Any) -> Function:
    """The pull function by the program; by the tape where cotangents ask for gradients, or are none such."""
    unchanged = compiled_products.Unchanged(primals)
    results = result if type(result) is tuple else (result,)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        values = cotangents[0] if len(cotangents) == 1 and type(cotangents[0]) is tuple else cotangents
        arguments = unchanged.tensors()
        is_whole = len(values) == 1 or type(result) is tuple
        if not create_graph and is_whole and compiled_products.fits(values, results) and innermost() is None:
            return program(*arguments, *values)
        return _taped(func, arguments, False)[1](*cotangents, retain_graph=retain_graph, create_graph=create_graph)

    return pull


def _taped(func: Function, primals: Any, has_aux: bool) -> Any:
    """`vjp` by a tape."""
    leaves, structure = tensors(primals)
    tracked = Tracked(leaves)
    with transform_mode():
        result = func(*structure.unflatten(tracked.variables))
    output, aux = with_aux(result, has_aux, "vjp(f, *primals)")
    roots, outputs = flatten(output)
    for root in roots:
        if not isinstance(root, Tensor):
            raise RuntimeError(
                f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(root)}"
            )
    goes_on = tracked.goes_on([*roots, *_tensors_in(aux)])
    if goes_on:
        tracked.finish()

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        values, structure_given = flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if structure_given != outputs:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure_given}, primal output: {outputs}"
            )
        asks = is_grad_enabled() and (goes_on or any(isinstance(v, Tensor) and edge_of(v) is not None for v in values))
        creates = asks if create_graph is None else create_graph
        return structure.unflatten(_gradients(roots, tracked, values, goes_on=creates, keep=retain_graph))

    released = outputs.unflatten([tracked.released(r, goes_on=goes_on) for r in roots])
    if has_aux:
        return released, pull, mapped(lambda one: tracked.released(one, goes_on=goes_on), aux)
    return released, pull


vjp.language_form = "pullback_of"  # type: ignore[attr-defined]


def _scalar(output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output._array.ndim != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{output._array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    return output


def _gradients(
    roots: Sequence[Tensor], tracked: Tracked, cotangents: Sequence[Any], *, goes_on: bool, keep: bool
) -> list[Tensor]:
    """The gradients by what is tracked; zeros where nothing depends on it."""
    asking = [number for number, root in enumerate(roots) if edge_of(root) is not None]
    listed = [fitting(n, root, own) for n, (root, own) in enumerate(zip(roots, cotangents, strict=True))]
    gradients: list[Tensor | None] = [None] * len(tracked.variables)
    if asking:
        level = tracked.level
        is_quiet = level is not None and not goes_on and is_grad_enabled()  # only levels further out may record
        with nullcontext() if level is None or not is_quiet else level.unrecorded_here():
            gradients = gradients_at(
                [roots[n] for n in asking], tracked.edges, [listed[n] for n in asking], keep, goes_on or is_quiet
            )
    return [
        OPERATORS.zeros_like(unrecorded(v)) if gradient is None else gradient
        for v, gradient in zip(tracked.variables, gradients, strict=True)
    ]


def _tensors_in(value: Any) -> list[Tensor]:
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, Tensor)]
