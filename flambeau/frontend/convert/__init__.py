"""From Python's own trees to those of programs; what the language does not have is refused here."""
