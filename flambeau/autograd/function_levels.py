"""Custom functions within transforms: what they are on batches and with tangents.

A call with tensors of a `vmap` runs the function's own `vmap`, or `forward` and `backward` on whole batches; one with
tensors of a `jvp` runs its `jvp`. Either is one call of a custom function further out, so that its `backward` is what
gradients go back through, in whichever order transforms nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from flambeau.autograd.forward.dual import DualLevel
from flambeau.batching.batched import batched
from flambeau.batching.level import BatchLevel
from flambeau.batching.user_rules import VmapInfo
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.levels import Level, Wrapper
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor

Call = Callable[..., Any]
"""Runs a custom function, which is a class, on arguments."""

BOTH: Final = (
    "You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
    "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
)
TWO_PARTS: Final = "Expected the vmap staticmethod of {name} to return a tuple of two: (output, out_dims), got {actual}"
NO_JVP: Final = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."


def owner(args: Sequence[Any]) -> Level | None:
    """The innermost transform that some arguments are tensors of."""
    if not thread.handlers or not any(isinstance(a, Wrapper) for a in args):
        return None
    levels = (h for h in reversed(stack().handlers) if isinstance(h, Level))
    return next((level for level in levels if any(isinstance(a, Tensor) and level.owns(a) for a in args)), None)


def has_tape(level: Level, args: Sequence[Any]) -> bool:
    """Whether a call is recorded on the tape of a level."""
    return any(isinstance(a, Wrapper) and level.owns(a) and a.asks() for a in args)


def asks_further_out(args: Sequence[Any]) -> bool:
    """Whether a tensor behind a wrapper asks for gradients too."""
    return any(isinstance(a, Wrapper) and a._wrapped.value.requires_grad for a in args)


def _base(cls: Any) -> Any:
    """The class that all custom functions are of."""
    return next(c for c in cls.__mro__ if (c.__module__, c.__name__) == ("flambeau.autograd.function", "Function"))


def _overrides(cls: Any, name: str) -> bool:
    """Whether a custom function has a method of its own."""
    return getattr(cls, name) is not getattr(_base(cls), name)


@contextmanager
def _below(level: Level) -> Iterator[None]:
    """Within the block, operators come to the transforms further out."""
    handlers = stack().handlers
    with changed(handlers=handlers[: handlers.index(level)]):
        yield


def at_level(cls: Any, level: Level, args: Sequence[Any], call: Call) -> Any:
    """The results of a custom function for tensors of a level."""
    if isinstance(level, BatchLevel):
        return _on_batch(cls, level, args, call)
    assert isinstance(level, DualLevel)
    return _with_tangents(cls, level, args, call)


def _mapped(result: Any, body: Callable[[int, Any], Any]) -> Any:
    """What a function gives for each result, in a tuple where there is one."""
    if isinstance(result, tuple):
        return tuple([body(number, one) for number, one in enumerate(result)])
    return body(0, result)


# -- batches ----------------------------------------------------------------------------------------------------------


def _on_batch(cls: Any, level: BatchLevel, args: Sequence[Any], call: Call) -> Any:
    values = [a._wrapped.value if isinstance(a, Tensor) and level.owns(a) else a for a in args]
    dims = tuple([0 if isinstance(a, Wrapper) and level.owns(a) and a._wrapped.is_batched else None for a in args])
    with _below(level):
        if not any(dim == 0 for dim in dims):
            output, out_dims = call(cls, *values), None
        elif _overrides(cls, "vmap"):
            output, out_dims = _by_rule(cls, VmapInfo(level.size, level.randomness), dims, values)
        else:
            mapped = _batched_function(cls, level, dims)
            output = call(mapped, *values)
            out_dims = mapped.out_dims if isinstance(output, tuple) else mapped.out_dims[0]
        fronted = _mapped(output, lambda number, one: _fronted(one, _out_dim(out_dims, number)))
    return _mapped(
        fronted,
        lambda number, one: batched(level, one, is_batched=_out_dim(out_dims, number) is not None)
        if isinstance(one, Tensor) else one,
    )  # fmt: skip


def _by_rule(cls: Any, info: VmapInfo, dims: tuple[int | None, ...], values: Sequence[Any]) -> tuple[Any, Any]:
    """What the `vmap` that a user wrote gives: results, and where their batches are."""
    if cls.generate_vmap_rule:
        raise RuntimeError(BOTH.format(name=cls.__name__))
    result = cls.vmap(info, dims, *values)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(TWO_PARTS.format(name=cls.__name__, actual=type(result)))
    return result


def _out_dim(out_dims: Any, number: int) -> int | None:
    dim: int | None = out_dims[number] if isinstance(out_dims, tuple | list) else out_dims
    return dim


def _fronted(value: Any, dim: int | None) -> Any:
    """A result with its batch as the first axis."""
    return value if dim in (0, None) or not isinstance(value, Tensor) else OPERATORS.movedim(value, dim, 0)


class _Kept(NamedTuple):
    """A tensor of a batch that a context holds while there is no batch at work."""

    value: Tensor
    is_batched: bool


class Context:
    """What `setup_context`, `backward` and `jvp` see of a call on a batch or with tangents."""

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs)
        self.saved_tensors: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] | None = None
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them as `saved_tensors`."""
        self.saved_for_forward = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether there are zeros for what has no gradient or tangent."""
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        """Raise NotImplementedError: what is written stays that of one transform."""
        raise NotImplementedError("mark_dirty is not supported within flambeau.func transforms: return a new tensor")

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Accepted: what has no gradient is not gone back through."""

    def put_away(self, level: BatchLevel) -> None:
        """Hold values in the place of tensors of a level, which is about to be closed."""
        for name, value in vars(self).items():
            setattr(self, name, _mapped_deeply(value, lambda one: _kept(level, one)))

    def at(self, level: BatchLevel, saved: Sequence[Any]) -> Context:
        """The same with tensors of a level, and with these saved."""
        here = Context(self.needs_input_grad)
        for name, value in vars(self).items():
            setattr(here, name, _mapped_deeply(value, lambda one: _shown(level, one)))
        here.saved_tensors = tuple(
            _shown(level, kept if value is None or not isinstance(kept, _Kept) else _Kept(value, kept.is_batched))
            for kept, value in zip(self.saved_tensors, saved, strict=True)
        )
        return here


def _mapped_deeply(value: Any, body: Callable[[Any], Any]) -> Any:
    if type(value) in (tuple, list):
        return type(value)([_mapped_deeply(one, body) for one in value])
    return body(value)


def _kept(level: BatchLevel, value: Any) -> Any:
    if isinstance(value, Wrapper) and level.owns(value):
        return _Kept(value._wrapped.value, value._wrapped.is_batched)
    return _Kept(value, False) if isinstance(value, Tensor) else value


def _shown(level: BatchLevel, value: Any) -> Any:
    return batched(level, value.value, is_batched=value.is_batched) if isinstance(value, _Kept) else value


def _forward(cls: Any, context: Context, args: Sequence[Any]) -> Any:
    """The results of `forward` in either style, with what the context is to keep."""
    if not _overrides(cls, "setup_context"):
        return cls.forward(context, *args)
    result = cls.forward(*args)
    cls.setup_context(context, tuple(args), result)
    return result


class _Mapping(NamedTuple):
    """How a custom function is run on a batch."""

    function: Any
    size: int
    randomness: str
    dims: tuple[int | None, ...]
    """Where the batch is in each argument: in front, or nowhere."""

    def level(self) -> BatchLevel:
        """A batch of its own."""
        return BatchLevel(self.size, self.randomness)

    def wrapped(self, level: BatchLevel, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
        """Values as tensors of a level, those without an axis as they are."""
        return [v if v is None or d is None else batched(level, v) for v, d in zip(values, dims, strict=True)]


def _batched_function(cls: Any, outer: BatchLevel, dims: tuple[int | None, ...]) -> Any:
    """The custom function on whole batches: `forward` and `backward` under a batch of their own."""
    mapping = _Mapping(cls, outer.size, outer.randomness, dims)

    class Batched(_base(cls)):  # type: ignore[misc]
        out_dims: tuple[int | None, ...] = ()

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            result = _forward_on_batch(mapping, ctx, values)
            Batched.out_dims = ctx.out_dims
            return result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return _backward_on_batch(mapping, ctx, grads)

    Batched.__name__ = Batched.__qualname__ = cls.__name__
    return Batched


def _forward_on_batch(mapping: _Mapping, ctx: Any, values: Sequence[Any]) -> Any:
    inner, level = Context(ctx.needs_input_grad), mapping.level()
    with level.opened():
        result = _forward(mapping.function, inner, mapping.wrapped(level, values, mapping.dims))
        kept = [_kept(level, one) for one in (result if isinstance(result, tuple) else (result,))]
        inner.put_away(level)
    ctx.save_for_backward(*[_value(one) for one in inner.saved_tensors])
    ctx.set_materialize_grads(inner.materialize_grads)
    ctx.inner = inner
    ctx.out_dims = tuple([0 if isinstance(one, _Kept) and one.is_batched else None for one in kept])
    outputs = tuple([one.value if isinstance(one, _Kept) else one for one in kept])
    return outputs if isinstance(result, tuple) else outputs[0]


def _backward_on_batch(mapping: _Mapping, ctx: Any, grads: Sequence[Any]) -> Any:
    level, saved = mapping.level(), ctx.saved_tensors
    with level.opened():
        here = ctx.inner.at(level, saved)
        returned = mapping.function.way_back()(here, *mapping.wrapped(level, grads, ctx.out_dims))
        kept = [_kept(level, one) for one in (returned if isinstance(returned, tuple) else (returned,))]
    return tuple([_of_input(one, dim, mapping.size) for one, dim in zip(kept, mapping.dims, strict=False)])


def _value(one: Any) -> Tensor | None:
    return one.value if isinstance(one, _Kept) else None


def _of_input(gradient: Any, dim: int | None, size: int) -> Any:
    """The gradient of an input: summed over the batch where all examples share it."""
    if not isinstance(gradient, _Kept):
        return gradient
    value = gradient.value
    if dim is None:
        return OPERATORS.sum(value, [0]) if gradient.is_batched else value
    return value if gradient.is_batched else OPERATORS.expand(value, [size, *value._array.shape])


# -- tangents ---------------------------------------------------------------------------------------------------------


def _with_tangents(cls: Any, level: DualLevel, args: Sequence[Any], call: Call) -> Any:
    tangents = [level.tangent_of(a) if isinstance(a, Tensor) else None for a in args]
    values = [level.value_of(a) for a in args]
    with _below(level):
        result = call(cls, *values)
        out_tangents = None if all(t is None for t in tangents) else _tangents_of(cls, values, tangents, result)

    def dual(number: int, one: Any) -> Any:
        tangent = out_tangents[number] if isinstance(out_tangents, tuple) else out_tangents
        return level.dual(one, tangent) if isinstance(one, Tensor) else one

    return _mapped(result, dual)


def _tangents_of(cls: Any, values: Sequence[Any], tangents: Sequence[Tensor | None], result: Any) -> Any:
    """What the `jvp` that a user wrote gives. Raises NotImplementedError where there is none."""
    if not _overrides(cls, "jvp"):
        raise NotImplementedError(NO_JVP)
    context = Context([t is not None for t in tangents])
    if _overrides(cls, "setup_context"):
        cls.setup_context(context, tuple(values), result)
    else:
        cls.forward(context, *values)
    if context.saved_for_forward is not None:
        context.saved_tensors = context.saved_for_forward
    if not context.materialize_grads:
        return cls.jvp(context, *tangents)
    pairs = zip(values, tangents, strict=True)
    return cls.jvp(context, *[_zeros_for(v) if t is None and isinstance(v, Tensor) else t for v, t in pairs])


def _zeros_for(value: Tensor) -> Any:
    return OPERATORS.zeros_like(value)
