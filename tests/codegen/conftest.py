"""Engines for the levels of x86-64 that this machine has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flambeau.codegen.llvm.engine import Engine
from flambeau.codegen.llvm.host import ProcessorError, processor_of


@pytest.fixture(scope="session")
def engine_of() -> Callable[[str], Engine]:
    """Gives an engine for a level; a test whose level this machine does not have is skipped for that reason."""

    def make(level: str) -> Engine:
        try:
            return Engine(processor_of(level))
        except ProcessorError as error:
            pytest.skip(str(error))

    return make
