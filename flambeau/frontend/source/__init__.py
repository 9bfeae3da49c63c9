"""The source of Python functions and classes: its lines, their places, the scopes around it."""
