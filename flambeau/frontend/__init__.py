"""The text of a program to IR: trees, names, types, statements and expressions."""
