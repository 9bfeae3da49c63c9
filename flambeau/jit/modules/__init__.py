"""Modules as programs see them: their classes, attributes, methods, hooks and containers."""
