"""The gradient of a scripted function as a scripted function."""

from __future__ import annotations

from flambeau.jit.function import ScriptFunction
from flambeau.jit.script_registry import REGISTRY
from flambeau.program.gradients import gradient_of


def gradient_function(
    fn: ScriptFunction, argnums: int | tuple[int, ...] = 0, with_value: bool = False, has_aux: bool = False
) -> ScriptFunction:
    """A scripted function that computes the gradient of a scripted function, in one native function: no tape.

    Gradients go through `if`, `while`, `break`, writes to elements, lists, and numbers that are read from tensors
    (`float(x[i])`, `.item()`). The new function can be called in programs, and differentiated again.

    Args:
        fn: returns a tensor without dimensions, or a float.
        argnums: by which arguments, tensors or floats, to differentiate: a number gives the gradient like that
            argument, a tuple of numbers a tuple of gradients.
        with_value: give the pair of the value and that.
        has_aux: whether `fn` returns `(value, aux)`; then the new function gives `(gradient, aux)`, or
            `((value, aux), gradient)`.

    Raises TypeError for functions and arguments without gradients, ValueError for an argument that is not there.

    >>> import flambeau
    >>> from flambeau import Tensor
    >>> unit = flambeau.CompilationUnit("def energy(x: Tensor) -> Tensor: return (x ** 3).sum()")
    >>> x = flambeau.tensor([1.0, 2.0])
    >>> gradient_function(unit.energy)(x)
    tensor([ 3., 12.])
    >>> gradient_function(unit.energy, with_value=True)(x)
    (tensor(9.), tensor([ 3., 12.]))
    """
    function = gradient_of(fn.script_function, argnums, with_value=with_value, has_aux=has_aux)
    REGISTRY.attach(function)
    return ScriptFunction(function)
