"""What serves calls of programs on arrays that are like one before: native code, but for objects that look strange.

    fast paths of the program on tensors  →  a callable of arrays, which gives arrays, or `MISSED` for other calls
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from flambeau.codegen import available, native_call
from flambeau.codegen.callable_type import MISSED, DispatchStub, missed
from flambeau.codegen.layouts import ARRAY_CELL
from flambeau.jit.array_errors import FAILED, array_error
from flambeau.jit.array_results import conversion_to_arrays, has_arrays_beside_others, is_array_itself
from flambeau.jit.container_contents import ContainerContents
from flambeau.schema.types import Type
from flambeau.util.record import dataclass

TO_ARRAY: Final = np.asarray
"""What makes arrays without dimensions of scalars."""
Classes = tuple[type | None, ...]
"""The class that each argument must have in calls like one; None where the program declares what it takes."""
Contents = tuple[ContainerContents | None, ...]
"""What each argument must hold, where its class does not tell."""


@dataclass(frozen=True)
class Parameters:
    """What a program on arrays takes."""

    names: tuple[str, ...]
    """Interned, as those of calls are."""
    positional: int
    """How many may have arguments without names."""
    defaults: tuple[Any, ...]
    """What stands for each missing argument: a number, a text or None, or `MISSED` where there must be one."""

    def by_place(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """All arguments by their places; None where one is missing, or none of these.

        >>> Parameters(("x", "n"), 2, (MISSED, 3)).by_place([1], {})
        (1, 3)
        """
        count = len(args)
        if count > self.positional or not named.keys() <= set(self.names[count:]):
            return None
        pairs = zip(self.names[count:], self.defaults[count:], strict=True)
        values = (*args, *[named.get(name, default) for name, default in pairs])
        return None if any(value is MISSED for value in values) else values


def array_call(
    stub: DispatchStub, parameters: Parameters, classes: Classes, contents: Contents, type_: Type | None
) -> Callable[..., Any]:
    """A callable that serves calls by the fast paths of a program.

    Args:
        stub: has the fast paths.
        parameters: of the program.
        classes: what arguments must be, None for what the program looks at.
        contents: what they must hold besides; none of any where it is empty.
        type_: of the result, in which arrays are arrays of NumPy; None where there are none.
    """
    conversion = None if type_ is None else conversion_to_arrays(type_)
    if available():
        count = len(classes)
        words = ctypes.c_int64 * max(1, count)
        class_words = words(*[0 if cls is None else id(cls) for cls in classes])
        scalars = _scalars(classes)
        scalar_words = words(*scalars)
        default_words = words(*[0 if value is MISSED else id(value) for value in parameters.defaults])
        names = words(*map(id, parameters.names))
        holds = [None if c is None else c.packed() for c in contents]
        contents_words = words(*[0 if h is None else ctypes.addressof(h[0]) for h in holds])
        cell = ARRAY_CELL.pack(
            targets=ctypes.addressof(stub.cell), count=count, positional=parameters.positional,
            names=ctypes.addressof(names), classes=ctypes.addressof(class_words),
            contents=ctypes.addressof(contents_words) if any(holds) else 0,
            scalars=ctypes.addressof(scalar_words) if any(scalars) else 0, to_array=id(TO_ARRAY),
            defaults=ctypes.addressof(default_words), conversion=0 if conversion is None else id(conversion),
            is_array=is_array_itself(type_), is_tuple=has_arrays_beside_others(type_), error=id(raise_for_arrays),
        )  # fmt: skip
        kept = (TO_ARRAY, stub, classes, parameters, conversion, class_words, scalar_words, default_words, names, cell,
                holds, contents_words)  # fmt: skip
        native = native_call.make_for_arrays(ctypes.addressof(cell), missed, kept)
        if native is not None:
            return native
    return in_python(stub, parameters, classes, contents, conversion)


def in_python(
    stub: DispatchStub, parameters: Parameters, classes: Classes, contents: Contents,
    conversion: Callable[[Any], Any] | None,
) -> Callable[..., Any]:  # fmt: skip
    """What the native callable does, in Python."""
    scalars = _scalars(classes)

    def serve(*passed: Any, **named: Any) -> Any:
        args = parameters.by_place(passed, named)
        if args is None or any(c is not None and type(a) is not c for c, a in zip(classes, args, strict=True)):
            return MISSED
        if any(c is not None and not c.is_in(a) for c, a in zip(contents, args, strict=False)):
            return MISSED
        args = tuple([TO_ARRAY(a) if is_scalar else a for is_scalar, a in zip(scalars, args, strict=True)])
        target = stub.target
        try:
            result = MISSED if target is None else target(*args)
        except BaseException as error:
            raise_for_arrays(error)
        return result if conversion is None or result is MISSED else conversion(result)

    return serve


def _scalars(classes: Classes) -> list[bool]:
    """Of which arguments arrays without dimensions are made."""
    return [isinstance(cls, type) and issubclass(cls, np.generic) for cls in classes]


def raise_for_arrays(error: BaseException) -> NoReturn:
    """Raise what an error of a program is to users of arrays."""
    raise (array_error(error) if isinstance(error, FAILED) else error) from error.__cause__
