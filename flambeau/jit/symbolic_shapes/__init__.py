"""Sizes of results as programs of the sizes of operands: shape functions in the language, and graphs made of them."""
