"""Tangents of functions: `jvp`, `linearize`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from flambeau.autograd.forward.dual import DualLevel
from flambeau.autograd.node import edge_of
from flambeau.func import compiled_products
from flambeau.func.arguments import as_tensor, with_aux
from flambeau.func.reverse import vjp
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.levels import innermost, unrecorded
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import SCRIPTED_TRANSFORM
from flambeau.util.trees import Structure, flatten, mapped

OTHER_SIZE = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
    "supported. Tensor is of size {} while the given forward gradient is of size {}."
)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative along tangents: the product of its Jacobian with a vector.

    Args:
        func: takes tensors, or containers of them, and returns such.
        primals: a tuple of what it is called with.
        tangents: a tuple of the same containers, each tensor of the size of its primal.
        strict: raise RuntimeError for an output that does not depend on the primals.
        has_aux: whether `func` returns `(output, aux)`.

    Returns `(output, tangent of the output)`, or with `aux` as the third. Raises RuntimeError if the tangents do not
    fit.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 2.0])
    >>> jvp(lambda x: x * x, (x,), (flambeau.tensor([1.0, 10.0]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    quick = None if strict or has_aux else _of_tensors(func, primals, tangents)
    return _jvp(func, primals, tangents, strict, has_aux) if quick is None else quick(primals, tangents)


def _jvp(func: Callable[..., Any], primals: Any, tangents: Any, strict: bool, has_aux: bool) -> Any:
    """`jvp` for containers of tensors."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    values, structure = flatten(mapped(as_tensor, primals))
    directions, other = flatten(mapped(as_tensor, tangents))
    if other != structure:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{structure} and tangents with structure {other}"
        )
    _check("primals", values)
    _check("tangents", directions)
    for value, direction in zip(values, directions, strict=True):
        check_tangent(value, direction)
    compiled = None if strict or has_aux else _compiled(func, structure.unflatten(values))
    if compiled is not None:
        return compiled(structure.unflatten(values), structure.unflatten(directions))
    level = DualLevel()
    with level.opened():
        duals = [level.dual(v, d) for v, d in zip(values, directions, strict=True)]
        result = func(*structure.unflatten(duals))
        output, aux = with_aux(result, has_aux, "jvp(f, primals, tangents)")
        results, outputs = flatten(output)
        pairs = [_parts(level, one, strict=strict) for one in results]
        aux = mapped(lambda one: level.value_of(one), aux) if has_aux else None
    primal = outputs.unflatten([p for p, _ in pairs])
    tangent = outputs.unflatten([OPERATORS.zeros_like(unrecorded(p)) if t is None else t for p, t in pairs])
    return (primal, tangent, aux) if has_aux else (primal, tangent)


def _of_tensors(func: Callable[..., Any], primals: Any, tangents: Any) -> Callable[..., Any] | None:
    """What runs a scripted function of a tuple of tensors, each with its tangent; None for others."""
    if not (type(primals) is tuple is type(tangents) and len(primals) == len(tangents) and primals):
        return None
    for value, direction in zip(primals, tangents, strict=True):
        if type(value) is not Tensor or type(direction) is not Tensor:
            return None
    compiled = _compiled(func, primals)
    if compiled is not None:
        for value, direction in zip(primals, tangents, strict=True):
            check_tangent(value, direction)
    return compiled


def _compiled(func: Callable[..., Any], primals: Sequence[Any]) -> Callable[..., Any] | None:
    """What runs a scripted function of tensors, or of containers of them, with its tangents; None for others."""
    compiled: Callable[..., Any] | None = SCRIPTED_TRANSFORM.implementation(
        "jvp", func, argnums=tuple(range(len(primals)))
    )
    if all(isinstance(p, Tensor) for p in primals):
        return compiled
    return compiled if getattr(compiled, "takes_containers", False) else None


def check_tangent(value: Tensor, tangent: Tensor) -> None:
    """Raise ValueError or RuntimeError for a value that has no tangents, or not such ones."""
    if not value.dtype.is_floating_point and not value.dtype.is_complex:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {value.dtype}")
    if value._array.shape != tangent._array.shape:
        raise RuntimeError(OTHER_SIZE.format(list(value._array.shape), list(tangent._array.shape)))


def _check(what: str, values: Sequence[Any]) -> None:
    if not values:
        raise RuntimeError(f"jvp(f, primals, tangents): Expected {what} to contain at least one Tensor.")
    for value in values:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {what} to only contain Tensors, got {type(value)}")


def _parts(level: DualLevel, result: Any, *, strict: bool) -> tuple[Tensor, Tensor | None]:
    """The value and the tangent of a result."""
    if not isinstance(result, Tensor):
        raise RuntimeError(
            "jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type "
            f"{type(result)}"
        )
    tangent = level.tangent_of(result)
    if tangent is None and strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return level.value_of(result), tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative there as a function of tangents, which does not run `func` again.

    Args:
        func: takes tensors, or containers of them, and returns such.
        primals: what it is called with.

    Returns `(output, jvp_fn)`; `jvp_fn` takes one tangent for each primal. Raises RuntimeError if they do not fit.

    >>> import flambeau
    >>> output, along = linearize(lambda x: x.sin().sum(), flambeau.zeros(3))
    >>> output, along(flambeau.tensor([1.0, 2.0, 3.0]))
    (tensor(0.), tensor(6.))
    """
    program = compiled_products.program_of("jvp", func, primals)
    if program is not None:
        result = func(*primals)
        if compiled_products.is_alone(result):
            return result, _compiled_along(func, program, primals)
    opened = None if program is not None else compiled_products.opened("jvp", func, primals)
    if opened is not None:
        result = opened.func(*opened.leaves)
        if compiled_products.is_alone(result):
            return opened.whole(result), _opened_along(func, opened)
    return _linearized(func, primals)


def _compiled_along(func: Callable[..., Any], program: Callable[..., Any], primals: Any) -> Callable[..., Any]:
    """The derivative by the program of tangents; by the tape where these ask for gradients, or do not fit."""
    unchanged = compiled_products.Unchanged(primals)

    def along(*tangents: Any) -> Any:
        values = unchanged.tensors()
        if compiled_products.fits(tangents, values) and innermost() is None:
            return program(values, tangents)[1]
        return _linearized(func, values)[1](*tangents)

    return along


def _opened_along(func: Callable[..., Any], opened: compiled_products.Opened) -> Callable[..., Any]:
    """The derivative of a call with containers."""
    along_leaves = _compiled_along(opened.func, opened.program, opened.leaves)

    def along(*tangents: Any) -> Any:
        values, structure = flatten(tangents)
        if structure != opened.inside:
            return _linearized(func, opened.inside.unflatten(opened.leaves))[1](*tangents)  # which says what is wrong
        return opened.whole(along_leaves(*values))

    return along


def _linearized(func: Callable[..., Any], primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`linearize` by a tape."""
    values, structure = flatten(primals)
    output, pull = vjp(func, *primals)
    results, outputs = flatten(output)
    seeds = [OPERATORS.zeros_like(unrecorded(r)) for r in results]
    goes_on = innermost() is not None or any(edge_of(r) is not None for r in results)
    transposed = _transposed(pull, seeds, outputs, goes_on=goes_on)

    def along(*tangents: Any) -> Any:
        directions, other = flatten(tangents)
        if other != structure:
            raise RuntimeError(f"expected tangents with structure {structure}, got {other}")
        for number, (value, direction) in enumerate(zip(values, directions, strict=True)):
            if value._array.shape != direction._array.shape:
                raise RuntimeError(
                    f"tangent:{number} with shape {direction.shape} in flattened pytree doesn't match the shape "
                    f"{value.shape} of the corresponding primal."
                )
        return outputs.unflatten(transposed(directions))

    return output, along


def _transposed(
    pull: Callable[..., Any], seeds: Sequence[Tensor], outputs: Structure, *, goes_on: bool
) -> Callable[[Sequence[Tensor]], Any]:
    """The transpose of a linear function that is recorded now."""

    def back(*cotangents: Tensor) -> Any:
        return flatten(pull(outputs.unflatten(list(cotangents)), create_graph=True))[0]

    _, forward = vjp(back, *seeds)

    def apply(directions: Sequence[Tensor]) -> Any:
        with nullcontext() if goes_on else no_grad():
            return list(forward(list(directions)))

    return apply


jvp.language_form = "tangents_of"  # type: ignore[attr-defined]  # what calls in programs mean
linearize.language_form = "linear_map_of"  # type: ignore[attr-defined]
