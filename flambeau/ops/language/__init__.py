"""The operators of the language itself, on numbers, strings and containers: importing this package registers them."""

from flambeau.ops.language import dicts, lists, scalars

__all__ = ["dicts", "lists", "scalars"]
