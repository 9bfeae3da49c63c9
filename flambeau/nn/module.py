"""`Module`: a tree of parameters, buffers and submodules with a `forward`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from flambeau.nn.parameter import Parameter
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch, observer
from flambeau.tensor.tensor import Tensor

NOT_INITIALISED = (
    "{name} has not been initialized: call super().__init__() before assigning parameters, buffers or submodules."
)
_SLOTS = ("_parameters", "_buffers", "_modules")


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

    def __init__(self) -> None:
        for slot in _SLOTS:
            object.__setattr__(self, slot, {})
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "training", True)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            if isinstance(value, Parameter | Module):
                raise AttributeError(NOT_INITIALISED.format(name=type(self).__name__))
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Parameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif name in self._parameters and value is not None:
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as parameter '{name}' (flambeau.nn.Parameter or None expected)"
            )
        elif (holder := self._holder(name)) is not None and (value is None or isinstance(value, Tensor)):
            holder[name] = value
        else:
            self._forget(name)
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for slot in _SLOTS:
            held = self.__dict__.get(slot)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if (holder := self._holder(name)) is not None:
            del holder[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _holder(self, name: str) -> dict[str, Any] | None:
        return next((self.__dict__[slot] for slot in _SLOTS if name in self.__dict__[slot]), None)

    def _forget(self, name: str) -> None:
        self.__dict__.pop(name, None)
        for slot in _SLOTS:
            self.__dict__[slot].pop(name, None)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Register a parameter, or None for one that this instance does without."""
        self._check_name(name)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register state that is not trained; `persistent=False` leaves it out of `state_dict`."""
        self._check_name(name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule under a name that need not be an identifier."""
        self._check_name(name)
        self._modules[name] = module

    def _check_name(self, name: str) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(NOT_INITIALISED.format(name=type(self).__name__))
        if "." in name or not name:
            raise KeyError(f"a name can't be empty or contain '.', got {name!r}")
        if hasattr(self, name) and self._holder(name) is None:
            raise KeyError(f"attribute '{name}' already exists")

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "forward"):
            raise TypeError(f"{type(self).__name__} has no method 'forward'; define it to make the module callable")
        watching = observer.current()
        if watching is None:
            return self.forward(*args, **kwargs)
        with watching.module(self):
            return self.forward(*args, **kwargs)

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and in every submodule."""
        for module in self.modules():
            module.training = mode
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

    def to(self, dtype: DType) -> Self:
        """Convert floating point parameters and buffers to `dtype`, in place."""
        for module in self.modules():
            for holder in (module._parameters, module._buffers):
                for name, tensor in holder.items():
                    if tensor is not None and tensor.dtype.is_floating_point:
                        moved = dispatch.call("aten::to", tensor.detach(), dtype)
                        holder[name] = (
                            Parameter(moved, tensor.requires_grad) if isinstance(tensor, Parameter) else moved
                        )
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    # -- walking ------------------------------------------------------------------------------------------------------

    def named_modules(self, prefix: str = "", _seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """This module (named `prefix`) and all below it, each once, with dotted names."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names."""
        return ((name, child) for name, child in self._modules.items() if child is not None)

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        return (child for _, child in self.named_children())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name; one that is shared comes once."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _named(self, slot: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else ((prefix, self),):
            for name, tensor in module.__dict__[slot].items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield (f"{path}.{name}" if path else name), tensor

    # -- state --------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by dotted name, sharing memory with the module."""
        found: dict[str, Tensor] = {}
        for path, module in self.named_modules():
            for holder in (module._parameters, module._buffers):
                for name, tensor in holder.items():
                    if tensor is not None and name not in module._transient:
                        found[f"{path}.{name}" if path else name] = tensor.detach()
        return found

    def load_state_dict(self, state: Mapping[str, Tensor], strict: bool = True) -> None:
        """Copy values in. Nothing changes unless every size fits and, with `strict`, the names are the same.

        Raises RuntimeError listing all that does not fit.
        """
        own = self.state_dict()
        problems = []
        if strict:
            missing, unexpected = own.keys() - state.keys(), state.keys() - own.keys()
            problems += [f"Missing key(s) in state_dict: {', '.join(sorted(missing))}"] if missing else []
            problems += [f"Unexpected key(s) in state_dict: {', '.join(sorted(unexpected))}"] if unexpected else []
        problems += [
            f"size mismatch for {name}: copying a tensor with shape {tuple(state[name].shape)}, "
            f"the shape in the current model is {tuple(tensor.shape)}"
            for name, tensor in own.items()
            if name in state and tuple(state[name].shape) != tuple(tensor.shape)
        ]
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        for name, tensor in own.items():
            if name in state:
                dispatch.call("aten::copy_", tensor, state[name])

    # -- text ---------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses; layers override it."""
        return ""

    def __repr__(self) -> str:
        children = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._modules.items()]
        extra = self.extra_repr()
        if not children:
            return f"{type(self).__name__}({extra})"
        inner = "\n  ".join([*([extra] if extra else []), *children])
        return f"{type(self).__name__}(\n  {inner}\n)"
