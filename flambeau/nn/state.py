"""The state of a tree of modules as a dict of tensors by dotted name, taken out and loaded.

Modules may do their own part another way: by `_save_to_state_dict`, `_load_from_state_dict`, extra state or hooks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from flambeau.nn.members import Members
from flambeau.nn.parameter import Parameter
from flambeau.nn.swapped_parameters import get_swap_module_params_on_conversion
from flambeau.nn.uninitialized import NO_SHAPE, UninitializedBuffer, UninitializedParameter, is_lazy
from flambeau.tensor import dispatch
from flambeau.tensor.swapping import swap_tensors
from flambeau.tensor.tensor import Tensor

EXTRA_STATE = "_extra_state"
PENDING = "pending"
"""The key in a load's metadata of the writes that are still to be done."""


class IncompatibleKeys(NamedTuple):
    """The names that loading found on one side only."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def empty() -> dict[str, Any]:
    """Where state is gathered. `_metadata` has the versions of the modules it comes from, by the modules' names."""
    destination: Any = OrderedDict()
    destination._metadata = OrderedDict()
    return destination


def own_tensors(module: Members) -> Iterator[tuple[str, Tensor]]:
    """The parameters and persistent buffers that a module holds itself."""
    for holder in (module._parameters, module._buffers):
        for name, tensor in holder.items():
            if tensor is not None and name not in module._transient:
                yield name, tensor


def has_extra_state(module: Members) -> bool:
    """Whether the module's class has state that is no tensor."""
    return type(module).get_extra_state.__qualname__ != "Module.get_extra_state"


def save_own(module: Members, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """What a module without ideas of its own puts into a state dict."""
    for name, tensor in own_tensors(module):
        destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    if has_extra_state(module):
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def collect(module: Members, destination: dict[str, Any], prefix: str, keep_vars: bool) -> dict[str, Any]:
    """The state of a module and all below it. Raises RuntimeError for a hook that gives what it may not."""
    for before in module._state_dict_pre_hooks.values():
        before.function(module, prefix, keep_vars)
    local: dict[str, Any] = {"version": module._version}
    if (metadata := getattr(destination, "_metadata", None)) is not None:
        metadata[prefix[:-1]] = local
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        returned = hook.function(module, destination, prefix, local)
        if hook.gives_nothing and returned is not None:
            raise RuntimeError("state_dict post-hook must return None: it changes the dict that it is given")
        destination = destination if returned is None else returned
    return destination


class Loading:
    """One load of a state dict: what was missing, not expected, or did not fit; and what is to be written."""

    def __init__(self, strict: bool, assign: bool, metadata: Mapping[str, dict[str, Any]]) -> None:
        self.strict = strict
        self.assign = assign
        self.metadata = metadata
        """What was kept of each module, by its name: its version, if the state dict says so."""
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        self.pending: list[Callable[[], Any]] = []
        """What is done once it is known that everything fits."""
        self.then: list[Callable[[], Any]] = []
        """Hooks behind that: they may say that keys are no matter."""

    def visit(self, module: Members, state: dict[str, Any], prefix: str, plain_load: Any) -> None:
        """Look at a module and all below it; `state` has their part alone. Modules that load in a way of their own do
        it now."""
        metadata = {**self.metadata.get(prefix[:-1], {}), "assign_to_params_buffers": self.assign}
        if type(module)._loads_plainly or type(module)._load_from_state_dict is plain_load:
            metadata[PENDING] = self.pending
        lists = (self.missing, self.unexpected, self.errors)
        for hook in module._load_state_dict_pre_hooks.values():
            leading = (module,) if hook.with_kwargs else ()
            hook.function(*leading, state, prefix, metadata, True, *lists)
        module._load_from_state_dict(state, prefix, metadata, True, *lists)
        parts: dict[str, dict[str, Any]] = {}
        for key, value in state.items():
            parts.setdefault(key[len(prefix) :].partition(".")[0], {})[key] = value
        for name, child in module._modules.items():
            if child is not None:
                self.visit(child, parts.get(name, {}), f"{prefix}{name}.", plain_load)
        for hook in module._load_state_dict_post_hooks.values():
            self.then.append(partial(hook.function, module, IncompatibleKeys(self.missing, self.unexpected)))

    def finish(self, name: str) -> IncompatibleKeys:
        """Write everything. Raises RuntimeError listing all that is wrong: with nothing written, unless there are hooks
        behind loading, which may take names off the list."""
        if self.errors or not self.then:
            self._refuse(name)
        for write in (*self.pending, *self.then):
            write()
        self._refuse(name)
        return IncompatibleKeys(self.missing, self.unexpected)

    def _refuse(self, name: str) -> None:
        listed = list(self.errors)
        if self.strict and self.unexpected:
            listed.insert(0, f"Unexpected key(s) in state_dict: {', '.join(map(_quoted, self.unexpected))}.")
        if self.strict and self.missing:
            listed.insert(0, f"Missing key(s) in state_dict: {', '.join(map(_quoted, self.missing))}.")
        if listed:
            raise RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t" + "\n\t".join(listed))


def load_own(
    module: Members, state: Mapping[str, Any], prefix: str, metadata: dict[str, Any], strict: bool,
    missing: list[str], unexpected: list[str], errors: list[str],
) -> None:  # fmt: skip
    """What a module without ideas of its own takes from a state dict. Values that do not fit are noted, not loaded."""
    pending: list[Callable[[], Any]] = metadata.get(PENDING, [])
    lacking: list[str] = []
    for name, tensor in own_tensors(module):
        key = prefix + name
        if key not in state:
            lacking.append(key)
        elif problem := misfit(key, state[key], tensor):
            errors.append(problem)
        else:
            pending.append(partial(_write, module, name, tensor, state[key], metadata.get("assign_to_params_buffers")))
    extra = prefix + EXTRA_STATE
    if has_extra_state(module):
        if extra in state:
            pending.append(partial(module.set_extra_state, state[extra]))
        else:
            lacking.append(extra)
    if strict:
        missing.extend(lacking)
        unexpected.extend(_unexpected_keys(module, state, prefix))
    if PENDING not in metadata:
        for write in pending:
            write()


def _unexpected_keys(module: Members, state: Mapping[str, Any], prefix: str) -> list[str]:
    """The keys that begin with a module's prefix and name neither a tensor, a submodule nor extra state of it."""
    names = {name for name, _ in own_tensors(module)}
    names |= {name for name, child in module._modules.items() if child is not None}
    if has_extra_state(module):
        names.add(EXTRA_STATE)
    return [key for key in state if key.startswith(prefix) and key[len(prefix) :].partition(".")[0] not in names]


def _write(module: Members, name: str, tensor: Tensor, value: Tensor, assign: bool | None) -> None:
    if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
        if is_lazy(value):
            return
        tensor.materialize(list(value.shape))
    if get_swap_module_params_on_conversion():
        _swap(tensor, value, bool(assign))
        return
    if not assign:
        dispatch.call("aten::copy_", tensor.detach(), value)
        return
    is_parameter = isinstance(tensor, Parameter) and not isinstance(value, Parameter)
    setattr(module, name, Parameter(value, tensor.requires_grad) if is_parameter else value)


def _swap(tensor: Tensor, value: Tensor, assign: bool) -> None:
    """Exchange a parameter or buffer with what it makes of a value."""
    loaded: Tensor = tensor.module_load(value, assign=assign)
    if isinstance(tensor, Parameter) and not isinstance(loaded, Parameter):
        loaded = Parameter(loaded, tensor.requires_grad)
    elif loaded is value:
        loaded = value.detach()
    swap_tensors(tensor, loaded)


def misfit(key: str, value: Any, tensor: Tensor) -> str:
    """Why a value cannot be loaded into a tensor; empty if it can."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected flambeau.Tensor or Tensor-like object from '
            f"checkpoint but received {type(value).__name__}"
        )
    if is_lazy(tensor):
        return ""
    if is_lazy(value):
        return f"{key} has no sizes yet in the state, but has in the model: {NO_SHAPE}"
    if tuple(value.shape) != tuple(tensor.shape):
        return (
            f"size mismatch for {key}: copying a param with shape torch.Size({list(value.shape)}) from checkpoint, the "
            f"shape in current model is torch.Size({list(tensor.shape)})."
        )
    return ""


def _quoted(name: str) -> str:
    return f'"{name}"'
