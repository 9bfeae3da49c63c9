"""`interface`: a class of signatures. Values of every class that has such methods may be used as it.

>>> import flambeau
>>> @interface
... class Shape:
...     def area(self) -> float:
...         pass
>>> Shape.__name__
'Shape'
"""

from __future__ import annotations

from typing import TypeVar

from flambeau.jit.classes.interface_definitions import INTERFACE, define_interface
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY

C = TypeVar("C", bound=type)

NOT_A_CLASS = (
    "interface must be applied to a class, not a {kind}: write @interface above a class whose methods only say their "
    "types"
)


def interface(cls: C) -> C:
    """Let a class of signatures be an interface: a type that admits every class with such methods.

    Methods have annotations and the body `pass`; docstrings are permitted. An interface that inherits from
    `flambeau.nn.Module` admits modules only. The class itself comes back.

    Raises:
        CompileError: a base that is no `object` or `nn.Module`, a body, or a type that programs do not have.

    Args:
        cls: the class.

    >>> import flambeau
    >>> @interface
    ... class Step:
    ...     def step(self, n: int) -> int:
    ...         pass
    >>> class Double:
    ...     def __init__(self) -> None:
    ...         pass
    ...     def step(self, n: int) -> int:
    ...         return 2 * n
    >>> @flambeau.script
    ... def twice(s: Step, n: int) -> int:
    ...     return s.step(s.step(n))
    >>> twice(Double(), 5)
    20
    """
    if not isinstance(cls, type):
        raise RuntimeError(NOT_A_CLASS.format(kind=type(cls).__name__))
    setattr(cls, INTERFACE, True)
    with REGISTRY.lock:
        define_interface(cls, REGISTRY, lambda scope, name: PythonResolver(scope, CLASSES, name))
    return cls
