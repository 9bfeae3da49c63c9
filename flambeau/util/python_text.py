"""Python text to `ast` trees, by one thread at a time.

CPython 3.11 counts the nesting of what it parses for all threads together: two that parse at once may end in
"SystemError: AST constructor recursion depth mismatch".

>>> ast.dump(parse("x", mode="eval").body)
"Name(id='x', ctx=Load())"
"""

from __future__ import annotations

import ast
from typing import Any

from flambeau.util.locks import NoForkLock

_lock = NoForkLock()


def parse(text: str, mode: str = "exec") -> Any:
    """Parse Python source like `ast.parse`, with the same errors.

    The text has no name: to quote the line of a syntax error, Python opens the file of that name, in the working
    directory if need be.
    """
    with _lock:
        return ast.parse(text, filename="", mode=mode)
