"""Operators whose kernel is a function over NumPy arrays: the family every larger computation belongs to.

`declare` turns one kernel into all overloads of an operator. The kernel names the schema arguments it wants; each
overload passes those it has, and the kernel's own defaults stand for the rest. So `sum(Tensor self)` and
`sum.dim_IntList(Tensor self, int[1]? dim, ...)` share one function, and the `.out` forms follow from the functional
ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from types import FunctionType
from typing import Any, Final

from flambeau.ops.families import variants
from flambeau.ops.families.arrays import empty
from flambeau.ops.families.copied_elements import CopiedElements, Gives
from flambeau.ops.families.entry_kernel import EntryKernel, OwnEntry
from flambeau.ops.families.rows import Describe, Row, RowsMeaning
from flambeau.schema.alias import AliasInfo
from flambeau.schema.dtype import DType
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema, parse_schema
from flambeau.schema.opdef import DtypeRule, Effect, ErrorSample, OpDef, Sample, ShapeRule
from flambeau.schema.registry import register
from flambeau.schema.traits import PLAIN, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.float_errors import begin, end
from flambeau.util.record import replace

ArrayKernel = Callable[..., Any]
"""Arrays, lists of arrays and Python values in; an array, a tuple or a list of arrays out."""

_LETTERS: Final = "abcdefgh"
Copies = tuple["int | None", Gives]
"""The position of what is copied, None for zeros, and what dtype that gives: see `CopiedElements`."""
_NUMBERS: Final = frozenset({int, float, bool})
_PRODUCTS: Final = frozenset({"matmul", "mm", "bmm", "mv", "dot", "linear", "addmm"})
"""Accumulators of operators that are products of which native code has entries."""
_PLACES: Final = {
    "aten::cat": "cat", "aten::concat": "cat", "aten::concatenate": "cat", "aten::stack": "stack",
    "aten::index_select": "index_select", "aten::embedding": "embedding", "aten::index.Tensor": "index",
    "aten::contiguous": "dense", "aten::take": "take", "aten::gather": "gather", "aten::nll_loss": "nll_loss",
    "aten::nll_loss_nd": "nll_loss",
}  # fmt: skip
"""The entries of operators that put elements elsewhere: see ``codegen.llvm.entry_places``."""
_OF_LISTS: Final = ("cat", "stack", "index")


class KernelOnArrays:
    """Runs a function over arrays on tensors: unwraps the arguments, wraps the results.

    Arrays that the function returns become the results' memory, so it must return fresh ones.
    """

    __slots__ = ("arrays", "name")

    def __init__(self, name: str, arrays: ArrayKernel) -> None:
        self.name = name
        self.arrays = arrays
        """The function itself, taking all arguments in schema order; what runs without tensors around the data calls
        this.
        """

    def __call__(self, *arguments: Any) -> Any:
        before = begin()
        try:
            produced = self.arrays(
                *[
                    a._array if type(a) is Tensor
                    else a if a is None or type(a) in _NUMBERS or (type(a) is list and a and type(a[0]) is int)
                    else unwrapped(a)
                    for a in arguments
                ]
            )  # fmt: skip
        finally:
            end(before)
        if type(produced) is np.ndarray and produced.size:
            return wrap(produced)
        if isinstance(produced, tuple):
            return tuple([wrapped(p) for p in produced])
        if isinstance(produced, list):
            return [wrapped(p) for p in produced]
        return wrapped(produced)

    def __repr__(self) -> str:
        return f"<kernel of {self.name}>"


def unwrapped(value: Any) -> Any:
    """The array of a tensor, element by element for lists; anything else as it is."""
    if type(value) is list:
        return [v._array if type(v) is Tensor else unwrapped(v) for v in value]
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, (list, tuple)):
        return [v._array if type(v) is Tensor else unwrapped(v) for v in value]
    return value


def wrapped(value: Any) -> Any:
    """A tensor around an array or NumPy scalar; Python values and None as they are."""
    if isinstance(value, np.ndarray):
        return wrap(value if value.size else empty(value.shape, value.dtype))
    if isinstance(value, np.generic):
        return wrap(np.asarray(value))
    return wrap(value) if hasattr(value, "__cuda_array_interface__") else value


def by_name(schema: FunctionSchema, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` taking all arguments of `schema` in order, though it names only some of them, in any order."""
    names = [a.name for a in schema.arguments]
    code = getattr(function, "__code__", None)
    if code is not None and list(code.co_varnames[: code.co_argcount]) == names and not code.co_kwonlyargcount:
        return function
    defaults, is_by_position = _defaults(function)
    if list(defaults)[: len(names)] == names:
        return function
    unknown = [n for n, default in defaults.items() if default is inspect.Parameter.empty and n not in names]
    if unknown:
        raise ValueError(f"{schema.full_name}: the kernel needs {', '.join(unknown)}, which the schema does not have")
    chosen = [(i, name) for i, name in enumerate(names) if name in defaults]
    return _by_position(function, defaults, chosen, len(names)) if is_by_position else _by_keyword(function, chosen)


def _defaults(function: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """The default of each parameter, `inspect.Parameter.empty` where there is none, and whether all may be passed by
    position."""
    defaults = _plain_defaults(function)
    if defaults is not None:
        return defaults, True
    parameters = inspect.signature(function).parameters.values()
    is_by_position = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    return {p.name: p.default for p in parameters}, is_by_position


def _plain_defaults(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The default of each parameter, `inspect.Parameter.empty` where there is none, of a function all of whose
    parameters are called by position or name and that stands for no other; None for what takes `inspect.signature`,
    which is slow.
    """
    if type(function) is not FunctionType or function.__dict__:
        return None
    code = function.__code__
    unusual = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if code.co_kwonlyargcount or code.co_posonlyargcount or code.co_flags & unusual:
        return None
    defaults = function.__defaults__ or ()
    required = (inspect.Parameter.empty,) * (code.co_argcount - len(defaults))
    return dict(zip(code.co_varnames[: code.co_argcount], (*required, *defaults), strict=True))


def _by_keyword(function: Callable[..., Any], chosen: Sequence[tuple[int, str]]) -> Callable[..., Any]:
    """`function` called by keyword with some arguments of a schema, as pairs of an index and the parameter's name."""

    def call(*arguments: Any) -> Any:
        return function(**{name: arguments[i] for i, name in chosen})

    return call


def _by_position(
    function: Callable[..., Any], parameters: Mapping[str, Any], chosen: Sequence[tuple[int, str]], count: int
) -> Callable[..., Any]:
    """`function` called by position with some of `count` arguments of a schema, as pairs of an index and the
    parameter's name. `parameters` has the default of each parameter.
    """
    index_of = {name: i for i, name in chosen}
    names = list(parameters)
    while names and names[-1] not in index_of:
        names.pop()
    defaults = tuple(parameters.values())
    indices = [index_of.get(name, count + number) for number, name in enumerate(names)]
    if not indices:
        return lambda *arguments: function()
    if len(indices) == 1:
        [only] = indices
        return lambda *arguments: function(arguments[only])
    pick = itemgetter(*indices)
    if max(indices) < count:
        return lambda *arguments: function(*pick(arguments))
    return lambda *arguments: function(*pick(arguments + defaults))


def out_schema(schema: FunctionSchema, spec: str) -> FunctionSchema:
    """The schema that writes into given tensors; `spec` is `overload` or `overload(argument, argument)`.

    >>> f = parse_schema("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    >>> print(str(out_schema(f, "dim_max(max, max_values)")).partition("*, ")[2])
    Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)
    """
    overload, _, listed = spec.rstrip(")").partition("(")
    named = [n.strip() for n in listed.split(",")] if listed else []
    count = len(schema.returns)
    if not named:
        returned = [r.name for r in schema.returns]
        named = returned if all(returned) else ["out"] if count == 1 else [f"out{i}" for i in range(count)]
    outs, returns = [], []
    for name, letter, returned_value in zip(named, _LETTERS, schema.returns, strict=False):
        alias = AliasInfo((letter,), None, True)
        outs.append(Argument(name, TensorType(), "", NO_DEFAULT, "", True, alias))
        returns.append(replace(returned_value, declared="", alias=alias))
    return replace(schema, overload=overload, arguments=(*schema.arguments, *outs), returns=tuple(returns))


def out_kernel(kernel: Callable[..., Any], count: int, traits: Traits) -> Callable[..., Any]:
    """Runs the functional kernel and copies its results into the last `count` arguments."""

    def call(*arguments: Any) -> Any:
        inputs, targets = arguments[:-count], arguments[-count:]
        produced = kernel(*inputs)
        results = produced if count > 1 else [produced]
        for target, result in zip(targets, results, strict=True):
            if count > 1:
                variants.check_same(result.dtype, target.dtype)
            elif traits.out_dtype:
                variants.check_exact(result.dtype, target.dtype, traits.out_dtype)
            variants.check_cast(result.dtype, target.dtype)
            variants.check_overlap(target, inputs)
            if traits.out_apart:
                variants.check_apart(target, inputs)
        for target, result in zip(targets, results, strict=True):
            variants.fit_out(target, result._array.shape)
            variants.write(target, result._array)
        return targets[0] if count == 1 else tuple(targets)

    return call


def declare(
    *schemas: str,
    kernel: ArrayKernel,
    family: str = "opaque",
    outs: Sequence[str] = (),
    doc: str = "",
    dtype: DtypeRule | None = None,
    shape: ShapeRule | None = None,
    accumulator: str = "",
    scalar: Callable[..., Any] | None = None,
    compute: DtypeRule | None = None,
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    reference: Callable[..., Any] | None = None,
    effect: Effect = Effect.NONE,
    differentiable: bool | tuple[bool, ...] = True,
    is_about_tensor: bool = False,
    namespaces: Sequence[str] = (),
    ulp: Mapping[DType, float] | None = None,
    is_method: bool = True,
    is_function: bool = True,
    on_tensors: bool = False,
    in_place: bool = False,
    rows: Describe | None = None,
    copies: Copies | None = None,
    traits: Traits = PLAIN,
) -> tuple[OpDef, ...]:
    """Register all overloads in `schemas`, and for each entry of `outs` the out form of the schema at that place.

    `in_place` adds the form that writes into its first argument. `on_tensors` passes tensors to the kernel as they
    are, for kernels that return views or call other operators. `rows` says what the kernel does with rows of its first
    argument, to who makes native code of it, `copies` that it copies elements. Samples, errors and the doc belong to
    the first overload. Raises ValueError when the kernel needs an argument that a schema lacks.
    """
    definitions = []
    for i, text in enumerate(schemas):
        schema = parse_schema(text)
        ordered = kernel if family == "composite" else by_name(schema, kernel)
        runner: Any = ordered if on_tensors else KernelOnArrays(schema.full_name, ordered)
        runner = _entered(schema, runner, rows, accumulator) if copies is None else _copying(schema, runner, copies)
        common: dict[str, Any] = {
            "family": family,
            "dtype": None if dtype is None else by_name(schema, dtype),
            "shape": None if shape is None else by_name(schema, shape),
            "accumulator": accumulator,
            "scalar": scalar,
            "compute": None if compute is None else by_name(schema, compute),
            "reference": reference,
            "effect": effect,
            "differentiable": differentiable if family != "creation" else False,
            "is_about_tensor": is_about_tensor,
            "ulp": ulp or {},
            "is_function": is_function,
            "namespaces": tuple(namespaces),
            "traits": traits,
        }
        first: dict[str, Any] = {"doc": doc, "samples": samples, "errors": errors} if i == 0 else {}
        definitions.append(register(OpDef(schema=schema, kernel=runner, is_method=is_method, **common, **first)))
        if in_place:
            definitions.append(declare_in_place(schema, runner, common))
        if i < len(outs) and outs[i]:
            definitions.append(declare_out(schema, outs[i], runner, common))
    return tuple(definitions)


def _entered(schema: FunctionSchema, runner: Any, rows: Describe | None, accumulator: str) -> Any:
    """A kernel behind an entry for native code, where some may take over."""
    entry = accumulator if accumulator in _PRODUCTS else _PLACES.get(schema.full_name)
    if rows is None and not accumulator and entry is None:
        return runner
    meaning: Any = None if rows is None else RowsMeaning(schema.full_name, _described_by(schema, rows))
    if entry is not None:
        meaning = OwnEntry(entry, reads_lists=entry in _OF_LISTS)
    kernel = EntryKernel(schema.full_name, meaning, runner)
    kernel.may_be_large = kernel.may_be_large and entry != "dense"
    return kernel


def _copying(schema: FunctionSchema, runner: Any, copies: Copies) -> EntryKernel:
    """A kernel that copies elements, behind an entry for native code; into its first argument if it writes that."""
    first = schema.arguments[0].alias
    target = 0 if first is not None and first.is_write else None
    source, gives = copies
    code_at = schema.index.get("dtype")
    meaning = CopiedElements(schema=schema, source=source, gives=by_name(schema, gives), code_at=code_at)
    return EntryKernel(schema.full_name, meaning, runner, target)


def _described_by(schema: FunctionSchema, rows: Describe) -> Describe:
    """`rows` taking rank, dtype and all arguments of `schema` behind the first, in order."""
    names = [a.name for a in schema.arguments[1:]]
    wanted = set(inspect.signature(rows).parameters)

    def describe(ndim: int, dtype: np.dtype[Any], *arguments: Any) -> Row | None:
        argument_of = dict(zip(names, arguments, strict=True))
        if argument_of.pop("dtype", None) is not None:
            return None
        return rows(ndim, dtype, **{k: v for k, v in argument_of.items() if k in wanted})

    return describe


def declare_out(schema: FunctionSchema, spec: str, runner: Callable[..., Any], common: Mapping[str, Any]) -> OpDef:
    """Register the out form of an overload."""
    target = out_schema(schema, spec)
    facets = {**common, "accumulator": "", "scalar": None, "compute": None, "reference": None, "family": "out"}
    facets["traits"] = common.get("traits", PLAIN).in_place()
    for rule in ("dtype", "shape"):
        facets[rule] = None
    kernel = out_kernel(runner, len(schema.returns), common.get("traits", PLAIN))
    return register(OpDef(schema=target, kernel=kernel, is_method=False, **facets))


def declare_in_place(schema: FunctionSchema, runner: Callable[..., Any], common: Mapping[str, Any]) -> OpDef:
    """Register the form that computes and then writes into its first argument."""

    def call(target: Tensor, *arguments: Any) -> Tensor:
        result = runner(target, *arguments)
        variants.check_cast(result.dtype, target.dtype)
        variants.check_overlap(target, arguments)
        variants.check_in_place_shape(target, result._array.shape)
        return variants.write(target, result._array)

    facets = {**common, "accumulator": "", "scalar": None, "compute": None, "reference": None, "family": "in_place"}
    facets["traits"] = common["traits"].in_place()
    return register(OpDef(schema=variants.in_place_schema(schema), kernel=call, is_method=True, **facets))
