"""Over a tree of modules: which there are, what they hold, and what a dotted name leads to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.nn.members import M, Members


def named_modules(
    module: M, seen: set[M], prefix: str, remove_duplicate: bool
) -> Iterator[tuple[str, M]]:
    """A module and all below it, outer ones first. A module inside itself is not followed again."""
    waiting: list[tuple[str, M, tuple[int, ...]]] = [(prefix, module, ())]
    while waiting:
        path, current, around = waiting.pop()
        if current in seen or id(current) in around:
            continue
        if remove_duplicate:
            seen.add(current)
        yield path, current
        inside = () if remove_duplicate else (*around, id(current))
        children = [(f"{path}.{n}" if path else n, c, inside) for n, c in current._modules.items() if c is not None]
        waiting.extend(reversed(children))


def named_children(module: M) -> Iterator[tuple[str, M]]:
    """The direct submodules, each once."""
    seen: set[int] = set()
    for name, child in module._modules.items():
        if child is not None and id(child) not in seen:
            seen.add(id(child))
            yield name, child


def named_tensors(
    module: Members, slot: str, prefix: str, recurse: bool, remove_duplicate: bool
) -> Iterator[tuple[str, Any]]:
    """The parameters or buffers of a module, and of those below it if wanted."""
    seen: set[int] = set()
    inside = module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else ((prefix, module),)
    for path, value in inside:
        for name, tensor in getattr(value, slot).items():
            if tensor is None or (remove_duplicate and id(tensor) in seen):
                continue
            seen.add(id(tensor))
            yield (f"{path}.{name}" if path else name), tensor


def submodule(module: M, target: str) -> M:
    """What a dotted name leads to. Raises AttributeError naming the step that failed."""
    current = module
    for name in target.split(".") if target else ():
        step = getattr(current, name, None) if not hasattr(current, "_modules") else current._modules.get(name)
        if step is None:
            is_there = hasattr(current, name)
            reason = f"`{name}` is not an nn.Module" if is_there else f"{current._get_name()} has no attribute `{name}`"
            raise AttributeError(reason)
        current = step
    return current


def set_submodule(module: Members, target: str, replacement: Members, strict: bool) -> None:
    """Put a module at a dotted name. Raises ValueError and AttributeError as `Module.set_submodule`."""
    if not target:
        raise ValueError("Cannot set the submodule without a target name!")
    if not hasattr(replacement, "_modules"):
        raise ValueError(f"`module` is not an nn.Module, found {type(replacement)}")
    path, _, name = target.rpartition(".")
    owner = submodule(module, path)
    if (strict or hasattr(owner, name)) and name not in owner._modules:
        submodule(owner, name)
    owner._modules[name] = replacement


def tensor(module: Members, target: str, slot: str, what: str) -> Any:
    """The parameter or buffer of a dotted name. Raises AttributeError."""
    path, _, name = target.rpartition(".")
    owner = submodule(module, path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    value = getattr(owner, slot).get(name)
    if value is None:
        raise AttributeError(f"`{name}` is not {what}")
    return value
