"""The operators of the language itself, on numbers, strings and containers: importing this package registers them."""

from flambeau.ops.language import (
    conversions,
    dicts,
    format,
    hashing,
    lists,
    mathematics,
    scalars,
    strings,
    structural,
    tensors,
    world,
)

__all__ = [
    "conversions", "dicts", "format", "hashing", "lists", "mathematics", "scalars", "strings", "structural", "tensors",
    "world",
]  # fmt: skip
