"""Values and their uses, as most modules ask for them; they and graphs are one structure, `ir.graph`."""

from flambeau.ir.graph import Value
from flambeau.ir.uses import Use

__all__ = ["Use", "Value"]
