"""Trees: Python's syntax trees in, out the immutable nodes of the language with their ranges, which emission takes."""
