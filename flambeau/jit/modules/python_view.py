"""How objects of programs look in Python: the scripted module that stands for an object, found again by the object.

Methods that stay Python are given that module as `self`. Who makes scripted modules registers how.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from flambeau.program.object import ScriptObject
from flambeau.util.inversions import PACKAGE

_views: weakref.WeakKeyDictionary[ScriptObject, weakref.ref[Any]] = weakref.WeakKeyDictionary()
_makers: list[Callable[[ScriptObject], Any]] = []


def register(script_object: ScriptObject, view: Any) -> None:
    """Let `view` stand for an object for as long as it lives."""
    _views[script_object] = weakref.ref(view)


def known(script_object: ScriptObject) -> Any:
    """What stands for an object; None while nothing does."""
    view = _views.get(script_object)
    return None if view is None else view()


def made_by(maker: Callable[[ScriptObject], Any]) -> None:
    """Let `maker` make the views of objects whose view is gone."""
    _makers[:] = [maker]


_handles: list[Callable[[Any], Any]] = []


def handles_by(maker: Callable[[Any], Any]) -> None:
    """Let `maker` make what `module._c` is."""
    _handles[:] = [maker]


def handle_of(module: Any) -> Any:
    """`module._c`."""
    if not _handles:
        _ = PACKAGE.implementation._C  # which is imported when a program asks for it, and says how
    return _handles[0](module)


def view_of(script_object: Any) -> Any:
    """What stands for an object in Python; the value itself if it is no object of a program."""
    if not isinstance(script_object, ScriptObject):
        return script_object
    view = known(script_object)
    return _makers[0](script_object) if view is None else view
