"""From variables, jumps and early returns to structured blocks of values."""
