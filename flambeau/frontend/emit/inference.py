"""Emission that starts over when a type variable is determined: the only place where it does.

x = []; x.append(3)    →    emitted with x : Tensor[], then, as `append` tells what x holds, again with x : int[]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flambeau.frontend.emit.type_variables import InferenceRestart, TypeVariables
from flambeau.frontend.emit.unset_variables import as_first_refused
from flambeau.util.errors import CompileError

T = TypeVar("T")


def infer(type_variables: TypeVariables, attempt: Callable[[], T], remember: Callable[[], Callable[[], None]]) -> T:
    """What an attempt gives that determines no further type; `remember` gives what takes back the effects of another.

    Raises InferenceRestart if a type of a function around was determined, and CompileError if the program is refused.
    """
    while True:
        type_variables.start()
        take_back = remember()
        try:
            return attempt()
        except InferenceRestart as restart:
            take_back()
            if restart.owner is not type_variables:
                raise
        except CompileError as error:
            if not type_variables.take_defaults():
                raise as_first_refused(type_variables, error) from None
            take_back()
