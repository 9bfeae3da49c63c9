"""`library.opcheck`: whether an operator of users does what its schema, its shapes and its gradients say.

>>> import flambeau
>>> @flambeau.library.custom_op("doc_checks::twice", mutates_args=())
... def twice(x: flambeau.Tensor) -> flambeau.Tensor:
...     return x * 2
>>> _ = twice.register_fake(lambda x: flambeau.empty_like(x))
>>> opcheck(twice, (flambeau.ones(3),), test_utils=("test_schema", "test_faketensor"))
{'test_schema': 'SUCCESS', 'test_faketensor': 'SUCCESS'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.autograd.backward import grad
from flambeau.jit.operator_registration import definition_of
from flambeau.jit.tracing.trace import trace
from flambeau.ops.families.composite import F
from flambeau.schema.opdef import OpDef
from flambeau.tensor.kernels import IMPLICIT, table
from flambeau.tensor.tensor import Tensor

SUCCESS: Final = "SUCCESS"
FAILED: Final = "opcheck(op, ...): {test} failed with {reason}"
WROTE: Final = (
    "Argument {name} is not defined as mutable but was mutated: name it in mutates_args, or write Tensor(a!) in the "
    "schema of {op}"
)
SHARED: Final = "Argument {name} is not defined to alias output but was aliasing: {op} has to give new tensors"
NOT_REGISTERED: Final = (
    "{op} gives a tensor that asks for gradients, but has no formula of its own: they are those of what its kernel "
    "calls. Register one with register_autograd, or compute without gradients in the kernel"
)
OTHER_SIZES: Final = "result {number} has {what} {real}, but its fake has {fake}: register_fake of {op} has to agree"
OTHER_RESULT: Final = "{what} {number} of a traced call differs from that of the call: {traced} instead of {direct}"


class OpCheckError(Exception):
    """What `opcheck` raises: the check that did not hold, and why.

    >>> issubclass(OpCheckError, Exception)
    True
    """


def opcheck(
    op: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, *,
    test_utils: str | Sequence[str] | None = None, raise_exception: bool = True, atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check an operator on one set of arguments: by the names of the checks, "SUCCESS" or what was raised.

    `test_schema` looks at what is written and shared, `test_autograd_registration` at gradients without a formula,
    `test_faketensor` at results without data, `test_aot_dispatch_dynamic` at a traced call and its gradients.

    Args:
        op: the operator, or an overload of it.
        args: its arguments.
        kwargs: those by name.
        test_utils: the names of checks, one or several; all if None.
        raise_exception: whether what fails is raised.
        atol: how far results may be from each other; with `rtol`, both or none.
        rtol: the same, relative to the result.

    Raises OpCheckError for the first check that does not hold, ValueError for an unknown one.

    >>> import flambeau
    >>> opcheck(flambeau.ops.aten.sin.default, (flambeau.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    names = tuple(CHECKS) if test_utils is None else (test_utils,) if isinstance(test_utils, str) else test_utils
    unknown = sorted(set(names) - CHECKS.keys())
    if unknown:
        raise ValueError(f"opcheck: there is no check {unknown[0]!r}; there are {', '.join(CHECKS)}")
    call = _Call(op, args, kwargs or {}, {} if atol is None or rtol is None else {"atol": atol, "rtol": rtol})
    results: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS[name](call)
            results[name] = SUCCESS
        except Exception as error:
            if raise_exception:
                raise OpCheckError(FAILED.format(test=name, reason=error)) from error
            results[name] = error
    return results


class _Call:
    """An operator with arguments, which each check gets copies of."""

    def __init__(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tolerance: dict[str, float]) -> None:
        self.op = op
        self.definition: OpDef = definition_of(op)
        self._args, self._kwargs = args, kwargs
        self.tolerance = tolerance

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.definition.name

    def arguments(self, change: Callable[[Tensor], Tensor]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, each tensor changed."""
        args = [_changed(value, change) for value in self._args]
        return args, {name: _changed(value, change) for name, value in self._kwargs.items()}

    def run(self, change: Callable[[Tensor], Tensor]) -> list[Tensor]:
        """The tensors among the results, for changed arguments."""
        args, kwargs = self.arguments(change)
        return tensors_in(self.op(*args, **kwargs))


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_changed(item, change) for item in value)
    return change(value) if isinstance(value, Tensor) else value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a value, those in lists and tuples too."""
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [value] if isinstance(value, Tensor) else []


def _copy(tensor: Tensor) -> Tensor:
    copied: Tensor = F.clone(tensor.detach())
    return copied.requires_grad_() if tensor.requires_grad else copied


def _schema(call: _Call) -> None:
    """What is not said to be written stays as it is, and results are new."""
    args, kwargs = call.arguments(lambda tensor: F.clone(tensor.detach()))
    before, named_before = call.arguments(lambda tensor: F.clone(tensor.detach()))
    results = tensors_in(call.op(*args, **kwargs))
    memory = {t._storage.identity for t in results}
    arguments = {a.name: a for a in call.definition.schema.arguments}
    pairs = dict(zip(arguments, zip(args, before, strict=True), strict=False))
    pairs |= {name: (kwargs[name], named_before[name]) for name in kwargs}
    for name, (after, was) in pairs.items():
        if arguments[name].alias is not None:
            continue
        for one, other in zip(tensors_in(after), tensors_in(was), strict=True):
            if not _same(one, other, {"atol": 0.0, "rtol": 0.0}):
                raise RuntimeError(WROTE.format(name=name, op=call.name))
            if one._storage.identity in memory:
                raise RuntimeError(SHARED.format(name=name, op=call.name))


def _registration(call: _Call) -> None:
    """Results that ask for gradients have a formula that was registered."""
    registered = table.kernels.get(call.definition.full_name, {})
    if call.definition.family != "custom" or "Autograd" in registered or IMPLICIT in registered:
        return
    if any(t.requires_grad for t in call.run(_copy)):
        raise RuntimeError(NOT_REGISTERED.format(op=call.name))


def _fake(call: _Call) -> None:
    """Results without data have the sizes, strides and dtypes of those with data."""
    real = call.run(lambda tensor: F.clone(tensor.detach()))
    fake = call.run(lambda tensor: tensor.detach().to("meta"))
    for number, (one, other) in enumerate(zip(real, fake, strict=True)):
        for what in ("shape", "dtype"):
            if getattr(one, what) != getattr(other, what):
                parts = {"real": getattr(one, what), "fake": getattr(other, what)}
                raise RuntimeError(OTHER_SIZES.format(number=number, what=what, op=call.name, **parts))


def _traced(call: _Call) -> None:
    """A traced call gives what the call gives, and the same gradients."""
    args, kwargs = call.arguments(_copy)
    inputs = tensors_in([*args, *kwargs.values()])
    if not inputs or call.definition.schema.is_mutable:
        return

    def run(*tensors: Tensor) -> list[Tensor]:
        rest = iter(tensors)
        own_args, own_kwargs = call.arguments(lambda _: next(rest))
        return tensors_in(call.op(*own_args, **own_kwargs))

    traced = trace(run, tuple(_copy(t) for t in inputs), strict=False, check_trace=False)
    others = [_copy(t) for t in inputs]
    direct, again = run(*inputs), tensors_in(traced(*others))
    _compare("result", again, direct, call.tolerance)
    if any(t.requires_grad for t in direct):
        _compare("gradient", _gradients(again, others), _gradients(direct, inputs), call.tolerance)


def _gradients(results: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    total: Any = sum(F.sum(t) for t in results if t.requires_grad)
    gradients: Any = grad(total, [t for t in inputs if t.requires_grad], materialize_grads=True)
    return list(gradients)


def _compare(what: str, traced: list[Tensor], direct: list[Tensor], tolerance: dict[str, float]) -> None:
    for number, (one, other) in enumerate(zip(traced, direct, strict=True)):
        if not _same(one, other, tolerance):
            raise RuntimeError(OTHER_RESULT.format(what=what, number=number, traced=one, direct=other))


def _same(one: Tensor, other: Tensor, tolerance: dict[str, float]) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.dtype.is_floating_point and not one.dtype.is_complex:
        return bool(F.equal(one, other))
    return bool(F.allclose(one.detach(), other.detach(), equal_nan=True, **tolerance))


CHECKS: Final[dict[str, Callable[[_Call], None]]] = {
    "test_schema": _schema,
    "test_autograd_registration": _registration,
    "test_faketensor": _fake,
    "test_aot_dispatch_dynamic": _traced,
}
"""The checks by the names that users know them by."""
