"""Texts of kernels as code for a level of x86-64 that need not be this processor's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import processor_of, this_host
from flambeau.codegen.llvm.processor import LEVELS


def check_code(level: str, kind: str, *texts: Callable[[Floats], str]) -> None:
    """Compile texts for `float` or `double`; skips where this processor has not the level."""
    host = this_host().level
    if host is None or list(LEVELS).index(level) > list(LEVELS).index(host):
        pytest.skip("not a level of this processor")
    processor = processor_of(level)
    for text in texts:
        assert Compiler(processor).compile(text(Floats(kind, processor.target)), is_glue=True, optimise=False)
