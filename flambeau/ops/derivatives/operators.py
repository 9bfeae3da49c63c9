"""The operators as formulas call them, which also hand over Python numbers.

>>> OPERATORS.log(8.0) / OPERATORS.log(2.0)
3.0
>>> OPERATORS.where(True, 1, 2)
1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.arrays import is_half
from flambeau.ops.families.composite import F, Operators, brought, placed
from flambeau.ops.families.half_precision import in_float32
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call, caller
from flambeau.tensor.dispatch import operator as operator_named
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.observer import thread
from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import disabled_function
from flambeau.tensor.tensor import Tensor, wrap


def _of_number(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return compute(np.float64(x) if isinstance(x, int | float) else np.complex128(x)).item()

    return run


NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "log": _of_number(np.log),
    "log1p": _of_number(np.log1p),
    "exp": _of_number(np.exp),
    "abs": abs,
    "isnan": _of_number(np.isnan),
    "conj": lambda x: x.conjugate(),
    "real": lambda x: x.real,
    "sgn": _of_number(np.sign),
}
"""Functions that formulas apply to numbers too: with infinities and nan where Python's own raise."""


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor lies in the memory of the host, and nobody is asked what operators on it do."""
    cls = type(tensor)
    is_own = cls is Tensor or cls.__flambeau_function__ is disabled_function
    return is_own and type(tensor._storage) is Storage and not tensor.dtype.is_quantized


class FormulaOperators(Operators):
    """Every operator as a method, for formulas: of numbers, too, where these may be operands."""

    def where(self, condition: Any, taken: Any, other: Any) -> Any:
        """`taken` where the condition holds, else `other`."""
        if not isinstance(condition, bool):
            return F.where(condition, taken, other)
        chosen, left = (taken, other) if condition else (other, taken)
        return F.full_like(left, chosen) if isinstance(left, Tensor) and not isinstance(chosen, Tensor) else chosen

    def maximum(self, x: Any, bound: Any) -> Any:
        """The larger one; a bound may be a number."""
        return F.maximum(x, bound) if isinstance(bound, Tensor) else F.clamp_min(x, bound)

    def minimum(self, x: Any, bound: Any) -> Any:
        """The smaller one; a bound may be a number."""
        return F.minimum(x, bound) if isinstance(bound, Tensor) else F.clamp_max(x, bound)

    def conj(self, x: Any) -> Any:
        """The complex conjugate; real numbers as they are."""
        if not isinstance(x, Tensor):
            return x.conjugate()
        return F.conj_physical(x) if x._array.dtype.kind != "f" and x.dtype.is_complex else x

    def real(self, x: Any) -> Any:
        """The real part; real numbers as they are."""
        if not isinstance(x, Tensor):
            return x.real
        return F.real(x) if x.dtype.is_complex else x

    def tensor_of(self, numbers: list[Any]) -> Tensor:
        """A vector of ints or of floats in double precision."""
        tensor = wrap(np.array(numbers, np.int64 if not numbers or isinstance(numbers[0], int) else np.float64))
        return brought(tensor)

    def trigamma(self, x: Any) -> Any:
        """The second derivative of the logarithm of the gamma function."""
        return self.polygamma(1, x)

    def truncated_quotient(self, x: Any, y: Any) -> Any:
        """The quotient, rounded to zero."""
        return self.div(x, y, rounding_mode="trunc")

    def own(self, name: str, *arguments: Any) -> Any:
        """An operator of the package's own."""
        return call(f"flambeau::{name}", *arguments)

    def in_a_loop(self, name: str, body: Callable[..., Any], *arguments: Any) -> Any:
        """An operator of the package's own, with a loop; in graphs the body in its place, of which kernels are made."""
        return call(f"flambeau::{name}", *arguments)

    def over_arrays(self, kernel: Callable[..., Any], body: Callable[..., Any], *arguments: Any) -> Any:
        """What a function over arrays gives of plain tensors in the memory of the host, while nothing is recorded and
        nobody intercepts operators; the body where it gives None, and everywhere else."""
        if mode.enabled or thread.handlers or thread.observer is not None:
            return body(self, *arguments)
        operands = []
        for argument in arguments:
            if not isinstance(argument, Tensor):
                operands.append(argument)
            elif _is_plain(argument):
                operands.append(argument._array)
            else:
                return body(self, *arguments)
        is_of_halves = operands and isinstance(operands[0], np.ndarray) and is_half(operands[0])
        result = (in_float32(kernel) if is_of_halves else kernel)(*operands)
        return body(self, *arguments) if result is None else wrap(result)

    def convolution_weight(self, *arguments: Any) -> Any:
        """The gradient of a convolution's weight, an operator of the package's own."""
        return call("flambeau::convolution_weight", *arguments)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        getattr(F, name)  # raises where there is none
        operator = placed(f"aten::{name}", caller(operator_named(f"aten::{name}")))
        of_number = NUMBERS.get(name)
        if of_number is None:
            setattr(self, name, operator)
            return operator

        def either(x: Any) -> Any:
            return operator(x) if isinstance(x, Tensor) else of_number(x)

        setattr(self, name, either)
        return either


OPERATORS: Final = FormulaOperators()
"""The operators on eager tensors."""
