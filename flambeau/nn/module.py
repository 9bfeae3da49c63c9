"""`Module`: a tree of parameters, buffers and submodules with a `forward`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from flambeau.nn import conversion, hooks, modules_called, state, walking
from flambeau.nn.hooks import Hook, Hooks, Registered
from flambeau.nn.parameter import Buffer, Parameter
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch, observer
from flambeau.tensor.python_forms import typename
from flambeau.tensor.shared_memory import share
from flambeau.tensor.tensor import Tensor
from flambeau.util.hooks import RemovableHandle, add_hook

NO_PARAMETER = "cannot assign '{kind}' object to parameter '{name}' (torch.nn.Parameter or None required)"
NO_LEAF = (
    "Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
    "'{name}' as a function of another Tensor, compute the value in the forward() method."
)
NOT_INITIALISED = (
    "cannot assign {what} before Module.__init__() call: {name} has not been initialized. Call super().__init__() first"
)
NO_FORWARD = 'Module [{name}] is missing the required "forward" function; define it to make the module callable'
TOO_MANY = "Module.__init__ takes no arguments, but {name} gave it {what}"
_SLOTS = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}
_EXPECTED = {
    "_parameters": "as parameter '{name}' (flambeau.nn.Parameter or None expected)",
    "_modules": "as child module '{name}' (flambeau.nn.Module or None expected)",
    "_buffers": "as buffer '{name}' (flambeau.Tensor or None expected)",
}


class Module:
    """The base of layers and models.

    Assigning a `Parameter` or a `Module` to an attribute registers it; `register_buffer` registers a tensor that is
    state but not trained. `state_dict` and `load_state_dict` carry all of it by dotted names. Calling the module calls
    `forward`.

    >>> from flambeau import nn
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    >>> [name for name, _ in model.named_parameters()]
    ['0.weight', '0.bias']
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _transient: set[str]
    forward: Callable[..., Any]
    # Tables of hooks are made for an instance when it gets its first one.
    _forward_pre_hooks: Hooks = {}  # noqa: RUF012
    _forward_hooks: Hooks = {}  # noqa: RUF012
    _backward_hooks: Hooks = {}  # noqa: RUF012
    _backward_pre_hooks: Hooks = {}  # noqa: RUF012
    _is_full_backward_hook: bool | None = None
    """By which name hooks of gradients were registered, if any were."""
    _state_dict_hooks: Hooks = {}  # noqa: RUF012
    _load_state_dict_pre_hooks: Hooks = {}  # noqa: RUF012
    _load_state_dict_post_hooks: Hooks = {}  # noqa: RUF012
    _state_dict_pre_hooks: Hooks = {}  # noqa: RUF012
    HOOKS: ClassVar = (
        "_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks",
        "_state_dict_hooks", "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks", "_state_dict_pre_hooks",
    )  # fmt: skip
    _version: int = 1
    """What `_load_from_state_dict` is told that a state comes from."""
    _loads_plainly: bool = False
    """Whether `_load_from_state_dict`, though it is not this class's, puts off what it writes as this class does."""
    call_super_init: bool = False
    """Whether `__init__` hands its arguments on to the next base, for classes with several."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            raise TypeError(TOO_MANY.format(name=type(self).__name__, what=", ".join([*map(repr, args), *kwargs])))
        for slot in _SLOTS:
            object.__setattr__(self, slot, {})
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "training", True)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            if isinstance(value, Parameter | Module):
                what = "module" if isinstance(value, Module) else "parameters"
                raise AttributeError(NOT_INITIALISED.format(name=type(self).__name__, what=what))
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Parameter):
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Buffer):
            self._forget(name, but="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif isinstance(value, Module):
            self._forget(name, but="_modules")
            self._modules[name] = hooks.registered("module", self, name, value)
        elif (slot := self._slot(name)) is None:
            object.__setattr__(self, name, value)
        elif value is None or (slot == "_buffers" and isinstance(value, Tensor)):
            self.__dict__[slot][name] = value
        else:
            raise TypeError(f"cannot assign '{typename(value)}' {_EXPECTED[slot].format(name=name)}")

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for slot in _SLOTS:
            if slot in members and name in (table := members[slot]):
                return modules_called.read(name, table[name]) if modules_called.readers else table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        slot = self._slot(name)
        if slot is not None:
            del self.__dict__[slot][name]
            self._transient.discard(name)
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        inner = {*self._parameters, *self._buffers, *self._modules}
        return sorted({*super().__dir__(), *(name for name in inner if not name[0].isdigit())})  # names alone

    @property
    def _non_persistent_buffers_set(self) -> set[str]:
        return self._transient

    def _slot(self, name: str) -> str | None:
        return next((slot for slot in _SLOTS if name in self.__dict__[slot]), None)

    def _forget(self, name: str, *, but: str) -> None:
        """Take a name out of everything but the table that it is about to be set in, where it keeps its place."""
        self.__dict__.pop(name, None)
        for slot in _SLOTS:
            if slot != but:
                self.__dict__[slot].pop(name, None)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Register a parameter, or None for one that this instance does without. Raises TypeError for a tensor that is
        no `Parameter`, ValueError for one that was computed, KeyError for a name that is taken."""
        self._check_name(name, "_parameters")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(NO_PARAMETER.format(kind=typename(parameter), name=name))
        if parameter is not None and parameter._node is not None:
            raise ValueError(NO_LEAF.format(name=name))
        self._parameters[name] = hooks.registered("parameter", self, name, parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register state that is not trained; `persistent=False` leaves it out of `state_dict`."""
        self._check_name(name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (flambeau Tensor or None required)"
            )
        self._buffers[name] = hooks.registered("buffer", self, name, tensor)
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule under a name that need not be an identifier."""
        self._check_name(name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = hooks.registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: str, slot: str) -> None:
        """Raise KeyError unless what has this name, if anything has, is of the same kind."""
        if "_modules" not in self.__dict__:
            raise AttributeError(NOT_INITIALISED.format(name=type(self).__name__, what=_SLOTS[slot]))
        if not isinstance(name, str):
            raise TypeError(f"{_SLOTS[slot]} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            wrong = f'contain ".", got: {name}' if name else 'be empty string ""'
            raise KeyError(f"{_SLOTS[slot]} name can't {wrong}")
        if hasattr(self, name) and name not in self.__dict__[slot]:
            raise KeyError(f"attribute '{name}' already exists")

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; this one for "". Raises AttributeError."""
        return walking.submodule(self, target)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted name; with `strict`, in the place of one that is there.

        Raises ValueError for no name or no module, AttributeError for a name that leads nowhere.
        """
        walking.set_submodule(self, target, module, strict)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name. Raises AttributeError."""
        return walking.tensor(self, target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. Raises AttributeError."""
        return walking.tensor(self, target, "_buffers", "a buffer")

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        watching = observer.thread.observer
        if watching is not None:
            with watching.module(self):
                return self._run(args, kwargs)
        caller = modules_called.local.caller if modules_called.readers else None
        if caller is not None:
            return caller(self, args, kwargs, self._run)
        return self._run(args, kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or hooks.are_everywhere():
            return hooks.run(self, self._forward_pre_hooks, self._forward_hooks, args, kwargs)
        if self._backward_hooks or self._backward_pre_hooks:
            return hooks.run(self, {}, {}, args, kwargs)
        forward = getattr(self, "forward", None)
        if forward is None:
            raise NotImplementedError(NO_FORWARD.format(name=type(self).__name__))
        return forward(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it gives are the new arguments, unless it is None."""
        return add_hook(self._hooks("_forward_pre_hooks"), Registered(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, result)` after `forward`; what it gives is the new result, unless it is None."""
        return add_hook(self._hooks("_forward_hooks"), Registered(hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the arguments are known; a tuple that it
        gives takes their place."""
        hooks.check_kind(self, full=True)
        return add_hook(self._hooks("_backward_hooks"), Registered(hook), prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the results are known; a tuple that it gives takes
        their place."""
        return add_hook(self._hooks("_backward_pre_hooks"), Registered(hook), prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The older name of `register_full_backward_hook`. Raises RuntimeError for a module that has hooks by that."""
        hooks.check_kind(self, full=False)
        return add_hook(self._hooks("_backward_hooks"), Registered(hook))

    def _hooks(self, name: str) -> Hooks:
        if "_modules" not in self.__dict__:
            raise AttributeError(NOT_INITIALISED.format(name=type(self).__name__, what="hooks"))
        hooks: Hooks = self.__dict__.setdefault(name, {})
        return hooks

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and in every submodule."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Call `function` on every submodule, inner ones first, then on this one."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def share_memory(self) -> Self:
        """Put all parameters and buffers where processes that are forked from this one, or are sent the module, read
        and write them too.

        >>> from flambeau import nn
        >>> nn.Linear(2, 1).share_memory().weight.is_shared()
        True
        """
        share([*self.parameters(), *self.buffers()])
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget every parameter's gradient, or set it to zeros."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                dispatch.call("aten::zero_", parameter.grad)

    # -- converting ---------------------------------------------------------------------------------------------------

    def _apply(self, change: conversion.Change) -> Self:
        """Replace what every parameter and buffer holds by what `change` gives for it."""
        conversion.change_tensors(self, change)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating point parameters and buffers to a dtype, or move all to a device, in place."""
        return self._apply(conversion.to_change(*args, **kwargs))

    def type(self, dst_type: DType) -> Self:
        """Convert every parameter and buffer to a dtype, whatever it was."""
        return self._apply(lambda t: dispatch.call("aten::to", t, dst_type))

    def float(self) -> Self:
        """Floating point parameters and buffers as float32."""
        return self.to(dtypes.float32)

    def double(self) -> Self:
        """Floating point parameters and buffers as float64."""
        return self.to(dtypes.float64)

    def half(self) -> Self:
        """Floating point parameters and buffers as float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Self:
        """Floating point parameters and buffers as bfloat16."""
        return self.to(dtypes.bfloat16)

    def cpu(self) -> Self:
        """Every parameter and buffer in the host's memory."""
        return self.to("cpu")

    def cuda(self, device: int | str | None = None) -> Self:
        """Every parameter and buffer on a GPU. Raises RuntimeError where no tensor can be put there."""
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def to_empty(self, *, device: str | None, recurse: bool = True) -> Self:
        """Give every parameter and buffer new memory, on a device, that nothing has been written to."""
        conversion.change_tensors(
            self, lambda t: dispatch.call("aten::empty_like", t, device=device or t.device), recurse=recurse
        )
        return self

    # -- walking ------------------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module (named `prefix`) and all below it, with dotted names; each once unless told otherwise."""
        return walking.named_modules(self, set() if memo is None else memo, prefix, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once."""
        return walking.named_children(self)

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        return (child for _, child in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name; one that is shared comes once."""
        return walking.named_tensors(self, "_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name."""
        return walking.named_tensors(self, "_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    # -- state --------------------------------------------------------------------------------------------------------

    def state_dict(
        self, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, sharing memory with the module.

        They go into `destination`, if given, each name behind `prefix`; with `keep_vars` as the parameters themselves.
        """
        if destination is None:
            destination = state.empty()
        return state.collect(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Copy values in, or with `assign` take the given tensors. Nothing changes unless every size fits and, with
        `strict`, the names are the same.

        Raises RuntimeError listing all that does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = state.Loading(strict, assign, getattr(state_dict, "_metadata", {}))
        loading.visit(self, dict(state_dict), "", Module._load_from_state_dict)
        return loading.finish(type(self).__name__)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put what this module holds itself into `destination`; for modules with other ideas to override."""
        state.save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take what this module holds itself from `state_dict`; for modules with other ideas to override."""
        state.load_own(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def get_extra_state(self) -> Any:
        """State that is no tensor, for `state_dict`; a module that has some overrides this and `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override get_extra_state and set_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override get_extra_state and set_extra_state")

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` when the state is read."""
        return add_hook(self._hooks("_state_dict_hooks"), Registered(hook))

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is read."""
        return add_hook(self._hooks("_state_dict_pre_hooks"), Registered(hook))

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` when the state is read; it gives None."""
        return add_hook(self._hooks("_state_dict_hooks"), Registered(hook, gives_nothing=True))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        """Call `hook(state_dict, prefix, metadata, strict, missing, unexpected, errors)` before state is loaded."""
        return add_hook(self._hooks("_load_state_dict_pre_hooks"), Registered(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after state was loaded."""
        return add_hook(self._hooks("_load_state_dict_post_hooks"), Registered(hook))

    # -- text ---------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses; layers override it."""
        return ""

    def __repr__(self) -> str:
        children = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._modules.items()]
        extra = self.extra_repr().splitlines()
        if not children and len(extra) < 2:
            return f"{self._get_name()}({''.join(extra)})"
        inner = "\n  ".join([*extra, *children])
        return f"{self._get_name()}(\n  {inner}\n)"
