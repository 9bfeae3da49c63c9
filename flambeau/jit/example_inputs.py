"""Types from examples: what calls bring for parameters without annotations, in everything that they reach.

def area(side, name): ...      script(area, example_inputs=[(2.0, "a"), (3.0, None)])    →    side : float, name : str?

The examples are run in Python, and each function that runs meanwhile is asked what it was given. What was seen of a
parameter is its type where its function says none: one type, that or None, or Any for several.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from flambeau.frontend.source.python_source import innermost_function
from flambeau.frontend.trees.tree_views import Def, Ident, Param, Var
from flambeau.jit.infer import NoTypeError, shared_type
from flambeau.schema.types import ANY, NONE, OptionalType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import replace

FORM: Final = (
    "example_inputs are a list of tuples, the arguments of each call, or a dict from what is called (a module, one of "
    "its methods) to such a list; got {found}"
)
NAME: Final = "type of {param}"
"""What annotations of that kind name: no name of a program."""
_OWN: Final = str(Path(__file__).resolve().parents[1])
"""Where functions lie that say their types themselves."""

Scope = Callable[[str], Any]
"""What the names of a function mean. Raises KeyError."""


class ExampleTypes:
    """What was seen of the parameters of functions while examples ran.

    >>> def scaled(x, n): return [x] * n
    >>> seen = ExampleTypes.of_calls(scaled, [(2.5, 3), (1.0, None or 2)])
    >>> {name: str(type_) for name, type_ in seen.types(scaled).items()}
    {'x': 'float', 'n': 'int'}
    """

    def __init__(self) -> None:
        self._seen: dict[CodeType, dict[str, list[Type]]] = {}

    @classmethod
    def of_calls(cls, obj: Any, examples: Any) -> ExampleTypes:
        """What was seen while `obj`, or each key of a dict of examples, was called with each of them.

        Raises ValueError for examples of another form, and whatever the calls raise.
        """
        seen = cls()
        for called, arguments in _calls(obj, examples):
            before = sys.getprofile()
            sys.setprofile(seen._notice)
            try:
                called(*arguments)
            finally:
                sys.setprofile(before)
        return seen

    def types(self, fn: Any) -> Mapping[str, Type]:
        """The types that were seen of a function's parameters, by name."""
        seen = self._seen.get(innermost_function(fn).__code__, {})
        return {name: _common(types) for name, types in seen.items() if types}

    def tree(self, fn: Any, tree: Def) -> Def:
        """The tree of a function with annotations that name what was seen, where it has none."""
        types = self.types(fn)

        def annotated(param: Param) -> Param:
            if param.annotation is not None or param.name not in types:
                return param
            return replace(param, annotation=Var(param.range, Ident(param.range, NAME.format(param=param.name))))

        return replace(tree, decl=replace(tree.decl, params=tuple(map(annotated, tree.decl.params))))

    def scope(self, fn: Any, scope: Scope) -> Scope:
        """The scope of a function's names that knows those in such annotations too."""
        named = {NAME.format(param=name): type_ for name, type_ in self.types(fn).items()}
        return lambda name: named[name] if name in named else scope(name)

    def _notice(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at the arguments of a call that begins."""
        code = frame.f_code
        if event != "call" or code.co_filename.startswith(_OWN):
            return
        seen = self._seen.setdefault(code, {})
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            try:
                type_ = shared_type(frame.f_locals[name])
            except (NoTypeError, TypeError, KeyError, CompileError):  # an object of Python's: it is no program's
                continue
            types = seen.setdefault(name, [])
            if type_ not in types:
                types.append(type_)


def _calls(obj: Any, examples: Any) -> list[tuple[Callable[..., Any], Sequence[Any]]]:
    pairs = examples.items() if isinstance(examples, dict) else [(obj, examples)]
    for _, calls in pairs:
        if not isinstance(calls, list) or not all(isinstance(arguments, tuple | list) for arguments in calls):
            raise ValueError(FORM.format(found=type(examples).__name__))
    return [(called, arguments) for called, calls in pairs for arguments in calls]


def _common(types: Sequence[Type]) -> Type:
    """The type of a parameter that has had values of some types."""
    others = [type_ for type_ in types if type_ != NONE]
    if len(others) > 1:
        return ANY
    return types[0] if len(types) == 1 else OptionalType.of(others[0])
