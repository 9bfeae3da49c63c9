"""Functions of tensors that give one result or several, by constants that a call passes: `unique` and its like.

unique(x, return_counts=True)    →    %u, %i, %c = aten::_unique2(%x, True, False, True)    and the pair of %u and %c
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.ops.python_forms import norm, unique, unique_consecutive
from flambeau.schema.types import INT, NONE, STRING
from flambeau.tensor.python_forms import nonzero
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NOT_CONSTANT = (
    "{function}() returns different types for different values of '{name}', so its value has to be known when the "
    "program is compiled: write True or False"
)


def _bound(
    e: Emitter, where: SourceRange, function: Callable[..., Any], args: Sequence[Given], keywords: Sequence[Given]
) -> dict[str, Value]:
    """The arguments of a call by the names of a Python function's parameters, defaults among them."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*(a.value for a in args), **{k.name: k.value for k in keywords})
    except TypeError as error:
        raise CompileError(f"{function.__name__}() {error}", where) from None
    return {
        name: bound.arguments[name] if name in bound.arguments else e.constant(parameter.default)
        for name, parameter in signature.parameters.items()
    }


def _flag(where: SourceRange, function: Callable[..., Any], name: str, value: Value) -> bool:
    node = value.defining_node
    constant = node.attributes.get("value") if node is not None and node.op == "prim::Constant" else None
    if constant is None:
        raise CompileError(NOT_CONSTANT.format(function=function.__name__, name=name), where)
    return bool(constant)


@dataclass(slots=True)
class FlaggedFunction(Sugared):
    """A function as one operator, or as another where a `dim` is given."""

    function: Callable[..., Any]
    operator: str
    along: str
    order: tuple[str, ...]
    """The order of the operators' arguments."""

    @property
    def kind(self) -> str:
        """Its name."""
        return self.function.__name__

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What the call asks for: one tensor or several."""
        bound = _bound(e, where, self.function, args, keywords)
        flags = ("return_inverse", "return_counts")
        wanted = [True, *(_flag(where, self.function, n, bound[n]) for n in flags)]
        whole = bound["dim"].static_type == NONE
        names = [n for n in self.order if n != "dim" or not whole or self.operator == self.along]
        result = call_operator(e, where, self.operator if whole else self.along, [bound[n] for n in names])
        kept = [v for v, is_wanted in zip(unpack_tuple(e, result), wanted, strict=True) if is_wanted]
        return SimpleValue(kept[0] if len(kept) == 1 else pack_tuple(e, kept))


@dataclass(slots=True)
class NormFunction(Sugared):
    """`norm(x)` and its like: the order is a word, or not given, or a number."""

    @property
    def kind(self) -> str:
        """Its name."""
        return "norm"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tensor. Raises `CompileError` for other words than 'fro' and 'nuc'."""
        bound = _bound(e, where, norm, args, keywords)
        order = bound["p"]
        options = [Given(bound[n], where, n) for n in ("dtype", "out") if bound[n].static_type != NONE]
        if order.static_type not in (STRING, NONE):
            if bound["dim"].static_type == NONE and bound["out"].static_type == NONE:
                return SimpleValue(call_operator(e, where, "aten::norm", [bound["input"], order], options))
            word = ""
        else:
            node = order.defining_node
            word = (
                "fro"
                if order.static_type == NONE
                else str(node.attributes.get("value", ""))
                if node is not None
                else ""
            )
            if word not in ("fro", "nuc"):
                raise CompileError(f"norm() has the orders 'fro', 'nuc' and numbers, but got '{word}'", where)
        dims, keep = bound["dim"], bound["keepdim"]
        if word == "nuc":
            last = pack_list(e, [e.constant(-2), e.constant(-1)], INT) if dims.static_type == NONE else dims
            return SimpleValue(
                call_operator(e, where, "aten::linalg_matrix_norm", [bound["input"], order, last, keep], options)
            )
        power = e.constant(2.0) if word else order
        return SimpleValue(
            call_operator(e, where, "aten::linalg_vector_norm", [bound["input"], power, dims, keep], options)
        )


@dataclass(slots=True)
class NonzeroFunction(Sugared):
    """`nonzero(x)`: rows of places, or with `as_tuple=True` a list with a vector for each dimension."""

    @property
    def kind(self) -> str:
        """Its name."""
        return "nonzero"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tensor, or a list of tensors."""
        bound = _bound(e, where, nonzero, args, keywords)
        if _flag(where, nonzero, "as_tuple", bound["as_tuple"]):
            return SimpleValue(call_operator(e, where, "aten::nonzero_numpy", [bound["input"]]))
        options = [Given(bound["out"], where, "out")] if bound["out"].static_type != NONE else []
        return SimpleValue(call_operator(e, where, "aten::nonzero", [bound["input"]], options))


FUNCTIONAL_FORMS: Final[dict[Any, Sugared]] = {
    unique: FlaggedFunction(
        unique, "aten::_unique2", "aten::unique_dim", ("input", "dim", "sorted", "return_inverse", "return_counts")
    ),
    unique_consecutive: FlaggedFunction(
        unique_consecutive, "aten::unique_consecutive", "aten::unique_consecutive",
        ("input", "return_inverse", "return_counts", "dim"),
    ),
    norm: NormFunction(),
    nonzero: NonzeroFunction(),
}  # fmt: skip
"""Each by its Python function."""
