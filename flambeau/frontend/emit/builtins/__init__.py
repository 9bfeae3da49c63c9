"""Python's builtin functions and parts of its library in programs: what a call of each emits."""
