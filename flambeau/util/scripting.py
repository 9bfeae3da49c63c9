"""What a function asks to know whether it runs as Python or compiled.

>>> is_scripting()
False
"""


def is_scripting() -> bool:
    """False in Python; in a compiled program the constant True, so that code for Python alone is never compiled.

    >>> import flambeau
    >>> flambeau.jit.is_scripting()
    False
    """
    return False


is_scripting.language_form = "is_scripting"  # type: ignore[attr-defined]  # how the compiler knows it
