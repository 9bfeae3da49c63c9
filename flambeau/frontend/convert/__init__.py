"""Conversion: Python's syntax tree in, trees of the language out; what the language does not have is refused here."""
