"""Programs as files and as source text, both ways."""

from flambeau.serialize.python_print import (
    PrintedCode,
    print_code,
    print_code_with_constants,
    print_with_marks,
)

__all__ = ["PrintedCode", "print_code", "print_code_with_constants", "print_with_marks"]
