"""Names that programs import from `torch._jit_internal`: types, and marks of functions.

>>> def values(x, return_indices: bool = False):
...     return x
>>> def both(x, return_indices: bool = False):
...     return x, x
>>> either = boolean_dispatch("return_indices", 1, False, both, values, "here", "either")
>>> either(3), either(3, True), either(3, return_indices=True)
(3, (3, 3), (3, 3))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035  (others import them from here)

from flambeau.interpreter.future import Future  # noqa: F401
from flambeau.jit.annotation_forms import (  # noqa: F401
    createResolutionCallbackFromClosure,
    createResolutionCallbackFromFrame,
    get_callable_argument_names,
    is_dict,
    is_final,
    is_future,
    is_ignored_fn,
    is_list,
    is_optional,
    is_tuple,
    is_union,
    should_drop,
)
from flambeau.jit.blocks import _IgnoreContextManager  # noqa: F401
from flambeau.jit.helpers import _drop, ignore, is_scripting, unused  # noqa: F401
from flambeau.jit.helpers import isinstance_ as _isinstance  # noqa: F401
from flambeau.jit.modules.module_methods import export  # noqa: F401
from flambeau.jit.modules.module_overloads import _overload_method  # noqa: F401
from flambeau.jit.overloads import _overload  # noqa: F401
from flambeau.util.broadcasting import (  # noqa: F401
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)
from flambeau.util.choice import chosen_by
from flambeau.util.names import qualified_name as _qualified_name  # noqa: F401


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that is one of two others, by the value of a parameter: in programs a constant, which decides while
    they are compiled, so that each of both may have a result of its own type.

    Args:
        arg_name: the parameter's name.
        arg_index: its position.
        default: its value where a call leaves it out.
        if_true: what is called where it is true.
        if_false: what is called otherwise.
        module_name: the module that the function is of.
        func_name: its name there.

    Raises:
        RuntimeError: Both functions have a docstring, or neither has one that the new one could take.
    """
    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring: that of the function which is made of both")

    @chosen_by(arg_name, arg_index, if_true=if_true, if_false=if_false, default=default)
    @functools.wraps(if_true if if_false.__doc__ is None else if_false)
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    call.__module__, call.__name__ = module_name or call.__module__, func_name or call.__name__
    return call
