"""Programs as files and as source text, both ways."""

from flambeau.serialize.python_print import (
    PrintedCode,
    print_code,
    print_code_with_constants,
    print_with_marks,
)
from flambeau.serialize.python_print_resolver import PrintedNames, read_code

__all__ = ["PrintedCode", "PrintedNames", "print_code", "print_code_with_constants", "print_with_marks", "read_code"]
