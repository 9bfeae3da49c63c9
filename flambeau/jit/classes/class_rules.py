"""Which Python classes programs can have, and why not the others."""

from __future__ import annotations

import abc
import inspect
import sys
import sysconfig
from types import FunctionType
from typing import Final

from flambeau.frontend.source.class_source import class_range
from flambeau.jit.classes.records import is_generated
from flambeau.util.errors import CompileError

INHERITS = (
    "Class '{name}' does not support inheritance from {base}: a class of programs may only inherit from classes that "
    "are compiled with it. Hold a {base} in an attribute, or write its methods out"
)
NO_METACLASS = "Class '{name}' has the metaclass {meta}, which programs would not run. Write a plain class"
OWN_PROTOCOL = "Class '{name}' defines {method}, which programs would not call. Assign attributes plainly"
MADE_BY_CLASS_STATEMENT: Final = 1 << 9
"""The flag of Python's classes that none in C has."""
BYPASSED: Final = ("__setattr__", "__getattribute__", "__getattr__", "__delattr__", "__new__")
"""Methods that would run in Python, and do not in programs."""

STATE: Final = ("__getstate__", "__setstate__")
PYTHON_ONLY: Final = frozenset(
    {
        "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__dir__", "__format__", "__getnewargs__",
        "__hash__", "__init_subclass__", "__iter__", "__next__", "__reduce__", "__reduce_ex__", "__repr__",
        "__replace__", "__sizeof__", "__subclasshook__", *STATE,
    }
)  # fmt: skip
"""Methods that Python calls for its own purposes: compiled only if a program reaches them."""


def is_of_python(cls: type, name: str) -> bool:
    """Whether a method is for Python alone, so that it is compiled only if a program reaches it."""
    return name in PYTHON_ONLY and not (name in STATE and has_program_state(cls))


def has_program_state(cls: type) -> bool:
    """Whether `__getstate__` and `__setstate__` say, by one annotation, the type of a state that archives keep.

    Without annotations, or with `Any` in them, they are those that Python's pickle calls.
    """
    give, take = (inspect.getattr_static(cls, name, None) for name in STATE)
    if not isinstance(give, FunctionType) or not isinstance(take, FunctionType):
        return False
    state = give.__annotations__.get("return")
    taken = [hint for name, hint in take.__annotations__.items() if name != "return"]
    return state is not None and taken == [state] and "Any" not in str(state) and state not in (dict, object, "dict")


def is_user_class(cls: type) -> bool:
    """Whether a class is written in Python, and not part of Python or of a library that programs know otherwise."""
    if not cls.__flags__ & MADE_BY_CLASS_STATEMENT or cls.__module__ in sys.builtin_module_names:
        return False
    module = sys.modules.get(cls.__module__)
    if (cls.__module__ or "").partition(".")[0] in ("flambeau", "torch", "numpy"):
        return getattr(module, cls.__name__, None) is not cls  # in a doctest it is the user's
    file = getattr(module, "__file__", None) or ""
    library = sysconfig.get_paths()["stdlib"]
    return not file.startswith(library) or "-packages" in file[len(library) :]


def check_class(cls: type) -> None:
    """Raise CompileError for a class of which a program would know too little."""
    for base in cls.__mro__[1:]:
        if base not in (object, abc.ABC) and not is_user_class(base):
            raise CompileError(INHERITS.format(name=cls.__name__, base=base.__name__), class_range(cls))
    if type(cls) not in (type, abc.ABCMeta):
        raise CompileError(NO_METACLASS.format(name=cls.__name__, meta=type(cls).__name__), class_range(cls))
    for method in BYPASSED:
        metaclass = inspect.getattr_static(cls, method, None)
        if isinstance(metaclass, (FunctionType, staticmethod)) and not is_generated(cls, method):
            raise CompileError(OWN_PROTOCOL.format(name=cls.__name__, method=method), class_range(cls))
