"""What a module is to those that walk over it, save, load, convert and call it: tables of what it holds, and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from flambeau.nn.parameter import Parameter
from flambeau.tensor.tensor import Tensor


class Members(Protocol):
    """The parameters, buffers and submodules of a module by name, and what it does with its state."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _transient: set[str]
    """Names of buffers that are not saved."""
    forward: Callable[..., Any]
    _state_dict_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]
    _version: int
    _loads_plainly: bool

    def _get_name(self) -> str: ...

    def modules(self) -> Iterator[Any]:
        """The module and all below it."""

    def named_modules(self, *, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The module and all below it, with their dotted names."""

    def get_extra_state(self) -> Any:
        """State of the class that is no tensor."""

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` gave."""

    def state_dict(self, *, destination: Any, prefix: str, keep_vars: bool) -> dict[str, Any]:
        """The tensors of the module and all below it, by dotted names."""

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None: ...

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None: ...  # fmt: skip


M = TypeVar("M", bound=Members)
"""A module of any class."""
