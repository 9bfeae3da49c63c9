"""What those who come from Numba look for, and what they find here in its place: advice for messages."""

from __future__ import annotations

from typing import Final

NO_SIGNATURE: Final = "for a signature, annotate the parameters: def f(x: float) -> float"
OPTIONS: Final[dict[str, str]] = {
    "nopython": "it is always so: leave it out",
    "nogil": "native code runs without Python's lock by itself: leave it out",
    "cache": "machine code is kept on disk by itself (`flambeau cache info`): leave it out",
    "parallel": "loops over flambeau.prange run on several threads, and operators on large arrays by themselves: leave "
    "it out",
    "boundscheck": "indexes are always looked at: leave it out",
    "error_model": "a division of numbers by zero is an error, as in Python: leave it out",
    "forceobj": 'backend="interpreter" runs a program without machine code',
    "inline": "functions that are called are inlined by themselves: leave it out",
    "locals": "annotate variables: `s: float = 0.0`",
    "debug": "errors show the line in any case: leave it out",
}
"""Options of `@njit`, and what to write for them."""
FUNCTIONS: Final[dict[str, str]] = {
    "njit": "write @flambeau.script",
    "jitclass": "write @flambeau.script on the class",
    "guvectorize": "write a function of whole arrays under @flambeau.script: its loops and slices become native code",
    "stencil": "write slices, x[1:] - x[:-1], or loops over elements under @flambeau.script: both become native code",
    "typed": "write plain lists and dicts: their types are inferred",
    "objmode": "call a function that is decorated with flambeau.jit.ignore, which stays in Python",
    "literal_unroll": "write a loop over the tuple: it is unrolled by itself",
}
"""Functions of Numba, and what to write for them."""
ATTRIBUTES: Final[dict[str, str]] = {
    "py_func": "__wrapped__",
    "signatures": "explain()",
    "nopython_signatures": "explain()",
    "overloads": "explain()",
    "stats": "explain()",
    "inspect_types": "graph",
    "inspect_llvm": "llvm_ir",
    "inspect_asm": "asm",
    "parallel_diagnostics": "explain()",
    "recompile": "explain() (what it reads outside is looked at in each call)",
}
"""Attributes of Numba's functions, and those of ours that say the same."""


def unknown_option(names: list[str]) -> str:
    """The message about options that `script` does not have.

    >>> unknown_option(["boundscheck"])
    "script() got an unexpected keyword argument 'boundscheck': indexes are always looked at: leave it out"
    """
    advice = f": {OPTIONS[names[0]]}" if names[0] in OPTIONS else ""
    return f"script() got an unexpected keyword argument '{names[0]}'{advice}"


def unknown_attribute(kind: str, name: str) -> str:
    """The message about an attribute that scripted functions do not have.

    >>> unknown_attribute("ScriptFunction", "py_func")
    "'ScriptFunction' object has no attribute 'py_func': Numba's py_func is __wrapped__ here"
    """
    advice = f": Numba's {name} is {ATTRIBUTES[name]} here" if name in ATTRIBUTES else ""
    return f"'{kind}' object has no attribute '{name}'{advice}"
