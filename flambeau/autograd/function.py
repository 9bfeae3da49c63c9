"""Custom functions: operations whose gradient the user writes.

>>> import flambeau
>>> class Cube(Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x**3
...     @staticmethod
...     def backward(ctx, grad):
...         (x,) = ctx.saved_tensors
...         return grad * 3 * x**2
>>> x = flambeau.tensor(2.0, requires_grad=True)
>>> y = Cube.apply(x)
>>> y.backward()
>>> y.grad_fn.name(), x.grad
('CubeBackward', tensor(12.))
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd import function_levels, views
from flambeau.autograd.function_node import FunctionCtx
from flambeau.autograd.node import Gradients, Node, edge_of
from flambeau.tensor.grad_mode import is_grad_enabled, no_grad, set_grad_enabled
from flambeau.tensor.observer import current
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, window
from flambeau.util.user_code import warn_user

LEGACY: Final = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method: decorate forward and backward with @staticmethod, and call {name}.apply(...)"
)
NO_OBJECTS: Final = "{name} should not be instantiated: its methods are static. Call {name}.apply(...)"
NO_FORWARD: Final = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD: Final = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
LEAF_CHANGED: Final = "a leaf Variable that requires grad has been used in an in-place operation."
DIRTY_KIND: Final = "mark_dirty can only accept variables, but argument {} is of type {}"
NON_DIFFERENTIABLE_KIND: Final = (
    "mark_non_differentiable only accepts variable arguments, but got argument {} of type {}"
)
DIRTY_LOST: Final = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_VIEW: Final = (
    "{name} changed a view in place, and has other results, or takes it not first: return a new tensor instead"
)
NO_SETUP: Final = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod. {name} takes ctx in forward, and transforms around this one differentiate too"
)
BOTH_NAMES: Final = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)
TWICE: Final = "trying to differentiate twice a function that was marked with @once_differentiable"


class Function:
    """Base class of custom functions: give a subclass static methods `forward` and `backward`, and call `apply`.

    `forward(ctx, *args)` computes the results. In the second style it is `forward(*args)`, and
    `setup_context(ctx, inputs, output)` says what to keep. `backward(ctx, *grads)` gets a gradient per result and gives
    one per argument, None for those that have none. `jvp(ctx, *tangents)` gives the tangents of the results. Under
    `vmap`, `forward` and `backward` run on whole batches, or `vmap(info, in_dims, *args)` does: it is told
    `info.batch_size` and `info.randomness`, and gives `(output, out_dims)`.

    >>> import flambeau
    >>> class Doubled(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = flambeau.tensor(1.0, requires_grad=True)
    >>> Doubled.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    _backward_cls: Any = None
    """The class of its nodes, once it has been called."""
    generate_vmap_rule = False
    """Whether `vmap` runs `forward` and `backward` under itself; a function with neither that nor `vmap` is refused."""

    _call: Any = None
    """Runs a call, without anybody looking on: always the same function."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._call = functools.partial(_call, cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(NO_OBJECTS.format(name=type(self).__name__), DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(LEGACY.format(name=type(self).__name__))

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results, of `ctx` and the arguments, or of the arguments alone."""
        raise NotImplementedError(NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what `backward` needs, where `forward` takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments, from those of the results."""
        raise NotImplementedError(NO_BACKWARD)

    vjp = backward
    """Another name that a subclass may give its `backward`."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """What the function is on batches: its results, and where their batch axis is."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod.")

    @classmethod
    def way_back(cls) -> Callable[..., Any]:
        """What gives the gradients: `backward`, or `vjp`. Raises RuntimeError if a class has both."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(BOTH_NAMES)
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record the call as one node if an argument asks for gradients."""
        values = _bound(cls, args, kwargs)
        watching = current()
        if watching is not None:
            return watching.called_python(cls.__name__, cls._call, values)
        return _call(cls, *values)


BackwardCFunction = FunctionCtx
"""The class of all nodes of custom functions."""


def _bound(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position. Raises TypeError for those that `forward` does not take."""
    if not kwargs:
        return args
    bound = inspect.Signature(parameters_of(cls)).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def parameters_of(cls: type[Function]) -> list[inspect.Parameter]:
    """What `apply` takes: the parameters of `forward`, without its context."""
    parameters = list(inspect.signature(cls.forward).parameters.values())
    return parameters if _has_setup(cls) else parameters[1:]


def _has_setup(cls: type[Function]) -> bool:
    return cls.setup_context is not Function.setup_context


def _node_type(cls: type[Function]) -> type[FunctionCtx]:
    known: type[FunctionCtx] | None = cls.__dict__.get("_backward_cls")
    if known is None:
        known = type(f"{cls.__name__}Backward", (FunctionCtx,), {"__module__": cls.__module__})
        cls._backward_cls = known
    return known


def _call(cls: type[Function], *args: Any) -> Any:
    level = function_levels.owner(args)
    if level is None:
        return _recorded(cls, args, None)
    if not (is_grad_enabled() and function_levels.has_tape(level, args)):
        return function_levels.at_level(cls, level, args, _call)
    if _has_setup(cls):
        lifted = [level.lifted(a) if isinstance(a, Tensor) else a for a in args]
        return _recorded(cls, lifted, lambda: function_levels.at_level(cls, level, lifted, _call))
    if function_levels.asks_further_out(args):
        raise RuntimeError(NO_SETUP.format(name=cls.__name__))
    return _recorded(cls, args, None)


def _recorded(cls: type[Function], args: Sequence[Any], outcome: Callable[[], Any] | None) -> Any:
    """A call on one tape; `outcome` runs the function in the place of `forward`."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    is_recorded = is_grad_enabled()
    edges = [edge_of(tensor) if is_recorded else None for tensor in tensors]
    ctx = _node_type(cls)(cls, args, edges)
    behind = [views.base_edge(tensor) for tensor in tensors]
    ready = None if outcome is None else outcome()
    with set_grad_enabled(False):
        if _has_setup(cls):
            result = cls.forward(*args) if outcome is None else ready
            cls.setup_context(ctx, tuple(args), result)
        else:
            result = cls.forward(ctx, *args)
    outputs = list(result) if isinstance(result, tuple) else [result]
    is_recorded = any(edge is not None for edge in edges)
    finished = _finished(ctx, tensors, behind, outputs, is_recorded)
    return tuple(finished) if isinstance(result, tuple) else finished[0]


def _finished(
    ctx: FunctionCtx, tensors: list[Tensor], behind: list[Any], outputs: list[Any], is_recorded: bool
) -> list[Any]:
    """The results of a call, with the node that they come from."""
    dirty = _marked(ctx.dirty_tensors, DIRTY_KIND)
    plain = _marked(ctx.non_differentiable, NON_DIFFERENTIABLE_KIND)
    if not all(any(tensor is output for output in outputs) for tensor in dirty):
        raise RuntimeError(DIRTY_LOST)
    saved_from, results = list(outputs), []
    for number, output in enumerate(outputs):
        input_index = next((k for k, tensor in enumerate(tensors) if tensor is output), -1)
        if not isinstance(output, Tensor):
            results.append(output)
        elif input_index >= 0 and any(tensor is output for tensor in dirty):
            if is_recorded:
                _write(ctx, output, behind[input_index], input_index, number, len(outputs))
            results.append(output)
        else:
            flows = is_recorded and not any(tensor is output for tensor in plain)
            if input_index >= 0:  # the same memory, and another tensor
                output = settle(window(output._array, output._storage, output))
            results.append(_attached(ctx, output, number) if flows else output)
    ctx.keep(saved_from)
    return results


def _attached(ctx: FunctionCtx, output: Tensor, number: int) -> Tensor:
    """A result that knows its node, if it is of floats."""
    if output._array.dtype.kind in "fcV":
        output._node, output.output_nr, output._made_in = ctx, number, None
        ctx.shown = None if output._base is None else output._base._node
    return output


def _marked(tensors: Sequence[Any], text: str) -> list[Tensor]:
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise RuntimeError(text.format(number, type(tensor).__name__))
    return list(tensors)


def _write(ctx: FunctionCtx, target: Tensor, behind: Any, input_index: int, number: int, count: int) -> None:
    """An input that `forward` changed in place is a result from now on."""
    base = target._base
    for leaf in (target, base):
        if leaf is not None and leaf._requires_grad and leaf._node is None:
            raise RuntimeError(LEAF_CHANGED)
    target._storage.version += 1
    if base is not None and (input_index > 0 or count > 1):
        raise RuntimeError(DIRTY_VIEW.format(name=ctx.name()))
    views.note_written(target, behind, ctx)
    if base is None:
        target.output_nr = number


class OnceDifferentiated(Node):
    """Stands behind the gradients of a function that cannot be differentiated twice."""

    __slots__ = ()

    def apply(self, gradients: Gradients) -> Gradients:
        """Raise: there is no second derivative."""
        raise RuntimeError(TWICE)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that cannot be differentiated itself: going back through it raises RuntimeError.

    >>> import flambeau
    >>> class Twice(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = flambeau.ones(1, requires_grad=True)
    >>> flambeau.autograd.grad(Twice.apply(x), x)
    (tensor([2.]),)
    """

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            returned = function(ctx, *grads)
        asking = [tensor for tensor in tensors_in(list(grads)) if tensor.requires_grad]
        if not is_grad_enabled() or not asking:
            return returned
        node = OnceDifferentiated([edge_of(tensor) for tensor in asking])
        listed = returned if isinstance(returned, tuple) else (returned,)
        behind = []
        for tensor in listed:
            if isinstance(tensor, Tensor):
                tensor = settle(window(tensor._array, tensor._storage))
                tensor._node = node
            behind.append(tensor)
        return tuple(behind) if isinstance(returned, tuple) else behind[0]

    return wrapper


class InplaceFunction(Function):
    """A base class of custom functions that may write their argument, as older programs have it: `Function` does, too.

    Args:
        inplace: kept as `inplace`.

    >>> import flambeau
    >>> class Doubled(InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.mul_(2)
    >>> Doubled.apply(flambeau.ones(1))
    tensor([2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
