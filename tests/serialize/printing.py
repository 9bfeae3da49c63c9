"""Graphs as text in, code as text out: what the tests of printed code share."""

from __future__ import annotations

from textwrap import dedent

import flambeau.ops
from flambeau.ir import parse_ir
from flambeau.serialize import print_code

assert flambeau.ops


def code(text: str) -> str:
    """A graph as the body of `f`, without the signature line."""
    return print_code(parse_ir(dedent(text)), name="f").split(":\n", 1)[1]


def body(*lines: str) -> str:
    return "".join(f"  {line}\n" for line in lines)
