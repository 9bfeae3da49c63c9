"""Trees: the immutable nodes of the language with their ranges; what conversion gives and emission takes."""
