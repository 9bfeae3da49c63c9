"""The way back of a usual call as one Python function, written for its formulas: what was kept is taken apart, and each
gradient is one call of a kernel where there is one. What hooks packed, or somebody asked for, is kept otherwise, and
not served.

>>> from flambeau.autograd.rule import rule_of
>>> from flambeau.schema import registry
>>> formulas = rule_of(registry.get("aten::mul.Tensor")).formulas((True, False), False, ())
>>> print(formulas.quick.__doc__)
def quick(kept, grad):
    a0, = kept
    if type(a0) is not tuple: return None
    v0, version = a0
    if v0._storage.version != version: return None
    g0 = k0(grad, v0)
    return [g0, None]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flambeau.autograd.array_steps import SCOPE, ArrayStep
from flambeau.autograd.formula_kernels import PRODUCTS_OF_GRADIENTS, formula_kernel
from flambeau.autograd.saved import save
from flambeau.schema.gradient import Formula, Part, Product
from flambeau.tensor.grad_mode import refuse_saving
from flambeau.tensor.repeated_kernels import Often
from flambeau.tensor.tensor import Tensor, plain
from flambeau.util.inversions import REPEATED_GRADIENTS

OPERAND, RESULT, SIZES, VALUE, OPTIONAL, LIST, TENSORS, PART, SIZES_OF_PARTS = range(9)
"""How something is kept: a tensor, the result, a tensor's sizes (of each, in a list), and what is none of these; a
tensor that may be None, a list or None, a list of tensors, one of several results, and the sizes of each of these."""
_REALS: Final = (int, float)
Step = Callable[[Sequence[Any]], Any]
Steps = Sequence[tuple[int, Step]]


def quick(
    name: str,
    formulas: Sequence[tuple[int, Formula]],
    steps: Steps,
    positions: Mapping[str, int],
    direct: Sequence[tuple[int, int]],
    edges: int,
    arrays: Mapping[int, ArrayStep],
    *,
    is_view: bool = False,
) -> Callable[[Sequence[Any], Any], Any] | None:
    """The function of a call whose operands and results are kept as `direct` says; None where a formula does without
    the gradient.

    Args:
        name: that of the operator.
        formulas: with the numbers of the operands whose gradients they give.
        steps: the same as functions of the gradient and all that was kept.
        positions: where among these each name is.
        edges: how many operands there are.
        arrays: what computes gradients from arrays, by the numbers of their operands.
        is_view: whether the operator shows its operand, so that gradients are shown, too, and take no loop.
    """
    if any({"grad", "grads"}.isdisjoint(formula.needs) for _, formula in formulas):
        return None
    text = _Text(name, positions, len(direct), arrays)
    text.take_apart(direct)
    has_parts = any(isinstance(formula, Part) for _, formula in formulas)
    if has_parts:
        text.list_values()
    for (number, formula), (_, step) in zip(formulas, steps, strict=True):
        text.compute(number, formula, step)
    numbers = [number for number, _ in formulas]
    if not (is_view or has_parts) and text.may_be_looked_up(direct):
        indexed = [(f, [(need, positions[need]) for need in f.needs if need in positions]) for _, f in formulas]
        text.look_up(indexed, numbers, direct)
    return text.function(numbers, edges)


def keeper(direct: Sequence[tuple[int, int]]) -> Callable[[Sequence[Any], Any], list[Any]]:
    """What lists what formulas need, from the arguments and the result of a call. Tensors and results are kept as
    tuples: see `saved`. It raises RuntimeError for an operand that was made in `inference_mode()`.

    >>> print(keeper([(OPERAND, 1), (SIZES, 0)]).__doc__)
    def keep(arguments, result):
        t0 = arguments[1]
        v0 = t0._storage.version
        if v0 < 0: refuse_saving(v0)
        return [(t0, v0), [*arguments[0]._array.shape] if type(arguments[0]) is Tensor else sizes(arguments[0])]
    """
    lines, kept = [], []
    for k, (way, position) in enumerate(direct):
        if way == OPERAND:
            lines += [f"t{k} = arguments[{position}]", f"v{k} = t{k}._storage.version"]
            lines.append(f"if v{k} < 0: refuse_saving(v{k})")
            kept.append(f"(t{k}, v{k})")
        elif way == OPTIONAL:
            lines += [f"t{k} = arguments[{position}]", f"v{k} = 0 if t{k} is None else t{k}._storage.version"]
            lines.append(f"if v{k} < 0: refuse_saving(v{k})")
            kept.append(f"None if t{k} is None else (t{k}, v{k})")
        else:
            kept.append(_KEPT[way].format(position))
    body = [f"    {line}" for line in (*lines, f"return [{', '.join(kept)}]")]
    text = "\n".join(["def keep(arguments, result):", *body])
    names = {"Tensor": Tensor, "copied": _copied, "sizes": _sizes, "part": _part, "tensors": _tensors}
    return _defined(text, "keep", {"refuse_saving": refuse_saving, **names})


_KEPT: Final = {
    RESULT: "(result._array, result._storage, result._storage.version)",
    SIZES: "[*arguments[{0}]._array.shape] if type(arguments[{0}]) is Tensor else sizes(arguments[{0}])",
    VALUE: "arguments[{}]",
    LIST: "copied(arguments[{}])",
    TENSORS: "tensors(arguments[{}])",
    PART: "part(result[{0}], {0})",
    SIZES_OF_PARTS: "sizes(result)",
}
"""The text for what is kept otherwise than as an operand."""


def _copied(value: Any) -> Any:
    """A list as it is now; None for none."""
    return value if value is None else [*value]


def _part(result: Tensor, index: int) -> Any:
    """One of several results."""
    storage = result._storage
    return result._array, storage, index, storage.version


def _tensors(values: Any) -> Any:
    """Tensors, and None, as they are kept. Raises RuntimeError for one that was made in `inference_mode()`."""
    for value in values or ():
        if value is not None:
            refuse_saving(value._storage.version)
    return values if values is None else [value if value is None else save(value) for value in values]


def _sizes(value: Any) -> Any:
    return [_sizes(one) for one in value] if isinstance(value, list | tuple) else list(value._array.shape)


def _defined(text: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function that a text defines, which is its documentation."""
    names["__name__"] = __name__
    exec(compile(text, f"{__file__}, {name}", "exec"), names)  # no code of users: see `warn_user`
    function: Callable[..., Any] = names[name]
    function.__doc__ = text
    return function


class _Text:
    """The lines of a function, and what it refers to."""

    def __init__(self, name: str, positions: Mapping[str, int], count: int, arrays: Mapping[int, ArrayStep]) -> None:
        self._name = name
        self._positions = positions
        self._arrays = arrays
        self._lines: list[str] = []
        self._globals: dict[str, Any] = {"plain": plain, "REALS": _REALS, **SCOPE}
        self._values = ["grad", *[f"v{k}" for k in range(count)]]
        self._whole = f"[{', '.join(self._values)}]"
        """The text for all values."""
        self._apart = 0
        """How many of the lines take apart what was kept."""
        self._are_several = False
        """Whether there are gradients of several results."""
        self._has_steps = False
        """Whether a gradient takes several operators, each called by itself."""

    def take_apart(self, direct: Sequence[tuple[int, int]]) -> None:
        """Give a name to each thing that was kept, and look whether it was written since."""
        if direct:
            self._lines.append(f"{', '.join([f'a{k}' for k in range(len(direct))])}, = kept")
        for k, (way, _) in enumerate(direct):
            if way in (OPERAND, OPTIONAL):
                ways = [
                    f"if type(a{k}) is not tuple: return None", f"v{k}, version = a{k}",
                    f"if v{k}._storage.version != version: return None",
                ]  # fmt: skip
                if way == OPTIONAL:
                    ways = [f"if a{k} is None: v{k} = None", "else:", *[f"    {line}" for line in ways]]
                self._lines += ways
            elif way in (RESULT, PART):
                index = "_, " if way == PART else ""
                self._lines += [
                    f"if type(a{k}) is not tuple: return None", f"array, storage, {index}version = a{k}",
                    "if storage.version != version: return None",
                    f"v{k} = plain(array, storage)",
                ]  # fmt: skip
            elif way == TENSORS:
                self._lines += [f"v{k} = opened(a{k})", f"if v{k} is None: return None"]
            else:
                self._lines.append(f"v{k} = a{k}")
        self._apart = len(self._lines)

    def list_values(self) -> None:
        """Have formulas that are parts of one function know its results, behind the values."""
        self._lines.append(f"values = [{', '.join(self._values)}]")
        self._whole = "values"

    def may_be_looked_up(self, direct: Sequence[tuple[int, int]]) -> bool:
        """Whether gradients take several operators, of what native code may be told of."""
        has_lists = any(step.is_list for step in self._arrays.values())
        return self._has_steps and not has_lists and all(way in _KEYS for way, _ in direct)

    def look_up(self, formulas: Any, numbers: Sequence[int], direct: Sequence[tuple[int, int]]) -> None:
        """Have gradients for values that come often computed by native code: the lines that compute them become a
        function of their own."""
        values, results = ", ".join(self._values), "".join([f"g{number}, " for number in numbers])
        lines = [*self._lines[self._apart :], f"return [{results}]"]
        text = "\n".join([f"def run({values}):", *[f"    {line}" for line in lines]])
        often = Often(_defined(text, "run", self._globals), partial(_ask, self._name, formulas))
        often.scope |= self._globals
        often.scope["run"] = often.run
        self._globals = often.scope
        ways = [_KEYS[OPERAND].format("grad"), *[_KEYS[way].format(f"v{k}") for k, (way, _) in enumerate(direct)]]
        kinds = (OPERAND, RESULT, OPTIONAL)
        tensors = ["grad", *[f"v{k}" for k, (way, _) in enumerate(direct) if way in kinds]]
        is_given = any(way == OPTIONAL for way, _ in direct)
        passed = f"*tensors(({', '.join(tensors)},))" if is_given else ", ".join(tensors)
        self._lines[self._apart :] = [
            f"if is_off: gradients = run({values})",
            "else:", "    try:", f"        key = ({', '.join(ways)},)", "        native = find(key)",
            "    except (AttributeError, TypeError, RuntimeError): native = missed",
            f"    if native is None: gradients = count(key, ({values},))",
            "    elif native.__class__ is list:", "        native[0] -= 1",
            f"        gradients = run({values}) if native[0] > 0 else ask(key, native, ({values},))",
            "    else:", f"        try: gradients = native({passed})", "        except Exception: gradients = MISSED",
            f"        if gradients is MISSED: gradients = run({values})",
            f"{results}= gradients",
        ]  # fmt: skip

    def compute(self, number: int, formula: Formula, step: Step) -> None:
        """The gradient of one operand."""
        self._globals[f"s{number}"] = step
        self._are_several = self._are_several or "grads" in formula.needs
        self._has_steps = self._has_steps or not (formula.is_elementwise or formula.is_passed_on or formula.product)
        whole = f"s{number}({self._whole})"
        others = self._from_arrays(number, whole)
        if formula.product is not None:
            multiply = PRODUCTS_OF_GRADIENTS[_entry(formula.product)]
            self._globals[f"p{number}"] = multiply
            factors = f"{self._value(formula.product.left)}, {self._value(formula.product.right)}"
            self._lines += [f"g{number} = p{number}({factors})", f"if g{number} is None:"]
            self._lines += [f"    {line}" for line in others]
        elif number in self._arrays:
            self._lines += others
        elif formula.factor and formula.unscaled is not None:
            factor = self._value(formula.factor)
            rest = self._call(number, formula.unscaled) or whole
            is_one = f"{factor} == 1 and type({factor}) in REALS"
            self._lines.append(f"g{number} = {rest} if {is_one} else {whole}")
        elif formula.source:
            self._lines.append(f"g{number} = {self._call(number, formula) or whole}")
        else:  # written by hand, it may give 0 for a gradient that is 0 everywhere, or None
            kernel = self._call(number, formula)
            self._lines.append(f"g{number} = {kernel or whole}")
            if not kernel:
                self._lines.append(f"if type(g{number}) is int: g{number} = None")

    def _from_arrays(self, number: int, whole: str) -> list[str]:
        """Lines that compute a gradient from arrays, or by its formula where that is not served."""
        step = self._arrays.get(number)
        if step is None:
            return [f"g{number} = {whole}"]
        self._globals[f"r{number}"] = step.gradient.function
        names = {name: self._value(name) for name in step.needs}
        own = "own = floats_of(grad)" if step.needs[0] == "grads" else "own = grad._array"
        return [own, *step.lines(f"g{number}", f"r{number}", names, whole)]

    def _call(self, number: int, formula: Formula) -> str:
        """The text that computes a formula by its kernel; empty where there is none."""
        if formula.is_passed_on:
            return "grad"
        kernel = formula_kernel(f"{self._name}_{number}", formula)
        if kernel is None:
            return ""
        self._globals[f"k{number}"] = kernel
        return f"k{number}({', '.join(map(self._value, formula.needs))})"

    def _value(self, name: str) -> str:
        return self._values[self._positions[name]]

    def function(self, numbers: Sequence[int], edges: int) -> Callable[[Sequence[Any], Any], Any]:
        """The function that gives the gradients of so many operands: of those with these numbers, and None."""
        lists = [number for number, step in self._arrays.items() if step.is_list]
        results = [f"{'*' if k in lists else ''}g{k}" if k in numbers else "None" for k in range(edges)]
        looks = ["if not all([type(g) is Tensor for g in grad if g is not None]): return None"] * self._are_several
        lines = [*looks, *self._lines, f"return [{', '.join(results)}]"]
        text = "\n".join(["def quick(kept, grad):", *[f"    {line}" for line in lines]])
        return _defined(text, "quick", self._globals)


_LOOK: Final = "{0}._array.dtype, {0}._array.shape, {0}._array.strides"
_KEYS: Final = {
    OPERAND: _LOOK,
    RESULT: _LOOK,
    OPTIONAL: "None if {0} is None else look({0})",
    SIZES: "repr({0})",
    LIST: "repr({0})",
    VALUE: "{0}.__class__, {0} or repr({0})",
}
"""The text for what of a value tells calls apart."""


def _ask(name: str, formulas: Any, run: Callable[..., Any], values: tuple[Any, ...], count: int) -> Any:
    return REPEATED_GRADIENTS.implementation(name, formulas, run, values, count)


def _entry(product: Product) -> str:
    return "product_of_transposed" if product.is_left_transposed else "product_by_transposed"
