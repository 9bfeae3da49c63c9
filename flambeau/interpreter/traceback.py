"""From an exception inside the machine to the error a caller sees, with the program's own traceback."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flambeau.interpreter.code import Code, Site
from flambeau.program.protected import class_of
from flambeau.util.errors import ExecutionError, Frame, InternalError, ScriptError, also

CUT_OUT: Final = frozenset({"prim::FusionGroup", "prim::NativeRegion"})
"""Nodes that stand for others: their errors come with the frames of these."""
Active = tuple[Code, int]
"""A code being run, and the site it has come to."""


def frames_of(active: Iterable[Active]) -> tuple[Frame, ...]:
    """The functions being executed, outermost first, those inlined into others included."""
    frames: list[Frame] = []
    for code, site in active:
        frames += site_frames(code.name, code.sites[site])
    return tuple(frames)


def site_frames(name: str, site: Site) -> list[Frame]:
    """The frames of one place in the code of function `name`: one, and one more for each call inlined around it.

    >>> site_frames("f", Site("aten::add", None, (("g", None),), None))
    [('f', None), ('g', None)]
    """
    frames: list[Frame] = []
    for callee, where in site.call_chain:
        frames.append((name, where))
        name = callee
    frames.append((name, site.range))
    return frames


def located(error: Exception, active: list[Active]) -> Exception:
    """The error to raise: what the program raised or an operator said, with the traceback.

    It is of the class that Python would have raised as well: an index error can be caught as IndexError. An error that
    comes with frames of its own, from a program called by a Python function, keeps them below these. What is wrong with
    Flambeau itself stays as it is.
    """
    if isinstance(error, InternalError):
        return error
    frames = frames_of(active)
    code, site_index = active[-1]
    site = code.sites[site_index]
    if isinstance(error, ScriptError | ExecutionError) and error.frames and site.kind in CUT_OUT:
        # A fused group is no function: its nodes know the calls around them, so they stand in place of the group.
        (_, where), *inner = error.frames
        return type(error)(error.message, (*frames_of(active[:-1]), (code.name, where), *inner))
    if isinstance(error, ScriptError | ExecutionError):
        kind = also(type(error), class_of(error)) if type(error) in (ScriptError, ExecutionError) else type(error)
        return kind(error.message, (*frames, *error.frames))
    text = str(error)
    if site.is_python and not isinstance(error, RuntimeError):
        text = f"{type(error).__name__}: {text}"
    elif isinstance(error, TypeError | AttributeError) and site.definition is not None:
        text = f"{text} (in {site.definition.full_name})"
    return also(ExecutionError, class_of(error))(text, frames)  # type: ignore[no-any-return]
