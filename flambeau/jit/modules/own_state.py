"""State dicts of scripted modules whose `_save_to_state_dict` or `_load_from_state_dict` is compiled.

A compiled method sees the tensors of the dict that it is given, and what it puts there is there afterwards; lists of
names and of messages likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from flambeau.nn.state import PENDING
from flambeau.program.shared import SharedDict, SharedList
from flambeau.tensor.tensor import Tensor


def save(method: Any, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """What the module's own method puts into a state dict."""
    shared = _tensors(destination)
    method(shared, prefix, keep_vars)
    destination.update(shared.shared)


def load(
    method: Any, state: Mapping[str, Any], prefix: str, metadata: Mapping[str, Any], strict: bool,
    *lists: list[str],
) -> None:  # fmt: skip
    """Have the module's own method take what it wants; it adds to the lists what is missing, unexpected, or wrong."""
    shared = [SimpleNamespace(shared=SharedList(names)) for names in lists]
    plain = {name: value for name, value in metadata.items() if name != PENDING}
    method(_tensors(state), prefix, plain, strict, *shared)
    for names, tensors in zip(lists, shared, strict=True):
        names[:] = tensors.shared


def _tensors(state: Mapping[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(shared=SharedDict((k, v) for k, v in state.items() if isinstance(v, Tensor)))
