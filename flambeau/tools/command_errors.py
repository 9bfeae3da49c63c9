"""Errors of the command line that are printed without a Python traceback: their text says all."""

from __future__ import annotations

from flambeau.util.errors import ArchiveError, CompileError, FrontendError, InternalError, ParseError, VerifyError


class CommandError(Exception):
    """A command that cannot be carried out; the text says why and what to do."""


REPORTED = (
    ArchiveError, CommandError, CompileError, FrontendError, InternalError, ParseError, VerifyError, OSError,
    UnicodeDecodeError,
)  # fmt: skip
"""Errors whose text says all: they are printed without a Python traceback."""
