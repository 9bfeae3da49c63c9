"""What nodes remember of where they come from: a stack trace, the node of another graph, notes of the program.

A node that is made within `preserve_node_meta()` takes over what is noted then: an interpreter notes each node that it
runs, `annotate` what a program says.

>>> from flambeau import fx
>>> def f(x):
...     with annotate({"part": "head"}):
...         return x + 1
>>> with preserve_node_meta():
...     graph = fx.symbolic_trace(f).graph
>>> [node.meta.get("custom") for node in graph.nodes]
[None, {'part': 'head'}, None]
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta",
    "set_current_meta", "set_stack_trace",
]  # fmt: skip

_is_kept: Final[ContextVar[bool]] = ContextVar("is_kept", default=False)
_noted: Final[ContextVar[Mapping[str, Any]]] = ContextVar("noted", default={})  # noqa: B039 - nobody changes it


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within the block, new nodes take over what is noted; what is noted in it is forgotten behind it.

    Args:
        enable: whether they do.

    >>> with preserve_node_meta():
    ...     has_preserved_node_meta()
    True
    """
    kept, noted = _is_kept.set(enable), _noted.set(_noted.get())
    try:
        yield
    finally:
        _noted.reset(noted)
        _is_kept.reset(kept)


def has_preserved_node_meta() -> bool:
    """Whether new nodes take over what is noted.

    >>> has_preserved_node_meta()
    False
    """
    return _is_kept.get()


def get_current_meta() -> dict[str, Any]:
    """What is noted now, as `meta` of a node has it.

    >>> get_current_meta()
    {}
    """
    return dict(_noted.get())


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Within the block, what a node remembers is noted, and new nodes that take it over say `from_node`.

    Args:
        node: a node; one of another graph, usually.
        pass_name: what makes new nodes of it.

    Nothing happens outside of `preserve_node_meta()`.

    >>> from flambeau import fx
    >>> node = fx.Graph().placeholder("x")
    >>> node.meta["part"] = "head"
    >>> with preserve_node_meta(), set_current_meta(node, "copying"):
    ...     get_current_meta()
    {'part': 'head', 'from_node': [('x', 'copying')]}
    """
    if not (_is_kept.get() and node.meta):
        yield
        return
    origin = [*node.meta.get("from_node", ()), (node.name, pass_name or node.target)]
    token = _noted.set({**node.meta, "from_node": origin})
    try:
        yield
    finally:
        _noted.reset(token)


@contextmanager
def annotate(annotation_dict: Mapping[str, Any]) -> Iterator[None]:
    """Within the block, new nodes have these entries in `meta["custom"]`, beside those of blocks around it.

    Args:
        annotation_dict: names with values.

    Nothing happens outside of `preserve_node_meta()`.

    >>> with preserve_node_meta(), annotate({"part": "head"}), annotate({"layer": 3}):
    ...     get_current_meta()
    {'custom': {'part': 'head', 'layer': 3}}
    """
    if not _is_kept.get():
        yield
        return
    noted = _noted.get()
    token = _noted.set({**noted, "custom": {**noted.get("custom", {}), **annotation_dict}})
    try:
        yield
    finally:
        _noted.reset(token)


def annotate_fn(annotation_dict: Mapping[str, Any]) -> Callable[[F], F]:
    """A decorator: calls of the function are within `annotate(annotation_dict)`.

    >>> @annotate_fn({"part": "tail"})
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Note a stack trace, as lines, for nodes that follow; outside of `preserve_node_meta()` nothing happens.

    >>> with preserve_node_meta():
    ...     set_stack_trace(["line 1"])
    ...     get_current_meta()
    {'stack_trace': 'line 1'}
    """
    if _is_kept.get() and stack:
        _noted.set({**_noted.get(), "stack_trace": "".join(stack)})


def format_stack() -> list[str]:
    """The stack trace that is noted, or, outside of `preserve_node_meta()`, the one of who asks.

    >>> with preserve_node_meta():
    ...     set_stack_trace(["line 1"])
    ...     format_stack()
    ['line 1']
    """
    if _is_kept.get():
        return [str(_noted.get().get("stack_trace", ""))]
    return traceback.format_list(traceback.extract_stack()[:-1])


def note(node: Any) -> None:
    """Have a new node take over what is noted."""
    if _is_kept.get():
        node.meta.update(_noted.get())


def users_stack(frame: FrameType | None) -> str:
    """The stack trace of a frame, without lines of this package."""
    lines = [one for one in traceback.extract_stack(frame) if not one.filename.startswith(_OWN)]
    return "".join(traceback.format_list(lines)).strip()


_OWN: Final = __file__.rpartition("fx")[0]
