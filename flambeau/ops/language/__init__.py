"""The operators of the language itself, on numbers, strings and containers: importing this package registers them."""

from flambeau.ops.language import (
    conversions,
    dicts,
    elements,
    format,
    hashing,
    lists,
    mathematics,
    python,
    scalars,
    sets,
    sizes,
    strings,
    structural,
    tensor_lists,
    tensors,
    world,
)

__all__ = [
    "conversions", "dicts", "elements", "format", "hashing", "lists", "mathematics", "python", "scalars", "sets",
    "sizes", "strings", "structural", "tensor_lists", "world",
]  # fmt: skip
