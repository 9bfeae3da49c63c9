"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

COMPILED = "The stateless API can't be used with compiled modules: call it with the Python module"
Owner = tuple[dict[str, Any], str]
"""A module's table of tensors, and a name in it."""


def functional_call(
    module: Module, parameters_and_buffers: Mapping[str, Tensor], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module as if the tensors of these dotted names were its parameters and buffers.

    Arguments that are no tuple are the only one. With `tie_weights`, a tensor stands for all names of the one whose
    place it takes; with `strict`, all must be given, and no others. Raises RuntimeError otherwise, and TypeError for
    what is no tensor.

    >>> import flambeau
    >>> layer = flambeau.nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": flambeau.ones(1, 2)}, flambeau.tensor([3.0, 4.0])).tolist()
    [7.0]
    """
    if any("script_object" in vars(one) for one in module.modules()):
        raise RuntimeError(COMPILED)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _holding(module, dict(parameters_and_buffers), tie_weights, strict):
        return module(*positional, **(kwargs or {}))


functional_call.language_form = "functional_call"  # type: ignore[attr-defined]  # what calls in programs mean


def _owners(module: Module) -> dict[str, Owner]:
    tensors: dict[str, Owner] = {}
    for path, one in module.named_modules(remove_duplicate=False):
        tables: tuple[dict[str, Any], ...] = (one._parameters, one._buffers)
        for table in tables:
            tensors |= {f"{path}.{n}" if path else n: (table, n) for n, tensor in table.items() if tensor is not None}
    return tensors


@contextmanager
def _holding(module: Module, values: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    owners = _owners(module)
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: {value!r} is not a Tensor")
    if tie_weights:
        by_tensor = {id(owners[name][0][owners[name][1]]): value for name, value in values.items() if name in owners}
        tied = {n: by_tensor[id(t[k])] for n, (t, k) in owners.items() if n not in values and id(t[k]) in by_tensor}
    else:
        tied = {}
    if strict:
        _check(type(module).__name__, owners, {*values, *tied})
    known = {name: value for name, value in (values | tied).items() if name in owners}
    before = {name: owners[name][0][owners[name][1]] for name in known}
    _put(module, owners, known)
    try:
        yield
    finally:
        _put(module, owners, before)


def _put(module: Module, owners: Mapping[str, Owner], values: Mapping[str, Tensor]) -> None:
    for name, value in values.items():
        table, own = owners[name]
        table[own] = value
        owner = vars(module.get_submodule(name.rpartition(".")[0]))
        if own in (names := owner.get("_flat_weights_names", ())):
            owner["_flat_weights"][names.index(own)] = value


def _check(name: str, owners: Mapping[str, Owner], names: set[str]) -> None:
    said = []
    if unexpected := sorted(names - owners.keys()):
        said.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing := sorted(owners.keys() - names):
        said.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if said:
        raise RuntimeError(f"Error(s) in reparametrizing for {name}:\n\t" + "\n\t".join(said))
