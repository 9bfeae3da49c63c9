"""The operators of the language itself, on numbers, strings and containers: importing this package registers them."""

from flambeau.ops.language import (
    conversions,
    dicts,
    element_scalars,
    formatting,
    hashing,
    lists,
    mathematics,
    numpy_generators,
    numpy_random,
    python_types,
    scalars,
    sets,
    sizes,
    strings,
    structural,
    tensor_lists,
    tensors,
    unsigned_scalars,
    world,
)

__all__ = [
    "conversions", "dicts", "element_scalars", "formatting", "hashing", "lists", "mathematics", "numpy_generators",
    "numpy_random", "python_types", "scalars", "sets", "sizes", "strings", "structural", "tensor_lists",
    "unsigned_scalars", "world",
]  # fmt: skip
